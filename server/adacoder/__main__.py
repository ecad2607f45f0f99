"""Picks the door: `adacoder serve` is the language server, everything else the command line.

The only file that knows more than one door. `serve` loads no library of the command line.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

_STDIO = ["--stdio"]
"""What language clients may add to say how they talk; there is no other way."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `adacoder` with these arguments, by default the process's own. Returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        if arguments[:1] == ["serve"] and arguments[1:] in ([], _STDIO):
            from adacoder.lsp.server import serve

            return serve()
        from adacoder.cli.commands import run

        return run(arguments)
    except KeyboardInterrupt:
        from adacoder.cli import INTERRUPTED

        print("Interrupted; nothing was written.", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
