"""Jobs: requests that run in the background, one a function, until they are done or cancelled.

A job belongs to no request of the protocol: a command answers at once and its job goes on, while
`adacoder/run` waits for its job. When the server ends, all jobs are cancelled and waited for, so that
nothing of them survives.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from lsprotocol import types

from adacoder import report
from adacoder.domain import JSON, Outcome, Status, Step, Target, TargetError
from adacoder.journal import Journal, OpenStep, Waiting
from adacoder.lsp.edits import Insertion, NotInsertedError, OutcomeInText
from adacoder.lsp.progress import new_token, progress
from adacoder.lsp.workspace import encoding_of
from adacoder.source.locate import Documented

if TYPE_CHECKING:
    from adacoder.domain import Candidate
    from adacoder.lsp.client import Client
    from adacoder.lsp.configuration import Configuration
    from adacoder.lsp.snapshot import Snapshot
    from adacoder.service import Project, Service
    from adacoder.settings import Settings

log = logging.getLogger(__name__)

_KEPT = 16
"""How many finished jobs are kept for the journal."""
_PATIENCE = 10.0
"""Seconds that cancelled jobs have to end when the server does."""


class Mode(StrEnum):
    """What is done with a function."""

    GENERATE = "generate"
    """Write it."""
    FIX = "fix"
    """Begin with what is there; write it only if that cannot be mended."""
    CHECK = "check"
    """Only run the examples."""
    REPAIR = "repair"
    """Begin with what is there, and mend it by rule only."""
    SUGGEST_EXAMPLES = "suggestExamples"
    """Let a model suggest examples for the docstring."""


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
    """Whether the edit is made in the editor."""
    announced: bool
    """Whether we show the person that it runs and how it ended; otherwise a request waits for it, and the
    client does."""
    token: types.ProgressToken | None = None
    """Under which such a client wants to hear of progress, if at all."""
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
        self.message = report.in_an_editor(report.progress(event, self.most_rounds))
        self.show(self.message)

    def cancel(self, *, even_if_sent: bool = False) -> bool:
        """Cancel it, once: a second time would disturb its cleaning up. False if it is too late to."""
        if self.insertion is not None and self.insertion.is_sent and not even_if_sent:
            return False
        if not self._cancelled:
            self._cancelled = True
            self.task.cancel()
        return True


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended."""

    outcome: Outcome
    applied: bool = False
    """Whether the edit was made; True too where it was sent to a client that does not say."""
    failure_reason: str | None = None
    """Why it was not made, although there was one to make: one sentence."""

    @property
    def is_good(self) -> bool:
        """Whether there is nothing to warn of."""
        return self.outcome.status is Status.VERIFIED and self.failure_reason is None

    @property
    def message(self) -> str:
        """All of it for a person."""
        summary = report.summary(self.outcome)
        return f"{summary} {self.failure_reason}" if self.failure_reason else summary


class Jobs:
    """All jobs of a server."""

    def __init__(self, client: Client, configuration: Configuration, service: Callable[[], Awaitable[Service]]) -> None:
        """`service` gives what runs requests, as soon as it is there."""
        self._client = client
        self._configuration = configuration
        self._service = service
        self._running: dict[str, Job] = {}
        self._finished: dict[str, dict[str, JSON]] = {}
        """What came of the latest finished jobs, by id, the latest last."""
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
        """What comes of a job. Cancelling this cancels the job, and ends when nothing of it is left."""
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
        """What came of a finished job, or without an id of the latest; None if it is not known."""
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
        """Do a job's work; keep and tell whatever becomes of it."""
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
        if job.mode is Mode.REPAIR:
            settings = replace(settings, max_iterations=0)
        outcome = report.for_an_editor(await self._outcome(job, settings, journal))
        if not (job.apply and outcome.edits):
            return Ending(outcome)

        async def recheck(snapshot: Snapshot, target: Target) -> Outcome:
            job.show("the text changed; running the examples again")
            candidate = outcome.candidate or _current(target)
            project, service = _project(snapshot), await self._service()
            return report.for_an_editor(
                await service.recheck(target, candidate, settings, project, Journal(job.listen))
            )

        job.insertion = Insertion(self._client, settings.on_unverified, recheck)
        try:
            inserted = await job.insertion.insert(OutcomeInText(outcome, job.snapshot))
        except NotInsertedError as why:
            return Ending(outcome, failure_reason=str(why))
        return Ending(inserted, applied=True)

    async def _outcome(self, job: Job, settings: Settings, journal: Journal) -> Outcome:
        service, project, target = await self._service(), _project(job.snapshot), job.target
        job.most_rounds = _most_rounds(job.mode, settings)
        match job.mode:
            case Mode.GENERATE:
                return await service.run(target, None, settings, project, journal)
            case Mode.FIX | Mode.REPAIR:
                return await service.run(target, _current(target), settings, project, journal)
            case Mode.CHECK:
                return await service.check(Documented(target), settings, project, journal)
            case Mode.SUGGEST_EXAMPLES:
                return await service.suggest(target, settings, project, journal)

    def _end(self, job: Job, ending: Ending) -> dict[str, JSON]:
        """Keep what came of a job, and tell it: in one message, if no request waits for it."""
        answer = report.to_json(ending.outcome, job.snapshot.folder, encoding_of(self._client.workspace))
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
    from adacoder.service import Project

    return Project(snapshot.folder, snapshot.overlays)


def _current(target: Target) -> Candidate:
    from adacoder.service import current

    return current(target)


def _most_rounds(mode: Mode, settings: Settings) -> int:
    if mode in (Mode.CHECK, Mode.SUGGEST_EXAMPLES):
        return 1
    from adacoder.strategies import most_rounds  # it has come with the service

    return most_rounds(settings, is_started=mode is not Mode.GENERATE)


def _same_function(one: Job, other: Job) -> bool:
    return (one.snapshot.path, one.target.qualname) == (other.snapshot.path, other.target.qualname)


def _cut_short(job: Job, journal: Journal, status: Status, reason: str | None = None) -> Outcome:
    """The Outcome of a job that was not let come to one."""
    return Outcome(status, job.target, reason, steps=journal.steps, rounds=journal.round, seconds=journal.seconds)
