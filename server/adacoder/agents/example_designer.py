"""Suggest examples for a docstring that has none or too few. AgentCoder calls this agent the Test Designer.

A model can misread the docstring, so the user reviews the suggested examples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adacoder.agents.role import Limits, Role
from adacoder.replies.filters import answer
from adacoder.source.examples import suggested

if TYPE_CHECKING:
    from adacoder.domain import Example, Reply, Target


def _examples(reply: Reply, target: Target) -> tuple[Example, ...]:
    return suggested(answer(reply.text))


DESIGNER = Role(
    agent="test_designer",
    action="suggest",
    doing="suggesting examples",
    prompt="suggest",
    read=_examples,
    limits=Limits(one_in=8, most=512),
)
"""Role that suggests examples with their outputs."""


def usable(examples: tuple[Example, ...], target: Target) -> tuple[Example, ...]:
    """Return the examples that have an output, are not in the docstring yet, and can be written into a docstring."""
    known = {example.source for example in target.examples}
    return tuple(example for example in examples if example.has_want and example.source not in known and _fits(example))


def _fits(example: Example) -> bool:
    """Return whether any docstring can contain the example, even a raw string without escapes."""
    text = example.source + example.want
    return '"""' not in text and "'''" not in text and not text.rstrip().endswith("\\")
