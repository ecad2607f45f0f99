"""AdaCoder: Adaptive Planning in Multi-Agent Code Generation; Algorithm 1 of the paper (appendix C).

Where this departs from the paper, DESIGN's "The loop" and ARCHITECTURE.md say why.
"""

from __future__ import annotations

from adacoder.agents.failures import described
from adacoder.agents.programming_assistant import WRITER, WRITER_BY_PLAN
from adacoder.agents.prompt_engineer import PLANNER
from adacoder.agents.request import Budget, Request
from adacoder.strategies.strategy import Strategy


async def _run(request: Request) -> None:
    """Write without a plan; evaluate; repair by rule; then plan from the error and write afresh."""
    plan: str | None = None
    for _ in request.rounds():
        candidate = await (request.first(WRITER) if plan is None else request.ask(WRITER_BY_PLAN, plan=plan))
        attempt = await request.repaired(await request.evaluate(candidate))
        if request.goes_on:
            plan = await request.ask(PLANNER, error=described(attempt.verdict))


ADACODER = Strategy(
    name="adacoder",
    summary="writes without a plan, repairs by rule, and plans only from an actual error",
    paper="AdaCoder: An Adaptive Planning and Multi-Agent Framework for Function-Level Code Generation",
    roles=(WRITER, WRITER_BY_PLAN, PLANNER),
    budget=lambda t: Budget(rounds=1 + t, calls=1 + 2 * t),
    run=_run,
)
