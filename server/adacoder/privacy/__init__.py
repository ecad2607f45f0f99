"""Protect a project's private files. They are never shown to running code, read for a prompt, or sent anywhere."""
