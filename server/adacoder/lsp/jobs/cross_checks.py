"""Compare an inserted function with its previous version, and with a second program that a model writes.

If the function and the second program have different outputs, ask the user which output is right. No comparison runs
while a job runs, so an insertion is never delayed. If the user edits the function, its question disappears.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from adacoder import report
from adacoder.agents.questions import MOST_QUESTIONS, Ruling, example_of, question
from adacoder.aside import aside
from adacoder.domain import JSON, AdaCoderError, CrossCheck, Outcome, Status, Step, TargetError
from adacoder.journal import Journal, OpenStep, Waiting
from adacoder.lsp.connection.client import announced
from adacoder.lsp.jobs.job import Activity, Job, NotInsertedError, after_edit, refusal
from adacoder.lsp.jobs.results import EndedJob, KeptResult
from adacoder.lsp.snapshot import Snapshot, Uri, encoding_of, take
from adacoder.report.differences import asking, buttons, compared
from adacoder.source.docstring import add_examples
from adacoder.task import Mode, Task

if TYPE_CHECKING:
    from adacoder.lsp.connection.client import Client
    from adacoder.lsp.jobs.jobs import Jobs
    from adacoder.lsp.jobs.results import Results
    from adacoder.lsp.showing.evidence import Evidence
    from adacoder.lsp.showing.shown import Shown

log = logging.getLogger(__name__)

MODE = "crossCheck"
_MOST = 100
"""Maximum number of functions that wait for a comparison. If there are more, the oldest is not compared."""
_PAUSE = 0.5
"""Seconds without a running job, after which a comparison begins."""
_ASKING = 3600.0
"""Seconds to wait for the user's answer to a question."""


@dataclass(eq=False, kw_only=True)
class _CrossChecking(Activity):
    """Background work that compares one inserted function with other programs."""

    ended: EndedJob
    """The job that inserted the function."""
    evidence: Evidence
    """The evidence about the inserted function, as shown in the editor."""
    snapshot: Snapshot
    """The text of the document before the insertion."""
    show: Callable[[str], None] = lambda message: None
    """Callback that shows a progress message."""
    is_interrupted: bool = False
    """True if a new job interrupted this comparison. The comparison is then repeated after the job."""

    @property
    def key(self) -> tuple[Uri, str]:
        return self.snapshot.uri, self.ended.outcome.target.qualname

    def listen(self, event: OpenStep | Step | Waiting) -> None:
        self.message = report.doing(event)
        self.show(self.message)


@dataclass
class _Questions:
    """The questions that were asked about one function."""

    calls: list[str] = field(default_factory=list)
    is_enough: bool = False
    """True if the user asked for no more questions."""


