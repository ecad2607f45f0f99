"""Read the strings in a module's `__test__` dictionary, where doctest also looks for examples.

The module is not run. So a value must be a string literal, or a variable that is set to a string literal.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from adacoder.domain import Span
from adacoder.pytext import Lines, definitions, parsed
from adacoder.source.scopes import bound_beyond_names
from adacoder.source.text import offset_at

NAME = "__test__"


@dataclass(frozen=True, slots=True)
class DunderTest:
    """The values in a module's `__test__`. Functions and classes of the module are left out."""

    strings: tuple[tuple[str, Span], ...] = ()
    """Pairs of a key in `__test__` and the span of the string literal."""
    unread: tuple[Span, ...] = ()
    """Spans of values that are not string literals, and of other code that may change `__test__`."""


@lru_cache(maxsize=8)
def dunder_test(text: str) -> DunderTest:
    """Read `__test__` from the text of a module."""
    if NAME not in text:
        return DunderTest()
    tree = parsed(text)
    if tree is None:
        start = text.index(NAME)
        return DunderTest(unread=(Span(start, start + len(NAME)),))
    reader = _ItemReader(text)
    for statement in tree.body:
        reader.read(statement)
    strings = tuple((key, reader.span(node)) for key, node in reader.items.items())
    return DunderTest(strings, tuple(map(reader.span, reader.unread)))


class _ItemReader:
    """Reads `__test__` from the top-level statements of a module."""

    def __init__(self, text: str) -> None:
        self._lines = Lines(text)
        self._defined = {each.qualname for each in definitions(text) if not each.in_function}
        self._strings: dict[str, ast.expr] = {}
        """For each variable, the string literal that was assigned last."""
        self.items: dict[str, ast.expr] = {}
        self.unread: list[ast.expr | ast.stmt] = []

    def read(self, statement: ast.stmt) -> None:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name == NAME:
                self.items, self.unread = {}, []
                self._read_dictionary(value)
            case ast.Assign(targets=[ast.Subscript(ast.Name(id=name), ast.Constant(str(key)))]) if name == NAME:
                self._read_item(key, statement.value)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(str()) as value):
                self._strings[name] = value
            case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                pass  # The body of `if __name__ == "__main__":` does not run when doctest imports the module.
            case _:
                names = set(_names(statement))
                for name in names:
                    self._strings.pop(name, None)
                self.unread += [statement] if NAME in names else []

    def _read_dictionary(self, value: ast.expr) -> None:
        match value:
            case ast.Dict(keys, values):
                for key, item in zip(keys, values, strict=True):
                    self._read_item(key.value if isinstance(key, ast.Constant) else None, item)
            case ast.Call(ast.Name("dict"), [], keywords):
                for keyword in keywords:
                    self._read_item(keyword.arg, keyword.value)
            case ast.Constant():
                pass  # A constant is for other tools. For example, `__test__ = False` tells pytest to find no tests.
            case _:
                self.unread.append(value)

    def _read_item(self, key: object, value: ast.expr) -> None:
        literal = self._strings.get(value.id) if isinstance(value, ast.Name) else value
        is_name = isinstance(key, str) and key.isprintable()
        if is_name and isinstance(literal, ast.Constant) and isinstance(literal.value, str):
            self.items[str(key)] = literal
        elif self.span(value).of(self._lines.text).removesuffix(".__doc__") not in self._defined:
            self.unread.append(value)

    def span(self, node: ast.expr | ast.stmt) -> Span:
        start = offset_at(self._lines, node.lineno - 1, node.col_offset, "utf-8")
        return Span(start, offset_at(self._lines, (node.end_lineno or 1) - 1, node.end_col_offset or 0, "utf-8"))


def _names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement uses or binds. The bodies of functions and classes are ignored."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield from [node.id] if isinstance(node, ast.Name) else bound_beyond_names(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
