"""What came of functions lately, for what is offered next: whether their examples fail, and how they were written."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adacoder.domain import Status
from adacoder.task import Mode

if TYPE_CHECKING:
    from pathlib import Path

    from adacoder.domain import Candidate, Outcome, Target

_FUNCTIONS = 64
"""Functions that are remembered."""
_CANDIDATES = 4
"""Candidates that are remembered of each."""
_AS_IT_STANDS = frozenset({Mode.CHECK, Mode.FIX, Mode.REPAIR})
"""Work that begins with the function as it stands."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of one function."""

    failing: str | None = None
    """Its text whose examples failed."""
    signature: str = ""
    candidates: tuple[Candidate, ...] = ()
    """Those that could go in, the latest last; they are for `signature`."""


class Memory:
    """What is remembered, of the latest functions that there was work on."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Path, str], _Known] = OrderedDict()

    def note(self, mode: Mode, path: Path, outcome: Outcome) -> None:
        """Remember the end of a job."""
        target, key = outcome.target, (path, outcome.target.qualname)
        known = self._known.pop(key, _Known())
        failing = known.failing
        if mode in _AS_IT_STANDS and outcome.verdict is not None:
            has_failed = outcome.status in (Status.FAILED, Status.PARTIAL)
            failing = target.source if has_failed else None
        candidates = self._fitting(known, target)
        if mode is not Mode.CHECK and outcome.candidate is not None and outcome.edits:
            candidates = (*(each for each in candidates if each != outcome.candidate), outcome.candidate)
        self._known[key] = _Known(failing, target.signature, candidates[-_CANDIDATES:])
        while len(self._known) > _FUNCTIONS:
            self._known.popitem(last=False)

    def fails(self, path: Path, target: Target) -> bool:
        """True if the examples of `target` failed, and its text is still the same."""
        known = self._known.get((path, target.qualname))
        return known is not None and known.failing == target.source

    def candidates(self, path: Path, target: Target) -> tuple[Candidate, ...]:
        """The candidates that were written for `target`, as long as they fit its signature; the latest last."""
        return self._fitting(self._known.get((path, target.qualname), _Known()), target)

    @staticmethod
    def _fitting(known: _Known, target: Target) -> tuple[Candidate, ...]:
        return known.candidates if known.signature == target.signature else ()
