"""A stand-in for Ollama: speaks its HTTP as measured, answers from scripts, and misbehaves on demand.

In a test's own event loop:

    async with StandIn(["first reply", Script("second", ending=Ending.EOF)]) as server:
        ...  # server.host

for code that runs a loop of its own, `with StandIn(...).in_thread() as server`, and for other processes

    python -m standin_ollama --replies FILE

which prints its address and serves until it is terminated. FILE holds one reply a line: a JSON string, or an
object with the fields of `Script`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Self

Body = Mapping[str, object]
PATIENCE = 20.0
"""Seconds after which a test that waits for something gives up."""
TOKENS_A_MESSAGE = 4
"""What the stand-in counts for the template around a message."""


class Ending(StrEnum):
    """How a streamed reply ends."""

    DONE = "done"
    EOF = "eof"
    """Regularly, but without the final `done`, as after too many identical tokens."""
    ERROR = "error"
    """With a line that holds an error."""
    BREAK = "break"
    """The connection is closed in the middle."""
    RESET = "reset"
    """The connection is reset."""
    STALL = "stall"
    """Never: nothing more is sent."""


@dataclass(frozen=True)
class Script:
    """One reply, and how it is sent."""

    text: str = ""
    thinking: str = ""
    """Thought before the text, by a model that can think and was not told not to."""
    token: int = 8
    """Code points that are sent, and counted, as one token."""
    load: float = 0.0
    """Seconds before anything is sent."""
    pause: float = 0.0
    """Seconds before each token but the first."""
    packet: int | None = None
    """Bytes sent at once, however that cuts lines and characters; None: a line at a time."""
    ending: Ending = Ending.DONE
    done_reason: str = "stop"
    error: str = "an error was encountered while running the model: unexpected EOF"
    """What the last line says where `ending` is ERROR."""
    prompt_tokens: int | None = None
    """The count to report; None: what was counted; 0 is left out, as Ollama leaves out zeros."""
    status: int = 200
    body: str | None = None
    """Sent instead of a stream; with a status other than 200, an error as Ollama writes it."""


@dataclass(frozen=True)
class Model:
    """A model that the stand-in has installed."""

    name: str
    capabilities: tuple[str, ...] = ("completion",)
    context_length: int = 32768
    parameter_size: str = "7.6B"
    family: str = "qwen2"
    remote_host: str | None = None


@dataclass(frozen=True)
class Request:
    """An HTTP request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    """By names in lower case."""
    body: Body


Replies = Callable[[Body], "str | Script"] | Sequence["str | Script"]
"""What chats are answered with: by a function of the request's body, or in order."""


