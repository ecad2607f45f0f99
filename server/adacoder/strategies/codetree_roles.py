"""Agents of CodeTree (section 3.1): Thinker, Solver, Debugger and Critic."""

from __future__ import annotations

from dataclasses import replace

from adacoder.agents.advisor import coder, said, told
from adacoder.agents.role import Field, Limits, Role, always
from adacoder.domain import Attempt, Reply, Target
from adacoder.replies.judgement import is_accepted, score
from adacoder.replies.listing import items

MOST_STRATEGIES = 10
"""Maximum number of strategies; longer lists are cut (released code)."""
BEST_SCORE = 5
"""Top of the critic's scale, which begins at 0 (released code)."""
_REJECTED = "All examples pass, but the function may not hold for all inputs that the docstring allows."


def _strategies(reply: Reply, target: Target) -> tuple[str, ...]:
    return items(reply.text, MOST_STRATEGIES)


def _score(reply: Reply, target: Target) -> tuple[float, str] | None:
    mark = score(reply.text, BEST_SCORE)
    return None if mark is None else (mark, said(reply, target))


def _accepted(reply: Reply, target: Target) -> tuple[bool, str] | None:
    accepts = is_accepted(reply.text)
    return None if accepts is None else (accepts, said(reply, target))


THINKER: Role[tuple[str, ...]] = Role(
    "thinker", "list", "listing strategies", "codetree_list", _strategies, Limits(one_in=8, most=512), otherwise=("",)
)
"""Lists as many strategies as the task calls for."""
SOLVER = coder("solver", "writing the function by a strategy", "write_by_plan")
"""Writes the function by one strategy, passed as `plan`."""
REFLECTOR = replace(THINKER, action="reflect", doing="reflecting on the failure", prompt="codetree_reflect")
"""Lists ways to fix `code` that was written by a `strategy`. Its `error` includes the critic's reason."""
DEBUGGER = coder("debugger", "revising the function by a reflection", "revise")
"""Revises `code` by one reflection, passed as `advice`."""
CRITIC: Role[tuple[float, str]] = Role(
    "critic",
    "score",
    "scoring the attempt",
    "codetree_score",
    _score,
    Limits(one_in=8, most=256),
    otherwise=(0.0, ""),
    has_found=always,
)
"""Scores `code` that fails its examples and follows a `strategy`, from 0 to 5, with a reason."""
VERIFIER: Role[tuple[bool, str]] = Role(
    "critic",
    "verify",
    "verifying the function",
    "codetree_verify",
    _accepted,
    Limits(one_in=8, most=256),
    otherwise=(True, ""),
    has_found=always,
)
"""Judges whether `code` that passes its examples is right for all inputs, with a reason. The default is yes."""


def feedback(attempt: Attempt, reason: str) -> dict[str, Field]:
    """Prompt fields with the collective feedback F (eq. 3 and 4): results of the examples and the critic's reason."""
    return told(attempt, _REJECTED, more=f"A critic says: {reason}" if reason else "")
