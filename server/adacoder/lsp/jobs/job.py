"""Run one request on one function, from the command to the edit in the editor.

If the user edits the file meanwhile, the examples run again in the new text before the code is inserted.
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
"""Seconds to wait until a client has made an edit. Some clients first ask the user."""
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
    """An edit was not made.

    The message is a clause that gives the reason, such as `'f' was edited meanwhile`.
    """


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
        """Start the work. Call this after the reply to the command was sent.

        With `is_cancelled`, cancel the work instead.
        """
        if is_cancelled:
            self.cancel()
        self.may_begin.set()

    def cancel(self) -> bool:
        """Cancel the work and return True.

        A second call does nothing, because a second cancellation would interrupt the clean-up.
        """
        if not self.is_cancelled:
            self.is_cancelled = True
            self.task.cancel()
        return True


@dataclass(eq=False)
class Job(Activity):
    """One request on one function."""

    work: Mode | KeptResult
    """The mode of the request, or an earlier result to insert."""
    snapshot: Snapshot
    target: Target
    apply: bool
    """True if the client wants the result to be inserted."""
    announced: bool
    """True if the job shows its own progress and result. Otherwise its client or batch shows them."""
    token: types.ProgressToken | None = None
    """The client's token for progress notifications, if the request has one."""
    reply: str | None = None
    """Candidate that the client sent. The job evaluates this candidate first."""
    start: Candidate | None = None
    """Candidate from an earlier comparison. The job evaluates this candidate first."""
    goal: str = ""
    """Name of the failing test that the job must make pass. Empty if there is no such test."""
    wish: str | None = None
    """The user's instructions for the function. None stands for the previous instructions for this function."""
    relay: Callable[[str], None] | None = None
    """Callback that shows the progress of this job as progress of its batch."""
    show: Callable[[str], None] = lambda message: None
    """Callback that shows a progress message."""
    write: Callable[[OpenStep | Step | Waiting, str], None] = lambda event, message: None
    """Callback that shows the model's growing reply. It receives a Journal event and the progress message."""
    round: int = 0
    most_rounds: int = 1
    trace: Callable[[str, str], None] = lambda message, details: None
    """Callback that writes a message and its details to the client's trace."""
    moved: Callable[[], None] = lambda: None
    """Callback that runs at the start of each round."""
    is_sent: bool = False
    """True if the edit was sent to the editor, and the editor has not refused the edit."""
    ending: Ending | None = None
    ended: EndedJob | None = None
    """The record of this job after its end."""

    @property
    def title(self) -> str:
        """Title of the progress display."""
        doing = _DOING[self.work] if isinstance(self.work, Mode) else "inserting the result for"
        return f"AdaCoder: {doing} '{self.target.name}'"

    @property
    def label(self) -> str:
        """The target as `path::qualname`."""
        return report.label(self.target, self.snapshot.folder)

    @property
    def place(self) -> JSON:
        """Command parameters that name the function."""
        return {"uri": self.snapshot.uri, "qualifiedName": self.target.qualname}

    @property
    def result_id(self) -> str:
        """Id of the kept result.

        A job that inserts an earlier result uses the id of the earlier job.
        """
        return self.id if isinstance(self.work, Mode) else self.work.job_id

    def tell(self, message: str) -> None:
        """Show a progress message."""
        self.message = message
        self.show(message)

    def listen(self, event: OpenStep | Step | Waiting) -> None:
        """Show a Journal event as progress. Write each completed step to the client's trace."""
        self.tell(report.progress(event, self.most_rounds))
        self.write(event, self.message)
        if isinstance(event, Step):
            self.trace(self.message, self.label)
        if not isinstance(event, Waiting) and event.round > self.round:
            self.round = event.round
            self.moved()

    def cancel(self, *, even_if_sent: bool = False) -> bool:
        """Cancel the job and return True.

        If the edit was already sent, do nothing and return False. With `even_if_sent`, cancel the job anyway.
        """
        return (even_if_sent or not self.is_sent) and super().cancel()


def _require_time(until: float) -> None:
    if time.monotonic() > until:
        raise NotInsertedError("the text changes faster than the examples run")


