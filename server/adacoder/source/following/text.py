"""The text that is followed, and what its parts may change."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adacoder.source.following import folding


@dataclass(frozen=True, slots=True)
class Part:
    """What a part of the text may change."""

    changed: frozenset[str]
    """The names that it binds, or changes the values of."""
    outer: frozenset[str]
    """The names around a function whose values it may change."""
    size: int
    """How many nodes it has."""


class Text:
    """What is followed."""

    def __init__(self, statements: Sequence[ast.stmt] = ()) -> None:
        self.statements = statements
        self._parts: dict[ast.AST, Part] = {}

    def walked(self, node: ast.AST) -> Part:
        """What a part of it may change."""
        if node not in self._parts:
            nodes = list(ast.walk(node))
            touched = {name for each in nodes for name in _touched(each)}
            declared = {name for each in nodes if isinstance(each, ast.Nonlocal | ast.Global) for name in each.names}
            bound = touched.union(*map(_bound, nodes))
            self._parts[node] = Part(frozenset(bound), frozenset(touched | declared), len(nodes))
        return self._parts[node]


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name


def _touched(node: ast.AST) -> Iterator[str]:
    """The names whose values a node changes."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
            yield name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if folding.may_change(method):
            yield name


def as_expression(pattern: ast.pattern, like: object) -> ast.expr | None:
    """What a pattern of literals matches, as an expression of the types of `like`; None if it is another pattern."""
    match pattern:
        case ast.MatchValue(value=value):
            return value
        case ast.MatchSingleton(value=single):
            return ast.Constant(single)
        case ast.MatchSequence(patterns=patterns):
            likes = like if isinstance(like, list | tuple) and len(like) == len(patterns) else [None] * len(patterns)
            parts = [part for each in zip(patterns, likes, strict=True) if (part := as_expression(*each)) is not None]
            display = ast.Tuple(parts, ast.Load()) if isinstance(like, tuple) else ast.List(parts, ast.Load())
            return display if len(parts) == len(patterns) else None
        case ast.MatchMapping(keys=keys, patterns=patterns, rest=None):
            held = [part for each in patterns if (part := as_expression(each, None)) is not None]
            return ast.Dict(list(keys), held) if len(held) == len(patterns) else None
        case _:
            return None
