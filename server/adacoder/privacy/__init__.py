"""What of a project's files is private: never shown to code that runs, read for a prompt, or sent anywhere.

On the ground, since every reader of the user's files asks it.
"""
