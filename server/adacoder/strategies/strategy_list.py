"""Strategy List, a baseline of CodeTree (section 4.1): list ways to solve the task and write one program for each."""

from __future__ import annotations

from adacoder.agents.advisor import by_plan
from adacoder.agents.budget import Budget
from adacoder.agents.request import Request
from adacoder.strategies.codetree_roles import MOST_STRATEGIES, SOLVER, THINKER
from adacoder.strategies.strategy import Strategy


async def _each(request: Request) -> None:
    """Write one program for each listed strategy, until one passes."""
    await request.try_start()
    if not request.goes_on:
        return
    listed = await request.ask(THINKER)
    for advice, _ in zip(listed, request.rounds(), strict=False):
        await request.evaluate(await by_plan(request, SOLVER, advice))


STRATEGY_LIST = Strategy(
    name="strategy-list",
    summary="lists strategies, and writes one program by each",
    paper="a baseline of CodeTree (Li et al., NAACL 2025), section 4.1",
    roles=(THINKER, SOLVER),
    iterations=MOST_STRATEGIES - 1,
    best_calls=2,
    budget=lambda t: Budget(rounds=1 + t, calls=2 + t),
    run=_each,
)
