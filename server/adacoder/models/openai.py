"""OpenAI-compatible servers: llama.cpp's llama-server, vLLM, SGLang, LM Studio and others with the same protocol.

Only this file imports `openai`: at the first request and in a thread, because the import takes a good part of a second.
These servers agree on the form of a chat. They differ in their lists of models, the wording of their errors, and the
way to turn off thinking. This file has the special cases of each server.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from adacoder.domain import Ended, Timing
from adacoder.models.address import base_url
from adacoder.models.errors import (
    OPENAI,
    BadReply,
    ModelError,
    ModelMissing,
    NothingCame,
    NotInstalled,
    OtherServer,
)
from adacoder.models.model_names import may_chat
from adacoder.models.numbers import count, seconds
from adacoder.models.server import Chat, Connection, Deadlines, End, Facts, Part, Running, Thinking
from adacoder.models.window import Bound

if TYPE_CHECKING:
    import httpx
    import openai
    from openai.types.chat import ChatCompletionChunk, ChatCompletionMessageParam

_HEADERS = frozenset(
    {"host", "connection", "user-agent", "accept", "accept-encoding", "content-type", "content-length"}
)
"""Headers that a request needs. The library adds others, about this machine and an OpenAI account."""
_MOST_STOPS = 4
"""Maximum number of stop sequences that the protocol allows."""
_MISSING = re.compile(
    r"model_not_found|invalid model name|\bmodel\b.{0,200}\b(not found|not exist|identifier)\b", re.IGNORECASE
)
_TELLING_CODES = ("context_length_exceeded", "exceed_context_size_error", "model_not_found")
"""Codes that identify an error even if its message does not."""
_THINKS_ALWAYS = "gpt-oss"
"""Model family whose thinking can be reduced, but not switched off."""
_GAVE_UP = ("abort", "content_filter", "error")
"""Finish reasons of an incomplete reply."""
_MILLISECOND = 1e-3


class OpenAIServer(Connection["openai.AsyncOpenAI"]):
    """One OpenAI-compatible server. Nothing is imported and no connection made before the first request.

    Raises:
        NoBaseUrl: `url` is None or empty. The server is never guessed, or taken from the library.
        BadHost: `url` is not an address.
    """

    kind = OPENAI

    def __init__(self, url: str | None, deadlines: Deadlines | None = None) -> None:
        super().__init__(base_url(url), deadlines)
        self._listed: list[Mapping[str, object]] = []
        self._refused = 0
        """Number of sets from `_optional_fields` that this server has refused."""
        self._unloaded: set[str] = set()

    @property
    def known(self) -> Sequence[str]:
        """All names of the models in the server's list. Empty until `facts` has read it."""
        return [name for card in self._listed for name in _names(card)]

    async def aclose(self) -> None:
        """Close every connection."""
        client, self._opened = self._opened, None
        if client is not None:
            await client.close()

    async def _list(self) -> list[Mapping[str, object]]:
        """List the server's models; empty if it keeps no list.

        Raises:
            ModelError: the server does not answer, or does not speak this protocol.
        """
        client = await self._client()
        with self._translated_errors(""):
            import openai

            try:
                async with self._answered_soon():
                    listed = await client.get("/models", cast_to=object)
            except openai.NotFoundError:
                await self._require_chats(client)
                return []
            cards = _object(listed).get("data")
        if not isinstance(cards, list):
            raise OtherServer(self.url, OPENAI)
        return [card for card in cards if isinstance(card, dict)]

    async def _require_chats(self, client: openai.AsyncOpenAI) -> None:
        """Check that the server has chats under this path. The request is empty, so it starts no chat.

        Raises:
            NotFoundError: the server has no chats there.
        """
        import openai

        try:
            async with self._answered_soon():
                await client.post("/chat/completions", body={}, cast_to=object)
        except openai.NotFoundError as error:
            if not isinstance(self._refusal(error, ""), ModelMissing):
                raise
        except openai.APIStatusError:
            pass  # the server read the request

    async def facts(self, model: str) -> Facts:
        """As `Server.facts`. Most servers accept names that they do not list, so such a name is an error only if the
        server is known to refuse it."""
        cards = self._listed = await self._list()
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
        """As `Server.loaded`. Only a llama-server with several models reports this, in its list."""
        return None if model in self._unloaded else Running(model)

    async def unload(self, model: str) -> None:
        """Do nothing: these servers keep their models loaded."""

    async def chat(self, chat: Chat) -> AsyncGenerator[Part]:
        """As `Server.chat`."""
        client = await self._client()
        import httpx  # imported before, so this takes no time
        import openai

        began = time.perf_counter()
        has_come = False
        reason: object = None
        usage: Mapping[str, object] = {}
        timings: Mapping[str, object] = {}
        with self._translated_errors(chat.model):
            async with await self._begin(client, chat) as stream:
                if "text/event-stream" not in stream.response.headers.get("content-type", ""):
                    raise TypeError("no stream of events")
                try:
                    async for chunk in stream:
                        said = chunk.to_dict(warnings=False)
                        choices = said.get("choices")
                        choice = _object(choices[0]) if isinstance(choices, list) and choices else {}
                        # Counts come with the last choice or after it, or with each choice if they were requested.
                        usage = _object(said.get("usage")) or usage
                        timings = _object(said.get("timings")) or timings
                        so_far = None
                        if usage or timings:
                            so_far = _end(Ended.STOPPED_EARLY, usage, timings, time.perf_counter() - began)
                        for part in _parts(_object(choice.get("delta"))):
                            has_come = has_come or bool(part.text)
                            yield replace(part, so_far=so_far)
                        reason = choice.get("finish_reason") or reason
                except (httpx.TransportError, openai.APIConnectionError):
                    if has_come or chat.bound is not Bound.UNTOLD:
                        raise
            if reason in _GAVE_UP:
                raise BadReply(self.url, f"it gave up, for the reason '{reason}'")
            if reason:
                ended = Ended.LENGTH if reason == "length" else Ended.STOP
                yield Part(end=_end(ended, usage, timings, time.perf_counter() - began))
            elif chat.bound is Bound.UNTOLD and not has_come:
                raise NothingCame(self.url)

    async def _begin(self, client: openai.AsyncOpenAI, chat: Chat) -> openai.AsyncStream[ChatCompletionChunk]:
        """Open the stream of a reply, without the optional fields that this server refuses."""
        import openai

        choices = _optional_fields(chat, _card(chat.model, self._listed))
        refused = self._refused
        while True:
            try:
                stream = await _create(client, chat, choices[refused])
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                refused += 1
                if refused == len(choices) or not isinstance(self._refusal(error, chat.model), BadReply):
                    raise
            else:
                self._refused = refused
                return stream

    def _connect(self) -> openai.AsyncOpenAI:
        try:
            import openai
        except ImportError:
            raise NotInstalled from None
        import httpx

        from adacoder.models.http import client_settings, client_setup

        with client_setup(self.url, OPENAI):
            settings = client_settings(self._address, os.environ.get("OPENAI_API_KEY"), self._deadlines.connect)
            authorize = settings["auth"]

            def send_no_more_than_needed(request: httpx.Request) -> httpx.Request:
                for name in request.headers.keys() - _HEADERS:
                    del request.headers[name]
                return authorize(request)

            settings["auth"] = send_no_more_than_needed
            return openai.AsyncOpenAI(
                api_key="no key",  # else the library sends the environment's key to any address
                base_url=self.url,
                max_retries=0,
                http_client=httpx.AsyncClient(**settings),  # type: ignore[arg-type]  # it takes httpx as well as httpx2
            )

    @contextmanager
    def _translated_errors(self, model: str) -> Iterator[None]:
        """Turn any error in this block into a ModelError."""
        import httpx
        import openai

        from adacoder.models.http import translated_failures

        with translated_failures(self.url, OPENAI):
            try:
                yield
            except openai.APIConnectionError as error:
                if isinstance(error.__cause__, (httpx.HTTPError, ValueError)):
                    raise error.__cause__ from None
                raise BadReply(self.url, "the connection broke off") from error
            except openai.APIError as error:
                raise self._refusal(error, model) from None

    def _refusal(self, error: openai.APIError, model: str) -> ModelError:
        """Return the error for a refusal, at the start or in the middle of a stream."""
        import openai

        from adacoder.models.http import refusal

        status = error.status_code if isinstance(error, openai.APIStatusError) else -1
        said = _said(error)
        if _MISSING.search(said) or (status == 404 and "model" in said.lower()):
            return self._missing(model)
        return refusal(status, said, model, self.url, OPENAI)

    def _missing(self, model: str) -> ModelMissing:
        names = [str(card.get("id")) for card in self._listed]
        return ModelMissing(model, self.url, [f"openai:{name}" for name in names if may_chat(name)], OPENAI)


