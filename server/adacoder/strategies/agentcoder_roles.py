"""Agents of AgentCoder (section 3): the programmer, the test designer, and one Agent for both tasks."""

from __future__ import annotations

from dataclasses import replace

from adacoder.agents.advisor import coder
from adacoder.agents.designed_tests import designed_tests
from adacoder.agents.role import Limits, Role
from adacoder.domain import Candidate, Example, Reply, Target
from adacoder.replies.extract import extract

PROGRAMMER = coder("programmer", "writing the function in four steps", "agentcoder_write", thinks=True)
"""Understands the problem, chooses an algorithm, writes it as pseudocode, then as code (section 3.1)."""
PROGRAMMER_AGAIN = coder("programmer", "revising the function", "revise")
"""Revises `code` by the executor's `error`."""


def _tests(reply: Reply, target: Target) -> tuple[Example, ...]:
    return designed_tests(reply.text, target)


PROGRAMMER_CHECKS = coder("programmer", "going through the tests", "agentcoder_check", thinks=True)
"""Goes through the designer's `tests`, which are never run, and refines its `code` if necessary (section 4.3)."""


def _themselves(found: tuple[Example, ...]) -> tuple[Example, ...]:
    return found


DESIGNER: Role[tuple[Example, ...]] = Role(
    agent="test_designer",
    action="design",
    doing="designing tests",
    prompt="agentcoder_tests",
    read=_tests,
    limits=Limits(one_in=4, most=1024),
    otherwise=(),
    tests=_themselves,
)
"""Designs basic, edge and large cases without seeing code (section 3.2)."""


def _both(reply: Reply, target: Target) -> tuple[Candidate, tuple[Example, ...]]:
    return extract(reply, target), designed_tests(reply.text, target)


def _has_function(found: tuple[Candidate, tuple[Example, ...]]) -> bool:
    return bool(found[0].function)


def _tests_of(found: tuple[Candidate, tuple[Example, ...]]) -> tuple[Example, ...]:
    return found[1]


BOTH: Role[tuple[Candidate, tuple[Example, ...]]] = Role(
    agent="programmer",
    action="write",
    doing="writing the function and its tests",
    prompt="agentcoder_both",
    read=_both,
    has_found=_has_function,
    limits=Limits(one_in=2),
    tests=_tests_of,
)
"""Writes the function and its tests in one reply (section 4.7)."""
DESIGNER_TOO = replace(DESIGNER, agent="programmer")
"""The same Agent, for requests that start from existing code."""
