"""The work of a job: run it, decide what happens to its result, and carry that out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from pygls.capabilities import get_capability

from adacoder.aside import aside
from adacoder.domain import Candidate, Edit, Outcome, Status, Target
from adacoder.journal import Journal
from adacoder.lsp.jobs.edits import Insertion, NotInsertedError, OutcomeInText
from adacoder.lsp.jobs.policy import Decision, Ending, decide
from adacoder.lsp.jobs.results import KeptResult, Results, read_reply
from adacoder.project import Project
from adacoder.task import Mode, Task

if TYPE_CHECKING:
    from adacoder.lsp.connection.client import Client
    from adacoder.lsp.connection.configuration import Configuration
    from adacoder.lsp.jobs.jobs import Job
    from adacoder.lsp.snapshot import Snapshot
    from adacoder.service import Service
    from adacoder.settings import Settings


class JobWork:
    """Does the work of all jobs of a server."""

    def __init__(
        self, client: Client, configuration: Configuration, service: Callable[[], Awaitable[Service]], results: Results
    ) -> None:
        """`service` returns the Service once it is imported."""
        self._client = client
        self._configuration = configuration
        self._service = service
        self._results = results

    async def do(self, job: Job, journal: Journal) -> Ending:
        """Do the work of a job. Results that are not inserted are kept in the store."""
        snapshot, work = job.snapshot, job.work
        settings = await self._configuration.settings(snapshot.path.parent, snapshot.uri, top=snapshot.folder)
        service = await self._service()
        again = partial(_evaluated_again, job, service, settings)
        if isinstance(work, Mode):
            outcome = await self._written(job, work, journal, service, settings)
        elif work.candidate is None:
            outcome = _with_examples(work, job.target)
        else:
            outcome = await again(snapshot, job.target, work.candidate)
        decision = decide(
            work,
            outcome,
            KeptResult.of(outcome, job.result_id, snapshot.uri),
            settings,
            applies=job.apply,
            is_sent=job.reply is not None,
            is_kept=self._results.kept(job.result_id) is not None,
        )
        return await self._carried_out(job, decision, again)

    async def _written(self, job: Job, mode: Mode, journal: Journal, service: Service, settings: Settings) -> Outcome:
        """The Outcome of a request in a mode."""
        job.most_rounds = service.most_rounds(mode, settings)
        others = self._results.candidates(job.target) if mode is Mode.ANOTHER else ()
        start = None if job.reply is None else await aside(read_reply, job.reply, job.target)
        return await service.perform(mode, Task(job.target, settings, _project(job.snapshot), journal, start, others))

    async def _carried_out(
        self, job: Job, decision: Decision, again: Callable[[Snapshot, Target, Candidate | None], Awaitable[Outcome]]
    ) -> Ending:
        """Keep, insert or drop the result. If anything prevents the insertion, the result stays kept."""
        ending = decision.ending
        if decision.drops:
            self._results.drop(job.result_id)
        if decision.keeps is not None:
            self._results.keep(decision.keeps)
        if not decision.inserts:
            return ending

        async def recheck(snapshot: Snapshot, target: Target) -> Outcome:
            job.show("the text changed; running the examples again")
            return await again(snapshot, target, ending.outcome.candidate)

        job.insertion = Insertion(self._client, recheck)
        try:
            made = await job.insertion.insert(OutcomeInText(ending.outcome, job.snapshot))
        except NotInsertedError as why:
            return Ending(ending.outcome, obstacle=str(why), kept=True)
        is_known = get_capability(self._client.client_capabilities, "workspace.apply_edit", False)
        if is_known:  # otherwise it is unknown whether the edit was made
            self._results.drop(job.result_id)
        closed = made.snapshot.path.name if made.snapshot.version is None else None
        return Ending(made.outcome, applied=True, kept=not is_known, closed=closed)


async def _evaluated_again(
    job: Job, service: Service, settings: Settings, snapshot: Snapshot, target: Target, candidate: Candidate | None
) -> Outcome:
    """The Outcome of a candidate in another text."""
    return await service.recheck(Task(target, settings, _project(snapshot), Journal(job.listen), candidate))


def _with_examples(kept: KeptResult, target: Target) -> Outcome:
    """The Outcome that adds a kept result's examples to a docstring."""
    start = target.definition.start
    edits = tuple(Edit(start + each.start, start + each.end, each.text) for each in kept.additions)
    return Outcome(Status.UNVERIFIED, target, "Read them before you keep them.", edits=edits)


def _project(snapshot: Snapshot) -> Project:
    return Project(snapshot.folder, snapshot.overlays)
