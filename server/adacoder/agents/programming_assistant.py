"""Write the function, first without a plan and later by a plan (paper, section IV-B).

The model never sees its earlier code. The paper found that writing from scratch works better than refining.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from adacoder.agents.role import FENCE, Limits, Role
from adacoder.replies.completion import completion, was_stopped_short
from adacoder.replies.extract import extract
from adacoder.source.imports import is_in_the_table

if TYPE_CHECKING:
    from adacoder.domain import Candidate, Reply, Target


_BEFORE = 5000
"""Maximum length of the text before the function, in characters. Of 7,037 recorded replies, 23 were longer, and all of
these 23 were wrong."""


def _candidate(reply: Reply, target: Target) -> Candidate:
    return extract(reply, target)


def _has_function(candidate: Candidate) -> bool:
    return bool(candidate.function)


def _was_stopped_short(text: str, target: Target) -> bool:
    """Return whether a stop sequence ended a reply too early.

    A missing import does not count, because a rule can add it.
    """
    return was_stopped_short(text, target, is_in_the_table)


WRITER = Role(
    agent="programming_assistant",
    action="write",
    doing="writing the function",
    prompt="write",
    system="system_write",
    read=_candidate,
    has_found=_has_function,
    # Models often explain their code or repeat the module. Stop sequences let the server end such replies.
    limits=Limits(one_in=2, before=_BEFORE, stop=(FENCE, "\nif __name__ ==", "\nassert ")),
    enough=completion,
    was_stopped_short=_was_stopped_short,
)
"""Role that writes the function without a plan."""
WRITER_BY_PLAN = replace(WRITER, doing="writing the function by the plan", prompt="write_planned")
"""Role that writes the function from scratch by a plan."""
