"""Self-Planning Code Generation (Jiang et al., 2024): plan first, then write by the plan; no feedback."""

from __future__ import annotations

from dataclasses import replace

from adacoder.agents.advisor import by_plan, coder
from adacoder.agents.budget import Budget
from adacoder.agents.prompt_engineer import PLANNER
from adacoder.agents.request import Request
from adacoder.strategies.strategy import Strategy

FIRST_PLANNER = replace(
    PLANNER, agent="planner", doing="planning", prompt="self_planning_plan", system="", otherwise=""
)
"""Plans from the docstring alone."""
BY_PLAN = coder("programming_assistant", "writing the function by the plan", "write_by_plan")
"""Writes by a `plan` made before any attempt."""


async def _run(request: Request) -> None:
    """Plan; write by the plan; evaluate."""
    await request.try_start()
    for _ in request.rounds():
        plan = await request.ask(FIRST_PLANNER)
        await request.evaluate(await by_plan(request, BY_PLAN, plan))


SELF_PLANNING = Strategy(
    name="self-planning",
    summary="plans, then writes by the plan, once",
    paper="Self-Planning Code Generation with Large Language Models (Jiang et al., 2024)",
    roles=(FIRST_PLANNER, BY_PLAN),
    iterations=None,
    best_calls=2,
    budget=lambda t: Budget(rounds=1 + t, calls=2),
    run=_run,
)
