"""Entry point: `adacoder serve` starts the language server, and other arguments run the command line.

No other module imports both. `serve` loads no library of the command line.
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
"""An option that some clients add. It changes nothing, because the server only uses stdin and stdout."""
_WHILE_IMPORTING = 5000
"""Threshold of the garbage collector while the server is imported. An editor waits for this import, so the collector
runs only a fifth as often as usual. That takes no more memory. Without any collection, the server would take ten
megabytes more.
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
    finally:
        if argv is None:
            _end_without_traceback()


def _end_without_traceback() -> None:
    """Let signals end the process at once, because all work is done. Otherwise Python's shutdown prints a traceback."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)


def _end_in_good_order() -> None:
    """Make SIGTERM act like Ctrl-C: cancel running work and clean up. Only the main thread may set a handler."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Call the handler of SIGINT. If SIGINT is ignored, as in background jobs of a shell, raise KeyboardInterrupt."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)


def _show_visibly() -> None:
    """Escape control characters in all output: messages, tracebacks and the logs of libraries."""
    from adacoder.visible import Visible

    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            # If the stream's encoding lacks a character, write the character as an escape.
            stream.reconfigure(errors="backslashreplace")
            setattr(sys, name, Visible(stream))


if __name__ == "__main__":
    sys.exit(main())
