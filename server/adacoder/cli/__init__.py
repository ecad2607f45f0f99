"""The command line."""

COULD_NOT_RUN = 2
"""Exit code for a problem that the user can fix."""
INTERRUPTED = 130
"""Exit code if the user interrupts the command. Shells use the same code for SIGINT."""
