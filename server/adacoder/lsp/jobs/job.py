"""A job: one request on one function, from its beginning to the edit in the editor.

`JobWork` gets the Outcome, lets `decide` choose what happens to the result, and carries out the decision. The evidence
for a candidate must hold for the text into which the candidate is inserted. So if the text has changed since the
evaluation, the candidate is evaluated again.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from adacoder import report
from adacoder.aside import aside
from adacoder.domain import JSON, AdaCoderError, Candidate, Edit, Outcome, Status, Step, Target, TargetError
from adacoder.journal import Journal, OpenStep, Waiting
from adacoder.lsp.connection.client import announced, progress, remedies_json
from adacoder.lsp.jobs.ending import Ending
from adacoder.lsp.jobs.results import EndedJob, KeptResult, Results, edits_of, reach_of, read_reply, score_of
from adacoder.lsp.jobs.writing import LiveReply
from adacoder.lsp.snapshot import Snapshot, encoding_of, last_change, take
from adacoder.lsp.to_proto import workspace_edit
from adacoder.messages import Named, Text
from adacoder.settings import Settings, Unverified
from adacoder.source.locate import number_above
from adacoder.task import Mode, Task

if TYPE_CHECKING:
    from adacoder.lsp.connection.client import Client
    from adacoder.service import Service

log = logging.getLogger(__name__)

_EDITING = 60.0
"""Seconds to wait until a client has made an edit. Some clients ask the user first, so the wait is long."""
_REPORTING = 5.0
"""Seconds to wait for the client's `didChange` notification after an edit."""
_PAUSE = 0.02
_STILL = 0.5
"""Seconds without a change that count as a pause in typing. Neovim reports a change up to 0.15 seconds late."""
_TYPING = 600.0
"""Seconds to wait for a pause in typing."""
_HELD = frozenset({Status.VERIFIED, Status.PARTIAL, Status.UNVERIFIED})
_AWAITING = "waiting for a pause in typing"
_UNVERIFIED, _PREVIEW = Named("unverified"), Named("preview")
_DOING = {
    Mode.GENERATE: "generating",
    Mode.FIX: "fixing",
    Mode.CHECK: "checking",
    Mode.REPAIR: "repairing",
    Mode.ANOTHER: "writing another candidate for",
    Mode.SUGGEST_EXAMPLES: "suggesting examples for",
}
_WRITES = frozenset({Mode.GENERATE, Mode.FIX, Mode.ANOTHER})
"""The modes in which a model writes a function."""


class NotInsertedError(AdaCoderError):
    """An edit was not made. The message is a clause with the reason, such as `'f' was edited meanwhile`."""


@dataclass(eq=False, kw_only=True)
class Activity:
    """Background work that a command starts: a job, or a batch of jobs."""

    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    message: str = "starting"
    """Latest progress message."""
    may_begin: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[Any] = field(init=False)
    is_cancelled: bool = False

    def begin(self, is_cancelled: bool = False) -> None:
        """Let the work begin, because the command was answered. If the command was cancelled, cancel the work."""
        if is_cancelled:
            self.cancel()
        self.may_begin.set()

    def cancel(self) -> bool:
        """Cancel the work and return True. Only the first call has an effect: a second would disturb the clean-up."""
        if not self.is_cancelled:
            self.is_cancelled = True
            self.task.cancel()
        return True


