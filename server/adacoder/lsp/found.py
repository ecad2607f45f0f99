"""What was last found of the functions as they stand: by a check, or when AdaCoder wrote them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from adacoder.domain import JSON, Edit, Example, Outcome
from adacoder.source.text import apply_edits

_KEPT = 1000
"""Functions of which something is kept."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found of one function, class or module."""

    answer: Mapping[str, JSON]
    """As `--json` has it."""
    states: tuple[str, ...]
    """The states of its examples, in order."""
    source: str
    """The text that it holds for."""
    at: float
    """When, by the clock that never goes back."""

    @property
    def age(self) -> float:
        """Seconds since then."""
        return time.monotonic() - self.at


class Found:
    """The last findings, those that were asked for least recently being forgotten first."""

    def __init__(self) -> None:
        self._findings: dict[tuple[Path, str], Finding] = {}

    def keep(self, outcome: Outcome, answer: Mapping[str, JSON]) -> None:
        """Keep what holds for a function as it stands with the edits of `outcome` made."""
        target = outcome.target
        key = target.module.path, target.qualname
        self._findings.pop(key, None)
        self._findings[key] = Finding(answer, states(outcome), _source_after(outcome), time.monotonic())
        while len(self._findings) > _KEPT:
            del self._findings[next(iter(self._findings))]

    def forget(self, path: Path, qualname: str | None) -> None:
        """Forget what was found of a function, or of all of a file."""
        for key in [key for key in self._findings if key[0] == path and qualname in (None, key[1])]:
            del self._findings[key]

    def of(self, path: Path, qualname: str) -> Finding | None:
        """The last finding about a function."""
        return self._findings.get((path, qualname))


def states(outcome: Outcome) -> tuple[str, ...]:
    """The state of each of the target's examples: `passed`, `failed`, `skipped`, or `unknown` where it did not run."""
    ran = {} if outcome.verdict is None else {result.example: result for result in outcome.verdict.results}
    return tuple(_state(example, ran[example].matched if example in ran else None) for example in _of(outcome))


def _of(outcome: Outcome) -> Iterable[Example]:
    return outcome.target.examples


def _state(example: Example, matched: bool | None) -> str:
    if matched is None:
        return "skipped" if example.skipped else "unknown"
    return "passed" if matched else "failed"


def _source_after(outcome: Outcome) -> str:
    """The target's source with the edits made that lie in it; helpers and imports go above it."""
    span = outcome.target.definition
    inside = [edit for edit in outcome.edits if span.start < edit.start <= edit.end <= span.end]
    moved = [replace(edit, start=edit.start - span.start, end=edit.end - span.start) for edit in inside]
    return apply_edits(outcome.target.source, list[Edit](moved))
