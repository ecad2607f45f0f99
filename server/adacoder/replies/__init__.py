"""Read a model's reply: find the code or the plan in it, and decide whether it is complete.

The entry points are `extract` and `completion` for code, and `steps` for plans. `repetition` detects replies that only
repeat themselves. A reply with code passes through these modules in this order:

    filters         removes thoughts and control tokens around the answer
    blocks          finds the text in fences and in JSON (by `structured`), and splits it at prose
    patches         applies a diff, SEARCH/REPLACE or `*** Begin Patch` to the target's module
    transcript      removes line numbers and prompts from a block
    passages        splits a block at calls of the target, drops a repeated docstring, adds a missing signature
    find            finds the versions of the target: by its name, as a body, or by another name
    elision         fills in the code omitted by `# ... existing code ...` in a version
    companions      finds the imports, helpers and constants that the function may need
    decorators      selects the decorators that may be inserted
    extract         creates a Candidate for each version of the function

Code that AdaCoder's Python can parse stays unchanged. Other code is kept as well, because the user's Python may be
newer. All forms of replies occur in recorded replies; see `fixtures/replies.toml`.
"""
