"""The Debug Specialist (paper, section IV-D and Algorithm 3): mends superficial errors by rule, without a model.

It is asked only after a failure. Its rules stand in `repairs.py`; each is judged statically before the next one, and
the Code Evaluator judges what comes of them all.
"""

from __future__ import annotations

from dataclasses import dataclass

from adacoder.agents.repairs import mend
from adacoder.domain import Candidate, Target, Verdict
from adacoder.journal import Journal
from adacoder.source.imports import ImportIndex, undefined_names
from adacoder.source.splice import splice


@dataclass(frozen=True, slots=True)
class DebugSpecialist:
    """A rule-based Agent."""

    index: ImportIndex
    journal: Journal

    async def repair(self, target: Target, candidate: Candidate, verdict: Verdict) -> Candidate:
        """The candidate with what rules could mend; the same candidate if they could mend nothing."""
        if verdict.failure is None or (candidate.cut and not target.deciding):
            # A mended end is a guess; without an example that passes on it, it may not be offered.
            return candidate

        def undefined(changed: Candidate) -> tuple[str, ...]:
            placed = splice(target, changed)
            return undefined_names(placed.text, [placed.function, *placed.added])

        with self.journal.step("debug_specialist", "repair") as step:
            mended, rules = mend(candidate, target, undefined, self.index.import_for)
            step.details.update(rules=list(rules), code=mended.text)
            return mended
