"""A model that answers from a script, for tests and benchmarks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeAlias

from adacoder.domain import Reply, Tokens
from adacoder.models.base import Ask
from adacoder.models.errors import ModelError
from adacoder.models.window import Window, estimate

Said: TypeAlias = "str | Reply | Exception"
"""A scripted answer: a reply, only a reply's text, or an error to raise."""
Speaking: TypeAlias = "Callable[[Ask], Said | Awaitable[Said]]"

_NO_MORE = ModelError("The script has no reply left.")
_WINDOW = Window(8192)


class ScriptedModel:
    """A model that gives prepared replies. `asked` lists the calls of the model.

    Token counts are estimated for a reply that is only a text.
    """

    def __init__(
        self,
        *replies: Said,
        then: Said | Speaking = _NO_MORE,
        name: str = "scripted",
        window: Window | ModelError = _WINDOW,
    ) -> None:
        """`replies` answer the first calls. `then` answers all later calls."""
        self._replies = replies
        self._then = then
        self._name = name
        self._window = window
        self.asked: list[Ask] = []
        self.is_closed = False

    @property
    def name(self) -> str:
        """Implement `ChatModel.name`."""
        return self._name

    @property
    def lease_key(self) -> Hashable:
        """Key for `Leases.lease`. Models with the same name share a queue."""
        return self._name

    async def close(self) -> None:
        """Mark the model as closed."""
        self.is_closed = True

    async def window(self) -> Window:
        """Implement `ChatModel.window`."""
        if isinstance(self._window, ModelError):
            raise self._window
        return self._window

    async def reply(self, ask: Ask) -> Reply:
        """Return the next prepared reply. The reply is never ended early."""
        self.asked.append(ask)
        await asyncio.sleep(0)
        number = len(self.asked)
        said = self._replies[number - 1] if number <= len(self._replies) else self._then
        if callable(said):
            spoken = said(ask)
            said = await spoken if inspect.isawaitable(spoken) else spoken
        if isinstance(said, Exception):
            raise said
        if isinstance(said, str):
            said = Reply(said, Tokens(estimate(ask.text), estimate(said), estimated=True))
        ask.enough(said.text)
        return said
