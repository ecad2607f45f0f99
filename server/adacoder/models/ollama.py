"""Ollama: models on the user's own machine, through its native chat API.

The only file that imports `ollama`: at the first request, in a thread, because that takes a good part of a
second. What of Ollama's sharp edges shows in its messages is blunted here; the rest in `served.py`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import sys
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from adacoder.domain import Ended, Timing
from adacoder.models.address import address
from adacoder.models.errors import OLLAMA, BadName, BadReply, ContextOverflow, Kind, ModelError, ModelMissing, Stalled
from adacoder.models.names import may_chat, meant, whole
from adacoder.models.numbers import count, seconds
from adacoder.models.server import Chat, Deadlines, End, Facts, Part, Running, Thinking

if TYPE_CHECKING:
    import httpx
    import ollama

_STOP = re.compile(r"^stop[ \t]+(.+)$", re.MULTILINE)
"""A line of the parameters that a model is set up with, as `/api/show` writes them."""
_THINKS_ALWAYS = ("gpt-oss", "gptoss")
"""Families that can be told to think less, but not to leave it."""
_NO_REPLY = ("load", "unload")
"""Why a stream may end that is the answer to nothing."""
_SYSTEM = re.compile(r"\.(System|Messages)\b")
"""What a template has that lets a model see a system message."""
_RENDERER = re.compile(r"^RENDERER ", re.MULTILINE)
"""The line of a model that Ollama renders chats for by itself, whatever its template."""
_MOST_OFFERED = 12
"""How many models are offered in place of one that is missing."""
_ALIKE = 30
"""So many parts alike at its end tell why a stream stops without a word: up to 0.33 the next would be the last that
Ollama's guard against repetition lets pass, white space put aside, or has been."""
_GUARDED = "token repeat limit reached"
"""What that guard says in later versions."""
_MIDSTREAM = -1
"""The status of an error that a stream ends with."""
_NANOSECOND = 1e-9
_LOOKING = 3.0
"""Seconds that Ollama has to say what is loaded, where a request waits for that."""


