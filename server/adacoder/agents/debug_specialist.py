"""Fix superficial errors of a failed candidate by rules, without a model (paper, section IV-D and Algorithm 3).

The rules are in `repairs.py`. They do not run the candidate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from adacoder.agents.paper_rules import debugged
from adacoder.agents.repairs import repaired_by_rules
from adacoder.aside import aside
from adacoder.domain import Candidate, Failure, Target, Verdict
from adacoder.journal import Journal, Repaired
from adacoder.source.imports import ImportIndex, undefined_names
from adacoder.source.splice import splice


@dataclass(frozen=True, slots=True)
class DebugSpecialist:
    """Repairs candidates by rules."""

    index: ImportIndex
    journal: Journal

    async def repair(
        self, target: Target, candidate: Candidate, verdict: Verdict, *, as_printed: bool = False
    ) -> Candidate:
        """Return the repaired candidate, or the same object if no rule helps.

        With `as_printed`, the rules of the paper are used instead of AdaCoder's.
        """
        if verdict.failure is None or (candidate.cut and not target.has_wants):
            # The reply was cut off, so the repair would be a guess. Without examples, nothing could confirm the guess.
            return candidate

        with self.journal.step("debug_specialist", "repair", "fixing by rule") as step:
            if as_printed:
                repaired, rules = await aside(_by_the_paper, candidate, verdict.failure, self.index)
            else:
                repaired, rules = await aside(_in_order, candidate, target, self.index)
            step.details = Repaired(rules, repaired.text)
            return repaired


def _in_order(candidate: Candidate, target: Target, index: ImportIndex) -> tuple[Candidate, tuple[str, ...]]:

    @cache  # cached, because the names are needed after each rule
    def undefined(changed: Candidate) -> tuple[str, ...]:
        placed = splice(target, changed)
        return undefined_names(placed.text, [placed.function, *placed.added])

    return repaired_by_rules(candidate, target, undefined, index.import_for)


def _by_the_paper(candidate: Candidate, failure: Failure, index: ImportIndex) -> tuple[Candidate, tuple[str, ...]]:
    """Apply the paper's Algorithm 3 to the function only. Imports and helper functions stay unchanged."""
    imports: list[str] = []

    def noted(name: str) -> None:
        if (statement := index.import_for(name)) is not None:
            imports.append(statement)

    function = debugged(candidate.function, failure.error, noted).rstrip()
    repaired = replace(candidate, function=function, imports=(*candidate.imports, *imports))
    return (candidate, ()) if repaired == candidate else (repaired, (debugged.__name__,))
