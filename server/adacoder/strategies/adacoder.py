"""AdaCoder: Adaptive Planning in Multi-Agent Code Generation; Algorithm 1 of the paper (appendix C).

Where this departs from the paper, DESIGN's "The loop" and ARCHITECTURE.md say why.
"""

from __future__ import annotations

from adacoder.agents import Team
from adacoder.domain import Attempt, Candidate, Outcome, Target, conclude, further


async def adacoder(team: Team, target: Target, start: Candidate | None, max_iterations: int) -> Outcome:
    """Write without a plan; evaluate; repair by rule; then plan from the error and write afresh, at most
    `max_iterations` times (the paper's t). `start` takes the place of the first writing.

    At best one call of the model, at worst 1 + 2t. Of all candidates the one that got furthest is returned.
    """
    team.journal.begin_round()
    last_round = team.journal.round + max_iterations
    candidate = start or await team.programming_assistant.write(target)
    while True:
        attempt = await _evaluate_and_repair(team, target, candidate)
        if attempt.verdict.final or team.journal.round == last_round:
            return conclude(target, team.code_evaluator.furthest or attempt, team.journal.round)
        plan = await team.prompt_engineer.plan(target, attempt.verdict)
        team.journal.begin_round()
        candidate = await team.programming_assistant.write(target, plan)


async def _evaluate_and_repair(team: Team, target: Target, candidate: Candidate) -> Attempt:
    """One round's lines 11-19: evaluate, and where that fails repair by rule and evaluate once more."""
    attempt = Attempt(candidate, await team.code_evaluator.evaluate(target, candidate))
    if attempt.verdict.final:
        return attempt
    repaired = await team.debug_specialist.repair(target, candidate, attempt.verdict)
    if repaired == candidate:
        return attempt
    return further(attempt, Attempt(repaired, await team.code_evaluator.evaluate(target, repaired)))
