"""The language server of one client: its settings, its jobs, and what runs requests."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine
from typing import TYPE_CHECKING

from adacoder.lsp.batch import Batches
from adacoder.lsp.client import Client
from adacoder.lsp.configuration import Configuration
from adacoder.lsp.documents import Documents
from adacoder.lsp.jobs import Jobs
from adacoder.lsp.kept import KeptResults
from adacoder.lsp.offering import Offering
from adacoder.lsp.saving import Saving
from adacoder.lsp.shown import Shown

if TYPE_CHECKING:
    from adacoder.service import Service


class AdaCoderServer(Client):
    """One client's server."""

    def __init__(self) -> None:
        super().__init__()
        self.configuration = Configuration(self)
        self.documents = Documents(self)
        self.kept = KeptResults()
        self.offering = Offering(self, self.kept, self.documents, lambda job: self.jobs.start(job))
        self.jobs = Jobs(self, self.configuration, self.service, self.kept, self.offering.tell)
        self.batches = Batches(self, self.jobs)
        self.shown = Shown(self, self.configuration, self.jobs)
        self.saving = Saving(self, self.shown, self.jobs, self.service)
        self.looking_up = asyncio.Lock()
        """Held while a function is looked up that a job is to begin with: what is asked after that waits for it."""
        self._service: Service | None = None
        self._working: set[asyncio.Task[None]] = set()
        self._importing = asyncio.Lock()

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
        self.offering.close()
        await asyncio.gather(self.jobs.close(), self.batches.close(), self.saving.close())
        self.shown.close()
        self.documents.close()
        if self._service is not None:
            await self._service.close()


def _service() -> type[Service]:
    from adacoder.service import Service

    # What was imported lives as long as we do: the collector, which lets nothing else run, need not look at it again.
    gc.freeze()
    return Service
