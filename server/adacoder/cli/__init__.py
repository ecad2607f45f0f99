"""The command line."""

COULD_NOT_RUN = 2
"""Exit code for a problem that the user can fix."""
HOOK_FAILED = 1
"""Exit code of `adacoder hook` for AdaCoder's own trouble. It blocks no coding agent, but COULD_NOT_RUN would."""
INTERRUPTED = 130
"""Exit code if the user interrupts the command. Shells use the same code for SIGINT."""
