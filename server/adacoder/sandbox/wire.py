"""The server's end of the connection to a worker, the process that runs examples. `worker.py` describes the messages.

Commands and answers take turns. Every command has a nonce, a random text that the answer must repeat. An unexpected
message lacks the nonce, and is detected.
"""

from __future__ import annotations

import asyncio
import secrets
import select
import socket
import struct
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adacoder.domain import NOTHING, Reached
from adacoder.pytext import Lines, statements
from adacoder.sandbox.child.testing import EXPLANATION_LIMIT, TEXT_LIMIT
from adacoder.sandbox.child.tracing import MOST_KEPT, TRACE_LIMIT
from adacoder.sandbox.child.worker import pack, unpack
from adacoder.traces import Executed, Trace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from adacoder.sandbox.program import Program

MESSAGE_LIMIT = 16 << 20
"""Maximum size of an answer in bytes, larger than the longest output and error message."""


CHANGES = frozenset(
    {
        *("threads", "open files", "files in its folder", "the current folder"),
        *("the environment", "sys.path", "signal handlers", "caches"),
    }
)
"""Parts of a process's state that an import may change, named as in `standing.py`.

`caches` are cache files in the home folder, which were removed after the import.
"""
_MOST_TEXTS = 10_000
_MOST_INSTEAD = 300
_MOST_CHANGE = 100
"""Maximum length of a name in a report of changes."""
MOST_COMPILED = 1000
"""Maximum number of files that a docstring reports as compiled, and that an importer compiles for its docstrings."""
_MOST_AHEAD = 1 << 16
"""Maximum number of bytes of commands that are sent ahead of the first answer. A socket's buffer has room for them."""
_MOST_OF_TESTS = 64 << 20
"""Maximum number of characters in the results of all tests."""
_RAN = {"yes": True, "no": False}


class ProtocolError(Exception):
    """The worker violated the protocol. The message describes the violation in a clause."""


class HungUpError(Exception):
    """The worker closed the connection, or died."""


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception, as the worker described it."""

    message: str
    """The text of `traceback.format_exception_only`, such as `Type: message`."""
    bases: frozenset[str]
    """Names of the exception's built-in classes."""
    line: int | None
    """The candidate's innermost line in the traceback, as a 1-based line of the module. None if there is none."""
    origin: str
    """`example` if a line of the example raised the exception, `syntax` if the example does not compile, else empty."""
    cause: str = ""
    """The message of an OSError that led to the exception, or empty."""


@dataclass(frozen=True, slots=True)
class SyntaxBroken:
    """An answer to `load`: the text does not compile."""

    line: int
    """The line of the error in the module's text, counted from 1."""
    message: str
    in_candidate: bool


@dataclass(frozen=True, slots=True)
class Imported:
    """An answer to `load`: the import succeeded or raised an exception."""

    missing: tuple[str, ...]
    """Names from `Program.suspects` that are undefined."""
    left_out: tuple[int, ...] = ()
    """Lines of syntax errors in statements that were left out, counted from 1."""
    defines: bool = True
    raised: Raised | None = None
    reachable: Reached = NOTHING
    """Lines and branches of the target's code that tests or examples can reach, if requested."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer to `run`: the output of an example, its value or exception, and the lines of the target that ran."""

    printed: str = ""
    shown: str = ""
    """The value's `repr` and a newline. Empty for None and for statements."""
    raised: Raised | None = None
    plain: str = ""
    """The `repr` of the value's plain copy, see `plain` in `worker.py`. Empty if the copy does not exist, or was not
    requested.
    """
    class_name: str = ""
    """Name of the value's class, if requested."""
    ran: bool | None = None
    """True if the example ran the target or used its results. None if this is uncertain."""
    instead: str = ""
    """Description of the function that ran instead of the target. Empty if no such function is known."""
    reached: Reached = NOTHING
    """Lines and branches of the target's code that the example reached, if requested."""


