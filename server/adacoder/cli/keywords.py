"""The expression of `check -k`: words that the places of docstrings contain, with `and`, `or`, `not` and brackets.

This is pytest's `-k`, without its keyword arguments. A place is a path and a name, such as `a.py::f`. Upper and lower
case are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_PARTS = re.compile(r"[()]|[^\s()]+")
_MOST = 200
"""Maximum number of parts of an expression. Brackets nest at most as deep."""


def selecting(expression: str) -> Callable[[str], bool]:
    """Return a function that decides if the expression selects a docstring, given its place, such as `a.py::f`.

    Raises:
        ValueError: it is not such an expression. The message is a clause.
    """
    parts = _PARTS.findall(expression.lower())
    if not _Reader(parts, "").is_complete() or len(parts) > _MOST:
        raise ValueError("it must be words with 'and', 'or', 'not' and brackets, such as 'parse and not url'")
    return lambda place: _Reader(parts, place.lower()).either()


class _Reader:
    """Reads an expression, and computes its value for one place."""

    def __init__(self, parts: list[str], place: str) -> None:
        self._left = parts[: _MOST + 1]
        self._place = place

    def is_complete(self) -> bool:
        """Return whether the parts are an expression."""
        try:
            self.either()
        except ValueError:
            return False
        return not self._left

    def either(self) -> bool:
        """Read an operand of brackets, or the whole expression."""
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
        """Return whether the next part is `part`. If so, go past it."""
        if self._left[:1] != [part]:
            return False
        self._left = self._left[1:]
        return True
