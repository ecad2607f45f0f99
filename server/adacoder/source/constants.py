"""Read Python literals and calls that appear in the prose of a docstring."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from adacoder.pytext import parsed

_LONGEST = 2_000
"""Maximum characters of a literal or of a call's arguments."""
_DEEPEST = 40
"""Maximum depth of a syntax tree. Deeper trees are not read."""
_STRING = r"""[rRbBuU]{0,2}(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
_BRACKET = re.compile(rf"{_STRING}|[\[({{]|[\])}}]|\n[ \t]*\n")
"""Matches strings, brackets and blank lines. A bracket must close before the next blank line."""
_NUMBER = r"[-+]?(?:0[xXoObB][\da-fA-F_]+|(?:\d[\d_]*(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?)"
"""A Python number, except `1.`, where the full stop probably ends a sentence."""
_ATOM = re.compile(rf"""(?:{_NUMBER}|[Tt]rue|[Ff]alse|None|{_STRING})(?![\w'"])""")
_OPERATOR = re.compile(r"[ \t]*(?://|[-+*/%])[ \t]*(?=[\d.(])")
_ABBREVIATED = re.compile(r"[\w\s](?:\.\.\.|…)\Z")
_IN_SMALL_LETTERS = {"true": "True", "false": "False"}
_ARITHMETIC: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal found in a text."""

    node: ast.expr
    end: int
    """The offset just past the literal."""

    @property
    def text(self) -> str:
        """The value as `repr` shows it. The elements of a set keep their order in the text."""
        has_set = any(isinstance(each, ast.Set) for each in ast.walk(self.node))
        return ast.unparse(self.node) if has_set else repr(self.value)

    @property
    def value(self) -> object:
        return ast.literal_eval(self.node)


def constant_at(text: str, start: int, *, is_code: bool = False) -> Constant | None:
    """Read the literal or arithmetic expression at `start`; return None if there is none or its meaning is unclear.

    For example, `[1, ...]` may stand for a longer list. Outside code, `("one")` may be meant as a tuple.
    """
    first = end = _operand_end(text, start)
    while end is not None and end - start < _LONGEST and (sign := _OPERATOR.match(text, end)):
        following = _operand_end(text, sign.end())
        if following is None:
            break
        end = following
    if first is None or end is None:
        return None
    written = text[start:end]
    node = _expression(_IN_SMALL_LETTERS.get(written, written))
    if node is None or (written.startswith("(") and not isinstance(node, ast.Tuple) and not is_code):
        return None
    if end != first:
        node = _computed(node)
    return Constant(node, end) if node is not None and _is_literal(node) else None


def call_at(text: str, start: int) -> tuple[ast.Call, int] | None:
    """Return the call at `start` and the offset of its end.

    Return None if there is no call, or an argument is not constant.
    """
    end = _closing(text, text.find("(", start))
    node = None if end is None else _expression(text[start:end])
    if end is None or not isinstance(node, ast.Call):
        return None
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    if any(keyword.arg is None for keyword in node.keywords) or not all(map(_is_constant, given)):
        return None
    return node, end


def _operand_end(text: str, start: int) -> int | None:
    if text[start : start + 1] in ("(", "[", "{"):
        return _closing(text, start)
    if text.startswith("set()", start):
        return start + len("set()")
    atom = _ATOM.match(text, start, start + _LONGEST)
    return atom.end() if atom else None


def _closing(text: str, start: int) -> int | None:
    """Return the offset just past the bracket that closes the bracket at `start`."""
    depth = 0
    for piece in _BRACKET.finditer(text, start, start + _LONGEST):
        if piece[0] in ("(", "[", "{"):
            depth += 1
        elif piece[0] in (")", "]", "}"):
            depth -= 1
            if not depth:
                return piece.end()
        elif piece[0].isspace():
            return None
    return None


def _expression(text: str) -> ast.expr | None:
    tree = parsed(f"({text}\n)")
    match tree:
        case ast.Module(body=[ast.Expr(value=node)]) if not _is_deep(node):
            return node
        case _:
            return None


def _is_deep(node: ast.expr) -> bool:
    """Return whether `node` is nested so deeply that recursive functions could fail."""
    level: list[ast.AST] = [node]
    for _ in range(_DEEPEST):
        level = [inner for each in level for inner in ast.iter_child_nodes(each)]
    return bool(level)


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return _is_whole(node)


def _is_constant(node: ast.expr) -> bool:
    """Return whether `node` is a literal or an operation on literals."""
    match node:
        case ast.BinOp(left=left, right=right):
            return _is_constant(left) and _is_constant(right)
        case ast.UnaryOp(operand=operand):
            return _is_constant(operand)
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return all(map(_is_constant, elements))
        case ast.Dict(keys=keys, values=values):
            return all(key is not None and _is_constant(key) for key in keys) and all(map(_is_constant, values))
        case _:
            return _is_literal(node)


def _is_whole(node: ast.expr) -> bool:
    """Return whether `node` contains no ellipsis, as in `[1, ...]` or `"abc..."`."""
    constants = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
    return not any(
        value is ... or (isinstance(value, str) and _ABBREVIATED.search(value) is not None) for value in constants
    )


def _computed(node: ast.expr) -> ast.expr | None:
    try:
        return _expression(repr(_number(node)))
    except (ArithmeticError, ValueError):
        return None


def _number(node: ast.expr) -> float:
    """Evaluate arithmetic with numbers.

    Raises:
        ValueError: `node` is not arithmetic.
        ArithmeticError: the result does not exist, as in `1 / 0`.
    """
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _number(operand)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _ARITHMETIC:
            return _ARITHMETIC[type(sign)](_number(left), _number(right))
        case _:
            raise ValueError(ast.unparse(node))