class OllamaServer:
    """One Ollama server. Nothing is imported and no connection made before the first request.

    Chats go through the `ollama` package. It has no `/api/version`, and of `/api/show` it drops whether the
    model really runs elsewhere; so what is not a chat is read as it comes.
    """

    def __init__(self, host: str | None, deadlines: Deadlines | None = None) -> None:
        self._address = address(host)
        self._deadlines = deadlines or Deadlines()
        self._open: _Clients | None = None
        self._opening = asyncio.Lock()

    @property
    def url(self) -> str:
        """The server's address."""
        return self._address.url

    @property
    def kind(self) -> Kind:
        """What kind of server it is."""
        return OLLAMA

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
        return _objects((await self._ask("GET", "/api/tags")).get("models"))

    async def running(self) -> list[Running]:
        """What is loaded, as `/api/ps` lists it."""
        return list(map(_running, _objects((await self._ask("GET", "/api/ps")).get("models"))))

    async def facts(self, model: str) -> Facts:
        """As `Server.facts`."""
        try:
            shown = await self._ask("POST", "/api/show", {"model": model})
        except ModelMissing:
            raise ModelMissing(model, self.url, await self._instead_of(model)) from None
        except BadName:
            raise BadName(model, await self._instead_of(model)) from None
        return _facts(model, shown)

    async def _instead_of(self, model: str) -> Sequence[str]:
        """What is installed, can chat, and may be meant by `model`, which is not installed."""
        names = [name for tag in await self.tags() if may_chat(name := str(tag.get("name")))]
        for group in meant(model, names):
            if able := [name for name in group[:_MOST_OFFERED] if await self._chats(name)]:
                return able
        return ()

    async def _chats(self, model: str) -> bool:
        try:
            return _facts(model, await self._ask("POST", "/api/show", {"model": model})).chats
        except (BadName, BadReply, ModelMissing):
            return False

    async def loaded(self, model: str) -> Running | None:
        """As `Server.loaded`. What stands between may know nothing of this, or forbid it, and from 0.30 on Ollama does
        not tell while it loads any model; the chat will show."""
        try:
            async with asyncio.timeout(_LOOKING):
                return next((one for one in await self.running() if whole(one.name) == whole(model)), None)
        except (ModelError, TimeoutError):
            return Running(model)

    async def unload(self, model: str) -> None:
        """As `Server.unload`. It is answered at once, also where the model itself answers nothing any more."""
        await self._ask("POST", "/api/chat", {"model": model, "messages": [], "keep_alive": 0})

    async def chat(self, chat: Chat) -> AsyncGenerator[Part]:
        """As `Server.chat`. A reply that the server's guard against endless repetition ends, up to 0.33 without a
        word, has an end all the same."""
        chats, _ = await self._clients()
        _, refused = _package()
        options: dict[str, object] = {
            "num_ctx": chat.context_tokens,
            "num_predict": chat.max_tokens,
            "temperature": chat.temperature,
        }
        if chat.top_p is not None:
            options["top_p"] = chat.top_p
        if chat.seed is not None:
            options["seed"] = chat.seed
        if chat.stop:
            options["stop"] = list(chat.stop)
        with self._told(chat.model):
            stream = await chats.chat(
                chat.model,
                [{"role": message.role, "content": message.content} for message in chat.messages],
                stream=True,
                options=options,
                keep_alive=chat.keep_alive,
                think=_think(chat.thinking),
            )
            # The package promises an iterator; what it gives is a generator, and only that can be closed.
            async with aclosing(cast("AsyncGenerator[ollama.ChatResponse]", stream)) as responses:
                last, alike = "", 0
                try:
                    async for response in responses:
                        if response.done:
                            self._check(response, chat)
                        part = _part(response)
                        yield part
                        if response.done:
                            return
                        said = part.text.strip()
                        last, alike = said, alike + 1 if said == last else 1
                except refused as error:
                    if error.status_code != _MIDSTREAM or _GUARDED not in str(error.error):
                        raise
                    alike = _ALIKE
                if alike >= _ALIKE:
                    yield Part(end=End(Ended.LENGTH, in_circles=True))

    def _check(self, response: ollama.ChatResponse, chat: Chat) -> None:
        """Raise what the last part of a stream says between its lines."""
        if response.done_reason in _NO_REPLY:
            raise BadReply(self.url, f"it did not answer, but only {response.done_reason}ed the model")
        read, written = count(response.prompt_eval_count), count(response.eval_count)
        if read <= chat.context_tokens < read + written - 1:
            # It went on beyond the window, and to make room for that forgot the beginning of the prompt. (The last
            # token need not fit in.)
            raise ContextOverflow.by(chat.model)

    async def _ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Mapping[str, object]:
        """The JSON object that answers a request which needs no model to run."""
        _, plain = await self._clients()
        _, refused = _package()
        with self._told(str(body["model"]) if body else ""):
            try:
                async with asyncio.timeout(self._deadlines.next):
                    response = await plain.request(method, path, json=body)
            except TimeoutError:
                raise Stalled(self.url, self._deadlines.next) from None
            if not response.is_success:
                raise refused(response.text, response.status_code)
            answer = response.json()
            if not isinstance(answer, dict):
                raise TypeError(answer)
            return answer

    async def _clients(self) -> _Clients:
        async with self._opening:
            if self._open is None:
                self._open = await asyncio.to_thread(self._connect)
            return self._open

    def _connect(self) -> _Clients:
        import httpx

        from adacoder.models.http import client_settings, setting_up

        client, _ = _package()

        with setting_up(self.url, OLLAMA):
            settings = client_settings(self._address, os.environ.get("OLLAMA_API_KEY"), self._deadlines.connect)
            return _Clients(client(self.url, **settings), httpx.AsyncClient(base_url=self.url, **settings))

    @contextmanager
    def _told(self, model: str) -> Iterator[None]:
        """Within this block whatever goes wrong becomes a ModelError."""
        from adacoder.models.http import failures_told, refusal

        _, refused = _package()
        with failures_told(self.url, OLLAMA):
            try:
                yield
            except refused as error:
                raise refusal(error.status_code, str(error.error), model, self.url, OLLAMA) from None


