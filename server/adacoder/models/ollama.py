"""Ollama: models on the user's own machine, through its native chat API.

The only file that imports `ollama`: at the first request, in a thread, because that takes a good part of a
second. Ollama's sharp edges are blunted here: what it cuts, breaks off or leaves hanging becomes an error of
`base.py`; the context window (`num_ctx`) is the same in every request, since a change reloads the model.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypedDict, cast

from adacoder.domain import Ended, Message, Reply, Tokens
from adacoder.models.address import address
from adacoder.models.base import (
    BadHost,
    BadReply,
    Busy,
    CloudRefused,
    ContextOverflow,
    Denied,
    Enough,
    ModelError,
    ModelMissing,
    NotRunning,
    OutOfMemory,
    Stalled,
)
from adacoder.models.window import estimate, estimate_chat, least, was_cut

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx
    import ollama

_OVERFLOW_WORDS = ("context length", "context size", "context window", "exceed_context")
_MEMORY_WORDS = ("system memory", "out of memory", "allocate", "signal: killed")
_QUOTED_CHARACTERS = 200
"""What an error may quote of a server's own words."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How long to wait for a server, in seconds. A whole reply has no limit."""

    connect: float = 10.0
    first: float = 300.0
    """For the first token: the model may have to be loaded, other clients served and the prompt read."""
    next: float = 60.0
    """For the next token, and for an answer that needs no model."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server says of one of its models."""

    thinks: bool
    """Whether it can think before it answers."""
    window: int | None
    """The most tokens it can read at once, whatever is asked for; None: not said."""
    remote: bool
    """Whether the server passes requests on to another machine."""


def is_cloud(model: str) -> bool:
    """Whether `model` is named as one that runs on Ollama's servers."""
    return model.endswith(("-cloud", ":cloud"))