async def _create(
    client: openai.AsyncOpenAI, chat: Chat, optional: Mapping[str, object]
) -> openai.AsyncStream[ChatCompletionChunk]:
    from openai import omit

    messages = [{"role": message.role, "content": message.content} for message in chat.messages]
    return await client.chat.completions.create(
        model=chat.model,
        messages=cast("list[ChatCompletionMessageParam]", messages),
        stream=True,
        stream_options={"include_usage": True},
        max_tokens=chat.max_tokens,
        temperature=chat.temperature,
        top_p=omit if chat.top_p is None else chat.top_p,
        seed=omit if chat.seed is None else chat.seed,
        stop=list(chat.stop[:_MOST_STOPS]) or omit,
        extra_body=optional,
    )


def _optional_fields(chat: Chat, card: Mapping[str, object] | None) -> Sequence[Mapping[str, object]]:
    """Return sets of fields that only some servers understand, to try in this order. The last set is empty. `card` is
    the model's entry in the server's list.

    Thinking takes its tokens from the reply, and chat templates turn it on by default. They ignore unknown arguments.
    On request llama-server sends counts with each part, so even a stream that is closed early has counts.
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
    """Return the list entry of the model that answers for `model`, or None if it is unknown."""
    for card in cards:
        if model in _names(card):
            return card
    only = cards[0] if len(cards) == 1 else None
    # A llama-server with one model answers for any name, unless it can load several.
    return only if only is not None and only.get("owned_by") == "llamacpp" and _status(only) is None else None


def _names(card: Mapping[str, object]) -> list[str]:
    """Return all names of a model. The first is shown to users."""
    aliases = card.get("aliases")
    return [str(name) for name in (card.get("id"), *(aliases if isinstance(aliases, list) else ()))]


def _serves_only_listed(card: Mapping[str, object]) -> bool:
    """True if a server with this entry in its list refuses unlisted names. vLLM does, and so does a llama-server with
    several models, recognised by its load states."""
    return card.get("owned_by") == "vllm" or _status(card) is not None


def _status(card: Mapping[str, object]) -> object:
    """Return the load state of a model, such as `loaded`. Only a llama-server with several models reports it."""
    status = card.get("status") if card.get("owned_by") == "llamacpp" else None
    return status.get("value") if isinstance(status, dict) else None


def _windows(card: Mapping[str, object], cards: Sequence[Mapping[str, object]]) -> tuple[int | None, int | None]:
    """Return a model's context windows: as served, and as trained.

    vLLM and SGLang report the served window (`max_model_len`); for an adapter it is in the entry of the adapted model.
    llama-server reports the window of one slot (`n_ctx`) while the model is loaded.
    """
    meta = _object(card.get("meta"))
    adapted = [other for other in cards if other.get("id") == card.get("parent")]
    lengths = [card.get("max_model_len"), meta.get("n_ctx"), *(other.get("max_model_len") for other in adapted[:1])]
    served = next((tokens for length in lengths if (tokens := count(length))), None)
    return served, count(meta.get("n_ctx_train")) or None


def _parts(delta: Mapping[str, object]) -> Iterator[Part]:
    """Yield the parts of one chunk. Without text, as before a reply, in tool calls and counts, yield one empty part."""
    thought, text = _text(delta.get("reasoning_content") or delta.get("reasoning")), _text(delta.get("content"))
    if thought:
        yield Part(thought, thought=True)
    if text or not thought:
        yield Part(text)


def _end(ended: Ended, usage: Mapping[str, object], timings: Mapping[str, object], took: float) -> End:
    """Return the end of a reply that took `took` seconds. Only llama-server sends `timings`."""
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


def _said(error: openai.APIError) -> str:
    """Return the server's error message, with its error code if that may say more."""
    body = error.body
    words = (body.get("message") or body.get("detail")) if isinstance(body, dict) else body
    names = [name for name in (error.code, error.type) if name in _TELLING_CODES]
    return " ".join([str(words or ""), *names])


def _object(value: object) -> Mapping[str, object]:
    """Return a JSON object; empty for null.

    Raises:
        TypeError: it is neither.
    """
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