@dataclass(eq=False)
class Job(Activity):
    """One request on one function."""

    work: Mode | KeptResult
    """The mode, or the kept result to insert."""
    snapshot: Snapshot
    target: Target
    apply: bool
    """True to make the edit in the editor."""
    announced: bool
    """True if the job shows its progress and result. If False, a client or a batch waits for the job and shows both."""
    token: types.ProgressToken | None = None
    """The token under which the client wants progress, if its request has a token."""
    reply: str | None = None
    """The text of the candidate to begin with, if the client sent a candidate."""
    start: Candidate | None = None
    """The candidate to begin with, if AdaCoder itself chose a candidate."""
    goal: str = ""
    """Name of the failing test that must pass; empty if only the function matters."""
    wish: str | None = None
    """The user's wish for the function; None for the latest wish for it."""
    relay: Callable[[str], None] | None = None
    """Function that receives the progress if the job is part of a batch. The batch then shows the progress."""
    show: Callable[[str], None] = lambda message: None
    """Function that shows the progress."""
    write: Callable[[OpenStep | Step | Waiting, str], None] = lambda event, message: None
    """Function that shows the model's reply. It receives an event of the Journal, and the progress."""
    round: int = 0
    most_rounds: int = 1
    trace: Callable[[str, str], None] = lambda message, details: None
    """Function that traces a message and its details."""
    moved: Callable[[], None] = lambda: None
    """Function that is called at each new round."""
    is_sent: bool = False
    """True after the edit was sent and can no longer be recalled. False again if the editor refuses the edit."""
    ending: Ending | None = None
    ended: EndedJob | None = None
    """The entry for this job in `Results`."""

    @property
    def title(self) -> str:
        """Title of the progress that the user sees."""
        doing = _DOING[self.work] if isinstance(self.work, Mode) else "inserting the result for"
        return f"AdaCoder: {doing} '{self.target.name}'"

    @property
    def label(self) -> str:
        """The target as `path::qualname`."""
        return report.label(self.target, self.snapshot.folder)

    @property
    def place(self) -> JSON:
        """The parameter of a command for the function."""
        return {"uri": self.snapshot.uri, "qualifiedName": self.target.qualname}

    @property
    def result_id(self) -> str:
        """The id under which the result is kept: this job's own id, or the id of the job whose result is inserted."""
        return self.id if isinstance(self.work, Mode) else self.work.job_id

    def tell(self, message: str) -> None:
        """Show progress."""
        self.message = message
        self.show(message)

    def listen(self, event: OpenStep | Step | Waiting) -> None:
        """Show an event of the Journal as progress. Trace the steps that have ended."""
        self.tell(report.progress(event, self.most_rounds))
        self.write(event, self.message)
        if isinstance(event, Step):
            self.trace(self.message, self.label)
        if not isinstance(event, Waiting) and event.round > self.round:
            self.round = event.round
            self.moved()

    def cancel(self, *, even_if_sent: bool = False) -> bool:
        """Cancel the job and return True. If the edit was already sent, only return False, unless `even_if_sent`."""
        return (even_if_sent or not self.is_sent) and super().cancel()


def _require_time(until: float) -> None:
    if time.monotonic() > until:
        raise NotInsertedError("the text changes faster than the examples run")


