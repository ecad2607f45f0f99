"""Privacy of a project's files: private files are never shown to running code, read for a prompt, or sent anywhere.

This package belongs to the ground floor, because every reader of the user's files uses it.
"""
