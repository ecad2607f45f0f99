"""The model of one request. Other requests for the same model wait until this request ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace

from adacoder.domain import Outcome, Reply
from adacoder.journal import Journal
from adacoder.models.backend import Session
from adacoder.models.backends import OpenModel
from adacoder.models.base import Ask, ChatModel
from adacoder.models.errors import ModelError
from adacoder.models.recording.about import About
from adacoder.models.recording.recorder import Recorder
from adacoder.models.waiting import Reloaded
from adacoder.models.window import Window
from adacoder.settings import Settings


class LeasedModel:
    """The model of one request. It is opened at the first call, because some requests need no model."""

    def __init__(
        self,
        name: str | None,
        settings: Settings,
        session: Session,
        journal: Journal,
        about: Callable[[], About],
        open_model: OpenModel,
    ) -> None:
        """`about` returns the description of the request for a recording."""
        self._named = name
        self._settings = settings
        self._session = session
        self._journal = journal
        self._about = about
        self._open_model = open_model
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._model: ChatModel | None = None
        self._waited = 0.0
        """Seconds spent waiting for other requests; 0.0 after the first reply has reported them."""
        self._notes: list[str] = []
        self.has_replied = False

    async def __aenter__(self) -> LeasedModel:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def name(self) -> str | None:
        """Model id; None before the first call."""
        return self._model.name if self._model else None

    async def window(self) -> Window:
        """Implement `ChatModel.window`."""
        return await (await self._held()).window()

    async def reply(self, ask: Ask) -> Reply:
        """Implement `ChatModel.reply`. The first reply's queue time includes the wait for other requests."""
        model = await self._held()
        reply = await model.reply(ask)
        self.has_replied = True
        waited, self._waited = self._waited, 0.0
        if reply.time is None:
            return reply
        return replace(reply, time=replace(reply.time, queue=reply.time.queue + waited))

    async def _held(self) -> ChatModel:
        """Return the opened model. The first call opens the model and waits for other requests."""
        async with self._opening:
            if self._model is None:
                waiting = self._wait
                model = await self._open_model(self._named, self._settings, self._session, waiting, self._about())
                self._stack.push_async_callback(model.close)
                began = time.monotonic()
                await self._stack.enter_async_context(self._session.leases.lease(model.lease_key, waiting))
                self._waited = time.monotonic() - began
                self._model = model
            return self._model

    def _wait(self, what: str) -> None:
        if isinstance(what, Reloaded) and what not in self._notes:
            self._notes.append(what)
        self._journal.waiting(what)

    def concluded(self, outcome: Outcome) -> Outcome:
        """Add notes about the model to `outcome`. If the conversation is recorded, also record the outcome."""
        outcome = replace(outcome, notes=(*outcome.notes, *self._notes))
        if isinstance(self._model, Recorder):
            try:
                return self._model.end(outcome)
            except ModelError as error:
                return replace(outcome, notes=(*outcome.notes, str(error)))
        return outcome

    async def close(self) -> None:
        """Close the model and let the next request use it."""
        await self._stack.aclose()
