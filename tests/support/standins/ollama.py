"""A stand-in for Ollama. It sends scripted replies over HTTP, behaves as observed in real servers, and can misbehave.

In a test's own event loop, use it like this:

    async with StandIn(["first reply", Script("second", ending=Ending.EOF)]) as server:
        ...  # server.host

For code with its own event loop, use `with StandIn(...).in_thread() as server`. For other processes, run

    python -m support.standins.ollama --replies FILE

This prints the address, and serves until it is terminated. Each line of FILE is a reply: a JSON string, or an
object with the fields of `Script`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar

from support.standins.prompt import count_tokens, messages_of, tokens_of, without_oldest
from support.standins.runners import DURATION, Runner, Runners, seconds
from support.standins.server import (
    PATIENCE,
    Body,
    Ending,
    Replies,
    Request,
    Script,
    StandInServer,
    Stream,
    compact,
    main,
    read_replies,
    respond,
)

__all__ = ["PATIENCE", "Body", "Ending", "Model", "Replies", "Script", "StandIn", "count_tokens", "read_replies"]

NS_TO_LOAD = 500_000_000
NS_TO_READ = 1_000_000
"""Nanoseconds to read a token of the prompt. Tokens that the slot has kept from the previous prompt take no time."""
NS_TO_WRITE = 10_000_000
"""Nanoseconds to write a token of the reply."""
_DEFAULT_WINDOW = 4096
_SIZE = 4_700_000_000
"""Size of each model in bytes."""
_REPEATED = "prediction aborted, token repeat limit reached"
_STREAM = "application/x-ndjson"
_INTEGERS = ("num_ctx", "num_predict", "num_keep", "seed")


@dataclass(frozen=True)
class Model:
    """A model that is installed in the stand-in."""

    name: str
    capabilities: tuple[str, ...] = ("completion",)
    context_length: int = 32768
    parameter_size: str = "7.6B"
    family: str = "qwen2"
    """The model's family. Models of `gptoss` always think."""
    remote_host: str | None = None
    stop: tuple[str, ...] = ()
    """The model's own stop texts. A request with stop texts replaces them."""
    shifts: bool = True
    """True if the model drops the beginning of the prompt when a reply outgrows the window."""
    jinja: bool = False
    """True if the model's only template is the engine's.

    From 0.30 on, Ollama never cuts a prompt for such a model.
    """
    template: str = "{{ range .Messages }}<{{ .Role }}>{{ .Content }}{{ end }}"
    """The chat template. A template such as `{{ .Prompt }}` leaves out the system text."""
    renderer: str = ""
    """Name of a renderer that is built into Ollama. It formats chats instead of the template."""


