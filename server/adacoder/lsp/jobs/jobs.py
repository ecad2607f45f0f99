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
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from lsprotocol import types
from pygls.capabilities import get_capability

from adacoder import report
from adacoder.aside import aside
from adacoder.domain import JSON, Candidate, Edit, Outcome, Status, Step, Target, TargetError
from adacoder.journal import Journal, OpenStep, Waiting
from adacoder.lsp.connection.mirror import encoding_of
from adacoder.lsp.connection.progress import announced, progress
from adacoder.lsp.jobs.edits import Insertion, NotInsertedError, OutcomeInText
from adacoder.lsp.jobs.endings import Ending, remedies_json
from adacoder.lsp.jobs.results import EndedJob, KeptResult, Results, edits_of, read_reply, score_of
from adacoder.messages import Named, Text, joined
from adacoder.project import Project
from adacoder.settings import Unverified
from adacoder.task import Mode, Task

if TYPE_CHECKING:
    from adacoder.lsp.connection.client import Client
    from adacoder.lsp.connection.configuration import Configuration
    from adacoder.lsp.snapshot import Snapshot
    from adacoder.lsp.uri import Uri
    from adacoder.service import Service

log = logging.getLogger(__name__)

_UNVERIFIED, _PREVIEW = Named("unverified"), Named("preview")
_Recheck: TypeAlias = "Callable[[Snapshot, Target, Candidate | None], Awaitable[Outcome]]"
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


Listener = Callable[[Job], None]
"""Called when a job begins, reaches a new round, or has ended."""


