"""Describe to the user how a job ended.

The message first says, in at most 60 characters, if the text was changed, because an editor may cut off a long line.
The evidence follows.
"""

from __future__ import annotations

from dataclasses import dataclass

from adacoder import report
from adacoder.domain import Outcome, Status
from adacoder.messages import Remedy, Text, joined


@dataclass(frozen=True, slots=True)
class Ending:
    """The Outcome of a job that has ended, and whether its result was inserted or kept."""

    outcome: Outcome
    applied: bool = False
    """True if the edit was made. Also true if the edit was sent to a client that never confirms edits."""
    obstacle: str | None = None
    """The reason why an edit was not made, such as `'f' was edited meanwhile`.

    The message puts it after "Not inserted: ".
    """
    kept: bool = False
    """True if the result is kept, so that the user can still insert it."""
    is_wanted: bool = False
    """True if the user wants to review results before an insertion.

    Then a missing insertion does not count as a failure.
    """
    closed: str | None = None
    """Name of the edited file, if that file is not open in the editor."""

    @property
    def is_good(self) -> bool:
        """True if the job reached its goal. Otherwise its message is shown as a warning."""
        is_done = self.outcome.status is Status.VERIFIED or self._is_of_examples
        return is_done and (self.obstacle is None or self.is_wanted)

    @property
    def _is_of_examples(self) -> bool:
        """True if the Outcome suggests examples instead of code. Examples are never verified."""
        return self.outcome.candidate is None and bool(self.outcome.edits)

    @property
    def failure_reason(self) -> str | None:
        """A sentence that says why an edit was not made."""
        return None if self.obstacle is None else Text("Not inserted", self._and_kept, ": ", self.obstacle, ".")

    @property
    def _and_kept(self) -> str:
        return "; its result is kept" if self.kept else ""

    @property
    def message(self) -> Text:
        """The message for the user."""
        said = joined(" ", [self._ending, *self._evidence, *report.notes(self.outcome)])
        return said if self._next is None else Text(said, Remedy(self._next))

    @property
    def _next(self) -> str | None:
        """Name of the command that the message suggests next, or None."""
        outcome, target = self.outcome, self.outcome.target
        if self.applied or outcome.verdict is None or not target.is_function:
            return None
        has_failed = outcome.strategy is None and outcome.status in (Status.FAILED, Status.PARTIAL)
        if has_failed and (target.has_wants or outcome.verdict.tests):
            return "generate" if target.is_stub else "fix"
        is_open = has_failed or outcome.status is Status.UNVERIFIED
        return "suggestExamples" if is_open and not target.has_wants else None

    @property
    def _ending(self) -> str:
        outcome, name = self.outcome, f"'{self.outcome.target.name}'"
        if self.applied:
            what = name if outcome.candidate else f"examples for {name}"
            doubt = "" if self.is_good else ", unverified"
            where = f" {self.closed} is not open and not saved." if self.closed else ""
            return f"Inserted {what}{doubt}.{where}"
        if outcome.status is Status.CANCELLED:
            kept = f"Cancelled{self._and_kept}. Nothing was changed in {name}."
            return kept if self.kept else f"Cancelled {name}; nothing was changed."
        if outcome.status is Status.ERROR:
            reason = outcome.reason or "It could not run."
            return Text("Not inserted", self._and_kept, ". ", reason) if self.kept else reason
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
        said = (
            [outcome.reason] if outcome.reason else [f"{report.score(outcome.passed, outcome.total, outcome.tests)}."]
        )
        if lines := report.unreached(outcome):
            said.append(f"{lines[0].upper()}{lines[1:]}.")
        return said
