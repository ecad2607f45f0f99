"""Download models through Ollama."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from adacoder.models.errors import CloudRefused
from adacoder.models.model_names import is_cloud
from adacoder.models.ollama import OllamaServer
from adacoder.models.server import Pulled


async def pulled(host: str | None, model: str, *, allow_cloud: bool) -> AsyncGenerator[Pulled]:
    """Let the server at `host` download `model`, and yield the progress. Closing the generator stops the download.

    Raises:
        CloudRefused: the model runs on Ollama's servers, and the user has not allowed this.
        ModelError: no server answers there, or the server cannot download the model.
    """
    if is_cloud(model) and not allow_cloud:
        raise CloudRefused(model)
    async with aclosing(OllamaServer(host)) as server, aclosing(server.pull(model)) as states:
        async for state in states:
            yield state


def words(state: Pulled) -> str:
    """Describe the progress of a download."""
    if 0 < state.bytes < state.total:
        return f"{state.bytes / state.total:.0%} of {state.total / 1e9:.1f} GB"
    return state.doing
