"""Recent candidates for functions, so that another candidate can differ from them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adacoder.source.signature import same_parameters
from adacoder.task import Mode

if TYPE_CHECKING:
    from pathlib import Path

    from adacoder.domain import Candidate, Outcome, Target

_FUNCTIONS = 64
"""Maximum number of remembered functions."""
_CANDIDATES = 4
"""Maximum number of remembered candidates for each function."""


@dataclass(frozen=True, slots=True)
class _Known:
    """Remembered candidates of one function."""

    signature: str = ""
    candidates: tuple[Candidate, ...] = ()
    """Candidates for `signature` that could be inserted, the latest last."""


class Memory:
    """Candidates for the functions that were worked on most recently."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Path, str], _Known] = OrderedDict()

    def note(self, mode: Mode, path: Path, outcome: Outcome) -> None:
        """Remember the Outcome of a job."""
        target, key = outcome.target, (path, outcome.target.qualname)
        candidates = self._fitting(self._known.pop(key, _Known()), target)
        if mode is not Mode.CHECK and outcome.candidate is not None and outcome.edits:
            candidates = (*(each for each in candidates if each != outcome.candidate), outcome.candidate)
        self._known[key] = _Known(target.signature, candidates[-_CANDIDATES:])
        while len(self._known) > _FUNCTIONS:
            self._known.popitem(last=False)

    def candidates(self, path: Path, target: Target) -> tuple[Candidate, ...]:
        """The candidates written for `target`, the latest last. Empty if its parameters have changed."""
        return self._fitting(self._known.get((path, target.qualname), _Known()), target)

    @staticmethod
    def _fitting(known: _Known, target: Target) -> tuple[Candidate, ...]:
        return known.candidates if known.candidates and same_parameters(known.signature, target.signature) else ()
