"""Opens models by id: `ollama:qwen2.5-coder:7b`, where `ollama:` may be left out, `openai:MODEL` or `replay:PATH`.

A new kind of backend is a new file in this room, one for its examination, and an entry in `BACKENDS` and `EXAMINERS`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from adacoder.models.address import Address, address, base_url, stay_at_home
from adacoder.models.base import ChatModel, Leases, OnWait
from adacoder.models.catalog import best
from adacoder.models.errors import OLLAMA, OPENAI, CloudRefused, Kind, ModelError, Nameless, NoModel
from adacoder.models.examination import Examiner
from adacoder.models.examine_ollama import OllamaExaminer
from adacoder.models.examine_openai import OpenAIExaminer
from adacoder.models.examine_replay import ReplayExaminer
from adacoder.models.names import is_cloud
from adacoder.models.ollama import OllamaServer
from adacoder.models.openai import OpenAIServer
from adacoder.models.recording.about import About
from adacoder.models.recording.recorder import Recorder
from adacoder.models.recording.redaction import Redaction
from adacoder.models.replay import ReplayModel, recorded
from adacoder.models.served import ServedModel
from adacoder.models.server import Deadlines, Server
from adacoder.models.window import Calibration
from adacoder.settings import Settings


@dataclass(frozen=True, slots=True)
class Experience:
    """What is remembered of models between requests. Owned by whoever starts requests."""

    leases: Leases = field(default_factory=Leases)
    calibrations: defaultdict[Hashable, Calibration] = field(default_factory=lambda: defaultdict(Calibration))
    """By server and model."""


OpenModel: TypeAlias = "Callable[[str | None, Settings, Experience, OnWait, About | None], Awaitable[ChatModel]]"
"""Such as `open_model`."""


async def open_model(
    model_id: str | None, settings: Settings, experience: Experience, on_wait: OnWait, about: About | None = None
) -> ChatModel:
    """The model that `model_id` names; without one, the best code model that is installed.

    With `settings.record` the conversation is written down, with what it is `about`. `on_wait` hears what requests
    wait for.

    Raises:
        ModelError: there is no such model. (Whether the server has the one named shows at its first reply.)
    """
    kind, name = kind_and_name(model_id)
    model = await BACKENDS[kind](name, settings, experience, on_wait)
    if isinstance(model, ReplayModel) and about is not None:
        model.follow(about, _redaction(settings, about))
    if settings.record is None:
        return model
    try:
        return Recorder(model, settings.record, _redaction(settings, about), about)
    except ModelError:
        await model.close()
        raise


def kind_and_name(model_id: str | None) -> tuple[str, str]:
    """The kind of backend that an id names, a key of `BACKENDS`, and the rest of it; empty if it names no model."""
    kind, _, name = (model_id or "").partition(":")
    return (kind, name) if kind in BACKENDS else ("ollama", model_id or "")


async def _ollama(name: str, settings: Settings, experience: Experience, on_wait: OnWait) -> ChatModel:
    if is_cloud(name) and not settings.allow_cloud:
        raise CloudRefused(name)
    await _stay_at_home(address(settings.host), OLLAMA, settings)
    if not name:
        found = await best(settings.host, _deadlines(settings))
        if found is None:
            raise NoModel(address(settings.host).url)
        name = found.name
        on_wait(f"no model is named: using {name}, the best of those that are installed")
    server = OllamaServer(settings.host, _deadlines(settings))
    return _served(server, name, "ollama", settings, experience, on_wait)


async def _stay_at_home(place: Address, kind: Kind, settings: Settings) -> None:
    if not settings.allow_cloud:
        await stay_at_home(place, kind, _deadlines(settings).connect)


async def _openai(name: str, settings: Settings, experience: Experience, on_wait: OnWait) -> ChatModel:
    if not name:
        raise Nameless("openai", "NAME")
    await _stay_at_home(base_url(settings.base_url), OPENAI, settings)
    server = OpenAIServer(settings.base_url, _deadlines(settings))
    return _served(server, name, "openai", settings, experience, on_wait)


async def _replay(path: str, settings: Settings, experience: Experience, on_wait: OnWait) -> ChatModel:
    return recorded(path)


def _served(
    server: Server, model: str, prefix: str, settings: Settings, experience: Experience, on_wait: OnWait
) -> ServedModel:
    return ServedModel(
        server,
        model,
        prefix=prefix,
        context_tokens=settings.context_tokens,
        temperature=settings.temperature,
        seed=settings.seed,
        keep_alive=settings.keep_alive,
        allow_cloud=settings.allow_cloud,
        deadlines=_deadlines(settings),
        calibration=experience.calibrations[server.url, model],
        on_wait=on_wait,
    )


def _deadlines(settings: Settings) -> Deadlines:
    """How long to wait for a server."""
    return Deadlines(first=settings.first_token_timeout, next=settings.token_timeout, whole=settings.reply_timeout)


def _redaction(settings: Settings, about: About | None) -> Redaction:
    """What is taken out of a conversation: what tells of this machine, its user and its servers."""
    servers: list[str] = []
    for read, written in ((address, settings.host), (base_url, settings.base_url)):
        with suppress(ModelError):  # it is no address; what needs one says so
            servers.append(read(written).url)
    return Redaction.here(None if about is None else about.workspace, servers)


BACKENDS: Mapping[str, Callable[[str, Settings, Experience, OnWait], Awaitable[ChatModel]]] = {
    "ollama": _ollama,
    "openai": _openai,
    "replay": _replay,
}
"""What opens a model of each kind, by the part of its id before the first colon."""
EXAMINERS: Mapping[str, type[Examiner]] = {
    "ollama": OllamaExaminer,
    "openai": OpenAIExaminer,
    "replay": ReplayExaminer,
}
"""What looks at models of each kind for `doctor`."""
