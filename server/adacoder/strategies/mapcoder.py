"""MapCoder: Multi-Agent Code Generation for Competitive Problem Solving (Islam et al., ACL 2024), Algorithm 1."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

from adacoder.agents.advisor import advisor, by_plan, coder, told
from adacoder.agents.budget import Budget
from adacoder.agents.request import Request
from adacoder.agents.role import Limits, Role, always
from adacoder.domain import Reply, Target
from adacoder.replies.judgement import score
from adacoder.replies.listing import items, sections
from adacoder.strategies.strategy import Strategy

RECALLED = 5
"""k: number of similar problems to recall (section 4: 5 for HumanEval and MBPP)."""
REPAIRS = 5
"""t: maximum number of repairs for each plan (section 4: 5)."""
_CERTAIN = 100


def _problems(reply: Reply, target: Target) -> tuple[str, ...]:
    """Read the similar problems in a model's reply: a list, or XML that may have unclosed tags."""
    return (sections(reply.text, "problem") or items(reply.text, RECALLED))[:RECALLED]


def _confidence(reply: Reply, target: Target) -> float | None:
    return score((sections(reply.text, "confidence") or (reply.text,))[0], _CERTAIN)


RETRIEVER: Role[tuple[str, ...]] = Role(
    agent="retriever",
    action="recall",
    doing="recalling similar problems",
    prompt="mapcoder_recall",
    read=_problems,
    limits=Limits(one_in=4, most=1536),
    otherwise=("",),
)
"""The Role that recalls `count` similar problems, each with a plan of its solution."""
PLANNER = advisor("planner", "plan", "planning as for a similar problem", "mapcoder_plan")
"""The Role that plans by following the plan of a similar `problem`."""
UNAIDED = replace(PLANNER, doing="planning", prompt="self_planning_plan")
"""The Role that plans without an example, because no similar problem was recalled."""
VERIFIER: Role[float] = Role(
    agent="planner",
    action="trust",
    doing="judging the plan",
    prompt="mapcoder_trust",
    read=_confidence,
    limits=Limits(one_in=8, most=256),
    otherwise=0.0,
    has_found=always,
)
"""The Role that rates from 0 to 100 how confident it is in a `plan`."""
CODER = coder("coder", "writing the function by the plan", "write_by_plan")
"""The Role that writes the function by a `plan`."""
DEBUGGER = coder("debugger", "repairing the function by its plan", "revise_by_plan")
"""The Role that repairs `code` by its `plan` and its `error`."""


@dataclass(frozen=True, slots=True)
class MapCoder:
    """The cycle: recall, plan, code and debug."""

    recalled: int = RECALLED

    async def run(self, request: Request) -> None:
        """Recall problems, and make a plan from each problem. Write by each plan and repair, beginning with the plan of
        the highest confidence.
        """
        await request.try_start()
        if not request.goes_on:
            return
        plans: list[tuple[float, str]] = []
        problems = await request.ask(RETRIEVER, count=str(self.recalled))
        for number, problem in enumerate(problems, 1):
            with request.branch(f"problem {number}"):
                plan = await (request.ask(PLANNER, problem=problem) if problem else request.ask(UNAIDED))
                plans.append((await request.ask(VERIFIER, plan=plan) if plan else 0.0, plan))
        rounds = request.rounds()
        tries = request.budget.rounds // self.recalled
        for number, (_, plan) in enumerate(sorted(plans, key=lambda each: -each[0]), 1):
            with request.branch(f"plan {number}"):
                attempt = None
                for _ in islice(rounds, tries):
                    if attempt is None:
                        candidate = await by_plan(request, CODER, plan)
                    else:
                        candidate = await by_plan(request, DEBUGGER, plan, told(attempt))
                    attempt = await request.evaluate(candidate)


MAPCODER = Strategy(
    name="mapcoder",
    summary="recalls similar problems, plans as they were solved, and codes and repairs by each plan",
    paper="MapCoder: Multi-Agent Code Generation for Competitive Problem Solving (Islam et al., ACL 2024)",
    roles=(RETRIEVER, PLANNER, UNAIDED, VERIFIER, CODER, DEBUGGER),
    iterations=REPAIRS,
    best_calls=2 + 2 * RECALLED,
    budget=lambda t: Budget(rounds=RECALLED * (1 + t), calls=1 + 2 * RECALLED + RECALLED * (1 + t)),
    run=MapCoder().run,
    feedback="the error",
)
