"""Direct generation: ask once, evaluate once. The baseline that AdaCoder is measured against (paper, section III-C)."""

from __future__ import annotations

from adacoder.agents.programming_assistant import WRITER
from adacoder.agents.request import Budget, Request
from adacoder.strategies.strategy import Strategy


async def _run(request: Request) -> None:
    """One candidate and its verdict; no repair, no plan."""
    for _ in request.rounds():
        await request.evaluate(await request.first(WRITER))


DIRECT = Strategy(
    name="direct",
    summary="asks once and evaluates once",
    paper="the baseline of the AdaCoder paper, section III-C",
    roles=(WRITER,),
    budget=lambda t: Budget(rounds=1, calls=1),
    run=_run,
)
