"""The common part of all stand-ins for model servers: HTTP, connections, scripts, and a log of requests.

A subclass of `StandInServer` answers as its server does. A stand-in runs in a test's event loop (`async with`), in a
thread (`in_thread`), or as a program (`main`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self
from urllib.parse import urlsplit

Body = Mapping[str, Any]
_TLS = b"\x16"
"""First byte from a client that uses TLS."""
PATIENCE = 20.0
"""Seconds that a test may wait before it fails."""


class Ending(StrEnum):
    """The end of a streamed reply."""

    DONE = "done"
    EOF = "eof"
    """The stream ends without its last part, as in Ollama after too many equal tokens."""
    ERROR = "error"
    """The last line is an error."""
    BREAK = "break"
    """The connection is closed before the end."""
    RESET = "reset"
    """The connection is reset."""
    STALL = "stall"
    """The stream never ends, but sends nothing more."""


@dataclass(frozen=True)
class Script:
    """A reply, and the way to send it."""

    text: str = ""
    thinking: str = ""
    """Thoughts before the text. They are sent only if the model can think and the request allows it."""
    token: int = 8
    """Number of characters in a token. A token is sent as a whole."""
    load: float = 0.0
    """Seconds to load the model, before anything is sent."""
    reading: float = 0.0
    """Seconds to read the whole prompt; less if a part is cached. Only some stand-ins use this."""
    pause: float = 0.0
    """Seconds to wait before each token but the first, and after each item of `raw`."""
    until: threading.Event | None = None
    """Event that must be set before the second token is sent; None to send at once."""
    packet: int | None = None
    """Number of bytes to send at once; None to send whole lines. With a number, lines and characters may be split."""
    ending: Ending = Ending.DONE
    done_reason: str = "stop"
    error: str = "an error was encountered while running the model: unexpected EOF"
    """Text of the error. It is in the last line if `ending` is ERROR, and in the response if the status is an error."""
    prompt_tokens: int | None = None
    """Number of prompt tokens to report; None for the actual number, 0 to report none."""
    status: int = 200
    body: str | None = None
    """Body to send instead of a stream; None for a stream, or for an error if `status` is not 200."""
    raw: Iterable[bytes] | None = None
    """Bytes to send unchanged instead of a response. Afterwards the connection is closed."""

    async def goes_on(self) -> None:
        """Wait until the second token may be sent."""
        while self.until is not None and not self.until.is_set():  # noqa: ASYNC110  # Another thread sets the event.
            await asyncio.sleep(0.02)

    def tokens(self, text: str) -> list[str]:
        return [text[start : start + self.token] for start in range(0, len(text), self.token)]

    def spoken(self, thought: str, stops: Iterable[str]) -> tuple[list[str], list[str], int]:
        """Return the tokens of `thought`, the tokens of the text, and the number of written tokens.

        The first stop text ends the reply. The tokens of the stop text are not returned, but count as written.
        """
        texts, held = [thought, self.text], 0
        for index, text in enumerate(texts):
            ends = [(text.index(stop), len(stop)) for stop in stops if stop in text]
            if ends:
                end, length = min(ends)
                texts[index:] = [text[:end], *[""] * (len(texts) - index - 1)]
                held = len(self.tokens(text[: end + length])) - len(self.tokens(text[:end]))
                break
        sent = [self.tokens(text) for text in texts]
        return sent[0], sent[1], len(sent[0]) + len(sent[1]) + held


@dataclass(frozen=True)
class Request:
    """A received HTTP request."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Headers, by lower-case name."""
    body: Body


Replies = Callable[[Body], "str | Script"] | Sequence["str | Script"]
"""The replies to chats: a list, or a function of the request's body."""