class Server:
    """One Ollama server. Nothing is imported and no connection made before the first request.

    Chats go through the `ollama` package. It has no `/api/version`, and of `/api/show` it drops whether the
    model really runs elsewhere; so what is not a chat is read as it comes.
    """

    def __init__(self, host: str | None, deadlines: Deadlines | None = None) -> None:
        self._address = address(host)
        self._deadlines = deadlines or Deadlines()
        self._open: _Clients | None = None

    @property
    def url(self) -> str:
        """The server's address."""
        return self._address.url

    async def aclose(self) -> None:
        """Close every connection."""
        clients, self._open = self._open, None
        if clients is not None:
            await clients.chats.close()  # type: ignore[no-untyped-call]  # the package leaves it untyped
            await clients.plain.aclose()

    async def version(self) -> str:
        """The server's version, such as `0.24.0`."""
        return str((await self._ask("GET", "/api/version")).get("version"))

    async def tags(self) -> list[Mapping[str, object]]:
        """What is installed, as `/api/tags` lists it."""
        models = (await self._ask("GET", "/api/tags")).get("models")
        return [model for model in models if isinstance(model, dict)] if isinstance(models, list) else []

    async def facts(self, model: str) -> Facts:
        """What `/api/show` says of `model`.

        Raises:
            ModelMissing: the server does not have it; the error names those it has.
        """
        try:
            shown = await self._ask("POST", "/api/show", {"model": model})
        except ModelMissing:
            installed = [str(tag.get("name")) for tag in await self.tags()]
            raise ModelMissing(model, self.url, installed) from None
        capabilities = shown.get("capabilities")
        details = shown.get("model_info")
        windows = [
            value
            for key, value in (details.items() if isinstance(details, dict) else ())
            if str(key).endswith(".context_length") and isinstance(value, int)
        ]
        return Facts(
            thinks=isinstance(capabilities, list) and "thinking" in capabilities,
            window=min(windows, default=None),
            remote=bool(shown.get("remote_host") or shown.get("remote_model")),
        )

    async def chat(
        self,
        model: str,
        messages: Sequence[Message],
        *,
        options: Mapping[str, object],
        keep_alive: str,
        think: bool | None,
    ) -> AsyncGenerator[ollama.ChatResponse]:
        """The parts of a reply as they come; the last one, and only it, is `done`.

        Closing this ends the generation.

        Raises:
            ModelError: there is no whole reply to be had.
        """
        chats, _ = await self._clients()
        stream = await chats.chat(
            model,
            [{"role": message.role, "content": _encodable(message.content)} for message in messages],
            stream=True,
            options=options,
            keep_alive=keep_alive,
            think=think,
        )
        patience = self._deadlines.first
        # The package promises an iterator; what it gives is a generator, and only that can be closed.
        async with aclosing(cast("AsyncGenerator[ollama.ChatResponse]", stream)) as parts:
            while True:
                async with self._expected(model, patience):
                    part = await anext(parts, None)
                if part is None:
                    raise BadReply(self.url, "the reply broke off before it was done")
                yield part
                if part.done:
                    return
                patience = self._deadlines.next

    async def _ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Mapping[str, object]:
        """The JSON object that answers a request which needs no model to run."""
        _, plain = await self._clients()
        model = str(body["model"]) if body else ""
        async with self._expected(model, self._deadlines.next):
            import ollama

            response = await plain.request(method, path, json=body)
            if not response.is_success:
                raise ollama.ResponseError(response.text, response.status_code)
            return dict(response.json())

    async def _clients(self) -> _Clients:
        if self._open is None:
            self._open = await asyncio.to_thread(self._connect)
        return self._open

    def _connect(self) -> _Clients:
        import httpx
        import ollama

        settings = self._settings()
        return _Clients(ollama.AsyncClient(self.url, **settings), httpx.AsyncClient(base_url=self.url, **settings))

    def _settings(self) -> _ClientSettings:
        """How httpx is to behave towards this server."""
        import httpx

        from adacoder.models.lines import escape_breaks

        key = os.environ.get("OLLAMA_API_KEY") if self._address.may_have_key else None

        def authorize(request: httpx.Request) -> httpx.Request:
            request.headers.pop("Authorization", None)  # the package hands OLLAMA_API_KEY to every host
            if key:
                request.headers["Authorization"] = f"Bearer {key}"
            return request

        return {
            "timeout": httpx.Timeout(None, connect=self._deadlines.connect),
            "trust_env": not self._address.loopback,
            # Without TLS no certificates are needed, and reading them takes 20 ms; this trusts none.
            "verify": self.url.startswith("https:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            "follow_redirects": False,
            "auth": authorize,
            "event_hooks": {"response": [escape_breaks]},
        }

    @asynccontextmanager
    async def _expected(self, model: str, seconds: float) -> AsyncGenerator[None]:
        """Within this block the server must answer in `seconds`; anything else becomes a ModelError."""
        import httpx
        import ollama

        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            raise Stalled(self.url, seconds) from None
        except ollama.ResponseError as error:
            raise _refusal(error.status_code, str(error.error), model, self.url) from None
        except httpx.ConnectError as error:
            if "[SSL" in str(error):
                raise BadReply(self.url, _quoted(str(error))) from error
            raise NotRunning(self.url) from error
        except (httpx.ConnectTimeout, httpx.ProxyError) as error:
            raise NotRunning(self.url) from error
        except httpx.HTTPError as error:
            raise BadReply(self.url, "the connection broke off") from error
        except httpx.InvalidURL as error:
            raise BadHost(self.url) from error
        except (ValueError, TypeError, AttributeError) as error:
            # The package and its parsers let these through where an answer is not JSON, or of another shape.
            raise BadReply(self.url, "it does not speak as Ollama does") from error


class _Clients(NamedTuple):
    """Both ways to talk to one server."""

    chats: ollama.AsyncClient
    plain: httpx.AsyncClient


class _ClientSettings(TypedDict):
    """How httpx is set up."""

    timeout: httpx.Timeout
    trust_env: bool
    verify: bool | ssl.SSLContext
    follow_redirects: bool
    auth: Callable[[httpx.Request], httpx.Request]
    event_hooks: dict[str, list[Callable[[httpx.Response], Awaitable[None]]]]


def _refusal(status: int, said: str, model: str, host: str) -> ModelError:
    """The error for what a server said instead of an answer; `status` is -1 where a stream had begun."""
    lower = said.lower()
    if status in (429, 503):
        return Busy(host)
    if status == 404 and lower.startswith("model"):
        return ModelMissing(model, host)
    if "cloud is disabled" in lower:
        return CloudRefused(model)
    if status in (401, 403):
        return Denied(host, status)
    if any(word in lower for word in _OVERFLOW_WORDS):
        return ContextOverflow.by(model)
    if any(word in lower for word in _MEMORY_WORDS):
        return OutOfMemory(model, _quoted(said))
    if 300 <= status < 400:
        return BadReply(host, "it only names another address; name that one with --host")
    return BadReply(host, _quoted(said) or f"HTTP {status}")


def _encodable(text: str) -> str:
    """`text` with question marks for lone surrogates, which some editors send and nothing can encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _quoted(said: str) -> str:
    """A server's own words, as part of a sentence."""
    words = " ".join(said.split()).rstrip(".")
    return words if len(words) <= _QUOTED_CHARACTERS else f"{words[:_QUOTED_CHARACTERS]}…"


class OllamaModel:
    """A `ChatModel`: one model of one Ollama server."""

    def __init__(
        self,
        name: str,
        *,
        host: str | None,
        context_tokens: int,
        temperature: float,
        seed: int | None,
        keep_alive: str,
        allow_cloud: bool,
        deadlines: Deadlines | None = None,
    ) -> None:
        self._model = name
        self._server = Server(host, deadlines)
        self._context_tokens = context_tokens
        self._sampling = {"temperature": temperature} | ({} if seed is None else {"seed": seed})
        self._keep_alive = keep_alive
        self._allow_cloud = allow_cloud
        self._facts: Facts | None = None

    @property
    def name(self) -> str:
        """Its id: `ollama:` and its name."""
        return f"ollama:{self._model}"

    async def close(self) -> None:
        """Close the connections to the server."""
        await self._server.aclose()

    async def reply(self, messages: Sequence[Message], *, enough: Enough, max_tokens: int) -> Reply:
        """As `ChatModel.reply`. Cancelling it closes the connection, which ends the generation."""
        facts = await self._permitted()
        window = min(self._context_tokens, facts.window or self._context_tokens)
        if least(messages) > window:
            raise ContextOverflow.by(self._model)
        # Only a reply that was read to its end tells how much of the prompt the model saw.
        may_stop = estimate_chat(messages) <= window
        text = ""
        async with aclosing(self._parts(messages, facts, max_tokens)) as parts:
            async for part in parts:
                if part.done:
                    text += part.message.content or ""
                    return self._whole(messages, text, part, window)
                if grown := part.message.content:
                    text += grown
                    if enough(text) and may_stop:
                        break
        return Reply(text, Tokens(estimate_chat(messages), estimate(text), estimated=True), Ended.STOPPED_EARLY)

    def _parts(self, messages: Sequence[Message], facts: Facts, max_tokens: int) -> AsyncGenerator[ollama.ChatResponse]:
        options = {"num_ctx": self._context_tokens, "num_predict": max_tokens, **self._sampling}
        # Thinking is on unless it is switched off, and takes its tokens from the reply's; a model that cannot
        # think may refuse to hear of it.
        think = False if facts.thinks else None
        return self._server.chat(self._model, messages, options=options, keep_alive=self._keep_alive, think=think)

    async def _permitted(self) -> Facts:
        """What the server says of the model, once it is clear that the model may be used."""
        if is_cloud(self._model) and not self._allow_cloud:
            raise CloudRefused(self._model)
        if self._facts is None:
            self._facts = await self._server.facts(self._model)
        if self._facts.remote and not self._allow_cloud:
            raise CloudRefused(self._model)
        return self._facts

    def _whole(self, messages: Sequence[Message], text: str, last: ollama.ChatResponse, window: int) -> Reply:
        """The reply that `last` ends."""
        read, written = last.prompt_eval_count, last.eval_count
        if read and was_cut(messages, read, window):
            raise ContextOverflow.by(self._model)
        tokens = Tokens(
            read or estimate_chat(messages),
            written or estimate(text),
            estimated=not (read and written),
        )
        return Reply(text, tokens, Ended.LENGTH if last.done_reason == "length" else Ended.STOP)
