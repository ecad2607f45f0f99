"""Run the tests of a file's module after a job or a save, so that the next job need not wait for their results."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from adacoder.aside import aside
from adacoder.domain import AdaCoderError
from adacoder.lsp.snapshot import take
from adacoder.task import Task

if TYPE_CHECKING:
    from adacoder.domain import Target
    from adacoder.lsp.connection.client import Client
    from adacoder.lsp.jobs.job import Job
    from adacoder.lsp.jobs.jobs import Jobs
    from adacoder.lsp.snapshot import Snapshot, Uri

log = logging.getLogger(__name__)

_IDLE = 3.0
"""Seconds without a job and without a change until the tests run."""


class TestsAhead:
    """Runs tests in the background, for one file at a time. A new job or a change of any text ends the run.

    The edit of a job may arrive after its end, so a change before the run only delays it.
    """

    __test__ = False  # pytest would take this class for a test

    def __init__(self, client: Client, jobs: Jobs) -> None:
        self._client = client
        self._jobs = jobs
        self._uris: set[Uri] = set()
        """The documents that had a job. AdaCoder runs no tests for other documents."""
        self._waiting: Uri | None = None
        """The document whose tests will run."""
        self._running: asyncio.Task[None] | None = None
        jobs.on_start.append(self.stop)
        jobs.on_end.append(self._job_ended)

    def saved(self, uri: Uri) -> None:
        """Run the tests again after a file was saved."""
        if uri in self._uris:
            self._begin(uri)

    def changed(self) -> None:
        """Handle a change of any text."""
        if self._waiting is not None:
            self._begin(self._waiting)
        else:
            self.stop()

    def stop(self) -> None:
        """End the run."""
        self._waiting = None
        if self._running is not None:
            self._running.cancel()

    async def close(self) -> None:
        """End the run, and wait for its end."""
        self.stop()
        if self._running is not None:
            await asyncio.wait({self._running})

    def _job_ended(self, job: Job) -> None:
        self._uris.add(job.snapshot.uri)
        self._begin(job.snapshot.uri)

    def _begin(self, uri: Uri) -> None:
        self.stop()
        self._waiting = uri
        self._running = asyncio.create_task(self._run(uri), name="adacoder tests ahead")

    async def _run(self, uri: Uri) -> None:
        await self._jobs.idle(_IDLE)
        self._waiting = None
        try:
            snapshot = take(self._client.workspace, uri)
            service, settings = await self._client.service_for(snapshot)
            if settings.trusted and settings.tests and (target := await aside(_first_function, snapshot)):
                await service.observe_tests(Task(target, settings, snapshot.project))
        except AdaCoderError:
            return  # the next job reports it
        except Exception:
            log.exception("The tests for %s did not run ahead", uri)


def _first_function(snapshot: Snapshot) -> Target | None:
    return next((each.target for each in snapshot.functions()), None)
