"""The command line."""

COULD_NOT_RUN = 2
"""Exit code for a problem that the user can fix."""
HOOK_FAILED = 1
"""Exit code of `adacoder hook` if the check could not run. Coding agents read `COULD_NOT_RUN` as "do not stop yet"."""
INTERRUPTED = 130
"""Exit code if the user interrupts the command. Shells use the same code for SIGINT."""
