"""Client for Ollama's native API.

Only this module imports the package `ollama`. The import takes almost a second, so a thread does the import at the
first request.
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
from typing import TYPE_CHECKING, NamedTuple, cast

from adacoder.domain import Ended, Timing
from adacoder.models.address import address
from adacoder.models.errors import (
    OLLAMA,
    BadName,
    BadReply,
    ContextOverflow,
    ModelError,
    ModelMissing,
    NotOnWindows,
    NotPulled,
    NotRunning,
    Stalled,
)
from adacoder.models.model_names import canonical, may_chat, suggestions
from adacoder.models.numbers import count, seconds
from adacoder.models.server import Chat, Connection, Deadlines, End, Facts, Part, Pulled, Running, Thinking
from adacoder.thoughts import has_thoughts

if TYPE_CHECKING:
    import httpx
    import ollama

_STOP = re.compile(r"^stop[ \t]+(.+)$", re.MULTILINE)
"""Matches a stop sequence in the model parameters that `/api/show` returns."""
_THINKS_ALWAYS = ("gpt-oss", "gptoss")
"""Model families whose thinking can be reduced, but not switched off."""
_NO_REPLY = ("load", "unload")
"""Values of `done_reason` in streams without a reply."""
_SYSTEM = re.compile(r"\.(System|Messages)\b")
"""Fields of a chat template that include the system message."""
_RENDERER = re.compile(r"^RENDERER ", re.MULTILINE)
"""Matches a line of a Modelfile that makes Ollama render chats itself and ignore the template."""
_MOST_OFFERED = 12
"""Maximum number of models to suggest for a missing model."""
_ALIKE = 30
"""Approximate number of equal parts in a row after which Ollama ends a reply."""
_GUARDED = "token repeat limit reached"
"""Error message of later versions when a model repeats itself."""
_MIDSTREAM = -1
"""Status of an error in the middle of a stream."""
_NANOSECOND = 1e-9
_PULLED = "success"
"""`status` at the end of a download."""
_SILENCE = 600.0
"""Timeout for the next progress message of a download, in seconds. Ollama may take minutes to check a large file."""
_LOOKING = 3.0
"""Timeout for the list of loaded models, in seconds. A request waits for this list."""


class _Clients(NamedTuple):
    chats: ollama.AsyncClient
    plain: httpx.AsyncClient


class OllamaServer(Connection[_Clients]):
    """Client for one Ollama server.

    Chats and downloads use the package `ollama`. Other requests use plain HTTP, because the package lacks
    `/api/version` and drops a field of `/api/show`.
    """

    kind = OLLAMA

    def __init__(self, host: str | None, deadlines: Deadlines | None = None) -> None:
        super().__init__(address(host), deadlines)

    async def aclose(self) -> None:
        """Close all connections."""
        clients, self._opened = self._opened, None
        if clients is not None:
            await clients.chats.close()  # type: ignore[no-untyped-call]  # The package has no types for this method.
            await clients.plain.aclose()

    async def version(self) -> str:
        """Return the server's version, such as `0.24.0`."""
        return str((await self._ask("GET", "/api/version")).get("version"))

    async def tags(self) -> list[Mapping[str, object]]:
        """List the installed models (`/api/tags`)."""
        return _objects((await self._ask("GET", "/api/tags")).get("models"))

    async def running(self) -> list[Running]:
        """List the loaded models (`/api/ps`)."""
        return list(map(_running, _objects((await self._ask("GET", "/api/ps")).get("models"))))

    async def facts(self, model: str) -> Facts:
        """Implement `Server.facts`."""
        try:
            shown = await self._ask("POST", "/api/show", {"model": model})
        except ModelMissing:
            raise ModelMissing(model, self.url, await self._instead_of(model)) from None
        except BadName:
            raise BadName(model, await self._instead_of(model)) from None
        return _facts(model, shown)

    async def _instead_of(self, model: str) -> Sequence[str]:
        """Return names of installed chat models that resemble the missing `model`."""
        names = [name for tag in await self.tags() if may_chat(name := str(tag.get("name")))]
        for group in suggestions(model, names):
            if able := [name for name in group[:_MOST_OFFERED] if await self._chats(name)]:
                return able
        return ()

    async def _chats(self, model: str) -> bool:
        try:
            return _facts(model, await self._ask("POST", "/api/show", {"model": model})).chats
        except (BadName, BadReply, ModelMissing):
            return False

    async def loaded(self, model: str) -> Running | None:
        """Implement `Server.loaded`. If the server does not report load states, the model counts as loaded.

        A proxy may refuse this request. Ollama 0.30 and later does not answer while a model is being loaded.
        """
        try:
            async with asyncio.timeout(_LOOKING):
                return next((one for one in await self.running() if canonical(one.name) == canonical(model)), None)
        except (ModelError, TimeoutError):
            return Running(model)

    async def unload(self, model: str) -> None:
        """Implement `Server.unload`. Unloading works even if the model no longer answers chats."""
        await self._ask("POST", "/api/chat", {"model": model, "messages": [], "keep_alive": 0})

    async def pull(self, model: str) -> AsyncGenerator[Pulled]:
        """Let the server download `model`, and yield the progress.

        Closing the generator stops the download. A later call continues the same download.

        Raises:
            NotPulled: the server cannot download it.
        """
        chats, _ = await self._client()
        _, refused = _package()
        files: dict[str, tuple[int, int]] = {}
        doing = ""
        with self._translated_errors(model):
            stream = await chats.pull(model, stream=True)
            try:
                async with aclosing(cast("AsyncGenerator[ollama.ProgressResponse]", stream)) as responses:
                    while True:
                        async with asyncio.timeout(_SILENCE):
                            response = await anext(responses, None)
                        if response is None:
                            break
                        doing = response.status or ""
                        if response.digest:
                            files[response.digest] = count(response.completed), count(response.total)
                        there, total = (sum(sizes) for sizes in zip((0, 0), *files.values(), strict=True))
                        yield Pulled(doing, there, total)
            except TimeoutError:
                raise Stalled(self.url, _SILENCE) from None
            except refused as error:
                if error.status_code != _MIDSTREAM and error.status_code < 500:
                    raise
                raise NotPulled(model, str(error.error)) from None
        if doing != _PULLED:
            raise NotPulled(model, "it ended the download early")

    async def chat(self, chat: Chat) -> AsyncGenerator[Part]:
        """Implement `Server.chat`.

        Ollama ends a reply in which the model repeats itself: up to version 0.33 without a last part, and later with an
        error. This method then yields a last part with an `End`.
        """
        chats, _ = await self._client()
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
        with self._translated_errors(chat.model):
            stream = await chats.chat(
                chat.model,
                [{"role": message.role, "content": message.content} for message in chat.messages],
                stream=True,
                options=options,
                keep_alive=chat.keep_alive,
                # None omits the field, because some models refuse it
                think={Thinking.NEVER: None, Thinking.UNLESS_TOLD: False, Thinking.ALWAYS: "low"}[chat.thinking],
            )
            # the package declares an iterator, but returns a generator, which can be closed
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
                    yield Part(end=End(Ended.LENGTH, repeats_itself=True))

    def _check(self, response: ollama.ChatResponse, chat: Chat) -> None:
        """Raise a ModelError if the last part of a stream shows that the reply is unusable."""
        if response.done_reason in _NO_REPLY:
            raise BadReply(self.url, f"it did not answer, but only {response.done_reason}ed the model")
        read, written = count(response.prompt_eval_count), count(response.eval_count)
        if read <= chat.context_tokens < read + written - 1:
            # Prompt and reply exceed the window, so Ollama dropped the beginning of the prompt. The reply's last token
            # is not counted, because it needs no space.
            raise ContextOverflow.by(chat.model)

    async def _ask(self, method: str, path: str, body: Mapping[str, object] | None = None) -> Mapping[str, object]:
        """Send a request that needs no loaded model, and return the server's answer."""
        _, plain = await self._client()
        _, refused = _package()
        with self._translated_errors(str(body["model"]) if body else ""):
            async with self._answered_soon():
                response = await plain.request(method, path, json=body)
            if not response.is_success:
                raise refused(response.text, response.status_code)
            answer = response.json()
            if not isinstance(answer, dict):
                raise TypeError(answer)
            return answer

    def _connect(self) -> _Clients:
        import httpx

        from adacoder.models.http import client_settings, client_setup

        client, _ = _package()
        with client_setup(self.url, OLLAMA):
            settings = client_settings(self._address, os.environ.get("OLLAMA_API_KEY"), self._deadlines.connect)
            return _Clients(client(self.url, **settings), httpx.AsyncClient(base_url=self.url, **settings))

    @contextmanager
    def _translated_errors(self, model: str) -> Iterator[None]:
        """Turn all errors of the `with` block into a ModelError."""
        from adacoder.models.http import refusal, translated_failures

        _, refused = _package()
        try:
            with translated_failures(self.url, OLLAMA):
                try:
                    yield
                except refused as error:
                    raise refusal(error.status_code, str(error.error), model, self.url, OLLAMA) from None
        except NotRunning:
            if self._address.on_windows:
                raise NotOnWindows(self.url) from None
            raise