@dataclass(frozen=True, slots=True)
class RanTest:
    """The result of a test of the project, or of one case of a parametrised test."""

    name: str
    outcome: str
    """`passed`, `failed` or `skipped`, or empty if the test did not end."""
    seconds: float
    entered: bool | None
    """True if the test ran the target. None if this is uncertain, or was not observed."""
    raised: Raised
    explanation: str
    source: str
    ran: frozenset[tuple[str, int]]


class Channel:
    """Sends and receives messages over a non-blocking socket. The owner of the socket closes it."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._received = bytearray()
        self.sender: int | None = None
        """Id, as the server sees it, of the process that sent the first message. None if the kernel does not tell."""

    @property
    def hung_up(self) -> bool:
        """True if the other end of the connection is closed, for example because its process died."""
        watch = select.poll()
        watch.register(self._socket, 0)  # poll(2) reports a closed connection even if no event is requested.
        return bool(watch.poll(0))

    def is_silent(self) -> bool:
        """Return whether no unread bytes are waiting.

        Raises:
            HungUpError: the other end is closed.
        """
        if self._received:
            return False
        try:
            waiting = self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except ConnectionError:
            waiting = b""
        if not waiting:
            raise HungUpError("it ended")
        return False

    async def send(self, *texts: str, descriptor: int | None = None) -> None:
        """Send a message. Also send the file descriptor `descriptor`, if one is given.

        Raises:
            HungUpError: this end or the other end is closed.
        """
        await self.send_packed(pack(texts), descriptor)

    async def send_packed(self, messages: bytes, descriptor: int | None = None) -> None:
        """Send messages that `pack` has encoded. `descriptor` is as in `send`."""
        rest = memoryview(messages)
        attached = [] if descriptor is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", descriptor))]
        while rest:
            try:
                rest = rest[self._socket.sendmsg([rest], attached) :]
                attached = []
            except BlockingIOError:
                await writable(self._socket.fileno())
            except OSError:  # This end or the other end is closed.
                raise HungUpError("it ended") from None

    async def receive(self) -> list[str]:
        """Receive the next message.

        Raises:
            HungUpError: the other end is closed.
            ProtocolError: the message is malformed.
        """
        size = int.from_bytes(await self._take(4), "little")
        if size > MESSAGE_LIMIT:
            raise ProtocolError("its answer is too long")
        try:
            return unpack(await self._take(size), _MOST_TEXTS)
        except ValueError as error:
            raise ProtocolError("its answer is garbled") from error

    async def _take(self, size: int) -> bytes:
        while len(self._received) < size:
            try:
                part = self._read()
            except BlockingIOError:
                await readable(self._socket.fileno())
                continue
            except OSError:
                part = b""
            if not part:
                raise HungUpError("it ended")
            self._received += part
        taken = bytes(self._received[:size])
        del self._received[:size]
        return taken

    def _read(self) -> bytes:
        if self.sender is not None or not _KERNEL_NAMES_SENDERS:
            return self._socket.recv(1 << 16)
        part, ancillary, _, _ = self._socket.recvmsg(1 << 16, socket.CMSG_SPACE(_CREDENTIALS.size))
        for _, kind, data in ancillary:
            if kind == socket.SCM_CREDENTIALS:
                self.sender = _CREDENTIALS.unpack(data)[0]
        return part


def channel_pair() -> tuple[socket.socket, socket.socket]:
    """Return the two ends of a connection. The first end is for the server's Channel."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    if _KERNEL_NAMES_SENDERS:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    return ours, theirs


_KERNEL_NAMES_SENDERS = hasattr(socket, "SO_PASSCRED")
_CREDENTIALS = struct.Struct("3i")  # struct ucred of unix(7)


