"""A job that is cancelled after its result was inserted ends as inserted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.domain import JSON, Candidate, Outcome, Status
from adacoder.lsp.jobs.ending import Ending
from adacoder.lsp.jobs.job import Job, JobWork
from adacoder.lsp.snapshot import Snapshot, Uri
from adacoder.lsp.stdio import create
from adacoder.task import Mode
from unit.lsp.peer import Peer

if TYPE_CHECKING:
    from adacoder.journal import Journal

FOLDER = Path("/project")
TEXT = 'def f(x):\n    """Twice.\n\n    >>> f(1)\n    2\n    """\n'


def a_job() -> Job:
    path = FOLDER / "demo.py"
    snapshot = Snapshot(Uri(path.as_uri()), path, TEXT, 1, FOLDER, {})
    return Job(Mode.GENERATE, snapshot, snapshot.find(qualname="f"), apply=True, announced=True)


class Inserting(JobWork):
    """Work that inserts its result at once, and then takes long to close its progress."""

    def __init__(self, job: Job) -> None:
        server = create()
        about: dict[str, JSON] = {"processId": None, "rootUri": None, "capabilities": {}}
        Peer(server).receive(id=0, method="initialize", params=about)
        super().__init__(job, server, server.state.results)
        self.closing = asyncio.Event()

    async def _ending(self, journal: Journal) -> Ending:
        return Ending(Outcome(Status.VERIFIED, self.job.target, candidate=Candidate("def f(x): ...")), applied=True)

    @asynccontextmanager
    async def _shown(self) -> AsyncIterator[Callable[[str], None]]:
        yield lambda message: None
        self.closing.set()
        await asyncio.Event().wait()


async def test_while_its_progress_closes() -> None:
    job = a_job()
    work = Inserting(job)
    job.task = asyncio.create_task(work.run())
    job.begin()
    await work.closing.wait()
    job.cancel()
    answer = await job.task
    assert answer["applied"] is True
    assert "nothing was changed" not in str(answer["summary"])
    assert work.results.ended(job.id) is job.ended


async def test_before_its_caller_knows_of_the_end() -> None:
    job, jobs = a_job(), create().state.jobs
    may_end = asyncio.Event()

    async def work() -> dict[str, JSON]:
        await may_end.wait()
        return {"applied": True}

    job.task = asyncio.create_task(work())
    caller = asyncio.create_task(jobs.result(job))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    may_end.set()
    await asyncio.sleep(0)
    assert job.task.done()
    caller.cancel()
    assert await caller == {"applied": True}
