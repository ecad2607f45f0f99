"""Entry point: `adacoder serve` starts the language server, anything else runs the command line.

No other module knows both of them. `serve` loads no library of the command line.
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
"""Option that language clients may add. Standard input and output are the only transport."""
_WHILE_IMPORTING = 5000
"""Garbage collection threshold while the server is imported, because an editor waits for the import. With a fifth of
the usual collections, memory stays just as small. With no collection, the server would take ten megabytes more.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `adacoder` with `argv`, by default the arguments of the process. Return the exit code."""
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
    """Make SIGTERM act like Ctrl-C: cancel running work and clean up. Only the main thread may handle signals."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Act like SIGINT. If SIGINT is ignored, as in background processes of a shell, raise KeyboardInterrupt."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)


def _show_visibly() -> None:
    """Escape control characters in all output: messages, tracebacks and the logs of libraries."""
    from adacoder.visible import Visible

    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            # Write characters that the stream's encoding lacks as escapes.
            stream.reconfigure(errors="backslashreplace")
            setattr(sys, name, Visible(stream))


if __name__ == "__main__":
    sys.exit(main())