@dataclass
class StandInServer:
    """A server with one slot, which writes one reply at a time.

    If a client hangs up, its request ends, even while waiting for the slot.
    """

    CHATS: ClassVar[str]
    """Path of chat requests."""

    replies: Replies = ()
    instead: Mapping[str, Script] = field(default_factory=dict, kw_only=True)
    """Scripts by path. They replace the stand-in's answers to requests that are no chats."""
    port: int = field(default=0, kw_only=True)
    """Port to listen on; 0 for any free port."""
    host: str = field(default="", kw_only=True)
    """Address of the server; empty until it runs."""
    requests_a_connection: int | None = field(default=None, kw_only=True)
    """Number of requests after which a connection is closed; None for no limit.

    The connection closes just when the next request arrives, as in real servers when a connection times out.
    """
    seen: list[Request] = field(default_factory=list, kw_only=True)
    """All HTTP requests."""
    events: list[str] = field(default_factory=list, kw_only=True)
    """Events of chats, with the number of the chat: `request 1`, `load 1` if a model was loaded, and `first byte 1`.

    The last event of a chat is an `Ending` such as `done 1`, `refused 1` for an answer that is no stream, or
    `disconnected 1` if the client hung up.
    """

    def __post_init__(self) -> None:
        self._slot = asyncio.Lock()
        self._changed = asyncio.Condition()
        self._writers: set[asyncio.StreamWriter] = set()
        self._answered = 0

    async def _answer(self, request: Request, number: int, writer: asyncio.StreamWriter) -> None:
        """Answer a request. `number` is the number of chats so far, including this one."""
        raise NotImplementedError

    def _error(self, text: str) -> str:
        return json.dumps({"error": text})

    @property
    def requests(self) -> list[Body]:
        """The bodies of all chat requests. Empty bodies are left out."""
        return [request.body for request in self.seen if request.path == self.CHATS and request.body]

    @property
    def connections(self) -> int:
        """Number of open connections."""
        return len(self._writers)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        self.host = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await self.until_idle()
        await self._server.wait_closed()

    @contextmanager
    def in_thread(self) -> Iterator[Self]:
        """Serve from a thread, for code outside this event loop."""
        ready = threading.Event()

        async def serve() -> None:
            async with self:
                self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
                ready.set()
                await self._stop.wait()

        thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
        thread.start()
        ready.wait(PATIENCE)
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._stop.set)
            thread.join(PATIENCE)

    async def until(self, event: str) -> None:
        """Wait until `event` has happened."""
        await self._until(lambda: event in self.events)

    async def until_asked(self, path: str) -> None:
        """Wait until a request for `path` has arrived."""
        await self._until(lambda: any(request.path == path for request in self.seen))

    async def until_idle(self) -> None:
        """Wait until no connection is open."""
        await self._until(lambda: self.connections == 0)

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(holds)

    async def _happened(self, event: str | None = None) -> None:
        async with self._changed:
            if event is not None:
                self.events.append(event)
            self._changed.notify_all()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            ahead, before = b"", 0
            while request := await _read_request(ahead, reader):
                if before == self.requests_a_connection:
                    break
                before += 1
                self.seen.append(request)
                await self._happened()
                ahead = await self._answer_unless_gone(request, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except UnicodeError as error:
            await respond(writer, 400, str(error), "text/plain")
        finally:
            writer.close()
            self._writers.discard(writer)
            await self._happened()

    async def _answer_unless_gone(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes:
        """Answer a request, but stop if the client hangs up.

        To notice this, read a byte meanwhile. If the next request arrives, return this byte, which is its first.
        """
        number = len(self.requests)
        if script := self.instead.get(request.path):
            answer = asyncio.create_task(self._answer_instead(script, writer))
        else:
            answer = asyncio.create_task(self._answer(request, number, writer))
        watch = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({answer, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and _hung_up(watch):
                raise ConnectionResetError
            await answer
            return watch.result() if watch.done() else b""
        except (ConnectionResetError, BrokenPipeError):
            if request.path == self.CHATS:
                await self._happened(f"disconnected {number}")
            raise
        finally:
            answer.cancel()
            watch.cancel()
            await asyncio.gather(answer, watch, return_exceptions=True)

    async def _answer_instead(self, script: Script, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(script.load)
        if script.ending in (Ending.BREAK, Ending.RESET):
            break_off(writer, script.ending)
        if script.raw is not None:
            await send_raw(writer, script.raw, script.pause)
        await respond(writer, script.status, script.body or "")

    def _next_script(self, body: Body) -> Script:
        """Return the script that answers the next chat request."""
        if callable(self.replies):
            reply = self.replies(body)
        elif self._answered < len(self.replies):
            reply = self.replies[self._answered]
        else:
            reply = Script(status=500, error=f"the stand-in has no reply number {self._answered + 1}")
        self._answered += 1
        return Script(reply) if isinstance(reply, str) else reply

    async def _refuse(self, writer: asyncio.StreamWriter, status: int, text: str, number: int = 0) -> None:
        """Answer with an error. `number` is the chat's number, or 0 for other requests."""
        if number:
            await self._happened(f"refused {number}")
        await respond(writer, status, self._error(text))

    async def _without_stream(self, script: Script, number: int, writer: asyncio.StreamWriter) -> bool:
        """Answer a chat if `script` has an answer that is no stream. Return False if it has none."""
        if script.raw is not None:
            await self._happened(f"refused {number}")
            await send_raw(writer, script.raw, script.pause)
        elif script.body is not None:
            await self._happened(f"refused {number}")
            await respond(writer, script.status, script.body)
        elif script.status != 200:
            await self._refuse(writer, script.status, script.error, number)
        else:
            return False
        return True

    async def _play(
        self, script: Script, lines: Sequence[str], endings: Mapping[Ending, str], number: int, stream: Stream
    ) -> None:
        """Send `lines` as a stream, and end it as `script` says. Some endings have a last line, given by `endings`."""
        last = endings.get(script.ending)
        for index, line in enumerate([*lines, *([] if last is None else [last])]):
            await asyncio.sleep(script.pause if index else 0)
            if index:
                await script.goes_on()
            await stream.send(line)
            if index == 0:
                await self._happened(f"first byte {number}")
        if script.ending is Ending.STALL:
            await asyncio.Event().wait()
        if script.ending in (Ending.BREAK, Ending.RESET):
            await self._happened(f"{script.ending} {number}")
            break_off(stream.writer, script.ending)
        await stream.end()
        await self._happened(f"{script.ending} {number}")


class Stream:
    """A response in chunks. Its headers are sent with the first text."""

    def __init__(self, writer: asyncio.StreamWriter, content_type: str, packet: int | None) -> None:
        self.writer = writer
        self._content_type = content_type
        self.packet = packet
        self.has_begun = False

    async def send(self, text: str) -> None:
        """Send `text` in packets."""
        self._begin()
        data = text.encode("utf-8", "replace")
        size = self.packet or len(data)
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            self.writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await self.writer.drain()

    async def end(self) -> None:
        """End the response properly."""
        self._begin()
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    def _begin(self) -> None:
        if not self.has_begun:
            self.has_begun = True
            self.writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {self._content_type}\r\n".encode())
            self.writer.write(b"Transfer-Encoding: chunked\r\n\r\n")


async def respond(
    writer: asyncio.StreamWriter, status: int, content: str, kind: str = "application/json; charset=utf-8"
) -> None:
    """Send a whole response."""
    data = content.encode()
    writer.write(f"HTTP/1.1 {status} -\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n".encode())
    writer.write(data)
    await writer.drain()


async def send_raw(writer: asyncio.StreamWriter, pieces: Iterable[bytes], pause: float) -> NoReturn:
    """Send `pieces` unchanged, with `pause` seconds between two pieces. Then close the connection."""
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(pause)
    raise ConnectionAbortedError


def break_off(writer: asyncio.StreamWriter, ending: Ending) -> NoReturn:
    """End a connection before the response is complete. RESET resets the connection, any other ending closes it."""
    if ending is Ending.RESET:
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    raise ConnectionAbortedError


def compact(value: object) -> str:
    """Return JSON as Go writes it: without blanks, and with foreign letters unescaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_replies(path: Path) -> list[str | Script]:
    """Return the replies in a file. A line is a JSON string, or an object with fields of Script."""
    values = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    return [value if isinstance(value, str) else _script(value) for value in values]


def main(program: str, start: Callable[[list[str | Script], list[str], int], StandInServer]) -> None:
    """Serve the replies of a file until the process is terminated.

    `start` creates a stand-in. Its arguments are the replies, the names of the models, and the port.
    """
    parser = argparse.ArgumentParser(prog=program, description="A stand-in for a model server, for tests.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--replies", type=Path, required=True)
    parser.add_argument("--model", action="append", help="installed model; may be given more than once")
    arguments = parser.parse_args()
    models = arguments.model or ["qwen2.5-coder:7b"]
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve_forever(start(read_replies(arguments.replies), models, arguments.port)))


async def _serve_forever(standin: StandInServer) -> None:
    async with standin:
        print(standin.host, flush=True)
        await asyncio.Event().wait()


async def _read_request(ahead: bytes, reader: asyncio.StreamReader) -> Request | None:
    """Return the next request of a connection; None if there is none.

    Raises:
        UnicodeError: the client uses TLS.
    """
    ahead = ahead or await reader.read(1)
    if ahead == _TLS:
        raise UnicodeError("a client that speaks TLS")
    try:
        head = (ahead + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *rest = head.rstrip("\r\n").split("\r\n")
    method, url, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    content = await reader.readexactly(int(headers.get("content-length", "0")))
    # a client that uses this server as a proxy sends a whole URL
    return Request(method, urlsplit(url).path, headers, json.loads(content) if content else {})


def _hung_up(watch: asyncio.Task[bytes]) -> bool:
    return watch.done() and (watch.exception() is not None or not watch.result())


def _script(fields: dict[str, Any]) -> Script:
    ending = Ending(str(fields.pop("ending", "done")))
    return Script(**fields, ending=ending)
