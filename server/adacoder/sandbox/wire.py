"""The server's end of the line to a worker: typed messages over two pipes, in lockstep.

The messages themselves are described in `worker.py`. Every command carries a fresh nonce that the answer must
repeat: bytes that nobody asked for, wherever they stand, are read as the next answer and betray themselves.
"""

from __future__ import annotations

import os
import secrets
import select
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adacoder.sandbox.descriptors import readable, writable
from adacoder.sandbox.worker import pack, unpack

if TYPE_CHECKING:
    from io import FileIO

    from adacoder.sandbox.program import Program

MESSAGE_LIMIT = 16 << 20
"""Bytes of the largest answer that is read: room for the longest output beside the longest message."""


class ProtocolError(Exception):
    """The worker said what no worker says; the text is what was wrong with it."""


class HungUpError(Exception):
    """The worker closed the line, as it does when it dies."""


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception as the worker describes it."""

    message: str
    """`Type: message`, as `traceback.format_exception_only` gives it."""
    bases: frozenset[str]
    """The built-in exception classes it belongs to."""
    line: int | None
    """The innermost 1-based line of the candidate, in the module's text, that it came through."""
    origin: str
    """`example`: raised by a line of the example itself; `syntax`: it does not compile; else empty."""


@dataclass(frozen=True, slots=True)
class SyntaxBroken:
    """The text does not compile."""

    line: int
    """1-based, in the module's text."""
    message: str
    in_candidate: bool


@dataclass(frozen=True, slots=True)
class Imported:
    """The module was imported, or its import raised."""

    missing: tuple[str, ...]
    """Those of the suspects that nothing defines."""
    left_out: tuple[int, ...] = ()
    """1-based lines of syntax errors whose statements were left out."""
    defines: bool = True
    raised: Raised | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What an example printed, and what it raised."""

    output: str
    raised: Raised | None = None


class Line:
    """The line to one worker, over two descriptors that do not block and are another's to close."""

    def __init__(self, commands: FileIO, results: FileIO) -> None:
        self._commands = commands.fileno()
        self._results = results.fileno()
        self._received = bytearray()

    @property
    def hung_up(self) -> bool:
        """Whether the worker's end is closed, as it is as soon as it died."""
        watch = select.poll()
        watch.register(self._results, 0)  # a hang-up is told unasked
        return bool(watch.poll(0))

    async def ready(self) -> None:
        """Wait until the interpreter has started.

        Raises:
            HungUpError: it ended instead.
            ProtocolError: it said something else.
        """
        if await self._receive() != ["ready"]:
            raise ProtocolError("it did not announce itself")

    async def load(self, program: Program, workspace: str) -> SyntaxBroken | Imported:
        """Import the program's module.

        Raises:
            HungUpError, ProtocolError: so did whatever ran.
        """
        module = program.module
        overlays = [text for path, overlay in program.overlays.items() for text in (str(path), overlay)]
        kind, fields = await self._ask(
            "load",
            module.name,
            str(module.path),
            str(module.root),
            workspace,
            program.qualname,
            str(program.first_line),
            str(program.last_line),
            " ".join(program.suspects),
            program.text,
            *overlays,
        )
        match kind, fields:
            case (("broken" | "unreadable"), [line, message]):
                return SyntaxBroken(_number(line), message, kind == "broken")
            case (("loaded" | "lacking"), [missing, *left_out]):
                return Imported(_names(missing, program), _numbers(left_out), defines=kind == "loaded")
            case "failed", [missing, message, bases, line, origin, *left_out]:
                raised = _raised(message, bases, line, origin)
                return Imported(_names(missing, program), _numbers(left_out), defines=False, raised=raised)
        raise ProtocolError("its answer to 'load' has no known form")

    async def run(self, source: str) -> Answer:
        """Run one example.

        Raises:
            HungUpError, ProtocolError: so did whatever ran.
        """
        match await self._ask("run", source):
            case "done", [output]:
                return Answer(output)
            case "raised", [output, message, bases, line, origin]:
                return Answer(output, _raised(message, bases, line, origin))
        raise ProtocolError("its answer to 'run' has no known form")

    async def end(self, program: Program) -> tuple[str, ...]:
        """Make sure that nothing was said out of turn; returns the suspects that are still missing.

        Raises:
            HungUpError, ProtocolError: so did whatever ran.
        """
        match await self._ask("end"):
            case "ended", [missing]:
                return _names(missing, program)
        raise ProtocolError("its answer to 'end' has no known form")

    async def _ask(self, command: str, *fields: str) -> tuple[str, list[str]]:
        nonce = secrets.token_hex(8)
        await self._send(pack([command, nonce, *fields]))
        match await self._receive():
            case [kind, echo, *answer] if secrets.compare_digest(echo.encode(errors="replace"), nonce.encode()):
                return kind, answer
        raise ProtocolError("it spoke out of turn")

    async def _send(self, message: bytes) -> None:
        rest = memoryview(message)
        while rest:
            try:
                rest = rest[os.write(self._commands, rest) :]
            except BlockingIOError:
                await writable(self._commands)
            except BrokenPipeError:
                raise HungUpError("it ended") from None

    async def _receive(self) -> list[str]:
        size = int.from_bytes(await self._take(4), "little")
        if size > MESSAGE_LIMIT:
            raise ProtocolError("its answer is too long")
        try:
            return unpack(await self._take(size))
        except ValueError as error:
            raise ProtocolError("its answer is garbled") from error

    async def _take(self, size: int) -> bytes:
        while len(self._received) < size:
            try:
                part = os.read(self._results, 1 << 16)
            except BlockingIOError:
                await readable(self._results)
                continue
            if not part:
                raise HungUpError("it ended")
            self._received += part
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken


def _raised(message: str, bases: str, line: str, origin: str) -> Raised:
    return Raised(message, frozenset(bases.split()), _number(line) or None, origin)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ProtocolError("it sent something else where a line number stands")
    return int(text)


def _numbers(texts: list[str]) -> tuple[int, ...]:
    return tuple(_number(text) for text in texts)


def _names(text: str, program: Program) -> tuple[str, ...]:
    """The suspects among the names in `text`; a worker cannot accuse others."""
    names = set(text.split())
    return tuple(name for name in program.suspects if name in names)