class JobWork:
    """The work of one job."""

    settings: Settings
    service: Service

    def __init__(self, job: Job, client: Client, results: Results) -> None:
        self.job = job
        job.trace = client.trace
        self.client = client
        self.results = results
        self.snapshot = job.snapshot
        """The text for which the job's Outcome holds."""

    async def run(self) -> dict[str, JSON]:
        """Wait until the job may begin, run the job, and store its ending. Return the answer."""
        job, journal = self.job, Journal(self.job.listen)
        ending: Ending | None = None
        try:
            await job.may_begin.wait()
            async with self._shown() as show, self._written():
                job.show = job.relay or show
                ending = await self._ending(journal)
        except asyncio.CancelledError:
            if ending is not None:  # the work was done, and only the progress display had to end
                return self._end(ending)
            kept = self.results.kept(job.result_id) is not None
            self._end(Ending(_cut_short(job, journal, Status.CANCELLED), kept=kept))
            raise
        except Exception as error:
            log.exception("The job on %s failed", job.label)
            what = f"{type(error).__name__}: {error}"
            why = f"AdaCoder failed on '{job.target.name}' ({what}): see the language server's log."
            ending = Ending(_cut_short(job, journal, Status.ERROR, why))
        return self._end(ending)

    def _shown(self) -> AbstractAsyncContextManager[Callable[[str], None]]:
        if self.job.announced:
            return announced(self.client, self.job.title, self.job.cancel)
        return progress(self.client, self.job.title, self.job.token, self.job.cancel)

    @asynccontextmanager
    async def _written(self) -> AsyncIterator[None]:
        """Show the model's replies in the `with` block, if the client shows them."""
        job = self.job
        if not self.client.habits.shows_writing or job.work not in _WRITES:
            yield
            return
        reply = await asyncio.to_thread(LiveReply, self.client, job.id, job.snapshot, job.target)
        job.write = reply.listen
        try:
            yield
        finally:
            reply.end()

    def _end(self, ending: Ending) -> dict[str, JSON]:
        """Store the ending of the job. Return the answer to `adacoder/run`."""
        job, snapshot = self.job, self.job.snapshot
        answer = report.to_json(ending.outcome, snapshot.folder, encoding_of(self.client.workspace))
        answer |= {
            "summary": ending.message,
            "isGood": ending.is_good,
            "remedies": remedies_json(ending.message, job.place),
            "applied": ending.applied,
            "failureReason": ending.failure_reason,
            "jobId": job.id,
            "kept": ending.kept,
        }
        mode = job.work if isinstance(job.work, Mode) else None
        job.ending = ending
        job.ended = EndedJob(job.id, snapshot.uri, mode, ending.outcome, snapshot.folder, answer)
        self.results.end(job.ended)
        return answer

    async def _ending(self, journal: Journal) -> Ending:
        """Get the job's Outcome, and insert or keep its result as `decide` says."""
        job = self.job
        self.service, self.settings = await self.client.service_for(job.snapshot)
        outcome = await self._outcome(journal)
        decision = decide(
            job.work,
            outcome,
            KeptResult.of(outcome, job.result_id, job.snapshot.uri),
            self.settings,
            applies=job.apply,
            is_sent=job.reply is not None,
            is_kept=self.results.kept(job.result_id) is not None,
        )
        return await self._carried_out(decision)

    async def _outcome(self, journal: Journal) -> Outcome:
        """Return the Outcome of the request. For a kept result, return its Outcome in the current text."""
        job, work = self.job, self.job.work
        if isinstance(work, KeptResult):
            return await self._outcome_of_kept(work)
        job.most_rounds = self.service.most_rounds(work, self.settings)
        others = self.results.candidates(job.target) if work is Mode.ANOTHER else ()
        start = job.start if job.reply is None else await aside(read_reply, job.reply, job.target)
        above = await aside(number_above, job.target)
        wish = self.results.wish(job.snapshot.uri, job.target.qualname, above, job.wish)
        task = Task(job.target, self.settings, self.snapshot.project, journal, start, others, job.goal, wish)
        return await self.service.perform(work, task)

    async def _outcome_of_kept(self, kept: KeptResult) -> Outcome:
        target = self.job.target
        if kept.candidate is not None:
            return await self._evaluated(kept.candidate, self.snapshot, target)
        return Outcome(Status.UNVERIFIED, target, "Read them before you keep them.", edits=kept.additions_in(target))

    async def _evaluated(self, candidate: Candidate, snapshot: Snapshot, target: Target) -> Outcome:
        """Evaluate a candidate in a text. Return the Outcome."""
        journal = Journal(self.job.listen)
        task = Task(target, self.settings, snapshot.project, journal, candidate, goal=self.job.goal)
        return await self.service.recheck(task)

    async def _carried_out(self, decision: Decision) -> Ending:
        """Keep, insert or drop the result. A result that cannot be inserted stays kept."""
        ending, result_id = decision.ending, self.job.result_id
        if decision.drops:
            self.results.drop(result_id)
        if decision.keeps is not None:
            now = self.job.snapshot  # the file may have another name now
            self.results.keep(replace(decision.keeps, uri=now.uri, path=now.path))
        if not decision.inserts:
            return ending
        try:
            inserted = await self._inserted(ending.outcome)
        except NotInsertedError as why:
            return Ending(ending.outcome, obstacle=str(why), kept=self.results.kept(result_id) is not None)
        is_known = self.client.has("workspace.apply_edit")
        if is_known:  # otherwise the client does not answer, so the edit may not have been made
            self.results.drop(result_id)
        closed = self.snapshot.path.name if self.snapshot.version is None else None
        return Ending(inserted, applied=True, kept=not is_known, closed=closed)

    async def _inserted(self, outcome: Outcome) -> Outcome:
        """Let the editor make the edits of an Outcome. Return the Outcome for the text that was edited.

        Raises:
            NotInsertedError: nothing was inserted, or the editor did not answer.
        """
        until = time.monotonic() + _TYPING
        while True:
            outcome = await self._brought_up_to_date(outcome, until)
            self.job.is_sent = True  # no other task has run since the text was compared
            try:
                why_not = await refusal(self.client, outcome.target.name, self.snapshot, outcome.edits)
            except BaseException:
                self.job.is_sent = False
                raise
            if why_not is None:
                return outcome
            self.job.is_sent = False
            if not await self._has_moved_on(until if "version" in why_not.casefold() else 0.0):
                raise NotInsertedError(why_not)

    async def _has_moved_on(self, until: float) -> bool:
        """Return whether the client now has another text than the snapshot. Wait for another text until `until`.

        eglot refuses an edit of an older version as soon as the user types, but reports the new text only at a pause.
        """
        while (now := self._current()).version == self.snapshot.version and now.same_as(self.snapshot):
            if time.monotonic() > until:
                return False
            self.job.tell(_AWAITING)
            await asyncio.sleep(_PAUSE)
        return True

    async def _brought_up_to_date(self, outcome: Outcome, until: float) -> Outcome:
        """Return the Outcome for the current text. Evaluate the candidate again if the text has changed."""
        while True:
            await self._pause_in_typing(until)
            now = self._current()
            if now.same_as(self.snapshot):
                self.snapshot = now
                return outcome
            outcome = await self._found_again(outcome, now)
            self.snapshot = now

    async def _pause_in_typing(self, until: float) -> None:
        """Wait until no text has changed for a moment, and until the client reads requests."""
        while (left := last_change(self.client.workspace) + _STILL - time.monotonic()) > 0:
            _require_time(until)
            self.job.tell(_AWAITING)
            await asyncio.sleep(left)
        _require_time(until)
        await self.client.protocol.rested()

    def _current(self) -> Snapshot:
        try:
            return take(self.client.workspace, self.job.snapshot.uri)
        except TargetError as error:
            raise NotInsertedError(str(error).removesuffix(".")) from error

    async def _found_again(self, outcome: Outcome, now: Snapshot) -> Outcome:
        name, module = outcome.target.name, replace(outcome.target.module, path=now.path)
        target = await aside(Snapshot.again, replace(now, overlays={}), replace(outcome.target, module=module))
        if target is None:
            raise NotInsertedError(f"'{name}' was edited meanwhile")
        if outcome.candidate is None:  # the Outcome has suggested examples, and only their place has changed
            by = target.definition.start - outcome.target.definition.start
            moved = tuple(Edit(edit.start + by, edit.end + by, edit.text) for edit in outcome.edits)
            return replace(outcome, target=target, edits=moved)
        self.job.tell("the text changed; running the examples again")
        again = await self._evaluated(outcome.candidate, now, target)
        if again.status not in _HELD or reach_of(again) < reach_of(outcome):
            raise NotInsertedError(f"'{name}' does not pass in the current text")
        return replace(
            outcome,
            status=again.status,
            reason=again.reason,
            target=target,
            verdict=again.verdict,
            edits=edits_of(again),
            steps=(*outcome.steps, *again.steps),
            seconds=outcome.seconds + again.seconds,
        )


