"""AdaCoder: Adaptive Planning in Multi-Agent Code Generation (Algorithm 1 in appendix C), and its ablations.

ARCHITECTURE.md gives the reason for each departure from the paper.
"""

from __future__ import annotations

from dataclasses import dataclass

from adacoder.agents.budget import Budget
from adacoder.agents.failures import described
from adacoder.agents.programming_assistant import WRITER, WRITER_BY_PLAN
from adacoder.agents.prompt_engineer import PLANNER
from adacoder.agents.request import Request
from adacoder.strategies.strategy import Strategy

_PAPER = "AdaCoder: An Adaptive Planning and Multi-Agent Framework for Function-Level Code Generation"


@dataclass(frozen=True, slots=True)
class AdaCoder:
    """AdaCoder's main loop. The paper's ablations lack the planner, the debugger or both (section V-D)."""

    has_planner: bool = True
    has_debugger: bool = True
    as_printed: bool = False
    """True to repair by the paper's Algorithm 3 exactly as printed, instead of by AdaCoder's own rules."""

    async def run(self, request: Request) -> None:
        """Write without a plan, evaluate, and repair by rules.

        If examples still fail, plan from the error and write again.
        """
        plan = ""
        for number in request.rounds():
            if number == 1:
                candidate = await request.first(WRITER)
            elif plan:
                candidate = await request.ask(WRITER_BY_PLAN, plan=plan)
            else:
                candidate = await request.ask(WRITER)
            attempt = await request.evaluate(candidate)
            if self.has_debugger:
                attempt = await request.repaired(attempt, as_printed=self.as_printed)
            if self.has_planner and request.goes_on:
                plan = await request.ask(PLANNER, error=described(attempt.verdict))


ADACODER = Strategy(
    name="adacoder",
    summary="writes without a plan, repairs by rule, and plans only from an actual error",
    paper=_PAPER,
    roles=(WRITER, WRITER_BY_PLAN, PLANNER),
    budget=lambda t: Budget(rounds=1 + t, calls=1 + 2 * t),
    run=AdaCoder().run,
    feedback="the error",
)
NO_PLANNER = Strategy(
    name="adacoder:no-planner",
    summary="writes without a plan and repairs by rule, up to t + 1 times",
    paper=f"{_PAPER}, its ablation without the planner",
    roles=(WRITER,),
    budget=lambda t: Budget(rounds=1 + t, calls=1 + t),
    run=AdaCoder(has_planner=False).run,
)
NO_DEBUGGER = Strategy(
    name="adacoder:no-debugger",
    summary="as adacoder, without repairs by rule",
    paper=f"{_PAPER}, its ablation without the debugger",
    roles=(WRITER, WRITER_BY_PLAN, PLANNER),
    budget=lambda t: Budget(rounds=1 + t, calls=1 + 2 * t),
    run=AdaCoder(has_debugger=False).run,
    feedback="the error",
)
PAPER_RULES = Strategy(
    name="adacoder:paper-rules",
    summary="as adacoder, with the rules of the paper's Algorithm 3 as printed",
    paper=f"{_PAPER}, Algorithm 3",
    roles=(WRITER, WRITER_BY_PLAN, PLANNER),
    budget=lambda t: Budget(rounds=1 + t, calls=1 + 2 * t),
    run=AdaCoder(as_printed=True).run,
    feedback="the error",
)
NEITHER = Strategy(
    name="adacoder:neither",
    summary="only writes without a plan, up to t + 1 times",
    paper=f"{_PAPER}, its ablation without both",
    roles=(WRITER,),
    budget=lambda t: Budget(rounds=1 + t, calls=1 + t),
    run=AdaCoder(has_planner=False, has_debugger=False).run,
)
