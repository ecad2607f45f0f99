"""A model's words: where the code or the plan stands in them, and whether it is whole.

Its doors are `extract` and `completion` for code, `steps` for plans, and `repetition`, which tells of any reply whether
it only repeats itself. In the order in which a reply with code goes through it:

    filters       takes off what a server or a model put around the whole reply: thinking, control tokens
    blocks        what is marked as code (fences; JSON by `structured`), cut where prose stands between
    patches       a diff, SEARCH/REPLACE or `*** Begin Patch`, applied to the target's module
    transcript    a block as Python would have it: without line numbers, prompts and a typesetter's characters
    passages      a block as something in which a function can be found: echoes, uses and lost signatures taken care of
    find          the versions of the target in the passages: by name, as a body, by another name
    elision       what `# ... existing code ...` in a version stands for
    dependencies    what comes with it: imports, helpers, constants
    decorators      which decorators come along
    extract       all that as a Candidate, with the other versions

`names` and `laziness` answer what names a piece uses, and whether a function was really written. Text is changed only
where no Python could read it: Python that our own can parse is taken as it is, and what it cannot parse is not thrown
away, since the user's may be newer. What is read is what models were recorded to write: `fixtures/replies.toml`.
"""
