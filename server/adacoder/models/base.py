"""Protocols of models, and the queues of requests that wait for a model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Hashable
from contextlib import asynccontextmanager
from dataclasses import KW_ONLY, dataclass
from typing import Protocol

from adacoder.domain import Message, Reply
from adacoder.models.window import Window

Enough = Callable[[str], bool]
"""A callback that gets the reply so far whenever more text arrives. True ends the reply (`Ended.STOPPED_EARLY`)."""
OnWait = Callable[[str], None]
"""A callback that gets the reason for a wait, such as `waiting for the model, 1 ahead`."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters of one request."""

    temperature: float | None = None
    """None means the temperature in the settings."""
    top_p: float | None = None
    """None means the server's default."""


def never(text: str) -> bool:
    """Return False, so that no reply is ended early. This is the default of `Ask.enough`."""
    del text
    return False


@dataclass(frozen=True, slots=True)
class Ask:
    """One call of a model: the messages, and the limits of its reply."""

    messages: tuple[Message, ...]
    _: KW_ONLY
    max_tokens: int
    enough: Enough = never
    stop: tuple[str, ...] = ()
    """Texts that end the reply. The reply does not include them."""
    sampling: Sampling = Sampling()

    @property
    def text(self) -> str:
        """The texts of all messages, joined by line breaks."""
        return "\n".join(message.content for message in self.messages)


class Answering(Protocol):
    """The part of a model that agents use."""

    @property
    def name(self) -> str | None:
        """Model id as a user writes it, such as `ollama:qwen2.5-coder:7b`; None if no call has needed a model yet."""
        ...

    async def window(self) -> Window:
        """Return the model's context window, which also estimates the size of texts. It is fixed during a request.

        Raises:
            ModelError: the model may not be used, or does not exist.
        """
        ...

    async def reply(self, ask: Ask) -> Reply:
        """Answer `ask`.

        Raises:
            ModelError: the model gave no complete reply.
        """
        ...


class ChatModel(Answering, Protocol):
    """One model, opened for one request. Use it in one event loop only."""

    @property
    def name(self) -> str:
        """Model id as a user writes it, such as `ollama:qwen2.5-coder:7b`."""
        ...

    @property
    def lease_key(self) -> Hashable:
        """Key for `Leases.lease`. Requests with equal keys wait for each other."""
        ...

    async def close(self) -> None:
        """Close connections and files."""
        ...


class Leases:
    """Queues that limit how many requests use a model at a time.

    A request holds a model from its first call to its last. If a server alternated between two requests, it would lose
    the cached beginning of the prompt at each change.
    """

    def __init__(self, places: int = 1) -> None:
        """`places` is the number of requests that may hold a model at a time. The server needs as many slots."""
        self._places = places
        self._queues: dict[Hashable, list[asyncio.Event]] = {}

    @asynccontextmanager
    async def lease(self, key: Hashable, on_wait: OnWait) -> AsyncGenerator[None]:
        """Hold the model `key` inside the `async with` block.

        Requests get the model in the order of their calls. While this request waits, `on_wait` gets a text such as
        `waiting for the model, 1 ahead` whenever the number changes. The wait can be cancelled.
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
