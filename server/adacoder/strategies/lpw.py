"""LPW: Planning-Driven Programming (Lei et al., 2025).

LPW first verifies a plan on the examples. Then it writes code, and compares a run of the code with the plan.

If no plan can be verified, this module follows the last plan, but the authors' code writes nothing. To observe the run,
the paper's model adds print statements. Here, the sandbox records a trace instead.
"""

from __future__ import annotations

from dataclasses import replace

from adacoder.agents.advisor import advisor, coder
from adacoder.agents.attempt_traces import shown
from adacoder.agents.budget import Budget
from adacoder.agents.request import Request
from adacoder.agents.role import Limits, Role, always
from adacoder.domain import Reply, Target
from adacoder.replies.judgement import is_accepted
from adacoder.strategies.direct import FIRST_PLANNER
from adacoder.strategies.revising import Revising
from adacoder.strategies.strategy import Strategy

PLANNER = replace(FIRST_PLANNER, otherwise="1. Do as the docstring says.")
REPLANNER = replace(PLANNER, prompt="lpw_replan")
"""The Role that makes a new plan from a rejected `plan` and the `verification` that failed."""
VERIFIER = advisor("verifier", "verify", "verifying the plan on the examples", "lpw_verify")
"""The Role that works through the docstring's examples step by step, as the `plan` says."""


def _accepted(reply: Reply, target: Target) -> bool | None:
    return is_accepted(reply.text)


CHECKER: Role[bool] = Role(
    "verifier",
    "check",
    "checking the verification",
    "lpw_check",
    _accepted,
    Limits(one_in=8, most=256),
    otherwise=True,
    has_found=always,
)
"""The Role that judges whether the `verification` arrives at the examples' outputs."""
CODER = coder("programming_assistant", "writing the function by the verified plan", "lpw_write")
"""The Role that writes the function by a `plan` and its `verification`."""
EXPLAINER = advisor("explainer", "compare", "comparing the run with the verified plan", "lpw_compare")
"""The Role that compares a `trace` of `code` with the `verification` of the plan."""
FIXER = coder("fixer", "fixing the function by the comparison", "revise")
"""The Role that fixes `code`. The prompt field `advice` has the comparison of the trace with the plan."""
VERIFICATIONS = 12
"""Maximum number of verifications of a plan (section 4, and the authors' code)."""
FIXES = 12
"""Maximum number of fixes (section 4, and the authors' code)."""


async def _run(request: Request) -> None:
    """Plan until the verification succeeds, and write the function. Then revise it by comparing its trace with the
    plan.
    """
    await request.try_start()
    if not request.goes_on:
        return
    plan = checked = ""
    for number in range(VERIFICATIONS):
        planned = request.ask(REPLANNER, plan=plan, verification=checked) if number else request.ask(PLANNER)
        plan = await planned
        checked = await request.ask(VERIFIER, plan=plan)
        if await request.ask(CHECKER, plan=plan, verification=checked):
            break
    candidate = await request.ask(CODER, plan=plan, verification=checked)
    await Revising(EXPLAINER, FIXER, shows=shown).revise(request, candidate, verification=checked)


LPW = Strategy(
    name="lpw",
    summary="verifies a plan on the examples, then compares what the code does with it",
    paper="Planning-Driven Programming: A Large Language Model Programming Workflow (Lei et al., ACL 2025)",
    roles=(PLANNER, REPLANNER, VERIFIER, CHECKER, CODER, EXPLAINER, FIXER),
    iterations=FIXES,
    best_calls=4,
    budget=lambda t: Budget(rounds=1 + t, calls=3 * VERIFICATIONS + 1 + 2 * t),
    run=_run,
    feedback="the error, a trace, and the verified plan",
)