class _Clients(NamedTuple):
    """Both ways to talk to one server."""

    chats: ollama.AsyncClient
    plain: httpx.AsyncClient


def _package() -> tuple[type[ollama.AsyncClient], type[ollama.ResponseError]]:
    """What is used of the `ollama` package, without its own beginning: that makes one more client, for the proxies,
    certificates, host and key that the environment names, and cannot be imported where it does not understand them."""
    spec = importlib.util.find_spec("ollama") if "ollama" not in sys.modules else None
    if spec is not None:
        sys.modules["ollama"] = importlib.util.module_from_spec(spec)
    from ollama._client import AsyncClient
    from ollama._types import ResponseError

    return AsyncClient, ResponseError


def _objects(value: object) -> list[Mapping[str, object]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _facts(model: str, shown: Mapping[str, object]) -> Facts:
    """What an answer of `/api/show` says."""
    capabilities = shown.get("capabilities")
    can = set(map(str, capabilities)) if isinstance(capabilities, list) else {"completion"}
    info = shown.get("model_info")
    windows = [
        window
        for key, value in (info.items() if isinstance(info, dict) else ())
        if str(key).endswith(".context_length") and (window := count(value))
    ]
    thinking = Thinking.NEVER
    if "thinking" in can:
        family = str(info.get("general.architecture")) if isinstance(info, dict) else ""
        always = family.startswith(_THINKS_ALWAYS) or whole(model).rpartition("/")[2].startswith(_THINKS_ALWAYS)
        thinking = Thinking.ALWAYS if always else Thinking.UNLESS_TOLD
    template = str(shown.get("template") or "")
    is_remote = bool(shown.get("remote_host") or shown.get("remote_model"))
    is_rendered = is_remote or _RENDERER.search(str(shown.get("modelfile") or ""))
    return Facts(
        thinking=thinking,
        window=min(windows, default=None),
        remote=is_remote,
        chats="completion" in can,
        hears_system=".Prompt" not in template or bool(is_rendered or _SYSTEM.search(template)),
        stop=tuple(_stops(str(shown.get("parameters") or ""))),
    )


def _stops(parameters: str) -> Iterator[str]:
    """Where a model is set up to stop."""
    for match in _STOP.finditer(parameters):
        written = match[1].strip()
        try:
            yield str(json.loads(written))
        except ValueError:
            yield written


def _think(thinking: Thinking) -> bool | Literal["low"] | None:
    """What to tell a model of thinking: it takes its tokens from the reply, and is on unless it is switched off.

    One that cannot think may refuse to hear of it.
    """
    match thinking:
        case Thinking.NEVER:
            return None
        case Thinking.UNLESS_TOLD:
            return False
        case Thinking.ALWAYS:
            return "low"


def _part(response: ollama.ChatResponse) -> Part:
    text = response.message.content or ""
    if not response.done:
        thought = response.message.thinking or ""
        return Part(text or thought, thought=bool(thought) and not text)
    load, prompt, generation = (
        seconds(duration, _NANOSECOND)
        for duration in (response.load_duration, response.prompt_eval_duration, response.eval_duration)
    )
    whole = seconds(response.total_duration, _NANOSECOND)
    return Part(
        text,
        end=End(
            Ended.LENGTH if response.done_reason == "length" else Ended.STOP,
            prompt=count(response.prompt_eval_count),
            completion=count(response.eval_count),
            time=Timing(max(0.0, whole - load - prompt - generation), load, prompt, generation),
        ),
    )


def _running(entry: Mapping[str, object]) -> Running:
    """What an entry of `/api/ps` says."""
    size, on_gpu = count(entry.get("size")), entry.get("size_vram")
    return Running(
        str(entry.get("name")),
        count(entry.get("context_length")) or None,
        _moment(entry.get("expires_at")),
        min(count(on_gpu) / size, 1.0) if size and isinstance(on_gpu, int) else None,
        size,
    )


def _moment(written: object) -> datetime | None:
    """A time as Go writes it; one without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(str(written))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
