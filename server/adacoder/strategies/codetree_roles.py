"""Agents of CodeTree (section 3.1): Thinker, Solver, Debugger and Critic."""

from __future__ import annotations

from dataclasses import replace

from adacoder.agents.advisor import coder
from adacoder.agents.role import Limits, Role, always
from adacoder.domain import Reply, Target
from adacoder.replies.judgement import is_accepted, score
from adacoder.replies.listing import items

MOST_STRATEGIES = 10
"""A list of more is cut there (released code)."""
BEST_SCORE = 5
"""The critic's scale, from 0 (released code)."""


def _strategies(reply: Reply, target: Target) -> tuple[str, ...]:
    return items(reply.text, MOST_STRATEGIES)


def _score(reply: Reply, target: Target) -> float | None:
    return score(reply.text, BEST_SCORE)


def _accepted(reply: Reply, target: Target) -> bool | None:
    return is_accepted(reply.text)


THINKER: Role[tuple[str, ...]] = Role(
    "thinker", "list", "listing strategies", "codetree_list", _strategies, Limits(one_in=8, most=512), otherwise=("",)
)
"""Lists as many strategies as the task calls for."""
SOLVER = coder("solver", "writing the function by a strategy", "write_by_plan")
"""Writes by one strategy, the `plan`."""
REFLECTOR = replace(THINKER, action="reflect", doing="reflecting on the failure", prompt="codetree_reflect")
"""Lists ways to mend `code` after its `error`."""
DEBUGGER = coder("debugger", "revising the function by a reflection", "revise")
"""Revises `code` by one reflection, the `advice`."""
CRITIC: Role[float] = Role(
    "critic",
    "score",
    "scoring the attempt",
    "codetree_score",
    _score,
    Limits(one_in=8, most=256),
    otherwise=0.0,
    has_found=always,
)
"""Scores `code` that fails its examples, from 0 to 5."""
VERIFIER: Role[bool] = Role(
    "critic",
    "verify",
    "verifying the function",
    "codetree_verify",
    _accepted,
    Limits(one_in=8, most=256),
    otherwise=True,
    has_found=always,
)
"""Says whether `code` that passes its examples holds for all inputs."""
