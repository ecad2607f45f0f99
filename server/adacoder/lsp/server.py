"""The language server of one client: its settings, its work, and what runs requests.

What the answer to `initialize` does not need is imported after it, for the editor waits for that; and once more for
what only some clients ever ask for.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Coroutine
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from adacoder.lsp.client import Client
from adacoder.lsp.configuration import Configuration

if TYPE_CHECKING:
    from adacoder.lsp.work import Work
    from adacoder.service import Service


class AdaCoderServer(Client):
    """One client's server."""

    def __init__(self) -> None:
        super().__init__()
        self.configuration = Configuration(self)
        self._service: Service | None = None
        self._working: set[asyncio.Task[None]] = set()
        self._importing = asyncio.Lock()
        self._is_at_work = False

    @cached_property
    def work(self) -> Work:
        """What is done for the client."""
        from adacoder.lsp.work import Work

        self._is_at_work = True
        return Work(self, self.configuration, self.service)

    async def service(self) -> Service:
        """The Service; its import takes long, so no message waits for it that does not need it."""
        async with self._importing:
            if self._service is None:
                self._service = (await asyncio.to_thread(_service))()
            return self._service

    def begin(self, work: Coroutine[object, object, None]) -> None:
        """Do `work`, until the end of the server at most."""
        task = asyncio.create_task(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    async def close(self) -> None:
        """End all jobs, and every process that was kept for more of them."""
        for task in self._working:
            task.cancel()
        if self._is_at_work:
            await self.work.close()
        if self._service is not None:
            await self._service.close()


Answer: TypeAlias = Callable[[AdaCoderServer, Any], Awaitable[Any]]
"""Answers a request: what the editor asks of a text, one of our own, or a command, of which it is given the first
argument or None."""


def _service() -> type[Service]:
    from adacoder.service import Service

    # What was imported lives as long as we do: the collector, which lets nothing else run, need not look at it again.
    gc.freeze()
    return Service
