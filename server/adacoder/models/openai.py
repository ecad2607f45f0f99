"""Client for OpenAI-compatible servers: llama.cpp's llama-server, vLLM, SGLang, LM Studio and others.

These servers share the format of chats. They differ in lists of models, in errors, and in turning off thinking.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from adacoder.domain import Ended, Timing
from adacoder.models.address import base_url
from adacoder.models.errors import (
    OPENAI,
    BadReply,
    ModelError,
    ModelMissing,
    NothingCame,
    OtherServer,
)
from adacoder.models.model_names import may_chat
from adacoder.models.numbers import count, seconds
from adacoder.models.server import Chat, Connection, Deadlines, End, Facts, Part, Running, Thinking
from adacoder.models.window import Bound

if TYPE_CHECKING:
    import httpx

_MOST_STOPS = 4
"""Maximum number of stop sequences in the protocol."""
_MISSING = re.compile(
    r"model_not_found|invalid model name|\bmodel\b.{0,200}\b(not found|not exist|identifier)\b", re.IGNORECASE
)
_TELLING_CODES = ("context_length_exceeded", "exceed_context_size_error", "model_not_found")
"""Error codes that explain an error better than the message of the error."""
_THINKS_ALWAYS = "gpt-oss"
"""Model family whose thinking can be reduced, but not switched off."""
_GAVE_UP = ("abort", "content_filter", "error")
"""Finish reasons of incomplete replies."""
_MILLISECOND = 1e-3
_NOT_FOUND = 404
_BAD_REQUEST = (400, 422)
_MIDSTREAM = -1
"""Status of an error in the middle of a stream."""


class OpenAIServer(Connection["httpx.AsyncClient"]):
    """Client for one OpenAI-compatible server. It connects at the first request.

    Raises:
        NoBaseUrl: `url` is None or empty.
        BadHost: `url` is not an address.
    """

    kind = OPENAI

    def __init__(self, url: str | None, deadlines: Deadlines | None = None) -> None:
        super().__init__(base_url(url), deadlines)
        self._listed: list[Mapping[str, object]] = []
        self._refused = 0
        """Number of sets of optional fields that the server has refused so far (see `_optional_fields`)."""
        self._unloaded: set[str] = set()

    @property
    def known(self) -> Sequence[str]:
        """Names of the models in the server's list; empty before `facts` is called."""
        return [name for card in self._listed for name in _names(card)]

    async def aclose(self) -> None:
        """Close all connections."""
        client, self._opened = self._opened, None
        if client is not None:
            await client.aclose()

    async def cards(self) -> list[Mapping[str, object]]:
        """Return the entries of the server's list of models. Return an empty list if the server has no such list.

        Raises:
            ModelError: the server does not answer, or does not speak this protocol.
        """
        from adacoder.models.http import translated_failures

        client = await self._client()
        with translated_failures(self.url, OPENAI):
            async with self._answered_soon():
                response = await client.get("/models")
            if response.status_code == _NOT_FOUND:
                await self._require_chats(client)
                return []
            if not response.is_success:
                raise self._refusal(response.status_code, response.text, "")
            cards = _object(response.json()).get("data")
        if not isinstance(cards, list):
            raise OtherServer(self.url, OPENAI)
        return [card for card in cards if isinstance(card, dict)]

    async def _require_chats(self, client: httpx.AsyncClient) -> None:
        """Raise a ModelError if the server has no chats at this address.

        An empty request is enough to find out, and starts no chat.
        """
        async with self._answered_soon():
            response = await client.post("/chat/completions", json={})
        error = self._refusal(response.status_code, response.text, "")
        if response.status_code == _NOT_FOUND and not isinstance(error, ModelMissing):
            raise error

    async def facts(self, model: str) -> Facts:
        """Implement `Server.facts`.

        Many servers accept models that are not in their lists. An unlisted model is an error only on servers that
        certainly refuse unlisted models.
        """
        cards = self._listed = await self.cards()
        card = _card(model, cards)
        if card is None and any(map(_serves_only_listed, cards)):
            raise self._missing(model)
        if card is not None and _status(card) not in (None, "loaded"):
            self._unloaded.add(model)
        served, trained = (None, None) if card is None else _windows(card, cards)
        return Facts(
            thinking=Thinking.ALWAYS if _THINKS_ALWAYS in model.lower() else Thinking.UNLESS_TOLD,
            window=served or trained,
            bound=Bound.SERVER if served and served != trained else Bound.MODEL,
            reads_as_asked=served is not None,
        )

    async def loaded(self, model: str) -> Running | None:
        """Implement `Server.loaded`. Only a llama-server with several models reports load states."""
        return None if model in self._unloaded else Running(model)

    async def unload(self, model: str) -> None:
        """Do nothing: these servers keep their models loaded."""

    async def chat(self, chat: Chat) -> AsyncGenerator[Part]:
        """Implement `Server.chat`."""
        client = await self._client()
        import httpx  # already imported by `_client`

        from adacoder.models.http import translated_failures

        began = time.perf_counter()
        has_come = False
        reason: object = None
        usage: Mapping[str, object] = {}
        timings: Mapping[str, object] = {}
        with translated_failures(self.url, OPENAI):
            async with self._begun(client, chat) as response:
                if "text/event-stream" not in response.headers.get("content-type", ""):
                    raise TypeError("no stream of events")
                try:
                    async for said in _events(response):
                        if said.get("error"):
                            raise self._refusal(_MIDSTREAM, said, chat.model)
                        choices = said.get("choices")
                        choice = _object(choices[0]) if isinstance(choices, list) and choices else {}
                        # some servers send counts with each part, and others only at the end
                        usage = _object(said.get("usage")) or usage
                        timings = _object(said.get("timings")) or timings
                        so_far = None
                        if usage or timings:
                            so_far = _end(Ended.STOPPED_EARLY, usage, timings, time.perf_counter() - began)
                        for part in _parts(_object(choice.get("delta"))):
                            has_come = has_come or bool(part.text)
                            yield replace(part, so_far=so_far)
                        reason = choice.get("finish_reason") or reason
                except httpx.TransportError:
                    if has_come or chat.bound is not Bound.UNTOLD:
                        raise
            if reason in _GAVE_UP:
                raise BadReply(self.url, f"it gave up, for the reason '{reason}'")
            if reason:
                ended = Ended.LENGTH if reason == "length" else Ended.STOP
                yield Part(end=_end(ended, usage, timings, time.perf_counter() - began))
            elif chat.bound is Bound.UNTOLD and not has_come:
                raise NothingCame(self.url)

    @asynccontextmanager
    async def _begun(self, client: httpx.AsyncClient, chat: Chat) -> AsyncGenerator[httpx.Response]:
        """Send a request and open the stream of its reply.

        If the server refuses optional fields of the request, send the request again with fewer fields.
        """
        choices = _optional_fields(chat, _card(chat.model, self._listed))
        refused = self._refused
        while True:
            body = {**_body(chat), **choices[refused]}
            async with client.stream("POST", "/chat/completions", json=body) as response:
                if response.is_success:
                    self._refused = refused
                    yield response
                    return
                await response.aread()
            error = self._refusal(response.status_code, response.text, chat.model)
            refused += 1
            if response.status_code not in _BAD_REQUEST or refused == len(choices) or not isinstance(error, BadReply):
                raise error

    def _connect(self) -> httpx.AsyncClient:
        import httpx

        from adacoder.models.http import client_settings, client_setup

        with client_setup(self.url, OPENAI):
            settings = client_settings(self._address, os.environ.get("OPENAI_API_KEY"), self._deadlines.connect)
            return httpx.AsyncClient(base_url=self.url, **settings)

    def _refusal(self, status: int, answer: object, model: str) -> ModelError:
        """Return the error for a refusal at the start or in the middle of a stream."""
        from adacoder.models.http import refusal

        said = _said(answer)
        if _MISSING.search(said) or (status == _NOT_FOUND and "model" in said.lower()):
            return self._missing(model)
        return refusal(status, said, model, self.url, OPENAI)

    def _missing(self, model: str) -> ModelMissing:
        names = [str(card.get("id")) for card in self._listed]
        return ModelMissing(model, self.url, [f"openai:{name}" for name in names if may_chat(name)], OPENAI)


