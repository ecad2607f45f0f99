"""Run `adacoder mcp`: read the messages of a coding agent from stdin, and answer on stdout."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import threading
import time
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import IO, TYPE_CHECKING, Any

from adacoder.domain import AdaCoderError
from adacoder.mcp.exchange import AgentExchange, Caller, Offer
from adacoder.mcp.tool_words import offered
from adacoder.programs import run, take_stdio
from adacoder.project import is_wide

if TYPE_CHECKING:
    from adacoder.mcp.tools import Tools

log = logging.getLogger(__name__)

_LONGEST = 1 << 20
"""Maximum size of a message in bytes."""
_PIECE = 1 << 16
_MOST_WAITING = 1000
"""Maximum number of messages that the agent has not read. With more messages, the server ends."""
_LAST_SECONDS = 2.0
"""Seconds that the agent has to read the last messages when the server ends."""


def serve(root: Path | None, told: Path | None, values: Mapping[str, object], *, read_only: bool) -> int:
    """Serve one agent until the agent closes stdin. Return the exit code.

    Args:
        root: the folder in which the agent works. If None, the current folder.
        told: a log file for all results that the agent gets. If None, nothing is logged.
        values: the options of the command line. The keys are names of fields of Settings.
        read_only: True to offer no tool that writes files.

    Raises:
        AdaCoderError: the folder is missing or too wide for a project, or the log file cannot be written.
    """
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    folder = _folder(root)
    try:
        with nullcontext() if told is None else _diary(told) as diary:
            calls = LateTools(folder, values, diary)
            stdin, stdout = _stdio()
            run(serve_files(calls, partial(calls.offer, read_only=read_only), stdin, stdout))
    except KeyboardInterrupt:
        log.warning("Ended by a signal.")
    return 0


def _stdio() -> tuple[IO[bytes], IO[bytes]]:
    try:
        stdin, stdout = take_stdio()
        for each in (stdin, stdout):
            os.set_blocking(each.fileno(), True)
    except (OSError, AttributeError):
        raise AdaCoderError("stdin or stdout is closed: let a coding agent start this command.") from None
    return stdin, stdout


def _diary(path: Path) -> IO[str]:
    try:
        return path.open("a", encoding="utf-8", buffering=1)
    except OSError as error:
        raise AdaCoderError(f"{path} cannot be written ({error.strerror}): name another file.") from None


def _folder(root: Path | None) -> Path:
    folder = Path(os.path.realpath(root or "."))
    if not folder.is_dir():
        raise AdaCoderError(f"There is no folder {root}: name another folder with --root.")
    if is_wide(folder):
        raise AdaCoderError(f"{folder} is too wide to be a project: name a project's folder with --root.")
    return folder


class LateTools:
    """Calls the tools. The code of the tools is imported with the first call."""

    def __init__(self, root: Path, values: Mapping[str, object], diary: IO[str] | None) -> None:
        """Store the arguments for `Workplace`.

        Each result is written to the log file `diary` as a line of JSON.
        """
        self._root, self._values, self._diary = root, values, diary
        self._declared: Mapping[str, object] = {}
        self._tools: Tools | None = None

    def offer(self, declared: Mapping[str, object], *, read_only: bool) -> list[dict[str, Any]]:
        """Return the definitions of the tools. `declared` are settings that the client has sent."""
        self._declared = declared
        is_open = bool(self._values.get("allow_cloud") or declared.get("allowCloud"))
        return offered(read_only=read_only, is_open=is_open)

    async def call(self, name: str, arguments: dict[str, str], caller: Caller) -> tuple[dict[str, Any], bool]:
        """Call a tool. Return its result, and True if the result is an error."""
        kind = await asyncio.to_thread(_imported)
        self._tools = self._tools or kind(self._root, self._declared, self._values)
        result, is_error = await self._tools.call(name, arguments, caller)
        if self._diary is not None:
            named = {each: arguments[each] for each in ("path", "name") if each in arguments}
            at = time.strftime("%Y-%m-%dT%H:%M:%S%z")
            with suppress(OSError):  # a full disk must not make the call fail
                self._diary.write(json.dumps({"at": at, "tool": name, **named, "answer": result}) + "\n")
        return result, is_error

    async def close(self) -> None:
        """End all processes that the tools have started."""
        if self._tools is not None:
            await self._tools.close()


def _imported() -> type[Tools]:
    from adacoder.mcp.tools import Tools

    return Tools


async def serve_files(calls: LateTools, offer: Offer, stdin: IO[bytes], stdout: IO[bytes]) -> None:
    """Serve one agent until the agent closes `stdin`. `offer` returns the definitions of the tools."""
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    lines: SimpleQueue[bytes] = SimpleQueue()

    def send(line: bytes) -> None:
        lines.put(line)
        if lines.qsize() > _MOST_WAITING:
            ended.set()

    exchange = AgentExchange(send, offer, calls.call)
    # asyncio cannot read every kind of stdin, so threads read and write. Daemon threads do not delay the exit.
    threading.Thread(target=_read, args=(stdin.fileno(), loop, exchange, ended), daemon=True).start()
    writer = threading.Thread(target=_write, args=(stdout.fileno(), loop, lines, ended), daemon=True)
    writer.start()
    try:
        await ended.wait()
    finally:
        await exchange.close()
        await calls.close()
        lines.put(b"")
        writer.join(_LAST_SECONDS)


def _write(stdout: int, loop: asyncio.AbstractEventLoop, lines: SimpleQueue[bytes], ended: asyncio.Event) -> None:
    """Write lines until there is an empty line. Errors are ignored, because the agent may have ended."""
    with suppress(OSError):
        while line := lines.get():
            while line:
                line = line[os.write(stdout, line) :]
    with suppress(RuntimeError):  # the event loop is closed
        loop.call_soon_threadsafe(ended.set)


def _read(stdin: int, loop: asyncio.AbstractEventLoop, exchange: AgentExchange, ended: asyncio.Event) -> None:
    """Read lines until the end of stdin, and pass them to the event loop."""
    line, is_long = b"", False
    with suppress(RuntimeError, OSError):  # the event loop is closed, or stdin cannot be read
        while piece := os.read(stdin, _PIECE):
            *whole, rest = piece.split(b"\n")
            for part in whole:
                line += part
                if is_long or len(line) > _LONGEST:
                    loop.call_soon_threadsafe(exchange.too_long)
                elif line.strip():
                    loop.call_soon_threadsafe(exchange.receive, line)
                line, is_long = b"", False
            line += rest
            if len(line) > _LONGEST:
                line, is_long = b"", True
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(ended.set)
