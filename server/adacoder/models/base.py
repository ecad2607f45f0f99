"""Protocols of models, and the queue of requests for a model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Protocol

from adacoder.domain import Message, Reply
from adacoder.models.window import Window

Enough = Callable[[str], bool]
"""Function that gets a growing reply, and returns True to end the reply early."""
OnWait = Callable[[str], None]
"""Function that gets the reason for a wait, such as `waiting for the model, 1 ahead`."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters of one model call."""

    temperature: float | None = None
    """Temperature; None for the value in the settings."""
    top_p: float | None = None
    """Nucleus sampling threshold; None for the server's default."""


def never(text: str) -> bool:
    """Never end a reply early. This is the default of `Ask.enough`."""
    del text
    return False


@dataclass(frozen=True, slots=True)
class Ask:
    """One call of a model: messages, and limits of the reply."""

    messages: tuple[Message, ...]
    _: KW_ONLY
    max_tokens: int
    enough: Enough = never
    stop: tuple[str, ...] = ()
    """Stop sequences. They are not part of the reply."""
    sampling: Sampling = Sampling()

    @property
    def text(self) -> str:
        """All messages as one text."""
        return "\n".join(message.content for message in self.messages)


class Answering(Protocol):
    """The methods of a model that agents use."""

    @property
    def name(self) -> str | None:
        """Model id, such as `ollama:qwen2.5-coder:7b`; possibly None before the first call."""
        ...

    async def window(self) -> Window:
        """Return the model's context window, which stays the same during a request.

        Raises:
            ModelError: the model may not be used, or does not exist.
        """
        ...

    async def reply(self, ask: Ask) -> Reply:
        """Return the model's reply to `ask`.

        Raises:
            ModelError: the model gave no complete reply.
        """
        ...


class ChatModel(Answering, Protocol):
    """A model that was opened for one request. Use it in one event loop only."""

    @property
    def name(self) -> str:
        """Model id, such as `ollama:qwen2.5-coder:7b`."""
        ...

    @property
    def lease_key(self) -> Hashable:
        """Key for `Leases.lease`. Requests with equal keys share a queue."""
        ...

    async def close(self) -> None:
        """Close connections and files."""
        ...


class Leases:
    """Queues of requests that wait for a model.

    A request keeps its model until the request ends. Alternating requests would make the server lose its prompt cache.
    """

    def __init__(self, places: int = 1) -> None:
        """`places` is the number of requests that may use a model in parallel."""
        self._places = places
        self._queues: dict[Hashable, list[asyncio.Event]] = {}

    @asynccontextmanager
    async def lease(self, key: Hashable, on_wait: OnWait) -> AsyncGenerator[None]:
        """Use the model `key` inside the `async with` block. Models are given to requests in the order of their calls.

        While a request waits, `on_wait` gets messages such as `waiting for the model, 1 ahead`.
        """
        queue = self._queues.setdefault(key, [])
        moved = asyncio.Event()
        queue.append(moved)
        try:
            while (ahead := queue.index(moved) + 1 - self._places) > 0:
                moved.clear()
                on_wait(f"waiting for the model, {ahead} ahead")
                await moved.wait()
            yield
        finally:
            place = queue.index(moved)
            del queue[place]
            for behind in queue[place:]:
                behind.set()
            if not queue:
                del self._queues[key]
