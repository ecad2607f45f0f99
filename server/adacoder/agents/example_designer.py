"""The Test Designer suggests examples for a docstring that has none or too few.

AgentCoder has an agent with this name and role. The suggestions are only a model's opinion of the docstring's meaning.
So a person reads them before they become part of the docstring.
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
"""The Role that suggests examples with their outputs."""


def usable(examples: tuple[Example, ...], target: Target) -> tuple[Example, ...]:
    """Select examples that show an output, are not yet in the docstring of `target`, and fit into a docstring."""
    known = {example.source for example in target.examples}
    return tuple(example for example in examples if example.has_want and example.source not in known and _fits(example))


def _fits(example: Example) -> bool:
    """Return whether the example fits into any docstring, even a raw one, where nothing can be escaped."""
    text = example.source + example.want
    return '"""' not in text and "'''" not in text and not text.rstrip().endswith("\\")
