"""Opens models by id: `ollama:qwen2.5-coder:7b`, where `ollama:` may be left out, or `replay:PATH`.

A new kind of backend is one new file in this room and one entry in `BACKENDS`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from adacoder.models.address import address
from adacoder.models.base import ChatModel, NoModel
from adacoder.models.catalog import choose, installed
from adacoder.models.ollama import OllamaModel
from adacoder.models.replay import Recorder, ReplayModel
from adacoder.settings import Settings


async def open_model(model_id: str | None, settings: Settings) -> ChatModel:
    """The model that `model_id` names; without one, the best code model that is installed.

    With `settings.record` the conversation is written down.

    Raises:
        ModelError: there is no such model. (Whether Ollama has the one named shows at its first reply.)
    """
    kind, _, name = (model_id or "").partition(":")
    if kind not in BACKENDS:
        kind, name = "ollama", model_id or ""
    model = await BACKENDS[kind](name, settings)
    return model if settings.record is None else Recorder(model, settings.record)


async def _ollama(name: str, settings: Settings) -> ChatModel:
    return OllamaModel(
        name or await _best(settings.host),
        host=settings.host,
        context_tokens=settings.context_tokens,
        temperature=settings.temperature,
        seed=settings.seed,
        keep_alive=settings.keep_alive,
        allow_cloud=settings.allow_cloud,
    )


async def _best(host: str | None) -> str:
    best = choose(await installed(host))
    if best is None:
        raise NoModel(address(host).url)
    return best.name


async def _replay(path: str, settings: Settings) -> ChatModel:
    return ReplayModel(_file(path))


def _file(path: str) -> Path:
    return Path(path).expanduser()


BACKENDS: Mapping[str, Callable[[str, Settings], Awaitable[ChatModel]]] = {
    "ollama": _ollama,
    "replay": _replay,
}
"""What opens a model of each kind, by the part of its id before the first colon."""
