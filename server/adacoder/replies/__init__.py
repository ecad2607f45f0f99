"""Read a model's reply: find the code or the plan in the reply, and decide whether it is complete.

Use `extract` and `completion` for code, and `steps` for plans. A reply with code passes through these modules in order:

    filters         removes thoughts and control tokens around the answer
    blocks          finds the code in fences and in JSON, and splits it at prose
    patches         applies a diff, SEARCH/REPLACE or `*** Begin Patch` to the target's module
    transcript      removes line numbers and prompts from a block
    passages        splits a block at calls of the target, and adds a missing signature
    find            finds the versions of the target function
    elision         fills in code that a version replaces by `# ... existing code ...`
    companions      finds the imports, helpers and constants that the function may need
    decorators      selects the decorators that may be inserted
    extract         creates a Candidate for each version of the function

Code that AdaCoder's Python cannot parse is kept, because the user's Python may be newer. `fixtures/replies.toml` has
examples of replies.
"""
