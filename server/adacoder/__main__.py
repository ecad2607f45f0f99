"""Entry point: `adacoder serve` starts the language server, and all other arguments run the command line.

`serve` must start fast, so it imports nothing that only the command line needs.
"""

from __future__ import annotations

import gc
import io
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_STDIO = ["--stdio"]
"""Option that some editors add to every server. It has no effect: AdaCoder always uses stdin and stdout."""
_WHILE_IMPORTING = 5000
"""Threshold of the garbage collector while the server is imported.

An editor waits for these imports, so the collector runs only a fifth as often as usual. This needs no more memory.
Without any collection, the server would need ten megabytes more.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `adacoder`. Return the exit code.

    `argv` is the list of arguments. If it is None, the arguments of the process are used.
    """
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

        return run(arguments, _serve_agent)
    except KeyboardInterrupt:
        from adacoder.cli import INTERRUPTED

        print("Interrupted; nothing was written.", file=sys.stderr)
        return INTERRUPTED
    finally:
        if argv is None:
            _end_without_traceback()


def _serve_agent(root: Path | None, told: Path | None, values: Mapping[str, object], *, read_only: bool) -> int:
    from adacoder.mcp.agent_server import serve

    return serve(root, told, values, read_only=read_only)


def _end_without_traceback() -> None:
    """Let a signal end the process at once.

    The work is done, and Python would print a traceback during its shutdown.
    """
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)


def _end_in_good_order() -> None:
    """Make SIGTERM act like Ctrl-C: cancel the running work and clean up.

    Only the main thread may set a signal handler.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Act on SIGTERM as on SIGINT.

    A shell lets its background jobs ignore SIGINT. For them, raise KeyboardInterrupt.
    """
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)


def _show_visibly() -> None:
    """Escape control characters in everything that this process prints."""
    from adacoder.visible import Visible

    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            # Escape characters that the stream cannot encode.
            stream.reconfigure(errors="backslashreplace")
            setattr(sys, name, Visible(stream))


if __name__ == "__main__":
    sys.exit(main())
