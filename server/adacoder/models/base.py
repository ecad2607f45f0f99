"""Interface of every model backend: the ChatModel protocol, and the lease.

Agents see no more of a model than `Answering`, `window.py` and `errors.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Hashable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from adacoder.domain import Message, Reply
from adacoder.models.window import Window

Enough = Callable[[str], bool]
"""Called with the reply's text whenever it has grown; returning True ends the reply (`Ended.STOPPED_EARLY`)."""
OnWait = Callable[[str], None]
"""Called with the reason of a wait, such as `waiting for the model, 1 ahead`."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters of one request."""

    temperature: float | None = None
    """None: from the settings."""
    top_p: float | None = None
    """None: the server's default."""


class Answering(Protocol):
    """A model as Agents see it."""

    @property
    def name(self) -> str | None:
        """Model id as a user writes it, such as `ollama:qwen2.5-coder:7b`; None: no model was needed yet."""
        ...

    async def window(self) -> Window:
        """Return the context window and the measure of texts in it; they stay the same for a whole request.

        Raises:
            ModelError: the model may not be used, or there is no such model.
        """
        ...

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        enough: Enough,
        max_tokens: int,
        stop: Sequence[str] = (),
        sampling: Sampling | None = None,
    ) -> Reply:
        """Answer `messages` with at most `max_tokens` tokens; the reply ends before any text of `stop`.

        Raises:
            ModelError: there is no whole reply to be had.
        """
        ...


class ChatModel(Answering, Protocol):
    """One model, opened for one request. It belongs to the event loop that first asks it."""

    @property
    def name(self) -> str:
        """Model id as a user writes it, such as `ollama:qwen2.5-coder:7b`."""
        ...

    @property
    def lease_key(self) -> Hashable:
        """Key of the lease: a model of a server."""
        ...

    async def close(self) -> None:
        """Close connections and files."""
        ...


class Leases:
    """Exclusive use of models by requests. Owned by the caller of the service; there is no other queue.

    One request holds a model from its first call to its last, because a server that reads the prompts of two
    requests by turns forgets each time what those of one request have in common.
    """

    def __init__(self, places: int = 1) -> None:
        """`places`: how many requests may hold a model at a time; more than one only where its server has as many."""
        self._places = places
        self._queues: dict[Hashable, list[asyncio.Event]] = {}

    @asynccontextmanager
    async def lease(self, key: Hashable, on_wait: OnWait) -> AsyncGenerator[None]:
        """Hold `key` inside the `async with` block: first come, first served; a wait can be cancelled.

        `on_wait` is told `waiting for the model, 1 ahead` if there is a wait, and again when that changes.
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
