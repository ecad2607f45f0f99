"""Plan the next attempt from the last error (paper, section IV-E)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adacoder.agents.role import Limits, Role
from adacoder.replies.steps import are_complete, steps

if TYPE_CHECKING:
    from adacoder.domain import Reply, Target
    from adacoder.models.base import Enough


def _plan(reply: Reply, target: Target) -> str:
    return steps(reply.text)


def _until_complete(target: Target) -> Enough:
    return are_complete


PLANNER = Role(
    agent="prompt_engineer",
    action="plan",
    doing="planning from the error",
    prompt="plan",
    system="system_plan",
    read=_plan,
    # The paper's released code allows 88 tokens, which cuts most plans off. There are no stop sequences, because all
    # sequences that were tried cut off some recorded plans.
    limits=Limits(one_in=8, most=512),
    enough=_until_complete,
)
"""Role that writes a plan in numbered steps."""
