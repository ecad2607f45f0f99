"""The command line."""

COULD_NOT_RUN = 2
"""Exit code: something that a user can mend stood in the way."""
INTERRUPTED = 130
"""Exit code: the user ended it, as shells count SIGINT."""
