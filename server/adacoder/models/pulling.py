"""Downloads of models by Ollama."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from adacoder.models.errors import CloudRefused
from adacoder.models.names import is_cloud
from adacoder.models.ollama import OllamaServer
from adacoder.models.server import Pulled


async def pulled(host: str | None, model: str, *, allow_cloud: bool) -> AsyncGenerator[Pulled]:
    """Have the server at `host` download `model`, and yield how far it is. Closing the generator ends that.

    Raises:
        CloudRefused: there is nothing to download; it runs elsewhere.
        ModelError: no server answers there, or it cannot download that.
    """
    if is_cloud(model) and not allow_cloud:
        raise CloudRefused(model)
    async with aclosing(OllamaServer(host)) as server, aclosing(server.pull(model)) as states:
        async for state in states:
            yield state


def words(state: Pulled) -> str:
    """What a person is told of a download."""
    if 0 < state.bytes < state.total:
        return f"{state.bytes / state.total:.0%} of {state.total / 1e9:.1f} GB"
    return state.doing
