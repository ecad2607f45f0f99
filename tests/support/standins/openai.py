"""A stand-in for OpenAI-compatible servers. It imitates several engines, and can misbehave.

async with StandIn(["first reply"], engine=Engine.LLAMA_CPP) as server:
    ...  # server.host ends in /v1
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Self

from support.standins.prompt import Loaded, messages_of, tokens_of
from support.standins.server import Body, Ending, Request, Script, StandInServer, Stream, compact, respond

MS_TO_READ = 1.0
"""Milliseconds to read a token of the prompt. Tokens that the slot has kept from the previous prompt take no time."""
MS_TO_WRITE = 10.0
"""Milliseconds to write a token of the reply."""
_STREAM = "text/event-stream"
_CREATED = 1_767_225_600


class Engine(StrEnum):
    """The engine that the stand-in imitates."""

    VLLM = "vLLM"
    """Accepts only the names of its models. The window must have room for the prompt and the requested tokens together.
    """
    LLAMA_CPP = "llama.cpp"
    """Has one model, and accepts any name. Reports the cached part of a prompt, and all times."""
    LM_STUDIO = "LM Studio"
    """Loads a model on request. If a prompt is too long, only an event in the stream reports this."""
    ROUTER = "llama.cpp, several models"
    """Accepts only the names of its models, and loads them on request. Reports the windows of loaded models only."""
    LLAMA_CPP_PYTHON = "llama-cpp-python"
    """Accepts any name, and reports no window. If a prompt is too long, the stream ends without any part."""


_LOADING = (Engine.LM_STUDIO, Engine.ROUTER)
"""Engines that load a model when a request asks for it."""


@dataclass(frozen=True)
class Model:
    """A model that the stand-in serves."""

    name: str
    window: int = 32768
    trained_with: int = 131072
    """Window size with which the model was trained."""
    parameters: int = 0
    """Number of parameters, which only llama-server reports. 0 to report none."""
    thinks: bool = False
    """True if the model thinks by default. A request can turn thinking off."""
    aliases: tuple[str, ...] = ()
    parent: str | None = None
    """If this model is an adapter, the name of the model that it adapts."""


@dataclass
class StandIn(StandInServer):
    """An OpenAI-compatible server."""

    CHATS: ClassVar[str] = "/v1/chat/completions"

    models: Sequence[Model] = (Model("qwen2.5-coder:7b"),)
    engine: Engine = field(default=Engine.VLLM, kw_only=True)
    unknown: tuple[str, ...] = field(default=(), kw_only=True)
    """Fields of a request that the server rejects."""
    reasoning: str = field(default="reasoning_content", kw_only=True)
    """Name of the field for thoughts in a stream."""
    details: bool = field(default=True, kw_only=True)
    """True if the server reports how much of a prompt was cached. vLLM does so only if it is configured to."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._loaded: dict[str, Loaded] = {}

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.host += "/v1"
        return self

    async def _answer(self, request: Request, number: int, writer: asyncio.StreamWriter) -> None:
        match request.method, request.path:
            case "GET", "/v1/models":
                cards = [self._card(model) for model in self.models]
                await respond(writer, 200, compact({"object": "list", "data": cards}))
            case "POST", self.CHATS if not request.body:
                await respond(writer, 400, self._error("'messages' is required", "invalid_request_error", 400))
            case "POST", self.CHATS:
                await self._answer_chat(request.body, number, writer)
            case method, path if self.engine is Engine.LM_STUDIO:
                await respond(writer, 200, compact({"error": f"Unexpected endpoint or method. ({method} {path})"}))
            case _:
                await respond(writer, 404, compact({"detail": "Not Found"}))

    async def _answer_chat(self, body: Body, number: int, writer: asyncio.StreamWriter) -> None:
        await self._happened(f"request {number}")
        try:
            model = self._model(str(body.get("model")))
            self._permit(model, body)
        except _Refusal as refusal:
            await self._happened(f"refused {number}")
            return await respond(writer, refusal.status, self._error(str(refusal), refusal.kind, refusal.status))
        async with self._slot:
            script = self._next_script(body)
            if self.engine in _LOADING and model.name not in self._loaded:
                await self._happened(f"load {number}")
            await asyncio.sleep(script.load)
            if not await self._without_stream(script, number, writer):
                stream = Stream(writer, _STREAM, script.packet)
                lines, endings = self._reply(script, model, body)
                await self._play(script, lines, endings, number, stream)
        return None

    def _model(self, name: str) -> Model:
        for model in self.models:
            if name in (model.name, *model.aliases):
                return model
        if self.engine is Engine.LLAMA_CPP_PYTHON:
            return self.models[0]
        if self.engine is Engine.ROUTER:
            raise _Refusal(400, f"model '{name}' not found", "invalid_request_error")
        if self.engine is not Engine.VLLM and len(self.models) == 1:
            return self.models[0]
        if self.engine is Engine.LM_STUDIO:
            raise _Refusal(400, f'Invalid model identifier "{name}".', "invalid_request_error")
        raise _Refusal(404, f"The model `{name}` does not exist.", "NotFoundError")

    def _permit(self, model: Model, body: Body) -> None:
        """Refuse requests that the engine does not accept."""
        for name in self.unknown:
            if name in body:
                raise _Refusal(400, f"Unrecognized request argument supplied: {name}", "invalid_request_error")
        read, write = len(tokens_of(messages_of(body))), _number(body, "max_tokens")
        if self.engine is Engine.VLLM and read + write > model.window:
            raise _Refusal(
                400,
                f"This model's maximum context length is {model.window} tokens. However, you requested {read + write}"
                f" tokens ({read} in the messages, {write} in the completion).",
                "BadRequestError",
            )
        if self.engine in (Engine.LLAMA_CPP, Engine.ROUTER) and read >= model.window:
            raise _Refusal(
                400,
                f"request ({read} tokens) exceeds the available context size ({model.window} tokens),"
                " try increasing it",
                "exceed_context_size_error",
            )

    def _reply(self, script: Script, model: Model, body: Body) -> tuple[list[str], dict[Ending, str]]:
        """Return a reply's events, and for each possible ending the last event."""
        prompt = tokens_of(messages_of(body))
        if self.engine is Engine.LM_STUDIO and len(prompt) > model.window:
            too_long = "The number of tokens to keep from the initial prompt is greater than the context length."
            error = self._error(too_long, "invalid_request_error", 400)
            return [f"event: error\ndata: {error}\n\n"], {Ending.DONE: ""}
        if self.engine is Engine.LLAMA_CPP_PYTHON and len(prompt) > model.window:
            return [], {}
        cached = self._loaded.setdefault(model.name, Loaded(model.window)).read(prompt)
        deltas, reason, written = self._spoken(script, model, body, model.window - len(prompt))
        lines = [_event(self._chunk(model, {"role": "assistant", "content": ""}))]
        counted = len(prompt) if script.prompt_tokens is None else script.prompt_tokens
        for so_far, delta in enumerate(deltas, 1):
            chunk = self._chunk(model, delta)
            if counted and self.engine in (Engine.LLAMA_CPP, Engine.ROUTER) and body.get("timings_per_token"):
                chunk = {**chunk, "timings": self._counts(counted, cached, so_far)["timings"]}
            lines.append(_event(chunk))
        last = _event(self._chunk(model, {}, reason))
        if counted and _wants_usage(body):
            last += _event({**self._chunk(model), **self._counts(counted, cached, written)})
        return lines, {
            Ending.DONE: f"{last}data: [DONE]\n\n",
            Ending.ERROR: f"data: {self._error(script.error)}\n\n",
        }

    def _spoken(self, script: Script, model: Model, body: Body, room: int) -> tuple[list[Body], str, int]:
        """Return a reply's deltas, the reason for its end, and the number of written tokens.

        `room` is the number of tokens that are left in the window.
        """
        stops = body.get("stop") or []
        assert isinstance(stops, list)
        told = body.get("chat_template_kwargs")
        thinks = model.thinks and not (isinstance(told, dict) and told.get("enable_thinking") is False)
        thought, text, written = script.spoken(script.thinking if thinks else "", stops)
        deltas: list[Body] = [{self.reasoning: token} for token in thought]
        deltas += [{"content": token} for token in text]
        limit = min(_number(body, "max_tokens") or written, room)
        return deltas[:limit], "length" if limit < written else script.done_reason, min(limit, written)

    def _chunk(self, model: Model, delta: Body | None = None, reason: str | None = None) -> Body:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": reason}]
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": _CREATED,
            "model": model.name,
            "choices": choices,
        }

    def _counts(self, read: int, cached: int, written: int) -> Body:
        usage: dict[str, object] = {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": cached} if self.details else None,
        }
        if self.engine not in (Engine.LLAMA_CPP, Engine.ROUTER):
            return {"usage": usage}
        timings = {
            "cache_n": cached,
            "prompt_n": read - cached,
            "prompt_ms": (read - cached) * MS_TO_READ,
            "predicted_n": written,
            "predicted_ms": written * MS_TO_WRITE,
        }
        return {"usage": usage, "timings": timings}

    def _card(self, model: Model) -> Body:
        card = {"id": model.name, "object": "model", "created": _CREATED}
        match self.engine:
            case Engine.VLLM:
                window = {"max_model_len": None if model.parent else model.window}
                return {**card, "owned_by": "vllm", "root": model.name, "parent": model.parent, **window}
            case Engine.LLAMA_CPP:
                meta = {"n_vocab": 152064, "n_ctx": model.window, "n_ctx_train": model.trained_with}
                if model.parameters:
                    meta |= {"n_params": model.parameters, "size": model.parameters // 2}
                return {**card, "aliases": list(model.aliases), "owned_by": "llamacpp", "meta": meta}
            case Engine.LM_STUDIO:
                return {**card, "owned_by": "organization_owner"}
            case Engine.LLAMA_CPP_PYTHON:
                return {**card, "owned_by": "me", "permissions": []}
            case Engine.ROUTER:
                is_loaded = model.name in self._loaded
                loaded = {"meta": {"n_ctx": model.window, "n_ctx_train": model.trained_with}} if is_loaded else {}
                status: dict[str, object] = {"value": "loaded" if is_loaded else "unloaded", "args": []}
                return {**card, "aliases": list(model.aliases), "owned_by": "llamacpp", "status": status, **loaded}

    def _error(self, text: str, kind: str = "server_error", code: int = 500) -> str:
        match self.engine:
            case Engine.LLAMA_CPP | Engine.ROUTER:
                return compact({"error": {"code": code, "message": text, "type": kind}})
            case _:
                return compact({"error": {"message": text, "type": kind, "param": None, "code": code}})


class _Refusal(Exception):
    def __init__(self, status: int, text: str, kind: str) -> None:
        super().__init__(text)
        self.status = status
        self.kind = kind


def _event(data: Body) -> str:
    return f"data: {compact(data)}\n\n"


def _wants_usage(body: Body) -> bool:
    options = body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _number(body: Body, name: str) -> int:
    value = body.get(name) or 0
    assert isinstance(value, int)
    return value