class WorkerLine:
    """The connection to a worker."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._asked: deque[tuple[str, tuple[str, ...]]] = deque()
        """Unanswered commands that were sent ahead, each with its nonce."""
        self.changes: tuple[str, ...] | None = None
        """Changes by the examples of an unchanged module, or None before they are reported. An empty name means an
        unknown change.
        """
        self.leans = False
        """True if the examples may need a module that an earlier docstring imported."""
        self.compiled: tuple[str, ...] = ()
        """Files of the project that had to be compiled for the examples."""
        self._end: tuple[str, str] | None = None
        """The command `end` of an unchanged module, or None if `ask_ahead` was not called."""

    async def ready(self) -> None:
        """Wait until the process is locked down.

        Raises:
            HungUpError: the process ended.
            ProtocolError: the process sent something else than this message.
        """
        if await self.channel.receive() != ["ready"]:
            raise ProtocolError("it did not announce itself")

    async def load(self, program: Program, seconds: int) -> SyntaxBroken | Imported:
        """Import the program's module. `seconds` limits the processor time of the whole evaluation.

        Raises:
            HungUpError, ProtocolError: code in the process hung up or broke the protocol.
        """
        kind, fields = await self._load(program, seconds, "")
        if kind == "unparsed":
            starts = "1"  # Treat the whole text as one statement, so that nothing is left out.
            if not program.all_count:
                text = Lines(program.text)
                starts = " ".join(str(text.line_at(statement.start) + 1) for statement in statements(program.text))
            kind, fields = await self._load(program, seconds, starts)
        match kind, fields:
            case (("broken" | "unreadable"), [line, message]):
                return SyntaxBroken(_number(line), message, kind == "broken")
            case "loaded", [missing, lines, branches, *left_out]:
                reachable = _reached(lines, branches)
                return Imported(_names(missing, program), _numbers(left_out), reachable=reachable)
            case "lacking", [missing, *left_out]:
                return Imported(_names(missing, program), _numbers(left_out), defines=False)
            case "failed", [missing, message, bases, line, origin, cause, *left_out]:
                raised = _raised(message, bases, line, origin, cause)
                return Imported(_names(missing, program), _numbers(left_out), defines=bool(origin), raised=raised)
        raise ProtocolError("its answer to 'load' has an unknown form")

    async def ask_ahead(
        self, program: Program, seconds: int, sources: Iterable[tuple[str, str]], *, is_only: bool
    ) -> None:
        """Send the commands for later calls of `load`, `run` and `end`, without waiting for answers.

        The process need not be ready yet. `sources` has the source and the form of each example. If `is_only` is True,
        no other docstring runs in the process, so the changes by the examples are not asked for.

        Code in the process can read the waiting commands. This is harmless, because the unchanged module contains the
        same examples. Answers must still repeat the nonces in order.

        Raises:
            HungUpError: the other end is closed.
        """
        self.changes, self.leans, self.compiled = None, False, ()
        self._end = "end", "" if is_only else "changes"
        await self._ask_ahead([_load(program, seconds, ""), *_runs(sources), self._end])

    async def ask_runs_ahead(self, sources: Iterable[tuple[str, str]]) -> None:
        """Send the commands for later calls of `run`, as `ask_ahead` does.

        Use this only for inputs without an expected output. Code that reads them early then learns nothing that would
        let it pass.

        Raises:
            HungUpError: the other end is closed.
        """
        await self._ask_ahead(_runs(sources))

    async def _ask_ahead(self, questions: Iterable[tuple[str, ...]]) -> None:
        data = b""
        for command, *fields in questions:
            nonce = secrets.token_hex(8)
            message = pack((command, nonce, *fields))
            if data and len(data) + len(message) > _MOST_AHEAD:  # Both ends could then wait for each other to read.
                break
            self._asked.append((nonce, (command, *fields)))
            data += message
        await self.channel.send_packed(data)

    async def _load(self, program: Program, seconds: int, starts: str) -> tuple[str, list[str]]:
        return await self._ask(*_load(program, seconds, starts))

    async def import_(self, name: str, path: str = "", text: str = "") -> tuple[str, tuple[str, ...]]:
        """Import an unchanged module.

        Return the outcome, and the changed parts of the process's state, see `standing.py`.

        Raises:
            HungUpError, ProtocolError: code in the process hung up or broke the protocol.
        """
        match await self._ask("import", name, path, text):
            case ((("there" | "imported" | "failed") as how), changes):
                return how, tuple(change for change in changes if change in CHANGES)
        raise ProtocolError("its answer to 'import' has an unknown form")

    async def run(self, source: str, form: str = "") -> Answer:
        """Run one example. `form` is `Example.form`.

        Raises:
            HungUpError, ProtocolError: code in the process hung up or broke the protocol.
        """
        return _answer(await self._ask("run", source, form))

    async def trace(self, source: str, form: str = "", *, tell: Callable[[Trace], None]) -> Answer:
        """Run one example, and call `tell` with its trace.

        If the example runs long, tracing stops early, and `tell` is called before the example ends.

        Raises:
            HungUpError, ProtocolError: code in the process hung up or broke the protocol, or `tell` raised it.
        """
        nonce = await self._send("trace", source, form)
        tell(_trace(await self._receive(nonce)))
        return _answer(await self._receive(nonce))

    async def test(
        self, program: Program, folder: str, tell: Callable[[RanTest], None]
    ) -> tuple[str, Reached, frozenset[str]]:
        """Run the program's tests in the workspace `folder`, and call `tell` with each result.

        Return three results: a line about each file that cannot be collected; the lines and branches of the target that
        the tests reached; the files that the tests read. The second and third results are empty unless they were
        requested.

        Raises:
            HungUpError, ProtocolError: code in the process hung up or broke the protocol.
        """
        kind = "functions" if program.by_function else "explained" if program.explained else "target"
        nonce = await self._send("test", folder, kind, *program.tests)
        room = _MOST_OF_TESTS
        while True:
            match await self._receive(nonce):
                case "finished", [troubles, lines, branches, *files]:
                    return troubles[:EXPLANATION_LIMIT], _reached(lines, branches), frozenset(files)
                case "tested", fields:
                    room -= len(fields) + sum(map(len, fields))
                    if room < 0:
                        raise ProtocolError("it reports too much about tests")
                    tell(_tested(fields))
                case _:
                    raise ProtocolError("its answer to 'test' has an unknown form")

    async def end(self, program: Program) -> tuple[str, ...]:
        """Check that the worker sent nothing unexpected. Return the `suspects` of the program that are still undefined.

        Raises:
            HungUpError, ProtocolError: code in the process hung up or broke the protocol.
        """
        if self._end is not None:
            return ()  # `ask_changes` reads the worker's answer.
        if not program.suspects:
            if not self.channel.is_silent():
                raise ProtocolError("it spoke out of turn")
            return ()
        match await self._ask("end"):
            case "ended", [missing]:
                return _names(missing, program)
        raise ProtocolError("its answer to 'end' has an unknown form")

    async def ask_changes(self) -> None:
        """Receive the changes by the examples of an unchanged module, and the files that had to be compiled.

        Do nothing if `ask_ahead` was not called.

        Raises:
            HungUpError, ProtocolError: code in the process hung up or broke the protocol.
        """
        if self._end is None:
            return
        match await self._ask(*self._end):
            case "ended", ["", leans, compiled, *changes]:
                self.compiled = tuple(filter(None, compiled.split("\0", MOST_COMPILED)[:MOST_COMPILED]))
                if self._end[1]:
                    self.changes, self.leans = tuple(map(_told, changes)), bool(leans)
            case _:
                raise ProtocolError("its answer to 'end' has an unknown form")

    async def _ask(self, *question: str) -> tuple[str, list[str]]:
        if self._asked and self._asked[0][1] == question:
            nonce, _ = self._asked.popleft()
        else:
            nonce = await self._send(*question)
        return await self._receive(nonce)

    async def _send(self, command: str, *fields: str) -> str:
        nonce = secrets.token_hex(8)
        await self.channel.send(command, nonce, *fields)
        return nonce

    async def _receive(self, nonce: str) -> tuple[str, list[str]]:
        match await self.channel.receive():
            case [kind, echo, *answer] if secrets.compare_digest(echo.encode(errors="replace"), nonce.encode()):
                return kind, answer
        raise ProtocolError("it spoke out of turn")


def _runs(sources: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    return (("run", source, form) for source, form in sources)


def _load(program: Program, seconds: int, starts: str) -> tuple[str, ...]:
    module = program.module
    return (
        "load",
        str(seconds),
        module.name,
        str(module.path),
        program.qualname,
        str(program.first_line),
        str(program.last_line),
        " ".join(program.suspects),
        "lines" if program.by_line and not program.traced else "",
        "unchanged" if program.is_unchanged else "",
        starts,
        *(("", "") if program.document is None else (str(program.document), str(module.top or module.root))),
        program.text,
        *(text for path, overlay in program.overlays.items() for text in (str(path), overlay)),
    )


def _answer(answer: tuple[str, list[str]]) -> Answer:
    match answer:
        case "done", [ran, instead, lines, branches, printed, shown, plain, class_name]:
            raised = None
        case "raised", [ran, instead, lines, branches, printed, message, bases, line, origin, cause]:
            raised, shown, plain, class_name = _raised(message, bases, line, origin, cause), "", "", ""
        case _:
            raise ProtocolError("its answer to 'run' has an unknown form")
    reached = _reached(lines, branches)
    return Answer(printed, shown, raised, plain, class_name, _RAN.get(ran), instead[:_MOST_INSTEAD], reached)


def _trace(answer: tuple[str, list[str]]) -> Trace:
    match answer:
        case "traced", [ended, left_out, kept, *texts] if len(texts) <= MOST_KEPT:
            if sum(map(len, texts)) <= TRACE_LIMIT:
                executed, first = tuple(map(_executed, texts)), _number(kept)
                return Trace(executed[:first], executed[first:], _number(left_out), ended == "yes")
    raise ProtocolError("its answer to 'trace' has an unknown form")


def _executed(text: str) -> Executed:
    match text.split("\n"):
        case [place, gave, raised, *values]:
            call, _, line = place.partition(" ")
            pairs = [value.partition("=") for value in values]
            return Executed(
                _number(call), _number(line), tuple((name, value) for name, _, value in pairs), gave, raised
            )
    raise ProtocolError("an executed line has an unknown form")


def _tested(fields: list[str]) -> RanTest:
    match fields:
        case [name, outcome, milliseconds, entered, message, bases, explanation, source, *places]:
            ran = (place.partition(":") for place in places)
            return RanTest(
                name[:TEXT_LIMIT],
                outcome,
                _number(milliseconds) / 1000,
                _RAN.get(entered),
                _raised(message[:TEXT_LIMIT], bases, "0", ""),
                explanation[:EXPLANATION_LIMIT],
                source[:TEXT_LIMIT],
                frozenset((path, _number(line)) for line, _, path in ran),
            )
    raise ProtocolError("the result of a test has an unknown form")


def _raised(message: str, bases: str, line: str, origin: str, cause: str = "") -> Raised:
    return Raised(message, frozenset(bases.split()), _number(line) or None, origin, cause)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ProtocolError("it sent something other than a line number")
    return int(text)


def _numbers(texts: list[str]) -> tuple[int, ...]:
    return tuple(_number(text) for text in texts)


def _reached(lines: str, branches: str) -> Reached:
    ways = [way.partition(">") for way in branches.split()]
    return Reached(frozenset(_numbers(lines.split())), frozenset((_number(line), _number(to)) for line, _, to in ways))


def _told(change: str) -> str:
    return "".join(filter(str.isprintable, change[:_MOST_CHANGE]))


def _names(text: str, program: Program) -> tuple[str, ...]:
    """Return the suspects of the program that `text` names. Ignore other names, which a worker may send."""
    names = set(text.split())
    return tuple(name for name in program.suspects if name in names)


async def readable(descriptor: int) -> None:
    """Wait until `descriptor` can be read, or its other end is closed."""
    loop = asyncio.get_running_loop()
    await _until(loop.add_reader, loop.remove_reader, descriptor)


async def writable(descriptor: int) -> None:
    """Wait until `descriptor` can be written to, or its other end is closed."""
    loop = asyncio.get_running_loop()
    await _until(loop.add_writer, loop.remove_writer, descriptor)


async def _until(
    watch: Callable[[int, Callable[[], None]], object], unwatch: Callable[[int], object], descriptor: int
) -> None:
    ready = asyncio.Event()
    watch(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        unwatch(descriptor)
