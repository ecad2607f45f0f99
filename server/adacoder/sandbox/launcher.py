"""The first process inside the isolation: locks it down, then becomes the user's interpreter.

    launcher.py COMMANDS RESULTS LIMIT=VALUE… -- PROGRAM ARGUMENT…

Our own interpreter runs this file (`-I -S`, standard library only), so that nothing of the user's, neither a
`.venv/bin/python` nor a `.pth` file, runs before the limits hold. COMMANDS and RESULTS are descriptors, which
become 3 and 4; all others but 0 to 2 are closed. Each LIMIT is a `resource.RLIMIT_*` without that prefix.
"""

from __future__ import annotations

import os
import resource
import sys


def main(arguments: list[str]) -> None:
    end = arguments.index("--")
    commands, results, *limits = arguments[:end]
    arrange_descriptors(int(commands), int(results))
    for limit in limits:
        name, _, value = limit.partition("=")
        kind = getattr(resource, f"RLIMIT_{name}", None)  # not every system knows every limit
        if kind is not None:
            set_limit(kind, int(value))
    program = arguments[end + 1 :]
    os.execv(program[0], program)  # noqa: S606  # becoming the user's interpreter is what this file is for


def arrange_descriptors(commands: int, results: int) -> None:
    """Make `commands` 3 and `results` 4, and close what else was inherited."""
    if results == 3:
        results = os.dup(results)
    os.dup2(commands, 3)
    os.dup2(results, 4)
    os.closerange(5, min(os.sysconf("SC_OPEN_MAX"), 65536))


def set_limit(kind: int, value: int) -> None:
    """Lower a limit for good; one that is lower already stays."""
    hard = resource.getrlimit(kind)[1]
    if hard == resource.RLIM_INFINITY or hard > value:
        resource.setrlimit(kind, (value, value))


if __name__ == "__main__":
    main(sys.argv[1:])
