"""Protect a project's private files. They are never shown to running code, read for a prompt, or sent anywhere.

This package belongs to the ground floor, because everything that reads the user's files needs it.
"""
