"""The language server of one client: its settings, its work, and the service that runs requests.

The editor waits for the answer to `initialize`, so modules that the answer does not need are imported after it. Modules
that only some clients need are imported on demand.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Coroutine
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from adacoder.lsp.connection.client import Client
from adacoder.lsp.connection.configuration import Configuration

if TYPE_CHECKING:
    from adacoder.lsp.client_state import ClientState
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
    def state(self) -> ClientState:
        """The state of the client, created on first use."""
        from adacoder.lsp.client_state import ClientState

        self._is_at_work = True
        return ClientState(self, self.configuration, self.service)

    async def service(self) -> Service:
        """The Service. Its import takes long, so only messages that need it wait for it."""
        async with self._importing:
            if self._service is None:
                self._service = (await asyncio.to_thread(_service))()
            return self._service

    def begin(self, work: Coroutine[object, object, None]) -> None:
        """Do `work` in the background. It is cancelled when the server ends."""
        task = asyncio.create_task(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    async def close(self) -> None:
        """End all jobs, and all processes that were kept for further jobs."""
        for task in self._working:
            task.cancel()
        if self._is_at_work:
            await self.state.close()
        if self._service is not None:
            await self._service.close()


Answer: TypeAlias = Callable[[AdaCoderServer, Any], Awaitable[Any]]
"""Answers a request or a command. It receives the request's parameters, or the command's first argument or None."""


def _service() -> type[Service]:
    from adacoder.service import Service

    # Imported objects live as long as the process. The collector stops everything else, so it must not scan them again.
    gc.freeze()
    return Service
