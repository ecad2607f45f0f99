"""What happens to the result of a job, and the job's message.

`decide` looks only at its arguments. `job_work.py` carries its Decision out.

An Ending's message says first the effect on the text, in 60 characters, then the evidence. An editor may cut off a
message at the end of its line. Rounds, tokens and time are left to the log and the journal.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adacoder import report
from adacoder.domain import Outcome, Status
from adacoder.lsp.jobs.results import KeptResult, edits_of, score_of
from adacoder.messages import Named, Text, joined
from adacoder.settings import Settings, Unverified
from adacoder.task import Mode

_UNVERIFIED, _PREVIEW = Named("unverified"), Named("preview")


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a job."""

    outcome: Outcome
    applied: bool = False
    """True if the edit was made, or sent to a client that does not answer."""
    obstacle: str | None = None
    """Reason why an edit was not made, as a clause that follows "Not inserted: ": `'f' was edited meanwhile`."""
    kept: bool = False
    """True if the result can still be inserted."""
    is_wanted: bool = False
    """True if the user wants to see the result first, so the obstacle needs no warning."""
    closed: str | None = None
    """Name of the edited file if it is not open."""

    @property
    def is_good(self) -> bool:
        """True if there is nothing to warn about."""
        return self.outcome.status is Status.VERIFIED and (self.obstacle is None or self.is_wanted)

    @property
    def failure_reason(self) -> str | None:
        """Reason why an edit was not made, as a sentence."""
        return None if self.obstacle is None else Text("Not inserted: ", self.obstacle, self._and_kept, ".")

    @property
    def _and_kept(self) -> str:
        return "; its result is kept" if self.kept else ""

    @property
    def message(self) -> Text:
        """The message for the user."""
        return joined(" ", [self._ending, *self._evidence, *report.notes(self.outcome)])

    @property
    def _ending(self) -> str:
        outcome, name = self.outcome, f"'{self.outcome.target.name}'"
        if self.applied:
            what = name if outcome.candidate else f"examples for {name}"
            doubt = "" if self.is_good else ", unverified"
            where = f" {self.closed} is not open and not saved." if self.closed else ""
            return f"Inserted {what}{doubt}.{where}"
        if outcome.status is Status.CANCELLED:
            kept = " Its result is kept." if self.kept else ""
            return f"Cancelled {name}; nothing was changed.{kept}"
        if outcome.status is Status.ERROR:
            return outcome.reason or "It could not run."
        if self.failure_reason is not None:
            return self.failure_reason
        if outcome.edits:
            return f"Not inserted, as requested: a body for {name}."
        if outcome.strategy is not None:
            return self._nothing_to_insert(name)
        return f"Checked {name}." if outcome.verdict else f"No examples suggested for {name}."

    def _nothing_to_insert(self, name: str) -> str:
        verdict = self.outcome.verdict
        if self.outcome.stands:
            return f"Nothing to fix in {name}." if self.is_good else f"Not changed: {name} is unverified."
        if verdict is not None and verdict.passed:
            return f"No other candidate for {name}."
        return f"Not inserted: no candidate for {name} passed."

    @property
    def _evidence(self) -> list[str]:
        outcome = self.outcome
        if outcome.status in (Status.CANCELLED, Status.ERROR):
            return []
        said = [outcome.reason] if outcome.reason else [f"{report.score(outcome.passed, outcome.total)}."]
        if lines := report.unreached(outcome):
            said.append(f"{lines[0].upper()}{lines[1:]}.")
        return said


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do with the result of a job."""

    ending: Ending
    """The end of the job if nothing is inserted."""
    keeps: KeptResult | None = None
    """The result to keep, also while it is inserted."""
    inserts: bool = False
    """True to insert the edits of the Outcome."""
    drops: bool = False
    """True to drop the kept result that the job was to insert."""


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
        work: the mode of the job, or the kept result that it was to insert.
        outcome: what the job found in its snapshot.
        result: the part of it that can be inserted.
        settings: the settings for the document.
        applies: True if the client wants the edit to be made.
        is_sent: True if the client sent the candidate, so it still has it.
        is_kept: True if the store still keeps the result that was to be inserted.
    """
    if isinstance(work, KeptResult):
        return _decide_on_kept(work, outcome, result, is_kept=is_kept)
    if not applies or result is None:
        return Decision(Ending(outcome))
    if outcome.candidate is None:  # suggested examples: the user always reads them first
        return _keep(outcome, result, _unproved(outcome))
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
    """Insert a kept result if its rank in the current text is at least the one shown to the user."""
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
    """Reason why an unverified or partial Outcome is not inserted automatically."""
    name = _name(outcome)
    if outcome.candidate is None:
        return f"review the suggested examples for {name} first"
    return f"{name} is unverified" if outcome.edits else f"{name} passes only {score_of(outcome)}"


def _name(outcome: Outcome) -> str:
    return f"'{outcome.target.name}'"