def _package() -> tuple[type[ollama.AsyncClient], type[ollama.ResponseError]]:
    """Return two classes of the package `ollama`, without running its `__init__.py`.

    `__init__.py` creates a client, which fails if environment variables for proxies are invalid.
    """
    spec = importlib.util.find_spec("ollama") if "ollama" not in sys.modules else None
    if spec is not None:
        sys.modules["ollama"] = importlib.util.module_from_spec(spec)
    from ollama._client import AsyncClient
    from ollama._types import ResponseError

    return AsyncClient, ResponseError


def _objects(value: object) -> list[Mapping[str, object]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _facts(model: str, shown: Mapping[str, object]) -> Facts:
    """Read an answer of `/api/show`."""
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
        always = family.startswith(_THINKS_ALWAYS) or canonical(model).rpartition("/")[2].startswith(_THINKS_ALWAYS)
        thinking = Thinking.ALWAYS if always else Thinking.UNLESS_TOLD
    template = str(shown.get("template") or "")
    is_remote = bool(shown.get("remote_host") or shown.get("remote_model"))
    is_rendered = is_remote or _RENDERER.search(str(shown.get("modelfile") or ""))
    return Facts(
        thinking=thinking,
        window=min(windows, default=None),
        remote=is_remote,
        chats="completion" in can,
        may_think_aloud="thinking" in can or not template or has_thoughts(template),
        reads_system=".Prompt" not in template or bool(is_rendered or _SYSTEM.search(template)),
        stop=tuple(_stops(str(shown.get("parameters") or ""))),
    )


def _stops(parameters: str) -> Iterator[str]:
    for match in _STOP.finditer(parameters):
        written = match[1].strip()
        try:
            yield str(json.loads(written))
        except ValueError:
            yield written


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
    """Read an entry of `/api/ps`."""
    size, on_gpu = count(entry.get("size")), entry.get("size_vram")
    return Running(
        str(entry.get("name")),
        count(entry.get("context_length")) or None,
        _moment(entry.get("expires_at")),
        min(count(on_gpu) / size, 1.0) if size and isinstance(on_gpu, int) else None,
        size,
    )


def _moment(written: object) -> datetime | None:
    """Parse a time in Go's format. Without a time zone, it is UTC."""
    try:
        moment = datetime.fromisoformat(str(written))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
