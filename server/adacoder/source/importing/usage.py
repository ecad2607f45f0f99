"""How a piece of code uses a name that it does not define.

The same word is a module to one program and a function to another: `datetime.datetime.now()` or `datetime.now()`.
What is taken from it, and how it is called, tells them apart.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING

from adacoder.pytext import parsed

if TYPE_CHECKING:
    from collections.abc import Mapping

_WAITING = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)
OF_VALUES = frozenset(
    name for kind in (str, bytes, list, dict, set, int, float) for name in dir(kind) if not name.startswith("_")
)
"""What ordinary values have as attributes: of `string.lower()`, `string` is a variable and not the module."""
_TAKING_VALUES = frozenset(
    {"abs", "bool", "enumerate", "float", "int", "len", "list", "max", "min", "print", "range", "reversed", "round"}
    | {"set", "sorted", "str", "sum", "tuple", "zip"}
)
"""Builtins whose positional arguments are data, and no functions."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call."""

    positional: int
    keywords: frozenset[str]
    is_open: bool = False
    """Whether `*` or `**` adds arguments that the text does not show."""
    begins_with: object = None
    """The first argument, where it is a constant."""
    awaited: bool = False

    def takes(self, least: int, most: int) -> bool:
        """Whether it hands over so many positional arguments, as far as the text shows it."""
        return self.positional <= most and (self.is_open or self.positional >= least)


@dataclass(frozen=True, slots=True)
class Usage:
    """All that a piece of code does with a name."""

    calls: tuple[Call, ...]
    """Where the name itself is called; a bare decorator calls it with one argument."""
    paths: Mapping[str, tuple[Call, ...]]
    """What is taken from it, as dotted paths, each with where that is called: `path.join` of `os.path.join(a)`."""
    is_handed_on: bool
    """Whether it stands where any value may: as an argument, an annotation, a base, an exception, …"""
    is_subscripted: bool
    is_computed_with: bool
    """Whether it is operated on, compared, iterated or returned, as data is."""
    in_async: bool
    """Whether the code around it awaits."""

    @property
    def attributes(self) -> frozenset[str]:
        """What is taken from it directly."""
        return frozenset(path.partition(".")[0] for path in self.paths)

    @property
    def is_data(self) -> bool:
        """Whether it is used as only data can be, not a module, nor a function."""
        return self.is_subscripted or self.is_computed_with

    @property
    def is_bare(self) -> bool:
        """Whether it stands anywhere without an attribute being taken from it."""
        return bool(self.calls) or self.is_handed_on or self.is_data


class _Place(Enum):
    """Where a name stands that is neither called nor has something taken from it."""

    HANDED_ON = auto()
    SUBSCRIPTED = auto()
    COMPUTED_WITH = auto()


def usage_of(name: str, code: str) -> Usage | None:
    """What `code` does with `name`; None where it does not use it, or our own Python cannot parse it."""
    parents = _parents(code)
    calls: list[Call] = []
    paths: dict[str, list[Call]] = {}
    places: set[_Place] = set()
    for node in parents:
        if not (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)):
            continue
        whole, path = _with_attributes(node, parents)
        call = _call(whole, parents)
        if path:
            paths.setdefault(path, []).extend([] if call is None else [call])
        elif call is not None:
            calls.append(call)
        else:
            places.add(_place(whole, parents[whole]))
    if not (calls or paths or places):
        return None
    return Usage(
        tuple(calls),
        {path: tuple(found) for path, found in paths.items()},
        _Place.HANDED_ON in places,
        _Place.SUBSCRIPTED in places,
        _Place.COMPUTED_WITH in places,
        any(isinstance(node, _WAITING) for node in parents),
    )


@lru_cache(maxsize=1)  # of one code it is asked name after name
def _parents(code: str) -> Mapping[ast.AST, ast.AST]:
    """What each node of a syntax tree stands in; nothing where our own Python cannot parse `code`."""
    tree = parsed(code)
    return {child: node for node in ([] if tree is None else ast.walk(tree)) for child in ast.iter_child_nodes(node)}


def _with_attributes(node: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> tuple[ast.expr, str]:
    """The expression that takes from `node` all that is taken, and what that is, dotted."""
    path: list[str] = []
    while isinstance(parent := parents[node], ast.Attribute):
        path.append(parent.attr)
        node = parent
    return node, ".".join(path)


def _place(node: ast.expr, parent: ast.AST) -> _Place:
    match parent:
        case ast.Subscript(value=value) if value is node:
            return _Place.SUBSCRIPTED
        case ast.BinOp(op=ast.BitOr()):  # `Name | None` may be an annotation
            return _Place.HANDED_ON
        case ast.BinOp() | ast.UnaryOp() | ast.AugAssign() | ast.For() | ast.comprehension() | ast.FormattedValue():
            return _Place.COMPUTED_WITH
        case ast.Return():
            return _Place.COMPUTED_WITH
        case ast.Call(func=ast.Name(id=taker)) if taker in _TAKING_VALUES:
            return _Place.COMPUTED_WITH
        case ast.Compare(ops=ops) if not all(isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq) for op in ops):
            return _Place.COMPUTED_WITH
        case _:
            return _Place.HANDED_ON


def _call(node: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> Call | None:
    """The call of `node`, if it is called."""
    match parents[node]:
        case ast.Call(func=func, args=args, keywords=keywords) as call if func is node:
            first = args[0] if args else None
            return Call(
                sum(not isinstance(arg, ast.Starred) for arg in args),
                frozenset(keyword.arg for keyword in keywords if keyword.arg is not None),
                any(isinstance(arg, ast.Starred) for arg in args) or any(keyword.arg is None for keyword in keywords),
                first.value if isinstance(first, ast.Constant) else None,
                isinstance(parents[call], ast.Await),
            )
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() as decorated:
            return Call(1, frozenset()) if node in decorated.decorator_list else None
        case _:
            return None