@dataclass
class StandIn:
    """The server. One generation at a time, as Ollama by default; a client that hangs up ends its own."""

    replies: Replies = ()
    models: Sequence[Model] = (Model("qwen2.5-coder:7b"),)
    version: str = "0.24.0"
    """From 0.30 on, prompts that are too long are cut in another way."""
    instead: Mapping[str, Script] = field(default_factory=dict)
    """What is sent for a path in place of its regular answer."""
    port: int = 0
    """The port to listen on; 0: any."""
    host: str = ""
    """Its address once it runs."""
    seen: list[Request] = field(default_factory=list)
    """Every HTTP request."""
    events: list[str] = field(default_factory=list)
    """What became of chats: `request 1`, `load 1`, `first byte 1`, `done 1`, `disconnected 1`, ….

    `load` says that the model had to be loaded, anew if its context window is another than before.
    """

    def __post_init__(self) -> None:
        self._slot = asyncio.Lock()
        self._changed = asyncio.Condition()
        self._writers: set[asyncio.StreamWriter] = set()
        self._loaded: tuple[str, int] | None = None
        self._answered = 0

    @property
    def requests(self) -> list[Body]:
        """The bodies of all chats."""
        return [request.body for request in self.seen if request.path == "/api/chat"]

    @property
    def connections(self) -> int:
        """How many are open."""
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
        """Serve from a thread, for code that is not in this event loop."""
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
        """One connection, from its beginning to its end."""
        self._writers.add(writer)
        try:
            ahead = b""
            while request := await _read_request(ahead, reader):
                self.seen.append(request)
                ahead = await self._answer_unless_gone(request, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            self._writers.discard(writer)
            await self._happened()

    async def _answer_unless_gone(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes:
        """Answer; give up when the client hangs up. Returns what was read ahead of the next request."""
        number = len(self.requests)
        answer = asyncio.create_task(self._answer(request, number, writer))
        watch = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({answer, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and _hung_up(watch):
                if request.path == "/api/chat":
                    await self._happened(f"disconnected {number}")
                raise ConnectionAbortedError
            await answer
            return watch.result() if watch.done() else b""
        finally:
            answer.cancel()
            watch.cancel()
            await asyncio.gather(answer, watch, return_exceptions=True)

    async def _answer(self, request: Request, number: int, writer: asyncio.StreamWriter) -> None:
        path, body = request.path, request.body
        if script := self.instead.get(path):
            await asyncio.sleep(script.load)
            return await _respond(writer, script.status, script.body or "")
        match request.method, path:
            case "GET" | "HEAD", "/":
                return await _respond(writer, 200, "Ollama is running", "text/plain")
            case "GET", "/api/version":
                return await _respond(writer, 200, _json({"version": self.version}))
            case "GET", "/api/tags":
                return await _respond(writer, 200, _json({"models": [_tag(model) for model in self.models]}))
            case "GET", "/api/ps":
                return await _respond(writer, 200, _json({"models": self._running()}))
            case "POST", "/api/show" | "/api/chat":
                model = self._model(str(body.get("model")))
                if model is None:
                    return await _refuse(writer, 404, f"model '{body.get('model')}' not found")
                if path == "/api/show":
                    return await _respond(writer, 200, _json(_shown(model)))
                return await self._chat(model, body, number, writer)
            case _, "/" | "/api/version" | "/api/tags" | "/api/ps" | "/api/show" | "/api/chat":
                return await _respond(writer, 405, "405 method not allowed", "text/plain")
        return await _respond(writer, 404, "404 page not found", "text/plain")

    def _model(self, name: str) -> Model | None:
        named = name if ":" in name else f"{name}:latest"
        return next((model for model in self.models if model.name == named), None)

    def _running(self) -> list[Body]:
        if self._loaded is None:
            return []
        name, window = self._loaded
        return [{"name": name, "model": name, "context_length": window, "size": 1, "size_vram": 0}]

    async def _chat(self, model: Model, body: Body, number: int, writer: asyncio.StreamWriter) -> None:
        if body.get("think") and "thinking" not in model.capabilities:
            return await _refuse(writer, 400, f'"{model.name}" does not support thinking')
        await self._happened(f"request {number}")
        async with self._slot:
            script = self._script(body)
            window = _option(body, "num_ctx", 4096)
            if self._loaded != (model.name, window):
                self._loaded = (model.name, window)
                await self._happened(f"load {number}")
            await asyncio.sleep(script.load)
            if script.body is not None:
                return await _respond(writer, script.status, script.body)
            if script.status != 200:
                return await _refuse(writer, script.status, script.error)
            return await self._stream(script, model, body, number, writer)

    def _script(self, body: Body) -> Script:
        if callable(self.replies):
            reply = self.replies(body)
        elif self._answered < len(self.replies):
            reply = self.replies[self._answered]
        else:
            reply = Script(status=500, error=f"the stand-in has no reply number {self._answered + 1}")
        self._answered += 1
        return Script(reply) if isinstance(reply, str) else reply

    async def _stream(
        self, script: Script, model: Model, body: Body, number: int, writer: asyncio.StreamWriter
    ) -> None:
        thinks = "thinking" in model.capabilities and body.get("think") is not False
        messages = [{"content": "", "thinking": token} for token in _tokens(script.thinking, script) if thinks]
        messages += [{"content": token} for token in _tokens(script.text, script)]
        limit = _option(body, "num_predict", -1)
        reason = script.done_reason
        if 0 < limit < len(messages):
            del messages[limit:]
            reason = "length"
        lines = [_part(model, message) for message in messages]
        if script.ending is Ending.DONE:
            lines.append(_last_part(model, reason, self._counted(script, model, body), len(messages)))
        elif script.ending is Ending.ERROR:
            lines.append({"error": script.error})
        stream = _Stream(writer, script.packet)
        for index, line in enumerate(lines):
            await asyncio.sleep(script.pause if index else 0)
            await stream.send(_json(line) + "\n")
            if index == 0:
                await self._happened(f"first byte {number}")
        if script.ending is Ending.STALL:
            await asyncio.Event().wait()
        if script.ending is Ending.RESET:
            _reset_on_close(writer)
        if script.ending in (Ending.BREAK, Ending.RESET):
            raise ConnectionAbortedError
        await stream.end()
        if script.ending is Ending.DONE:
            await self._happened(f"done {number}")

    def _counted(self, script: Script, model: Model, body: Body) -> int:
        """The prompt's tokens as reported: silently fewer if the prompt had to be cut."""
        if script.prompt_tokens is not None:
            return script.prompt_tokens
        count, window = count_tokens(body), min(_option(body, "num_ctx", 4096), model.context_length)
        if count <= window:
            return count
        return window if tuple(map(int, self.version.split(".")[:2])) < (0, 30) else window // 2 + 2


def count_tokens(body: Body) -> int:
    """How many tokens the stand-in finds in a chat's messages: one a word, and some for each message."""
    messages = body["messages"]
    assert isinstance(messages, list)
    return sum(len(message.get("content", "").split()) + TOKENS_A_MESSAGE for message in messages)


async def _read_request(ahead: bytes, reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection; None if there is none."""
    try:
        head = (ahead + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *rest = head.rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
    content = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, json.loads(content) if content else {})


def _hung_up(watch: asyncio.Task[bytes]) -> bool:
    return watch.done() and (watch.exception() is not None or not watch.result())


async def _respond(
    writer: asyncio.StreamWriter, status: int, content: str, kind: str = "application/json; charset=utf-8"
) -> None:
    data = content.encode()
    writer.write(f"HTTP/1.1 {status} -\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n\r\n".encode())
    writer.write(data)
    await writer.drain()


async def _refuse(writer: asyncio.StreamWriter, status: int, error: str) -> None:
    await _respond(writer, status, _json({"error": error}))


class _Stream:
    """A chunked response; its head goes out with the first text."""

    def __init__(self, writer: asyncio.StreamWriter, packet: int | None) -> None:
        self._writer = writer
        self._packet = packet
        self._begun = False

    async def send(self, text: str) -> None:
        """Send `text`, a packet at a time."""
        self._begin()
        data = text.encode("utf-8", "replace")
        size = self._packet or len(data)
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            self._writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await self._writer.drain()

    async def end(self) -> None:
        """End the response as HTTP asks for."""
        self._begin()
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n")
            self._writer.write(b"Transfer-Encoding: chunked\r\n\r\n")


def _reset_on_close(writer: asyncio.StreamWriter) -> None:
    """Make the connection end with a reset instead of a farewell."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


def _tokens(text: str, script: Script) -> list[str]:
    return [text[start : start + script.token] for start in range(0, len(text), script.token)]


def _part(model: Model, message: Body) -> Body:
    return {
        "model": model.name,
        "created_at": "2026-01-01T00:00:00.000000001Z",
        "message": {"role": "assistant", **message},
        "done": False,
    }


def _last_part(model: Model, reason: str, read: int, written: int) -> Body:
    counts = {"prompt_eval_count": read, "eval_count": written}
    return {
        **_part(model, {"content": ""}),
        "done": True,
        "done_reason": reason,
        "total_duration": 5_000_000,
        "load_duration": 1_000_000,
        **{name: count for name, count in counts.items() if count},
        "prompt_eval_duration": 2_000_000,
        "eval_duration": 2_000_000,
    }


def _tag(model: Model) -> Body:
    details = {"family": model.family, "parameter_size": model.parameter_size, "quantization_level": "Q4_K_M"}
    remote = {"remote_host": model.remote_host} if model.remote_host else {}
    return {"name": model.name, "model": model.name, "size": 4_700_000_000, "details": details, **remote}


def _shown(model: Model) -> Body:
    info = {"general.architecture": model.family, f"{model.family}.context_length": model.context_length}
    remote = {"remote_host": model.remote_host} if model.remote_host else {}
    return {"capabilities": list(model.capabilities), "model_info": info, "details": {}, **remote}


def _option(body: Body, name: str, default: int) -> int:
    options = body.get("options")
    value = options.get(name, default) if isinstance(options, dict) else default
    assert isinstance(value, int)
    return value


def _json(value: Body) -> str:
    """JSON as Go writes it: NEL stays as it is, the line separators and what HTML minds are escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def read_replies(path: Path) -> list[str | Script]:
    """The replies in a file, one a line: a JSON string, or an object with the fields of Script."""
    values = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    return [value if isinstance(value, str) else _script(value) for value in values]


def _script(fields: dict[str, object]) -> Script:
    ending = Ending(str(fields.pop("ending", "done")))
    return Script(**fields, ending=ending)  # type: ignore[arg-type]  # a wrong type shows when it is sent


async def _serve_forever(standin: StandIn) -> None:
    async with standin:
        print(standin.host, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Serve the replies of a file until terminated."""
    parser = argparse.ArgumentParser(prog="standin_ollama", description="A stand-in for Ollama, for tests.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--replies", type=Path, required=True)
    parser.add_argument("--model", action="append", help="installed model; may be given more than once")
    arguments = parser.parse_args()
    models = [Model(name) for name in arguments.model or ["qwen2.5-coder:7b"]]
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve_forever(StandIn(read_replies(arguments.replies), models=models, port=arguments.port)))


if __name__ == "__main__":
    main()
