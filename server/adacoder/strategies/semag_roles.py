"""Agents of SEMAG's four levels (section 3). The Agent that adds prints to the code is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from adacoder.agents.advisor import advisor, coder, said, told
from adacoder.agents.request import Request
from adacoder.agents.role import Field, Limits, Role
from adacoder.domain import Attempt, Reply, Target
from adacoder.models.base import Sampling
from adacoder.replies.marks import marks
from adacoder.replies.steps import concluding_steps
from adacoder.strategies.self_planning import FIRST_PLANNER

T = TypeVar("T")
SAMPLING = Sampling(temperature=0.1)
"""T = 0.1 at all levels (section 4.3)."""
_CERTAIN = 100


async def ask(request: Request, role: Role[T], attempt: Attempt | None = None, **fields: Field) -> T:
    """Ask as `role` at SEMAG's temperature, with the code and the error of `attempt`."""
    return await request.ask(role, told(attempt) if attempt else {}, sampling=SAMPLING, **fields)


def _verified(reply: Reply, target: Target) -> tuple[str, str] | None:
    log = said(reply, target)
    return (concluding_steps(log), log) if log else None


def _marks(reply: Reply, target: Target) -> Mapping[int, float]:
    return marks(reply.text, _CERTAIN)


PLANNER = replace(FIRST_PLANNER, otherwise="1. Do as the docstring says.")
PLAN_VERIFIER: Role[tuple[str, str]] = Role(
    "plan_verifier",
    "verify",
    "verifying the plan",
    "semag_verify",
    _verified,
    Limits(one_in=8, most=768),
    otherwise=("", "It could not be verified."),
)
"""Works through the examples by the `plan`. Gives the corrected plan and the log of that work."""
EXPLAINER = advisor("explainer", "explain", "explaining the trace", "semag_explain")
"""Explains a `trace` of `code` against its `error`."""
SUGGESTER = advisor("suggester", "suggest", "suggesting a change", "semag_suggest")
"""Suggests a change from the `trace`, the plan's `verification` and the `explanation` (eq. 6)."""
DEBUGGER = coder("debugger", "debugging the function", "revise")
DEBATER = advisor("debater", "propose", "discussing the failure", "semag_debate")
"""Proposes another approach, given the `proposals` of the others."""
DISCRIMINATOR: Role[Mapping[int, float]] = Role(
    "discriminator",
    "weigh",
    "weighing the proposals",
    "semag_weigh",
    _marks,
    Limits(one_in=8, most=256),
    otherwise={},
)
"""Rates how promising each of the `proposals` is, from 0 to 100: φ of the decision."""
REFINER = coder("refiner", "refining the function by the decision", "revise")
