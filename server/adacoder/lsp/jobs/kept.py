"""Kept results: results of jobs that were not inserted at once.

A kept result belongs to a function, known by its name and parameters, not to a text. When the result is inserted, the
function is found in the current text and the result is evaluated there again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adacoder.domain import JSON, Candidate, Edit, Outcome, Status, Target
from adacoder.journal import Evaluated
from adacoder.lsp.uri import Uri
from adacoder.source.signature import same_parameters


@dataclass(frozen=True, slots=True)
class KeptResult:
    """A result that can still be inserted."""

    job_id: str
    uri: Uri
    path: Path
    qualname: str
    signature: str
    source: str
    """The function's text when the result was found."""
    written: str
    """The function's text with the result in it."""
    candidate: Candidate | None
    """None: the result is examples for the docstring."""
    additions: tuple[Edit, ...]
    """The edits that add such examples, as offsets in `source`."""
    score: str
    """Its evidence, for a title: `2/2 examples`, `unverified`."""
    reach: tuple[int, ...]
    """Its rank (see `reach_of`), as shown to the user."""
    evaluated: tuple[str, ...] = ()
    """Texts of all candidates of its job, in the order of the journal, including repeated ones."""

    @classmethod
    def of(cls, outcome: Outcome, job_id: str, uri: Uri) -> KeptResult | None:
        """The result that an Outcome leaves to be inserted, or None."""
        target, edits = outcome.target, edits_of(outcome)
        if not edits:
            return None
        start = target.definition.start
        inside = tuple(
            Edit(edit.start - start, edit.end - start, edit.text) for edit in edits if edit.end >= target.header.end
        )
        return cls(
            job_id,
            uri,
            target.module.path,
            target.qualname,
            target.signature,
            target.source,
            edited(target.source, inside),
            outcome.candidate,
            inside,
            score_of(outcome),
            reach_of(outcome),
            tuple(step.details.code for step in outcome.steps if isinstance(step.details, Evaluated)),
        )

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.qualname.rpartition(".")[2]

    @property
    def what(self) -> str:
        """Description of the result, for titles."""
        return f"AdaCoder's {'result' if self.candidate else 'examples'} for '{self.name}'"

    def json(self) -> dict[str, JSON]:
        """The result as sent to a client."""
        return {"jobId": self.job_id, "uri": self.uri, "qualifiedName": self.qualname, "title": self.title}

    @property
    def title(self) -> str:
        """Description of the result with its evidence."""
        return f"{self.what} ({self.score})"

    def fits(self, target: Target) -> bool:
        """True if it can be inserted into `target` and is not there yet."""
        if (self.path, self.qualname) != (target.module.path, target.qualname) or target.source == self.written:
            return False
        if self.candidate is None:
            return target.source == self.source
        return same_parameters(self.signature, target.signature)

    def equals(self, other: KeptResult) -> bool:
        """True if both would write the same into the same function."""
        mine, theirs = ((each.qualname, each.candidate, each.written) for each in (self, other))
        return mine == theirs


def edits_of(outcome: Outcome) -> tuple[Edit, ...]:
    """The edits that insert an Outcome's candidate, even if only some examples passed."""
    if outcome.status is Status.PARTIAL and outcome.verdict is not None:
        return outcome.verdict.edits
    return outcome.edits


def read_reply(text: str, target: Target) -> Candidate:
    """The candidate in a text of any origin."""
    from adacoder.service import from_reply

    return from_reply(text, target)


def score_of(outcome: Outcome) -> str:
    """The evidence for a title."""
    if outcome.candidate is None:
        return "to be read"
    is_told = outcome.status in (Status.VERIFIED, Status.PARTIAL)
    return f"{outcome.passed}/{outcome.total} examples" if is_told else "unverified"


def reach_of(outcome: Outcome) -> tuple[int, ...]:
    """Rank of an Outcome, for comparison: the rank of its status and, if partial, the number of passed examples."""
    if outcome.status is Status.PARTIAL:
        return (0, outcome.passed)
    return (2 if outcome.status is Status.VERIFIED else 1,)


def edited(text: str, edits: Sequence[Edit]) -> str:
    """Return `text` with the edits made, which must not overlap."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text
