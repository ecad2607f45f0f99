"""Evaluate the expression of `check -k`, which selects docstrings as pytest's `-k` selects tests.

An expression combines words with `and`, `or`, `not` and brackets. A word matches a docstring if its place, such as
`a.py::f`, contains the word. Case does not matter. Pytest's keyword arguments are not supported.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_PARTS = re.compile(r"[()]|[^\s()]+")
_MOST = 200
"""Maximum number of tokens of an expression. This also limits the nesting of brackets."""


def selecting(expression: str) -> Callable[[str], bool]:
    """Return a function that tests whether the expression matches a place such as `a.py::f`.

    Raises:
        ValueError: the expression is malformed. The message is a clause that says why.
    """
    parts = _PARTS.findall(expression.lower())
    if not _Reader(parts, "").is_complete() or len(parts) > _MOST:
        raise ValueError("it must be words with 'and', 'or', 'not' and brackets, such as 'parse and not url'")
    return lambda place: _Reader(parts, place.lower()).either()


class _Reader:
    """Evaluates an expression for one place."""

    def __init__(self, parts: list[str], place: str) -> None:
        self._left = parts[: _MOST + 1]
        self._place = place

    def is_complete(self) -> bool:
        """Return True if all tokens were read."""
        try:
            self.either()
        except ValueError:
            return False
        return not self._left

    def either(self) -> bool:
        """Read alternatives that are joined by `or`."""
        value = self._both()
        while self._takes("or"):
            value = self._both() or value
        return value

    def _both(self) -> bool:
        value = self._one()
        while self._takes("and"):
            value = self._one() and value
        return value

    def _one(self) -> bool:
        if self._takes("not"):
            return not self._one()
        if self._takes("("):
            value = self.either()
            if not self._takes(")"):
                raise ValueError("a bracket is open")
            return value
        if not self._left or self._left[0] in ("and", "or", ")"):
            raise ValueError("a word is missing")
        word, *self._left = self._left
        return word in self._place

    def _takes(self, part: str) -> bool:
        """Skip the next token if it is `part`. Return True in this case."""
        if self._left[:1] != [part]:
            return False
        self._left = self._left[1:]
        return True
