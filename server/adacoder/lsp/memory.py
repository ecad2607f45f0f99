"""How functions were written lately, so that another candidate can differ."""

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
"""Functions that are remembered."""
_CANDIDATES = 4
"""Candidates that are remembered of each."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of one function."""

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
        candidates = self._fitting(self._known.pop(key, _Known()), target)
        if mode is not Mode.CHECK and outcome.candidate is not None and outcome.edits:
            candidates = (*(each for each in candidates if each != outcome.candidate), outcome.candidate)
        self._known[key] = _Known(target.signature, candidates[-_CANDIDATES:])
        while len(self._known) > _FUNCTIONS:
            self._known.popitem(last=False)

    def candidates(self, path: Path, target: Target) -> tuple[Candidate, ...]:
        """The candidates that were written for `target`, as long as they fit its parameters; the latest last."""
        return self._fitting(self._known.get((path, target.qualname), _Known()), target)

    @staticmethod
    def _fitting(known: _Known, target: Target) -> tuple[Candidate, ...]:
        return known.candidates if known.candidates and same_parameters(known.signature, target.signature) else ()
