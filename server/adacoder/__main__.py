"""Entry point: `adacoder serve` starts the language server, and all other arguments run the command line.

`serve` must start fast, so this module imports nothing that only the command line needs.
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
"""Option that some editors add to the command of every server. The option has no effect."""
_WHILE_IMPORTING = 5000
"""Threshold of the garbage collector during the import of the server.

An editor waits for this import, so the collector runs only a fifth as often as usual. Without any collection, the
server would need ten megabytes more.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `adacoder`. Return the exit code.

    `argv` is the list of arguments. By default, it is `sys.argv` without the program.
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
            gc.freeze()  # Let Python's shutdown skip a collection, which takes a tenth of a short command's time.


def _serve_agent(root: Path | None, told: Path | None, values: Mapping[str, object], *, read_only: bool) -> int:
    from adacoder.mcp.agent_server import serve

    return serve(root, told, values, read_only=read_only)


def _end_without_traceback() -> None:
    """Let a signal end the process at once.

    Otherwise a signal during Python's shutdown would print a traceback.
    """
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)


def _end_in_good_order() -> None:
    """Make SIGTERM act like Ctrl-C: cancel the running work and clean up."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Handle SIGTERM like SIGINT.

    In a background job of a shell, SIGINT is ignored. Then raise KeyboardInterrupt.
    """
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)


def _show_visibly() -> None:
    """Escape control characters in everything that this process prints."""
    from adacoder.visible import Visible

    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            # characters that the stream cannot encode are escaped
            stream.reconfigure(errors="backslashreplace")
            setattr(sys, name, Visible(stream))


if __name__ == "__main__":
    sys.exit(main())