class Jobs:
    """All jobs of a server."""

    def __init__(
        self,
        client: Client,
        configuration: Configuration,
        service: Callable[[], Awaitable[Service]],
        results: Results,
        tell: Callable[[Job, Ending], None],
    ) -> None:
        """`service` returns the Service once it is imported. `tell` reports the end of a job to the user."""
        self._client = client
        self._configuration = configuration
        self._service = service
        self._running: dict[str, Job] = {}
        self._results = results
        self._tell = tell
        self._closing = False
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Call `listener` for all jobs."""
        self._listeners.append(listener)

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

    async def close(self) -> None:
        """Cancel all jobs, wait until they have ended, and start no more."""
        self._closing = True
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

    async def _work(self, job: Job, journal: Journal) -> Ending:
        snapshot = job.snapshot
        settings = await self._configuration.settings(snapshot.path.parent, snapshot.uri, top=snapshot.folder)
        service = await self._service()

        async def recheck(snapshot: Snapshot, target: Target, candidate: Candidate | None) -> Outcome:
            return await service.recheck(Task(target, settings, _project(snapshot), Journal(job.listen), candidate))

        if isinstance(job.work, KeptResult):
            return await self._insert_kept(job, job.work, recheck)
        job.most_rounds = service.most_rounds(job.work, settings)
        others = self._results.candidates(job.target) if job.work is Mode.ANOTHER else ()
        start = None if job.reply is None else await aside(read_reply, job.reply, job.target)
        task = Task(job.target, settings, _project(snapshot), journal, start, others)
        outcome = await service.perform(job.work, task)
        result = KeptResult.of(outcome, job.id, snapshot.uri)
        if not job.apply or result is None:
            return Ending(outcome)
        if outcome.candidate is None:  # suggested examples: the user always reads them first
            self._results.keep(result)
            return Ending(outcome, obstacle=_unproved(outcome), kept=True)
        if job.work is Mode.ANOTHER:
            self._results.keep(result)
            why = f"compare the new candidate for {_name(outcome)} first"
            return Ending(outcome, obstacle=why, kept=True, is_wanted=True)
        if job.reply is not None and outcome.status is not Status.VERIFIED:  # the client sent it, and still has it
            return Ending(outcome, obstacle=_unproved(outcome))
        if outcome.status is Status.VERIFIED or (outcome.edits and settings.unverified is Unverified.INSERT):
            if settings.preview:
                self._results.keep(result)
                seen = Text(f"review {_name(outcome)} first, as ", _PREVIEW, " says")
                return Ending(outcome, obstacle=seen, kept=True, is_wanted=True)
            return await self._inserted(job, OutcomeInText(outcome, snapshot), result, recheck)
        unproved = _unproved(outcome)
        if settings.unverified is Unverified.DISCARD:
            return Ending(outcome, obstacle=Text(unproved, ", and is discarded, as ", _UNVERIFIED, " says"))
        self._results.keep(result)
        return Ending(outcome, obstacle=unproved, kept=True)

    async def _inserted(self, job: Job, finding: OutcomeInText, result: KeptResult, recheck: _Recheck) -> Ending:
        """Insert a result. If anything prevents that, keep it."""

        async def again(snapshot: Snapshot, target: Target) -> Outcome:
            job.show("the text changed; running the examples again")
            return await recheck(snapshot, target, finding.outcome.candidate)

        self._results.keep(result)
        job.insertion = Insertion(self._client, again)
        try:
            made = await job.insertion.insert(finding)
        except NotInsertedError as why:
            return Ending(finding.outcome, obstacle=str(why), kept=True)
        is_known = get_capability(self._client.client_capabilities, "workspace.apply_edit", False)
        if is_known:  # otherwise it is unknown whether the edit was made
            self._results.drop(result.job_id)
        closed = made.snapshot.path.name if made.snapshot.version is None else None
        return Ending(made.outcome, applied=True, kept=not is_known, closed=closed)

    async def _insert_kept(self, job: Job, kept: KeptResult, recheck: _Recheck) -> Ending:
        """Insert a kept result if its rank in the current text is at least the one shown to the user."""
        if kept.candidate is None:
            start = job.target.definition.start
            edits = tuple(Edit(start + each.start, start + each.end, each.text) for each in kept.additions)
            outcome = Outcome(Status.UNVERIFIED, job.target, "Read them before you keep them.", edits=edits)
            return await self._inserted(job, OutcomeInText(outcome, job.snapshot), kept, recheck)
        outcome = await recheck(job.snapshot, job.target, kept.candidate)
        if outcome.status is Status.ERROR:
            return Ending(outcome, kept=True)
        name = f"'{job.target.name}'"
        found = KeptResult.of(outcome, kept.job_id, kept.uri)
        if found is None and outcome.stands:
            self._results.drop(kept.job_id)
            return Ending(outcome)
        if found is None:
            if is_kept := self._results.kept(kept.job_id) is not None:
                self._results.keep(replace(kept, score="no example passes"))
            return Ending(outcome, obstacle=f"{name} passes no example in the current text", kept=is_kept)
        found = replace(found, evaluated=kept.evaluated)
        if found.reach < kept.reach:
            self._results.keep(found)
            why = f"{name} passes {found.score} in the current text"
            return Ending(outcome, obstacle=why if outcome.edits == () else _unproved(outcome), kept=True)
        placed = replace(outcome, edits=edits_of(outcome))
        return await self._inserted(job, OutcomeInText(placed, job.snapshot), found, recheck)

    def _end(self, job: Job, ending: Ending) -> dict[str, JSON]:
        """Keep and log the answer of a job. Show it in one message if no request waits for it."""
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
        if not self._closing:
            self._client.log(joined(" ", [ending.message, report.summary(ending.outcome)]))
            if job.announced:
                self._tell(job, ending)
        return answer

    def _ended(self, job: Job) -> None:
        del self._running[job.id]
        self._announce(job)

    def _announce(self, job: Job) -> None:
        if not self._closing:
            for listener in self._listeners:
                listener(job)


def _unproved(outcome: Outcome) -> str:
    """Reason why an unverified or partial Outcome is not inserted automatically."""
    name = _name(outcome)
    if outcome.candidate is None:
        return f"read the examples for {name} first"
    return f"{name} is unverified" if outcome.edits else f"{name} passes only {score_of(outcome)}"


def _name(outcome: Outcome) -> str:
    return f"'{outcome.target.name}'"


def _project(snapshot: Snapshot) -> Project:
    return Project(snapshot.folder, snapshot.overlays)


def _same_function(one: Job, other: Job) -> bool:
    return (one.snapshot.path, one.target.qualname) == (other.snapshot.path, other.target.qualname)


def _cut_short(job: Job, journal: Journal, status: Status, reason: str | None = None) -> Outcome:
    """The Outcome of a job that was cancelled or failed."""
    return Outcome(status, job.target, reason, steps=journal.steps, rounds=journal.round, seconds=journal.seconds)
