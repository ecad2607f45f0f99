"""The expression of `check -k`: words that the names of docstrings contain, with `and`, `or`, `not` and brackets.

This is pytest's `-k`, without its keyword arguments. Upper and lower case are the same.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator

_MOST = 1_000
"""Maximum length of an expression."""


def selecting(expression: str) -> Callable[[str], bool]:
    """Return a function that decides if the expression selects a docstring, given its place, such as `a.py::f`.

    Raises:
        ValueError: it is not such an expression. The message is a clause.
    """
    try:
        if len(expression) > _MOST:
            raise ValueError
        tree = ast.parse(expression.strip(), mode="eval").body
        words = {ast.unparse(node).lower() for node in _words(tree)}
    except (SyntaxError, ValueError, RecursionError):
        raise ValueError("it must be words with 'and', 'or', 'not' and brackets, such as 'parse and not url'") from None

    def selects(place: str) -> bool:
        return _value(tree, {word for word in words if word in place.lower()})

    return selects


def _words(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the words of an expression.

    Raises:
        ValueError: it has something else than words and operators.
    """
    match node:
        case ast.BoolOp(values=values):
            for each in values:
                yield from _words(each)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _words(operand)
        case ast.Name() | ast.Attribute():
            yield node
        case _:
            raise ValueError


def _value(node: ast.expr, there: Collection[str]) -> bool:
    """Return the value of an expression. A word is true if it is `there`."""
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_value(each, there) for each in values)
        case ast.BoolOp(values=values):
            return any(_value(each, there) for each in values)
        case ast.UnaryOp(operand=operand):
            return not _value(operand, there)
    return ast.unparse(node).lower() in there
