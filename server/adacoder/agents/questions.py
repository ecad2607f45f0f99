"""Ask the user which of two outputs is right, and turn the answer into an example (TiCoder, arXiv 2404.10100)."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable
from enum import StrEnum

from adacoder.domain import Difference, Example
from adacoder.pytext import parsed
from adacoder.sandbox.literal_values import value_of

_LONGEST = 200
"""Maximum length of a call or an output in a question, in characters."""
MOST_QUESTIONS = 2
"""Maximum number of questions about one function."""


class Ruling(StrEnum):
    """The user's answer: what the function should do with an input for which two programs differ."""

    HERE = "here"
    """The output of the verified function is right."""
    THERE = "there"
    """The output of the second program is right."""
    RAISES = "raises"
    """Neither output is right. The function should raise ValueError."""
    NEVER = "never"
    """The user wants no more questions about this function."""


def question(differs: Iterable[Difference], asked: Container[str] = ()) -> Difference | None:
    """Return the first difference to ask about, or None. Calls in `asked` are skipped.

    The call and both outputs must be short. Outputs must also be literals, so that a docstring can show them.
    """
    return next((each for each in differs if each.call not in asked and _can_be_an_example(each)), None)


def example_of(difference: Difference, answer: Ruling) -> Example:
    """Turn an answer into an example. The answer must not be NEVER."""
    if answer is Ruling.RAISES:
        source = f"{difference.call}  # doctest: +IGNORE_EXCEPTION_DETAIL\n"
        return Example(source, "Traceback (most recent call last):\n    ...\nValueError\n", 0)
    return Example(f"{difference.call}\n", f"{difference.here if answer is Ruling.HERE else difference.there}\n", 0)


def _can_be_an_example(difference: Difference) -> bool:
    texts = (difference.call, difference.here, difference.there)
    if max(map(len, texts)) > _LONGEST or not all(map(str.isprintable, texts)):
        return False
    match parsed(difference.call):
        case ast.Module(body=[ast.Expr()]):
            return all(map(_is_literal, (difference.here, difference.there)))
    return False


def _is_literal(output: str) -> bool:
    try:
        value_of(output)
    except ValueError:
        return False
    return not output.startswith("...")  # doctest would read `...` as a continuation line
