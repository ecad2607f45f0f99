"""Direct generation: ask once, evaluate once. The baseline that AdaCoder is measured against (paper, section III-C)."""

from __future__ import annotations

from adacoder.agents import Team
from adacoder.domain import Attempt, Candidate, Outcome, Target, conclude


async def direct(team: Team, target: Target, start: Candidate | None, max_iterations: int) -> Outcome:
    """One candidate and its verdict; no repair, no plan. `max_iterations` has nothing to limit here."""
    team.journal.begin_round()
    candidate = start or await team.programming_assistant.write(target)
    verdict = await team.code_evaluator.evaluate(target, candidate)
    return conclude(target, Attempt(candidate, verdict), team.journal.round)
