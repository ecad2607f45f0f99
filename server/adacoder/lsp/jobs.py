"""Jobs: requests that run in the background, at most one per function.

A job belongs to no request of the protocol: a command answers at once and its job goes on, while
`adacoder/run` waits for its job. When the server ends, all jobs are cancelled and waited for, so that
nothing of them survives.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lsprotocol import types

from adacoder import report
from adacoder.domain import JSON, Outcome, Status, Step, Target, TargetError
from adacoder.journal import Journal, OpenStep, Waiting
from adacoder.lsp.edits import Insertion, NotInsertedError, OutcomeInText
from adacoder.lsp.progress import new_token, progress
from adacoder.lsp.workspace import encoding_of
from adacoder.messages import Text
from adacoder.project import Project
from adacoder.task import Mode, Task

if TYPE_CHECKING:
    from adacoder.lsp.client import Client
    from adacoder.lsp.configuration import Configuration
    from adacoder.lsp.snapshot import Snapshot
    from adacoder.service import Service

log = logging.getLogger(__name__)

_KEPT = 16
"""Finished jobs that are kept for the journal."""
_PATIENCE = 10.0
"""Seconds that cancelled jobs have to end when the server does."""


_DOING = {
    Mode.GENERATE: "generating",
    Mode.FIX: "fixing",
    Mode.CHECK: "checking",
    Mode.REPAIR: "repairing",
    Mode.SUGGEST_EXAMPLES: "suggesting examples for",
}


@dataclass(eq=False)
class Job:
    """One request on one function."""

    mode: Mode
    snapshot: Snapshot
    target: Target
    apply: bool
    """True to make the edit in the editor."""
    announced: bool
    """True if we show progress and result; otherwise a request waits for it, and the client shows them."""
    token: types.ProgressToken | None = None
    """The token for progress that such a client sent, if any."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    message: str = "starting"
    """The latest progress."""
    show: Callable[[str], None] = lambda message: None
    """Shows progress in the editor."""
    most_rounds: int = 1
    insertion: Insertion | None = None
    task: asyncio.Task[dict[str, JSON]] = field(init=False)
    _cancelled: bool = False

    @property
    def label(self) -> str:
        """`path::qualname`."""
        return report.label(self.target, self.snapshot.folder)

    def listen(self, event: OpenStep | Step | Waiting) -> None:
        """Turn what happens in the Journal into progress."""
        self.message = report.progress(event, self.most_rounds)
        self.show(self.message)

    def cancel(self, *, even_if_sent: bool = False) -> bool:
        """Cancel it, once: a second time would disturb its clean-up. False if it is too late."""
        if self.insertion is not None and self.insertion.is_sent and not even_if_sent:
            return False
        if not self._cancelled:
            self._cancelled = True
            self.task.cancel()
        return True


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a job."""

    outcome: Outcome
    applied: bool = False
    """True if the edit was made, or sent to a client that does not answer."""
    failure_reason: str | None = None
    """The reason why an edit was not made: one sentence."""

    @property
    def is_good(self) -> bool:
        """True if there is nothing to warn of."""
        return self.outcome.status is Status.VERIFIED and self.failure_reason is None

    @property
    def message(self) -> str:
        """The summary for a person."""
        summary = report.summary(self.outcome)
        return Text(summary, " ", self.failure_reason) if self.failure_reason else summary


class Jobs:
    """All jobs of a server."""

    def __init__(self, client: Client, configuration: Configuration, service: Callable[[], Awaitable[Service]]) -> None:
        """`service` returns the Service once it is imported."""
        self._client = client
        self._configuration = configuration
        self._service = service
        self._running: dict[str, Job] = {}
        self._finished: dict[str, dict[str, JSON]] = {}
        """The answers of the latest finished jobs, by id, the latest last."""
        self._closing = False

    def start(self, job: Job) -> None:
        """Start a job in the background.

        Raises:
            TargetError: another job is at work on that function, or the server is ending.
        """
        if self._closing:
            raise TargetError("The language server is shutting down: restart it.")
        if any(_same_function(job, other) for other in self._running.values()):
            raise TargetError(f"AdaCoder is at work on '{job.target.name}' already: wait for it, or cancel it.")
        self._running[job.id] = job
        job.task = asyncio.create_task(self._perform(job), name=f"adacoder {job.label}")
        job.task.add_done_callback(lambda _: self._running.pop(job.id))

    async def result(self, job: Job) -> dict[str, JSON]:
        """Wait for the answer of a job. Cancelling this cancels the job, and waits until it has ended."""
        try:
            return await asyncio.shield(job.task)
        except asyncio.CancelledError:
            if not job.cancel():
                return await job.task
            await asyncio.wait({job.task})
            raise

    def cancel(self, job_id: str | None) -> list[str]:
        """Cancel a job, or without an id all of them; the ids of those for which it was not too late."""
        chosen = [job for job in self._running.values() if job_id in (None, job.id)]
        return [job.id for job in chosen if job.cancel()]

    def status(self) -> list[JSON]:
        """The running jobs, the oldest first."""
        return [
            {"jobId": job.id, "target": job.label, "mode": job.mode.value, "message": job.message}
            for job in self._running.values()
        ]

    def journal(self, job_id: str | None) -> dict[str, JSON] | None:
        """The answer of a finished job, or without an id of the latest; None if it is not known."""
        latest = next(reversed(self._finished), None)
        return self._finished.get(job_id or latest or "")

    async def close(self) -> None:
        """Cancel all jobs, wait until they have ended, and start no more."""
        self._closing = True
        jobs = list(self._running.values())
        for job in jobs:
            job.cancel(even_if_sent=True)
        if jobs:
            await asyncio.wait({job.task for job in jobs}, timeout=_PATIENCE)

    async def _perform(self, job: Job) -> dict[str, JSON]:
        """Run a job, and keep and show its answer."""
        journal = Journal(job.listen)
        title = f"AdaCoder: {_DOING[job.mode]} '{job.target.name}'"
        try:
            token = await new_token(self._client) if job.announced else job.token
            async with progress(self._client, title, token, job.cancel) as show:
                job.show = show
                ending = await self._work(job, journal)
        except asyncio.CancelledError:
            self._end(job, Ending(_cut_short(job, journal, Status.CANCELLED)))
            raise
        except Exception as error:
            log.exception("The job on %s failed", job.label)
            what = f"{type(error).__name__}: {error}"
            why = f"AdaCoder failed on '{job.target.name}' ({what}): see the language server's log."
            ending = Ending(_cut_short(job, journal, Status.ERROR, why))
        return self._end(job, ending)

    async def _work(self, job: Job, journal: Journal) -> Ending:
        snapshot = job.snapshot
        settings = await self._configuration.settings(snapshot.path.parent, snapshot.uri, top=snapshot.folder)
        service = await self._service()
        job.most_rounds = service.most_rounds(job.mode, settings)
        task = Task(job.target, settings, _project(snapshot), journal)
        outcome = await service.perform(job.mode, task)
        if not (job.apply and outcome.edits):
            return Ending(outcome)

        async def recheck(snapshot: Snapshot, target: Target) -> Outcome:
            job.show("the text changed; running the examples again")
            task = Task(target, settings, _project(snapshot), Journal(job.listen), outcome.candidate)
            return await service.recheck(task)

        job.insertion = Insertion(self._client, settings.on_unverified, recheck)
        try:
            inserted = await job.insertion.insert(OutcomeInText(outcome, job.snapshot))
        except NotInsertedError as why:
            return Ending(outcome, failure_reason=str(why))
        return Ending(inserted, applied=True)

    def _end(self, job: Job, ending: Ending) -> dict[str, JSON]:
        """Keep the answer of a job, and show it in one message if no request waits for it."""
        answer = report.to_json(ending.outcome, job.snapshot.folder, encoding_of(self._client.workspace))
        if job.mode is Mode.CHECK or ending.applied:
            self._client.found.keep(ending.outcome, answer)
        answer |= {
            "summary": ending.message,
            "applied": ending.applied,
            "failureReason": ending.failure_reason,
        }
        self._finished[job.id] = answer
        while len(self._finished) > _KEPT:
            del self._finished[next(iter(self._finished))]
        if not self._closing:
            self._client.log(ending.message)
            if job.announced:
                self._client.show(ending.message, warning=not ending.is_good)
        return answer


def _project(snapshot: Snapshot) -> Project:
    return Project(snapshot.folder, snapshot.overlays)


def _same_function(one: Job, other: Job) -> bool:
    return (one.snapshot.path, one.target.qualname) == (other.snapshot.path, other.target.qualname)


def _cut_short(job: Job, journal: Journal, status: Status, reason: str | None = None) -> Outcome:
    """The Outcome of a job that was cancelled or failed."""
    return Outcome(status, job.target, reason, steps=journal.steps, rounds=journal.round, seconds=journal.seconds)