async def _events(response: httpx.Response) -> AsyncGenerator[Mapping[str, object]]:
    """Yield the JSON objects of server-sent events up to `[DONE]`.

    An incomplete last event is ignored.
    """
    data: list[str] = []
    async for line in response.aiter_lines():
        name, _, value = line.partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif not line and data:
            said = "\n".join(data).strip()
            if said.startswith("[DONE]"):
                return
            data.clear()
            if said:
                yield _object(json.loads(said))
    last: Mapping[str, object] = {}
    with suppress(ValueError):
        last = _object(json.loads("\n".join(data)))
    if last:
        yield last


def _body(chat: Chat) -> dict[str, object]:
    """Return the fields of a request that all servers understand."""
    optional = {"top_p": chat.top_p, "seed": chat.seed, "stop": chat.stop[:_MOST_STOPS] or None}
    return {
        "model": chat.model,
        "messages": [{"role": message.role, "content": message.content} for message in chat.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": chat.max_tokens,
        "temperature": chat.temperature,
        **{name: value for name, value in optional.items() if value is not None},
    }


def _optional_fields(chat: Chat, card: Mapping[str, object] | None) -> Sequence[Mapping[str, object]]:
    """Return sets of optional fields, in the order to try them. The last set is empty.

    Servers understand different fields. Some fields turn off thinking, because thoughts use up the reply's tokens.
    `timings_per_token` makes llama-server send token counts with each part. `card` is the model's entry in the server's
    list.
    """
    effort = {"reasoning_effort": "low"}
    by_thinking: Mapping[Thinking, Mapping[str, object]] = {
        Thinking.NEVER: {},
        Thinking.UNLESS_TOLD: {"chat_template_kwargs": {"enable_thinking": False}},
        Thinking.ALWAYS: {**effort, "chat_template_kwargs": effort},
    }
    thinking = by_thinking[chat.thinking]
    counting = [{**thinking, "timings_per_token": True}] if card and card.get("owned_by") == "llamacpp" else []
    return *counting, thinking, {}


def _card(model: str, cards: Sequence[Mapping[str, object]]) -> Mapping[str, object] | None:
    """Return the entry for `model` in the server's list, or None."""
    for card in cards:
        if model in _names(card):
            return card
    only = cards[0] if len(cards) == 1 else None
    # a llama-server with one model answers to any name
    return only if only is not None and only.get("owned_by") == "llamacpp" and _status(only) is None else None


def _names(card: Mapping[str, object]) -> list[str]:
    """Return all names of a model, starting with the one that users see."""
    aliases = card.get("aliases")
    return [str(name) for name in (card.get("id"), *(aliases if isinstance(aliases, list) else ()))]


def _serves_only_listed(card: Mapping[str, object]) -> bool:
    """Return whether the server of this list entry refuses unlisted models, as vLLM and some llama-servers do."""
    return card.get("owned_by") == "vllm" or _status(card) is not None


def _status(card: Mapping[str, object]) -> object:
    """Return a model's load state, such as `loaded`, or None if the server does not report load states."""
    status = card.get("status") if card.get("owned_by") == "llamacpp" else None
    return status.get("value") if isinstance(status, dict) else None


def _windows(card: Mapping[str, object], cards: Sequence[Mapping[str, object]]) -> tuple[int | None, int | None]:
    """Return a model's context window as served, and as trained.

    vLLM and SGLang report the served window as `max_model_len`. For an adapter, this value is in the entry of the base
    model. llama-server reports `n_ctx`, the window of one slot, while the model is loaded.
    """
    meta = _object(card.get("meta"))
    adapted = [other for other in cards if other.get("id") == card.get("parent")]
    lengths = [card.get("max_model_len"), meta.get("n_ctx"), *(other.get("max_model_len") for other in adapted[:1])]
    served = next((tokens for length in lengths if (tokens := count(length))), None)
    return served, count(meta.get("n_ctx_train")) or None


def _parts(delta: Mapping[str, object]) -> Iterator[Part]:
    """Yield the parts in one chunk of a stream. A chunk without text gives one empty part."""
    thought, text = _text(delta.get("reasoning_content") or delta.get("reasoning")), _text(delta.get("content"))
    if thought:
        yield Part(thought, thought=True)
    if text or not thought:
        yield Part(text)


def _end(ended: Ended, usage: Mapping[str, object], timings: Mapping[str, object], took: float) -> End:
    """Return the `End` of a reply that took `took` seconds. Only llama-server sends `timings`."""
    known, read, written = (count(timings.get(name)) for name in ("cache_n", "prompt_n", "predicted_n"))
    cached = _object(usage.get("prompt_tokens_details")).get("cached_tokens", timings.get("cache_n"))
    prompt, generation = (seconds(timings.get(name), _MILLISECOND) for name in ("prompt_ms", "predicted_ms"))
    return End(
        ended,
        prompt=count(usage.get("prompt_tokens")) or (known + read if read else 0),
        completion=count(usage.get("completion_tokens")) or written,
        cached=None if cached is None else count(cached),
        time=Timing(max(0.0, took - prompt - generation), 0.0, prompt, generation) if timings else None,
    )


def _said(answer: object) -> str:
    """Return the error message in a server's answer, followed by error codes that explain the error."""
    if isinstance(answer, str):
        with suppress(ValueError, RecursionError):
            answer = json.loads(answer)
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    if not isinstance(error, dict):
        return str(error or "")
    names = [str(name) for name in (error.get("code"), error.get("type")) if name in _TELLING_CODES]
    return " ".join([str(error.get("message") or error.get("detail") or ""), *names])


def _object(value: object) -> Mapping[str, object]:
    """Return a JSON object, or an empty object for null. Raise TypeError for other values."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise TypeError(f"no object: {value!r}")
    return value


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(f"no text: {value!r}")
    return value
