"""All that a server does for its client, once that has been answered who is there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from adacoder.lsp.batch import Batches
from adacoder.lsp.documents import Documents
from adacoder.lsp.jobs import Jobs
from adacoder.lsp.kept import KeptResults
from adacoder.lsp.offering import Offering
from adacoder.lsp.saving import Saving
from adacoder.lsp.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from adacoder.lsp.client import Client
    from adacoder.lsp.configuration import Configuration
    from adacoder.service import Service


class Work:
    """The jobs of one client, their results, and what is shown of both."""

    def __init__(self, client: Client, configuration: Configuration, service: Callable[[], Awaitable[Service]]) -> None:
        """`service` returns the Service once it is imported."""
        self.documents = Documents(client)
        self.kept = KeptResults()
        self.offering = Offering(client, self.kept, self.documents, lambda job: self.jobs.start(job))
        self.jobs = Jobs(client, configuration, service, self.kept, self.offering.tell)
        self.batches = Batches(client, self.jobs)
        self.shown = Shown(client, configuration, self.jobs)
        self.saving = Saving(client, self.shown, self.jobs, service)
        self.looking_up = asyncio.Lock()
        """Held while a function is looked up that a job is to begin with: what is asked after that waits for it."""
        self.reading = asyncio.Lock()
        """Held while a thread reads a text for what an editor asks at each key: two at once would each take as long as
        both, and somebody waits for the first."""

    async def close(self) -> None:
        """End all jobs."""
        self.offering.close()
        await asyncio.gather(self.jobs.close(), self.batches.close(), self.saving.close())
        self.shown.close()
        self.documents.close()
