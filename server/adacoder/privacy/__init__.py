"""Privacy of a project's files: what is private is never shown to code that runs, read for a prompt, or sent anywhere.

On the ground, since every reader of the user's files asks it.
"""
