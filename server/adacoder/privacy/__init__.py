"""Privacy of a project's files: private files are never shown to running code, read for a prompt, or sent anywhere.

It belongs to the ground, because every reader of the user's files asks it.
"""
