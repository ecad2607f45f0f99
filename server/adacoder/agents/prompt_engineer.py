"""The Prompt Engineer (paper, section IV-E) plans the next attempt from the error of the last attempt."""

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
    # The paper's released code allows 88 tokens, which cuts most plans in the middle of a step. There are no stop
    # sequences, because each one that was tried on recorded replies cut some plans.
    limits=Limits(one_in=8, most=512),
    enough=_until_complete,
)
"""The Role that plans the next attempt from `error`, in numbered steps."""
