"""Per-client state, created after the handshake."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from adacoder.lsp.connection.client import Documents
from adacoder.lsp.jobs.batch import Batches
from adacoder.lsp.jobs.job_work import JobWork
from adacoder.lsp.jobs.jobs import Jobs
from adacoder.lsp.jobs.offering import Offering
from adacoder.lsp.jobs.results import Results
from adacoder.lsp.showing.saving import Saving
from adacoder.lsp.showing.shown import Shown
from adacoder.lsp.snapshot import first_folder
from adacoder.settings import Unverified

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from adacoder.lsp.connection.client import Client
    from adacoder.lsp.connection.configuration import Configuration
    from adacoder.service import Service

P = ParamSpec("P")
A = TypeVar("A")

MOMENT = 0.5
"""Seconds to wait for earlier servers' results in a request that editors send at each keystroke."""
_PATIENCE = 5.0


class ClientState:
    """The jobs of one client, their results, and the display of both."""

    def __init__(self, client: Client, configuration: Configuration, service: Callable[[], Awaitable[Service]]) -> None:
        """`service` returns the Service once it is imported."""
        self.documents = Documents(client)
        self.results = Results()
        self.shown = Shown(client, configuration)
        self.offering = Offering(client, self.results, self.shown, self.documents, lambda job: self.jobs.start(job))
        work = JobWork(client, configuration, service, self.results)
        self.jobs = Jobs(client, self.results, work.do, self.offering.moved)
        self.batches = Batches(client, self.jobs, self.results)
        self.saving = Saving(client, self.shown, self.jobs, service)
        self.results.listen(self.shown.dropped)
        self._client = client
        self._configuration = configuration
        self._restored: asyncio.Task[None] | None = None
        self.looking_up = asyncio.Lock()
        """Held while the function for a new job is looked up. Later requests wait for it."""
        self._reading = asyncio.Lock()

    async def read(self, function: Callable[P, A], *arguments: P.args, **named: P.kwargs) -> A:
        """Call a function that reads a text, for a request that editors send at each keystroke, in a thread.

        Two threads at once would each take as long as both, and the user waits for the first.
        """
        async with self._reading:
            return await asyncio.to_thread(function, *arguments, **named)

    def restore(self) -> asyncio.Task[None]:
        """Begin to read the results of earlier servers, once."""
        if self._restored is None:
            self._restored = asyncio.create_task(self._restore())
        return self._restored

    async def restored(self, seconds: float = _PATIENCE) -> None:
        """Wait until the results of earlier servers are read, for at most `seconds`.

        Reading needs the client's settings, and some clients answer late.
        """
        await asyncio.wait({self.restore()}, timeout=seconds)

    async def _restore(self) -> None:
        """Read the results kept on disk. In an untrusted workspace nothing is read or written."""
        folder = first_folder(self._client.workspace)
        settings = await self._configuration.settings(folder, folder.as_uri(), top=folder)
        if not settings.trusted or os.name != "posix":
            return
        from adacoder.lsp.jobs.kept_files import KeptFiles

        files = KeptFiles(folder, self._configuration.storage)
        if settings.unverified is Unverified.DISCARD:
            await asyncio.to_thread(files.clear)
            return
        self.results.restore(files, await asyncio.to_thread(files.load))
        self.shown.refresh()

    async def close(self) -> None:
        """End all jobs."""
        if self._restored is not None:
            self._restored.cancel()
            await asyncio.wait({self._restored})  # else the loop may close before the task begins
        self.jobs.stop()  # else a job that has just ended would ask a question
        self.offering.close()
        await asyncio.gather(self.jobs.close(), self.batches.close(), self.saving.close())
        self.shown.close()
        self.documents.close()