class JobWork:
    """Does the work of one job."""

    settings: Settings
    service: Service

    def __init__(self, job: Job, client: Client, results: Results) -> None:
        self.job = job
        job.trace = client.trace
        self.client = client
        self.results = results
        self.snapshot = job.snapshot
        """The text to which the job's Outcome applies."""

    async def run(self) -> dict[str, JSON]:
        """Wait for `may_begin`, then run the job. Return the answer for the client."""
        job, journal = self.job, Journal(self.job.listen)
        ending: Ending | None = None
        try:
            await job.may_begin.wait()
            async with self._shown() as show, self._written():
                job.show = job.relay or show
                ending = await self._ending(journal)
        except asyncio.CancelledError:
            if ending is not None:  # only closing the progress display was interrupted
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
        """Show the model's replies inside the `with` block, if the client can show them."""
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
        """Record the end of the job. Return the answer for the client."""
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
        """Run the request. For a kept result, only evaluate the result in the current text."""
        job, work = self.job, self.job.work
        if isinstance(work, KeptResult):
            return await self._outcome_of_kept(work)
        job.most_rounds = self.service.most_rounds(work, self.settings)
        others = self.results.candidates(job.target) if work is Mode.ANOTHER else ()
        start = job.start if job.reply is None else await aside(read_reply, job.reply, job.target)
        wish = ""
        if job.wish is not None or self.results.has_wishes:
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
        journal = Journal(self.job.listen)
        task = Task(target, self.settings, snapshot.project, journal, candidate, goal=self.job.goal)
        return await self.service.recheck(task)

    async def _carried_out(self, decision: Decision) -> Ending:
        """Insert, keep or drop the result. If the insertion fails, the result stays kept."""
        ending, result_id = decision.ending, self.job.result_id
        if decision.drops:
            self.results.drop(result_id)
        if decision.keeps is not None:
            now = self.job.snapshot  # the user may have renamed the file since the job began
            self.results.keep(replace(decision.keeps, uri=now.uri, path=now.path))
        if not decision.inserts:
            return ending
        try:
            inserted = await self._inserted(ending.outcome)
        except NotInsertedError as why:
            return Ending(ending.outcome, obstacle=str(why), kept=self.results.kept(result_id) is not None)
        is_known = self.client.has("workspace.apply_edit")
        if is_known:  # without a confirmation, the edit may not have been made
            self.results.drop(result_id)
        closed = self.snapshot.path.name if self.snapshot.version is None else None
        return Ending(inserted, applied=True, kept=not is_known, closed=closed)

    async def _inserted(self, outcome: Outcome) -> Outcome:
        """Insert the result of the job. Return an Outcome for the text into which it was inserted.

        Raises:
            NotInsertedError: nothing was inserted, or the editor did not answer.
        """
        until = time.monotonic() + _TYPING
        while True:
            outcome = await self._brought_up_to_date(outcome, until)
            self.job.is_sent = True  # Without an `await` after the comparison of the texts, no change is missed.
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
        """Wait until the client reports a changed text. Return False if no change is reported before the time `until`.

        eglot refuses an edit while the user types, and reports the new text only after a pause in typing.
        """
        while (now := self._current()).version == self.snapshot.version and now.same_as(self.snapshot):
            if time.monotonic() > until:
                return False
            self.job.tell(_AWAITING)
            await asyncio.sleep(_PAUSE)
        return True

    async def _brought_up_to_date(self, outcome: Outcome, until: float) -> Outcome:
        """Wait for a pause in typing. If the text has changed, evaluate the candidate again."""
        while True:
            await self._pause_in_typing(until)
            now = self._current()
            if now.same_as(self.snapshot):
                self.snapshot = now
                return outcome
            outcome = await self._found_again(outcome, now)
            self.snapshot = now

    async def _pause_in_typing(self, until: float) -> None:
        """Wait until the user pauses typing and the client can read messages."""
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
        if outcome.candidate is None:  # The suggested examples stay valid, and only their position has changed.
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
    return Outcome(status, job.target, reason, steps=journal.steps, rounds=journal.round, seconds=journal.seconds)


async def refusal(client: Client, name: str, snapshot: Snapshot, edits: Sequence[Edit]) -> str | None:
    """Ask the client to edit a document as one undo step, labelled `name`. Return the reason for a refusal, or None.

    A client without support for edits never answers. Then return None without waiting.

    Raises:
        NotInsertedError: the client did not answer, so the edit may or may not have been made.
    """
    is_bound = client.has("workspace.workspace_edit.document_changes")
    edit = workspace_edit(snapshot, edits, encoding_of(client.workspace), is_bound=is_bound)
    params = types.ApplyWorkspaceEditParams(label=f"AdaCoder: {name}", edit=edit)
    if not client.has("workspace.apply_edit"):
        # Some of these clients, such as ALE, make the edit, but never answer.
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
    """Wait until the client reports the edited text, at most `_REPORTING` seconds.

    Return a snapshot of the current text.
    """
    until = time.monotonic() + _REPORTING
    now = take(client.workspace, before.uri)
    while now.text == before.text and time.monotonic() < until:
        await asyncio.sleep(_PAUSE)
        now = take(client.workspace, before.uri)
    return now


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision on the result of a job: insert it, keep it, or drop it."""

    ending: Ending
    """The end of the job if nothing is inserted. Its Outcome contains the edits that may be inserted."""
    keeps: KeptResult | None = None
    """The result to keep. A result that will be inserted is kept as well, because the insertion may fail."""
    inserts: bool = False
    """True if the Outcome's edits are to be inserted."""
    drops: bool = False
    """True if the job was asked to insert a kept result, and the result is no longer needed."""


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
        result: the part of `outcome` that can be inserted, or None.
        settings: the settings for the document.
        applies: True if the client wants the result to be inserted.
        is_sent: True if the client sent the candidate. Such a candidate is not kept, because the client has a copy.
        is_kept: True if `Results` still keeps the result that the job was asked to insert.
    """
    if isinstance(work, KeptResult):
        return _decide_on_kept(work, outcome, result, is_kept=is_kept)
    if not applies or result is None:
        return Decision(Ending(outcome))
    if outcome.candidate is None:  # the user reads suggested examples before they are inserted
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
    """Insert a kept result. If fewer examples pass in the current text than before, keep the result instead."""
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
    """Return the reason for not inserting an unverified or partial Outcome."""
    name = _name(outcome)
    if outcome.candidate is None:
        return f"review the suggested examples for {name} first"
    return f"{name} is unverified" if outcome.edits else f"{name} passes only {score_of(outcome)}"


def _name(outcome: Outcome) -> str:
    return f"'{outcome.target.name}'"
