"""Read a model's reply: find the code or the plan in it, and decide whether it is complete.

The entry points are `extract` and `completion` for code, `steps` for plans, and `repetition`, which detects replies
that only repeat themselves. A reply with code passes through these modules in this order:

    filters removes the wrapping around the whole reply: thinking and control tokens
    blocks          finds text marked as code (fences; JSON by `structured`), and cuts it at prose
    patches         applies a diff, SEARCH/REPLACE or `*** Begin Patch` to the target's module
    transcript      removes line numbers and prompts from a block
    passages        prepares a block to find a function in: handles echoes, uses and lost signatures
    find            finds the versions of the target in the passages: by name, as a body, by another name
    elision         fills in the code omitted by `# ... existing code ...` in a version
    companions      finds the imports, helpers and constants to include
    decorators      selects the decorators to include
    extract         makes a Candidate of all that, with the other versions

`free_names` finds the names that a piece of code uses. `laziness` detects functions that were not really written. Text
is changed only if no Python could read it. Code that our own Python can parse stays unchanged. Code that it cannot
parse is kept, because the user's Python may be newer. The forms come from recorded replies: `fixtures/replies.toml`.
"""
