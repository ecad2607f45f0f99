"""Open models by their id: `ollama:qwen2.5-coder:7b` (`ollama:` is optional), `openai:MODEL` or `replay:PATH`.

To add a kind of model, define a `Backend` in a new module of this package, and add the class to `BACKENDS`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import TypeAlias

from adacoder.models.address import address, base_url
from adacoder.models.backend import Backend, Session
from adacoder.models.base import ChatModel, OnWait
from adacoder.models.errors import ModelError
from adacoder.models.ollama_backend import OllamaBackend
from adacoder.models.openai_backend import OpenAIBackend
from adacoder.models.recording.about import About
from adacoder.models.recording.recorder import Recorder
from adacoder.models.recording.redaction import Redaction
from adacoder.models.replay import ReplayModel
from adacoder.models.replay_backend import ReplayBackend
from adacoder.settings import Settings

OpenModel: TypeAlias = "Callable[[str | None, Settings, Session, OnWait, About | None], Awaitable[ChatModel]]"
"""Type of `open_model`."""


async def open_model(
    model_id: str | None, settings: Settings, session: Session, on_wait: OnWait, about: About | None = None
) -> ChatModel:
    """Open the model with this id. Without an id, open the best installed code model.

    The setting `record` records the conversation together with `about`. `on_wait` is called with a reason when the
    request has to wait.

    Raises:
        ModelError: the model cannot be opened. Some backends notice only at the first call that a model is missing.
    """
    kind, name = kind_and_name(model_id)
    model = await BACKENDS[kind](settings, session, on_wait).open_model(name)
    if isinstance(model, ReplayModel):
        model.redaction = _redaction(settings, about)
    if settings.record is None:
        return model
    try:
        return Recorder(model, settings.record, _redaction(settings, about), about)
    except ModelError:
        await model.close()
        raise


def kind_and_name(model_id: str | None) -> tuple[str, str]:
    """Split a model id into its kind and the model's name, which may be empty."""
    kind, _, name = (model_id or "").partition(":")
    return (kind, name) if kind in BACKENDS else ("ollama", model_id or "")


def _redaction(settings: Settings, about: About | None) -> Redaction:
    """Return the redaction for recordings. It removes names of this machine, of the user and of model servers."""
    servers: list[str] = []
    for read, written in ((address, settings.host), (base_url, settings.base_url)):
        with suppress(ModelError):  # the call that uses an invalid address reports the error
            servers.append(read(written).url)
    return Redaction.here(None if about is None else about.workspace, servers)


BACKENDS: Mapping[str, type[Backend]] = {
    "ollama": OllamaBackend,
    "openai": OpenAIBackend,
    "replay": ReplayBackend,
}
"""Backends by the first part of a model id, such as `ollama` in `ollama:NAME`."""