def _cut_short(job: Job, journal: Journal, status: Status, reason: str | None = None) -> Outcome:
    """Return the Outcome of a job that was cancelled or failed."""
    return Outcome(status, job.target, reason, steps=journal.steps, rounds=journal.round, seconds=journal.seconds)


async def refusal(client: Client, name: str, snapshot: Snapshot, edits: Sequence[Edit]) -> str | None:
    """Ask the client to make edits of a snapshot's text, as one undo step with the label `name`.

    Return None if the edits were made, else a clause with the reason. Some clients, such as eglot, refuse with an
    error. Also return None if the client does not announce support for edits, because such a client never answers.

    Raises:
        NotInsertedError: the client did not answer, so it is unknown whether the edit was made.
    """
    is_bound = client.has("workspace.workspace_edit.document_changes")
    edit = workspace_edit(snapshot, edits, encoding_of(client.workspace), is_bound=is_bound)
    params = types.ApplyWorkspaceEditParams(label=f"AdaCoder: {name}", edit=edit)
    if not client.has("workspace.apply_edit"):
        # Some of these clients, such as ALE, still make the edit, but they never answer.
        client.protocol.send_request(types.WORKSPACE_APPLY_EDIT, params)
        return None
    try:
        answer = await client.protocol.ask(types.WORKSPACE_APPLY_EDIT, params, seconds=_EDITING, at_once=True)
    except TimeoutError:
        raise NotInsertedError("the editor did not say whether it made the edit: check the file") from None
    except JsonRpcException as error:
        return f"the editor refused the edit ({error.message})"
    if not answer.applied:
        why = f" ({answer.failure_reason})" if answer.failure_reason else ""
        return f"the editor did not make the edit{why}"
    return None


