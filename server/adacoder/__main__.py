"""Picks the door: `adacoder serve` is the language server, everything else the command line.

The only file that knows more than one door. `serve` loads no library of the command line.
"""

from __future__ import annotations

import gc
import io
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

_STDIO = ["--stdio"]
"""Option that language clients may add; there is no other transport."""
_WHILE_IMPORTING = 5000
"""Objects between two collections while the server is imported, for which an editor waits: a fifth of the collections
keep its memory as small. With none at all it would have ten megabytes more."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `adacoder` with these arguments, by default the process's own. Returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        _end_in_good_order()
        _show_visibly()
        if arguments[:1] == ["serve"] and arguments[1:] in ([], _STDIO):
            usual = gc.get_threshold()
            gc.set_threshold(_WHILE_IMPORTING)
            from adacoder.lsp.stdio import serve

            gc.set_threshold(*usual)
            return serve()
        from adacoder.cli.commands import run

        return run(arguments)
    except KeyboardInterrupt:
        from adacoder.cli import INTERRUPTED

        print("Interrupted; nothing was written.", file=sys.stderr)
        return INTERRUPTED


def _end_in_good_order() -> None:
    """Let SIGTERM do what Ctrl-C does: cancel what runs, and clean up. Only the main thread may handle signals."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Do what SIGINT does now, even where a shell has it ignored, as for what it runs in the background."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)


def _show_visibly() -> None:
    """Let all that is written be seen and nothing of it be obeyed: messages, tracebacks, and what libraries log."""
    from adacoder.visible import Visible

    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            # A terminal or pipe that has no byte for a character is shown its escape.
            stream.reconfigure(errors="backslashreplace")
            setattr(sys, name, Visible(stream))


if __name__ == "__main__":
    sys.exit(main())