class CrossChecks:
    """Compare the functions that jobs have inserted, and ask the user about differences."""

    def __init__(self, client: Client, jobs: Jobs, results: Results, shown: Shown) -> None:
        self._client = client
        self._jobs = jobs
        self._results = results
        self._shown = shown
        self._waiting: dict[tuple[Uri, str], _CrossChecking] = {}
        self._running: _CrossChecking | None = None
        self._worker: asyncio.Task[None] | None = None
        self._closing = False
        self._answering = asyncio.Lock()
        """Lock, so that only one answer to the same question is carried out."""
        self._asked: dict[tuple[Uri, str], _Questions] = {}
        self._more: dict[str, CrossCheck] = {}
        """Comparisons that may lead to another question, by the id of the job that checks the previous answer."""
        jobs.on_start.append(self._job_began)
        jobs.on_end.append(self._job_ended)

    def cancel(self, job_id: str | None) -> list[str]:
        """Cancel the comparison with this id, or all comparisons if the id is None.

        Return the ids of the cancelled comparisons.
        """
        chosen = [each for each in self._all() if job_id in (None, each.id)]
        for each in chosen:
            self._waiting.pop(each.key, None)
            if each is self._running:
                each.cancel()
        return [each.id for each in chosen]

    def status(self) -> list[JSON]:
        """Describe the running comparison to the client."""
        if (running := self._running) is None:
            return []
        uri, qualname = running.key
        target = report.label(running.ended.outcome.target, running.ended.folder)
        about: dict[str, JSON] = {"jobId": running.id, "uri": uri, "qualifiedName": qualname, "target": target}
        return [{**about, "mode": MODE, "message": running.message}]

    async def close(self) -> None:
        """Cancel all comparisons, and wait until the running comparison has ended."""
        self._closing = True
        self.cancel(None)
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait({self._worker})

    # Queue of comparisons

    def _job_began(self) -> None:
        """Interrupt the running comparison, because a job is more urgent."""
        if (running := self._running) is not None:
            running.is_interrupted = True
            running.task.cancel()

    def _job_ended(self, job: Job) -> None:
        """Queue a comparison if the job inserted a function.

        After a job that checked the user's answer, ask the next question.
        """
        ending, ended, checked = job.ending, job.ended, self._more.pop(job.id, None)
        if ending is None or ended is None or ending.outcome.status is not Status.VERIFIED:
            return
        placed = self._shown.evidence.at(job.snapshot.uri, job.target.qualname)
        if placed is None:
            return
        if checked is not None:
            self._ask(placed.evidence, checked)
        is_written = isinstance(job.work, KeptResult) or job.work in (Mode.GENERATE, Mode.FIX)
        if is_written and ending.applied and ending.outcome.candidate is not None:
            self._begin(_CrossChecking(ended=ended, evidence=placed.evidence, snapshot=job.snapshot))

    def _all(self) -> list[_CrossChecking]:
        return [*([self._running] if self._running else []), *self._waiting.values()]

    def _begin(self, comparison: _CrossChecking) -> None:
        self._waiting[comparison.key] = comparison
        while len(self._waiting) > _MOST:
            del self._waiting[next(iter(self._waiting))]
        if self._worker is None and not self._closing:
            self._worker = asyncio.create_task(self._work(), name="adacoder cross-checks")

    async def _work(self) -> None:
        """Run the queued comparisons one after another, while no job runs."""
        try:
            while self._waiting:
                await self._jobs.idle(_PAUSE)
                if self._waiting:
                    comparison = self._waiting.pop(next(iter(self._waiting)))
                    if self._shown.evidence.same(comparison.evidence) is not None:
                        await self._work_on(comparison)
        finally:
            self._worker = None

    async def _work_on(self, comparison: _CrossChecking) -> None:
        self._running = comparison
        comparison.task = asyncio.create_task(self._compare(comparison))
        try:
            await asyncio.wait({comparison.task})
        finally:
            comparison.task.cancel()
            await asyncio.wait({comparison.task})
            self._running = None
        if comparison.is_interrupted and not comparison.is_cancelled and comparison.key not in self._waiting:
            self._begin(replace(comparison, is_interrupted=False))

    async def _compare(self, comparison: _CrossChecking) -> None:
        snapshot, ended = comparison.snapshot, comparison.ended
        target = ended.outcome.target
        try:
            service, settings = await self._client.service_for(snapshot)
            task = Task(target, settings, snapshot.project, Journal(comparison.listen, earlier=ended.outcome))
            outcome = await service.compared(task, ended.outcome)
            if settings.cross_check:
                title = f"AdaCoder: comparing '{target.name}' with a second program"
                async with announced(self._client, title, comparison.cancel) as comparison.show:
                    outcome = await service.cross_checked(task, outcome)
        except Exception:
            log.exception("'%s' was not compared", target.name)
            return
        if outcome is not ended.outcome:
            self._compared(comparison, outcome)

    def _compared(self, comparison: _CrossChecking, outcome: Outcome) -> None:
        """Store the outcome of a comparison. If the outputs differ, ask the user."""
        ended, checked = comparison.ended, outcome.cross_check
        answer = report.to_json(outcome, ended.folder, encoding_of(self._client.workspace))
        told = {"summary": ended.answer["summary"]}
        self._results.renew(replace(ended, outcome=outcome, answer={**ended.answer, **answer, **told}))
        for said in compared(outcome.behaviour, checked):
            self._client.log(f"{report.label(outcome.target, ended.folder)}: {said}")
        found = {"behaviour": outcome.behaviour, "cross_check": checked, "answer": answer}
        evidence = self._shown.evidence.revise(comparison.evidence, **found)
        if evidence is not None and checked is not None:
            self._ask(evidence, checked)

    # Questions to the user

    def _ask(self, evidence: Evidence, checked: CrossCheck) -> None:
        """Ask the user about the first difference that a docstring example can express.

        Ask nothing if the user wants no more questions, or if the limit for the function is reached.
        """
        uri, qualname = evidence.uri, evidence.qualname
        asked = self._asked.setdefault((uri, qualname), _Questions())
        found = None if checked.found is None else question(checked.found.differs, asked.calls)
        if found is None or asked.is_enough or len(asked.calls) >= MOST_QUESTIONS:
            return
        revised = self._shown.evidence.revise(evidence, cross_check=checked, question=found)
        if revised is not None:
            asked.calls.append(found.call)
            if self._client.habits.asks_beside_text and qualname in self._shown.evidence.asking(uri):
                self._client.begin(self.answered(revised, None))

    def asked(self, uri: Uri, qualname: str, call: str) -> Evidence:
        """Return the evidence of a function that has an open question about `call`.

        Raises:
            AdaCoderError: the question was answered, or the function has changed.
        """
        found = self._shown.evidence.asking(uri).get(qualname)
        if found is None or found.question is None or found.question.call != call:
            raise AdaCoderError("There is no such question: it was answered, or the function has changed.")
        return found

    async def answered(self, evidence: Evidence, ruling: Ruling | None) -> None:
        """Carry out the user's answer to a question. If `ruling` is None, show the question and wait for the answer."""
        try:
            if ruling is None:
                ruling = await self._said(evidence)
            if ruling is not None and evidence.question is not None:
                async with self._answering:
                    asked = self.asked(evidence.uri, evidence.qualname, evidence.question.call)
                    await self._carry_out(asked, ruling)
        except (TimeoutError, JsonRpcException):
            return  # the question stays open above the function
        except AdaCoderError as error:
            self._client.show(str(error), warning=True)

    async def _said(self, evidence: Evidence) -> Ruling | None:
        if (found := evidence.question) is None:
            return None
        words = {title: ruling for ruling, title in buttons(found).items()}
        actions = [types.MessageActionItem(title) for title in words]
        message = f"{asking(found)} Your answer becomes an example."
        params = types.ShowMessageRequestParams(types.MessageType.Info, message, actions)
        said = await self._client.protocol.ask(types.WINDOW_SHOW_MESSAGE_REQUEST, params, seconds=_ASKING)
        return words.get(getattr(said, "title", ""))

    async def _carry_out(self, evidence: Evidence, ruling: Ruling) -> None:
        """Add an example with the output that the user chose.

        Then check the function, or fix it if its output is wrong. The answer `NEVER` only stops further questions about
        the function.

        Raises:
            AdaCoderError: the example cannot be added.
        """
        found, checked, uri, name = evidence.question, evidence.cross_check, evidence.uri, evidence.qualname
        if found is None or checked is None:
            return
        if ruling is Ruling.NEVER:
            self._asked[uri, name].is_enough = True
            self._shown.evidence.revise(evidence, question=None)
            return
        snapshot = take(self._client.workspace, uri)
        target = await asyncio.to_thread(snapshot.find, qualname=name)
        if not evidence.is_about(target.source):
            raise AdaCoderError(f"'{target.name}' has changed since the question: check it again.")
        if any(job.target.qualname == name for job in self._jobs.of(uri)):
            raise AdaCoderError(f"AdaCoder is working on '{target.name}': answer the question again when it has ended.")
        edit = await aside(add_examples, target, [example_of(found, ruling)])
        await self._client.protocol.rested()
        if not take(self._client.workspace, uri).same_as(snapshot):
            raise AdaCoderError(f"The text has changed since the answer: answer the question about '{name}' again.")
        try:
            why_not = await refusal(self._client, f"example of {target.name}", snapshot, (edit,))
        except NotInsertedError as why:
            why_not = str(why)
        if why_not is not None:
            raise AdaCoderError(f"Not added: the example of '{target.name}': {why_not}. Answer the question again.")
        now = await after_edit(self._client, snapshot)
        target = await asyncio.to_thread(now.find, qualname=name)
        is_right = ruling is Ruling.HERE
        job = Job(Mode.CHECK if is_right else Mode.FIX, now, target, apply=not is_right, announced=not is_right)
        job.start = checked.candidate if ruling is Ruling.THERE else None
        try:
            self._jobs.start(job).begin()
        except TargetError as error:
            raise AdaCoderError(f"The example was added to '{target.name}', but nothing was run: {error}") from error
        if is_right:
            self._more[job.id] = checked