async def after_edit(client: Client, before: Snapshot) -> Snapshot:
    """Wait until the client reports that it has edited the text of `before`. Return a new snapshot.

    The wait ends after `_REPORTING` seconds, even without a report.
    """
    until = time.monotonic() + _REPORTING
    now = take(client.workspace, before.uri)
    while now.text == before.text and time.monotonic() < until:
        await asyncio.sleep(_PAUSE)
        now = take(client.workspace, before.uri)
    return now


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision about the result of a job."""

    ending: Ending
    """The ending of the job if nothing is inserted. Its Outcome has the edits to insert."""
    keeps: KeptResult | None = None
    """The result to keep. A result to insert is also kept, until the editor has made the edit."""
    inserts: bool = False
    """True to insert the edits of the Outcome."""
    drops: bool = False
    """True to drop the kept result that the job was asked to insert."""


def decide(
    work: Mode | KeptResult,
    outcome: Outcome,
    result: KeptResult | None,
    settings: Settings,
    *,
    applies: bool = True,
    is_sent: bool = False,
    is_kept: bool = False,
) -> Decision:
    """Decide what happens to the result of a job: insert it, keep it, or neither.

    Args:
        work: the mode of the job, or the kept result that the job was asked to insert.
        outcome: the Outcome for the text of the job's snapshot.
        result: the result in `outcome` that can be inserted; None if there is none.
        settings: the settings for the document.
        applies: True if the client wants the edit to be made.
        is_sent: True if the client sent the candidate. The client still has its copy, so the result need not be kept.
        is_kept: True if `Results` still keeps the result that the job was asked to insert.
    """
    if isinstance(work, KeptResult):
        return _decide_on_kept(work, outcome, result, is_kept=is_kept)
    if not applies or result is None:
        return Decision(Ending(outcome))
    if outcome.candidate is None:  # the Outcome has suggested examples, and the user always reads examples first
        return _keep(outcome, result, _unproved(outcome), is_wanted=True)
    if work is Mode.ANOTHER:
        return _keep(outcome, result, f"compare the new candidate for {_name(outcome)} first", is_wanted=True)
    if is_sent and outcome.status is not Status.VERIFIED:
        return Decision(Ending(outcome, obstacle=_unproved(outcome)))
    if outcome.status is Status.VERIFIED or (outcome.edits and settings.unverified is Unverified.INSERT):
        if settings.preview:
            why = Text(f"review {_name(outcome)} first, as ", _PREVIEW, " says")
            return _keep(outcome, result, why, is_wanted=True)
        return Decision(Ending(outcome), result, inserts=True)
    if settings.unverified is Unverified.DISCARD:
        why = Text(_unproved(outcome), ", and is discarded, as ", _UNVERIFIED, " says")
        return Decision(Ending(outcome, obstacle=why))
    return _keep(outcome, result, _unproved(outcome))


def _decide_on_kept(kept: KeptResult, outcome: Outcome, result: KeptResult | None, *, is_kept: bool) -> Decision:
    """Decide to insert a kept result, unless it ranks lower in the current text than when the user saw it.

    `reach_of` defines the rank.
    """
    if kept.candidate is None:
        return Decision(Ending(outcome), kept, inserts=True)
    if outcome.status is Status.ERROR:
        return Decision(Ending(outcome, kept=True))
    if result is None and outcome.stands:
        return Decision(Ending(outcome), drops=True)
    if result is None:
        why = f"{_name(outcome)} passes no example in the current text"
        again = replace(kept, score="no example passes") if is_kept else None
        return Decision(Ending(outcome, obstacle=why, kept=is_kept), again)
    result = replace(result, evaluated=kept.evaluated)
    if result.reach < kept.reach:
        why = f"{_name(outcome)} passes {result.score} in the current text"
        return _keep(outcome, result, _unproved(outcome) if outcome.edits else why)
    return Decision(Ending(replace(outcome, edits=edits_of(outcome))), result, inserts=True)


def _keep(outcome: Outcome, result: KeptResult, why: str, *, is_wanted: bool = False) -> Decision:
    return Decision(Ending(outcome, obstacle=why, kept=True, is_wanted=is_wanted), result)


def _unproved(outcome: Outcome) -> str:
    """Return the reason why AdaCoder does not insert this unverified or partial Outcome by itself."""
    name = _name(outcome)
    if outcome.candidate is None:
        return f"review the suggested examples for {name} first"
    return f"{name} is unverified" if outcome.edits else f"{name} passes only {score_of(outcome)}"


def _name(outcome: Outcome) -> str:
    return f"'{outcome.target.name}'"
