"""Jobs: requests that run in the background, at most one per function.

A job does not belong to a protocol request: a command answers at once and its job goes on, while `adacoder/run` waits
for its job. When the server ends, it cancels all jobs and waits for them, so that they leave nothing running.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from lsprotocol import types

from adacoder import report
from adacoder.domain import JSON, Outcome, Status, Step, Target, TargetError
from adacoder.journal import Journal, OpenStep, Waiting
from adacoder.lsp.connection.client import announced, progress, remedies_json
from adacoder.lsp.connection.mirror import encoding_of
from adacoder.lsp.jobs.policy import Ending
from adacoder.lsp.jobs.results import EndedJob, KeptResult, Results
from adacoder.task import Mode

if TYPE_CHECKING:
    from adacoder.lsp.connection.client import Client
    from adacoder.lsp.jobs.edits import Insertion
    from adacoder.lsp.snapshot import Snapshot
    from adacoder.lsp.uri import Uri

log = logging.getLogger(__name__)

_PATIENCE = 10.0
"""Seconds to wait for cancelled jobs when the server ends."""


_DOING = {
    Mode.GENERATE: "generating",
    Mode.FIX: "fixing",
    Mode.CHECK: "checking",
    Mode.REPAIR: "repairing",
    Mode.ANOTHER: "writing another candidate for",
    Mode.SUGGEST_EXAMPLES: "suggesting examples for",
}


@dataclass(eq=False)
class Job:
    """One request on one function."""

    work: Mode | KeptResult
    """The mode, or the kept result to insert."""
    snapshot: Snapshot
    target: Target
    apply: bool
    """True to make the edit in the editor."""
    announced: bool
    """True if the server shows progress and result. Otherwise a request waits for it, and the client shows them."""
    token: types.ProgressToken | None = None
    """The progress token from such a client, if it sent one."""
    reply: str | None = None
    """The candidate to begin with, if the client sent one."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    message: str = "starting"
    """Latest progress message."""
    show: Callable[[str], None] = lambda message: None
    """Shows progress in the editor."""
    relay: Callable[[str], None] | None = None
    """Shows progress instead of `show` if the job is part of a batch."""
    round: int = 0
    most_rounds: int = 1
    moved: Callable[[], None] = lambda: None
    """Called at each new round."""
    insertion: Insertion | None = None
    may_begin: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the job may begin: once its command has been answered."""
    ending: Ending | None = None
    ended: EndedJob | None = None
    """Its entry in the store of results."""
    task: asyncio.Task[dict[str, JSON]] = field(init=False)
    _cancelled: bool = False

    @property
    def title(self) -> str:
        """Description for the user."""
        doing = _DOING[self.work] if isinstance(self.work, Mode) else "inserting the result for"
        return f"AdaCoder: {doing} '{self.target.name}'"

    @property
    def label(self) -> str:
        """`path::qualname`."""
        return report.label(self.target, self.snapshot.folder)

    @property
    def result_id(self) -> str:
        """The id of its kept result."""
        return self.id if isinstance(self.work, Mode) else self.work.job_id

    def listen(self, event: OpenStep | Step | Waiting) -> None:
        """Show an event of the Journal as progress."""
        self.message = report.progress(event, self.most_rounds)
        self.show(self.message)
        if not isinstance(event, Waiting) and event.round > self.round:
            self.round = event.round
            self.moved()

    def cancel(self, *, even_if_sent: bool = False) -> bool:
        """Cancel the job. Return False if its edit is already on its way, unless `even_if_sent`.

        Later calls do nothing, since they would disturb its clean-up.
        """
        if self.insertion is not None and self.insertion.is_sent and not even_if_sent:
            return False
        if not self._cancelled:
            self._cancelled = True
            self.task.cancel()
        return True


class Jobs:
    """All jobs of a server."""

    def __init__(
        self,
        client: Client,
        results: Results,
        work: Callable[[Job, Journal], Awaitable[Ending]],
        moved: Callable[[Job], None],
    ) -> None:
        """`work` does the work of a job. `moved` is called when a job begins, reaches a new round, or has ended."""
        self._client = client
        self._results = results
        self._work = work
        self._moved = moved
        self._running: dict[str, Job] = {}
        self._closing = False

    def of(self, uri: Uri) -> list[Job]:
        """The running jobs on functions of a document."""
        return [job for job in self._running.values() if job.snapshot.uri == uri]

    def start(self, job: Job) -> None:
        """Start a job in the background.

        Raises:
            TargetError: another job is working on that function, or the server is shutting down.
        """
        if self._closing:
            raise TargetError("The language server is shutting down: restart it.")
        if any(_same_function(job, other) for other in self._running.values()):
            raise TargetError(f"AdaCoder is already working on '{job.target.name}': wait for it, or cancel it.")
        self._running[job.id] = job
        job.moved = partial(self._announce, job)
        job.task = asyncio.create_task(self._perform(job), name=f"adacoder {job.label}")
        job.task.add_done_callback(lambda _: self._ended(job))
        self._announce(job)

    async def result(self, job: Job) -> dict[str, JSON]:
        """Wait for the answer of a job. Cancelling this call cancels the job and waits until it has ended."""
        try:
            return await asyncio.shield(job.task)
        except asyncio.CancelledError:
            if not job.cancel():
                return await job.task
            await asyncio.wait({job.task})
            raise

    def cancel(self, job_id: str | None) -> list[str]:
        """Cancel a job, or all jobs without an id. Return the ids of the jobs that could still be cancelled."""
        chosen = [job for job in self._running.values() if job_id in (None, job.id)]
        return [job.id for job in chosen if job.cancel()]

    def status(self) -> list[JSON]:
        """The running jobs, the oldest first."""
        return [
            {
                "jobId": job.id,
                "uri": job.snapshot.uri,
                "qualifiedName": job.target.qualname,
                "target": job.label,
                "mode": job.work.value if isinstance(job.work, Mode) else "insert",
                "message": job.message,
            }
            for job in self._running.values()
        ]

    def stop(self) -> None:
        """Start no more jobs, and announce no more of them."""
        self._closing = True

    async def close(self) -> None:
        """Stop, cancel all jobs, and wait until they have ended."""
        self.stop()
        jobs = list(self._running.values())
        for job in jobs:
            job.cancel(even_if_sent=True)
        if jobs:
            await asyncio.wait({job.task for job in jobs}, timeout=_PATIENCE)

    async def _perform(self, job: Job) -> dict[str, JSON]:
        """Run a job, then keep and show its answer."""
        journal = Journal(job.listen)
        try:
            await job.may_begin.wait()
            async with self._shown(job) as show:
                job.show = job.relay or show
                ending = await self._work(job, journal)
        except asyncio.CancelledError:
            kept = self._results.kept(job.result_id) is not None
            self._end(job, Ending(_cut_short(job, journal, Status.CANCELLED), kept=kept))
            raise
        except Exception as error:
            log.exception("The job on %s failed", job.label)
            what = f"{type(error).__name__}: {error}"
            why = f"AdaCoder failed on '{job.target.name}' ({what}): see the language server's log."
            ending = Ending(_cut_short(job, journal, Status.ERROR, why))
        return self._end(job, ending)

    def _shown(self, job: Job) -> AbstractAsyncContextManager[Callable[[str], None]]:
        if job.announced:
            return announced(self._client, job.title, job.cancel)
        return progress(self._client, job.title, job.token, job.cancel)

    def _end(self, job: Job, ending: Ending) -> dict[str, JSON]:
        """Store the end of a job. Return its answer."""
        answer = report.to_json(ending.outcome, job.snapshot.folder, encoding_of(self._client.workspace))
        answer |= {
            "summary": ending.message,
            "isGood": ending.is_good,
            "remedies": remedies_json(ending.message),
            "applied": ending.applied,
            "failureReason": ending.failure_reason,
            "jobId": job.id,
            "kept": ending.kept,
        }
        mode, snapshot = job.work if isinstance(job.work, Mode) else None, job.snapshot
        job.ending = ending
        job.ended = EndedJob(job.id, snapshot.uri, mode, ending.outcome, snapshot.folder, answer)
        self._results.end(job.ended)
        return answer

    def _ended(self, job: Job) -> None:
        del self._running[job.id]
        self._announce(job)

    def _announce(self, job: Job) -> None:
        if not self._closing:
            self._moved(job)


def _same_function(one: Job, other: Job) -> bool:
    return (one.snapshot.path, one.target.qualname) == (other.snapshot.path, other.target.qualname)


def _cut_short(job: Job, journal: Journal, status: Status, reason: str | None = None) -> Outcome:
    """The Outcome of a job that was cancelled or failed."""
    return Outcome(status, job.target, reason, steps=journal.steps, rounds=journal.round, seconds=journal.seconds)
