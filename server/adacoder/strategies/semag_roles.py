"""Agents of SEMAG (section 3): those of its four levels, less the one that adds prints to the code."""

from __future__ import annotations

from dataclasses import replace

from adacoder.agents.advisor import advisor, coder
from adacoder.agents.role import Limits, Role
from adacoder.domain import Reply, Target
from adacoder.replies.judgement import score
from adacoder.replies.listing import items
from adacoder.strategies.self_planning import FIRST_PLANNER

_CERTAIN = 100
_MOST_DEBATERS = 10


def _weights(reply: Reply, target: Target) -> tuple[float, ...]:
    return tuple(score(item, _CERTAIN) or 0.0 for item in items(reply.text, _MOST_DEBATERS))


PLANNER = replace(FIRST_PLANNER, agent="planner")
PLAN_VERIFIER = advisor("plan_verifier", "verify", "verifying the plan", "semag_verify")
"""Works the examples through by the `plan`, and gives the plan as it should be."""
EXPLAINER = advisor("explainer", "explain", "explaining the trace", "semag_explain")
"""Explains a `trace` of `code` against its `error`."""
SUGGESTER = advisor("suggester", "suggest", "suggesting a change", "semag_suggest")
"""Suggests a change from the `explanation`."""
DEBUGGER = coder("debugger", "debugging the function", "revise")
DEBATER = advisor("debater", "propose", "discussing the failure", "semag_debate")
"""Proposes another approach, after the `proposals` of others."""
DISCRIMINATOR: Role[tuple[float, ...]] = Role(
    "discriminator",
    "weigh",
    "weighing the proposals",
    "semag_weigh",
    _weights,
    Limits(one_in=8, most=256),
    otherwise=(),
)
"""Says how much each of the `proposals` promises, from 0 to 100: φ of the decision."""
REFINER = coder("refiner", "refining the function by the decision", "revise")