@dataclass
class StandIn(StandInServer):
    """An Ollama server."""

    CHATS: ClassVar[str] = "/api/chat"

    models: Sequence[Model] = (Model("qwen2.5-coder:7b"),)
    version: str = "0.24.0"
    """Ollama's version. From 0.30 on, it cuts long prompts in another way. From 0.34 on, endless repetition is an
    error.
    """
    window: int | None = field(default=None, kw_only=True)
    """Window of all models; None to use the window that a request asks for."""
    memory: int = field(default=1, kw_only=True)
    """Memory in bytes that a loaded model takes."""
    cloud: bool = field(default=True, kw_only=True)
    """True if the server forwards requests for models that run elsewhere."""
    wedges: Callable[[], bool] = field(default=lambda: False, kw_only=True)
    """Called when a client closes a stream after the first part. If it returns True, the model's slot stays taken until
    the model is unloaded.
    """

    library: Mapping[str, Script] = field(default_factory=dict, kw_only=True)
    """Models that can be downloaded, each with a script for its download.

    The script's `token` is the size of a step in megabytes. `load` seconds pass before the first step, and `pause`
    seconds before each. After the first step, the download waits for `until`. Only the `ending` DONE installs the
    model.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self._loaded = Runners()
        self._behind: set[asyncio.Task[None]] = set()
        """Background tasks that go on after their request has ended."""

    async def __aexit__(self, *problem: object) -> None:
        for task in self._behind:
            task.cancel()
        await super().__aexit__(*problem)

    async def _answer(self, request: Request, number: int, writer: asyncio.StreamWriter) -> None:
        match request.method, request.path:
            case "GET" | "HEAD", "/":
                await respond(writer, 200, "Ollama is running", "text/plain")
            case "GET", "/api/version":
                await respond(writer, 200, _json({"version": self.version}))
            case "GET", "/api/tags":
                await respond(writer, 200, _json({"models": [_tag(model) for model in self.models]}))
            case "GET", "/api/ps":
                running = [_running(name, runner, self.memory) for name, runner in self._loaded.items()]
                await respond(writer, 200, _json({"models": running}))
            case "POST", "/api/pull":
                await self._pull(str(request.body.get("model")), writer)
            case "POST", "/api/show" | "/api/chat":
                await self._answer_about_model(request, number, writer)
            case _, "/" | "/api/version" | "/api/tags" | "/api/ps" | "/api/show" | "/api/chat" | "/api/pull":
                await respond(writer, 405, "405 method not allowed", "text/plain")
            case _:
                await respond(writer, 404, "404 page not found", "text/plain")

    async def _pull(self, name: str, writer: asyncio.StreamWriter) -> None:
        """Send the progress of a download as Ollama does: a large file in parts, then a small file at once."""
        stream = Stream(writer, _STREAM, None)
        await stream.send(_json({"status": "pulling manifest"}) + "\n")
        script = self.library.get(name)
        if script is None:
            await stream.send(self._error("pull model manifest: file does not exist") + "\n")
            await stream.end()
            return
        await asyncio.sleep(script.load)
        for digest, size, step in (("2bb2", _SIZE, script.token * 10**6), ("66b9", 68, 68)):
            for there in (*range(0, size, step), size):
                await asyncio.sleep(script.pause)
                state = {"status": f"pulling {digest}", "digest": f"sha256:{digest}", "total": size}
                await stream.send(_json({**state, **({"completed": there} if there else {})}) + "\n")
                if there:
                    await script.goes_on()
                if script.ending is not Ending.DONE and there:
                    await self._happened(f"pulling {name}")
                    if script.ending is Ending.STALL:
                        await asyncio.Event().wait()
                    if script.ending is Ending.ERROR:
                        await stream.send(self._error(script.error) + "\n")
                    await stream.end()
                    return
        self.models = [*self.models, Model(name)]
        for status in ("verifying sha256 digest", "writing manifest", "success"):
            await stream.send(_json({"status": status}) + "\n")
        await stream.end()

    async def _answer_about_model(self, request: Request, number: int, writer: asyncio.StreamWriter) -> None:
        body, is_chat = request.body, request.path == self.CHATS
        if is_chat:
            await self._happened(f"request {number}")
        try:
            model = self._model(body)
            if is_chat:
                self._permit(model, body)
                await self._chat(model, body, number, writer)
            else:
                await respond(writer, 200, _json(_shown(model)))
        except _Refusal as refusal:
            await self._refuse(writer, refusal.status, str(refusal), number if is_chat else 0)

    def _model(self, body: Body) -> Model:
        if not body:
            raise _Refusal(400, "missing request body")
        name = str(body.get("model") or "")
        if not name:
            raise _Refusal(400, "model is required")
        if " " in name:
            raise _Refusal(400, "invalid model name")
        named = name.lower().removeprefix("registry.ollama.ai/").removeprefix("library/")
        named = named if ":" in named else f"{named}:latest"
        for model in self.models:
            if model.name.lower() == named:
                return model
        raise _Refusal(404, f"model '{name}' not found")

    def _permit(self, model: Model, body: Body) -> None:
        """Refuse requests that the model or the server cannot handle."""
        if model.remote_host and not self.cloud:
            raise _Refusal(403, "ollama cloud is disabled: remote model is unavailable")
        if body.get("think") and "thinking" not in model.capabilities:
            raise _Refusal(400, f'"{model.name}" does not support thinking')
        if body.get("tools") and "tools" not in model.capabilities:
            raise _Refusal(400, f"registry.ollama.ai/library/{model.name} does not support tools")
        if "completion" not in model.capabilities:
            raise _Refusal(400, f'"{model.name}" does not support chat')
        keep_alive = body.get("keep_alive")
        if isinstance(keep_alive, str) and not DURATION.fullmatch(keep_alive) and keep_alive not in ("0", "-1"):
            raise _Refusal(400, f'time: invalid duration "{keep_alive}"')
        for name in _INTEGERS:
            if not isinstance(_options(body).get(name, 0), int):
                raise _Refusal(500, f'option "{name}" must be of type integer')

    async def _chat(self, model: Model, body: Body, number: int, writer: asyncio.StreamWriter) -> None:
        if not messages_of(body) and _is_last(body):
            self._loaded.expire(model.name)
            await self._answer_without_messages(model, "unload", writer)
            return
        window = min(self.window or _number(body, "num_ctx", _DEFAULT_WINDOW), model.context_length)
        async with self._loaded.referred(model.name, window, body.get("keep_alive")) as (runner, is_new):
            if is_new:
                await self._happened(f"load {number}")
            if messages_of(body):
                await self._answer_chat(model, body, number, writer, runner, is_new=is_new)
            else:
                await self._answer_without_messages(model, "load", writer)

    async def _answer_without_messages(self, model: Model, reason: str, writer: asyncio.StreamWriter) -> None:
        done = {**_part(model, {"content": ""}), "done": True, "done_reason": reason}
        await respond(writer, 200, _json(done) + "\n", _STREAM)

    async def _answer_chat(
        self,
        model: Model,
        body: Body,
        number: int,
        writer: asyncio.StreamWriter,
        runner: Runner,
        *,
        is_new: bool,
    ) -> None:
        clock = asyncio.get_running_loop().time
        came, has_to_wait = clock(), runner.slot.locked() or self._slot.locked()
        stream = Stream(writer, _STREAM, None)
        async with self._slot_of(runner, stream) as hold:
            queued = clock() - came if has_to_wait else 0.0
            script = self._next_script(body)
            await asyncio.sleep(script.load)
            if await self._without_stream(script, number, writer):
                return
            load = int(script.load * 1e9) + NS_TO_LOAD * is_new
            prompt = self._read(model, body, runner.window)
            ns = {"queue": int(queued * 1e9), "load": load}
            ns["prompt"] = await self._take_in(script, prompt, runner, hold)
            messages, last, script = self._reply(script, model, body, ns)
            if body.get("stream") is False:
                await self._reply_at_once(script, model, messages, last, number, writer)
            else:
                stream.packet = script.packet
                lines = [_json(_part(model, message)) + "\n" for message in messages]
                endings = {Ending.DONE: _json(last) + "\n", Ending.ERROR: self._error(script.error) + "\n"}
                await self._play(script, lines, endings, number, stream)

    @asynccontextmanager
    async def _slot_of(self, runner: Runner, stream: Stream) -> AsyncIterator[_Hold]:
        """Hold the slot of a model, in the order of the requests. The server works for one model at a time.

        If `stream` is closed and `wedges` returns True, the slot stays taken.
        """
        await runner.slot.acquire()
        hold = _Hold()
        try:
            async with self._slot:
                yield hold
        except (asyncio.CancelledError, ConnectionError):
            hold.goes_on = hold.goes_on or (stream.has_begun and self.wedges())
            raise
        finally:
            if not hold.goes_on:
                runner.slot.release()

    async def _take_in(self, script: Script, prompt: list[str], runner: Runner, hold: _Hold) -> int:
        """Read a prompt. Return the nanoseconds that the reading took.

        If the client hangs up, Ollama before 0.30 still reads the whole prompt. Later versions stop, and keep the
        tokens that were read.
        """
        clock = asyncio.get_running_loop().time
        began = clock()
        unread = len(prompt) - runner.known(prompt)
        seconds = script.reading * unread / len(prompt)
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            left = began + seconds - clock()
            if self._release < (0, 30):
                hold.goes_on = True
                self._read_on(prompt, runner, left)
            elif seconds:
                runner.read(prompt[: len(prompt) - int(unread * left / seconds)])
            raise
        runner.read(prompt)
        return int(seconds * 1e9) or unread * NS_TO_READ

    def _read_on(self, prompt: list[str], runner: Runner, seconds: float) -> None:
        async def read() -> None:
            await asyncio.sleep(seconds)
            runner.read(prompt)
            runner.slot.release()

        task = asyncio.create_task(read())
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    def _reply(
        self, script: Script, model: Model, body: Body, ns: dict[str, int]
    ) -> tuple[Sequence[Body], Body, Script]:
        """Return a reply's messages, its last part, and the script for its ending.

        The ending is replaced if the reply repeats itself too often.
        """
        runner = self._loaded[model.name]
        read = len(runner.prompt)
        spoken, reason, written = _spoken(script, model, body, runner.window - read)
        messages, script = self._guarded(spoken, script)
        counted = read if script.prompt_tokens is None else script.prompt_tokens
        last = {
            **_part(model, {"content": ""}),
            "done": True,
            "done_reason": reason,
            **_counts(counted, written, ns),
        }
        return messages, last, script

    async def _reply_at_once(
        self,
        script: Script,
        model: Model,
        messages: Sequence[Body],
        last: Body,
        number: int,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Send the reply as one object, because the request asks for no stream."""
        if script.ending is Ending.ERROR:
            raise _Refusal(500, script.error)
        whole = {key: "".join(str(one.get(key, "")) for one in messages) for key in ("content", "thinking")}
        answer = last if script.ending is Ending.DONE else _part(model, {})
        message = {"role": "assistant", "content": whole["content"]}
        if whole["thinking"]:
            message["thinking"] = whole["thinking"]
        await respond(writer, 200, _json({**answer, "message": message}))
        await self._happened(f"{script.ending} {number}")

    def _read(self, model: Model, body: Body, window: int) -> list[str]:
        """Return the tokens that the model sees of a prompt. Ollama silently cuts a prompt that is too long."""
        messages = messages_of(body)
        if not (model.renderer or ".Messages" in model.template or ".System" in model.template):
            messages = [message for message in messages if message.get("role") != "system"]
        whole = tokens_of(messages)
        if len(whole) <= window:
            return whole
        is_old = self._release < (0, 30)
        if body.get("truncate") is False or (model.jinja and not is_old):
            raise _Refusal(400, "the input length exceeds the context length" if is_old else _engine(whole, window))
        prompt = tokens_of(without_oldest(messages, window))
        if len(prompt) <= window:
            return prompt
        if is_old:
            keep = _number(body, "num_keep", 4)
            return prompt[:keep] + prompt[keep - window :]
        if body.get("shift") is False:
            raise _Refusal(
                400,
                "the prompt is longer than the context length currently available to the model; shorten the prompt,"
                " adjust the context length in settings, or use a model with a longer context",
            )
        return prompt[-(window // 2 + 2) :]

    def _guarded(self, messages: Sequence[Body], script: Script) -> tuple[Sequence[Body], Script]:
        """Return the messages to send, and the script for the ending.

        A reply that repeats itself too often is cut, and its ending is replaced.
        """
        is_new = self._release >= (0, 34)
        sent, before, alike = 0, "", 0
        for sent, message in enumerate(messages):
            said = (message.get("thinking", "") + message["content"]).strip()
            before, alike = said, alike + 1 if said == before else 0
            if alike > (99 if is_new else 30):
                return messages[:sent], replace(script, ending=Ending.ERROR if is_new else Ending.EOF, error=_REPEATED)
        return messages, script

    @property
    def _release(self) -> tuple[int, ...]:
        return tuple(map(int, self.version.split(".")[:2]))

    def _error(self, text: str) -> str:
        return _json({"error": text})


@dataclass
class _Hold:
    """A request's hold on a slot."""

    goes_on: bool = False
    """True if the slot stays taken after the request has ended."""


class _Refusal(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def _spoken(script: Script, model: Model, body: Body, room: int) -> tuple[list[Body], str, int]:
    """Return a reply's messages, the reason for its end, and the number of written tokens.

    `room` is the number of tokens that are left in the window.
    """
    stops = _options(body).get("stop", model.stop)
    assert isinstance(stops, Sequence)
    thought, text, written = script.spoken(script.thinking if _thinks(model, body) else "", stops)
    messages: list[Body] = [{"content": "", "thinking": token} for token in thought]
    messages += [{"content": token} for token in text]
    limits = [_number(body, "num_predict", -1)]
    if not model.shifts or body.get("shift") is False:
        limits.append(room)
    limit = min((limit for limit in limits if limit > 0), default=written)
    return messages[:limit], "length" if limit < written else script.done_reason, min(limit, written)


def _thinks(model: Model, body: Body) -> bool:
    """Return True if the model thinks.

    A model that can think does so unless the request forbids it. Models of `gptoss` ignore this.
    """
    return "thinking" in model.capabilities and (body.get("think") is not False or model.family == "gptoss")


def _engine(prompt: Sequence[str], window: int) -> str:
    """Return the engine's error message for a prompt that is too long."""
    said = f"request ({len(prompt)} tokens) exceeds the available context size ({window} tokens), try increasing it"
    return compact({"error": {"code": 400, "message": said, "type": "exceed_context_size_error", "n_ctx": window}})


def _part(model: Model, message: Body) -> Body:
    return {
        "model": model.name,
        "created_at": "2026-01-01T00:00:00.000000001Z",
        "message": {"role": "assistant", **message},
        "done": False,
    }


def _counts(read: int, written: int, ns: dict[str, int]) -> Body:
    """Return the counts and durations for the last part of a reply, without zeros.

    Only the total duration includes the wait for the slot.
    """
    writing = written * NS_TO_WRITE
    values = {
        "total_duration": sum(ns.values()) + writing,
        "load_duration": ns["load"],
        "prompt_eval_count": read,
        "prompt_eval_duration": ns["prompt"],
        "eval_count": written,
        "eval_duration": writing,
    }
    return {name: value for name, value in values.items() if value}


def _tag(model: Model) -> Body:
    details = {"family": model.family, "parameter_size": model.parameter_size, "quantization_level": "Q4_K_M"}
    remote = {"remote_host": model.remote_host} if model.remote_host else {}
    return {"name": model.name, "model": model.name, "size": _SIZE, "details": details, **remote}


def _shown(model: Model) -> Body:
    info = {"general.architecture": model.family, f"{model.family}.context_length": model.context_length}
    remote = {"remote_host": model.remote_host} if model.remote_host else {}
    parameters = "\n".join(f"{'stop':30} {compact(stop)}" for stop in model.stop)
    set_up = {"parameters": parameters} if parameters else {}
    rendered = f"\nRENDERER {model.renderer}" if model.renderer else ""
    modelfile = f"FROM {model.name}\nTEMPLATE {model.template}{rendered}\n"
    told = {"template": model.template, "modelfile": modelfile}
    return {"capabilities": list(model.capabilities), "model_info": info, "details": {}, **told, **set_up, **remote}


def _running(name: str, runner: Runner, size: int) -> Body:
    named = {"name": name, "model": name, "expires_at": runner.until}
    return {**named, "context_length": runner.window, "size": size, "size_vram": 0}


def _is_last(body: Body) -> bool:
    """Return True if the model must be unloaded after this request."""
    keep_alive = body.get("keep_alive")
    return keep_alive is not None and seconds(keep_alive) == 0


def _options(body: Body) -> Body:
    options = body.get("options")
    return options if isinstance(options, dict) else {}


def _number(body: Body, name: str, default: int) -> int:
    value = _options(body).get(name, default)
    assert isinstance(value, int)
    return value


def _json(value: Body) -> str:
    """Return JSON as Go writes it: line separators and HTML's special characters are escaped, but not NEL."""
    text = compact(value)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


_DOWNLOADABLE = {name: Script(token=100, pause=0.05) for name in ("qwen2.5-coder:7b", "qwen2.5-coder:1.5b")}
"""Models that can be downloaded from the stand-in if it runs as a program. A download takes two or three seconds."""


def _start(replies: list[str | Script], models: list[str], port: int) -> StandIn:
    return StandIn(replies, models=[Model(name) for name in models if name], port=port, library=_DOWNLOADABLE)


if __name__ == "__main__":
    main("support.standins.ollama", _start)
