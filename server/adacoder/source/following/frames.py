"""What is kept while a text is followed: scopes, calls on their way, and what names stand for besides values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from adacoder.source.following.folding import Made
from adacoder.source.following.provenance import COMPUTED, UNKNOWN, Key, Value, together

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Raised(Exception):
    """The text raises here."""

    def __init__(self, name: str) -> None:
        """`name`: of the exception's class."""
        super().__init__(name)
        self.name = name


class Scope:
    """Names and what they are bound to."""

    def __init__(self, names: dict[str, Value] | None = None, parent: Scope | None = None) -> None:
        self.names = {} if names is None else names
        self.parent = parent

    def holder(self, name: str) -> Scope | None:
        """The innermost scope that binds `name`."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.parent
        return scope

    def copy(self) -> Scope:
        """Another with the same names."""
        return Scope(dict(self.names), self.parent)


@dataclass(slots=True)
class Frame:
    """One call on its way."""

    scope: Scope
    keys: frozenset[Key] = frozenset()
    """The comparisons that held so far."""
    tested: bool = False
    """Whether something was tested that is more than whether the input is this or that constant."""
    printed: tuple[Value, ...] = ()
    yielded: tuple[Value, ...] = ()

    def copy(self) -> Frame:
        """The same, for a branch that may not be taken."""
        return replace(self, scope=self.scope.copy())


@dataclass(frozen=True, slots=True)
class Library:
    """What the text takes from elsewhere: a function, class or module."""

    name: str


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Closure:
    """A function of the text."""

    node: FunctionNode
    scope: Scope
    defaults: Mapping[str, Value]

    def called_with(self, positional: Sequence[Value], keywords: Mapping[str, Value]) -> Scope:
        """The scope of a call: the parameters, bound to the arguments; what does not fit is not known."""
        given = self.node.args
        names = [parameter.arg for parameter in (*given.posonlyargs, *given.args)]
        every = [*names, *(parameter.arg for parameter in given.kwonlyargs)]
        bound = dict.fromkeys(every, COMPUTED) | dict(self.defaults) | dict(zip(names, positional, strict=False))
        bound |= {name: value for name, value in keywords.items() if name in every}
        if given.vararg is not None:
            rest = positional[len(names) :]
            bound[given.vararg.arg] = _gathered(given.vararg.arg, rest, tuple(value.data for value in rest))
        if given.kwarg is not None:
            others = {name: value for name, value in keywords.items() if name not in every}
            data = {name: value.data for name, value in others.items()}
            bound[given.kwarg.arg] = _gathered(given.kwarg.arg, list(others.values()), data)
        return Scope(bound, self.scope)


def _gathered(name: str, values: Sequence[Value], data: object) -> Value:
    """What `*args` or `**options` gather."""
    is_known = all(value.known for value in values)
    return replace(together(values, data if is_known else UNKNOWN), of=name)


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Namespace:
    """A class of the text, or an instance of it."""

    scope: Scope


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Oracle:
    """Answers for a function that the text calls."""

    answer: Callable[[Sequence[Value], Mapping[str, Value]], Value]
    method: str | None = None
    """The name under which it is called on an object, if it is."""


NOT_BUILT_IN = (Library, Closure, Namespace, Oracle, Made)
"""What data may be besides values of built-in types."""


def told(value: Value) -> bool:
    """Whether the data of `value` is known and of a built-in type."""
    return value.known and not isinstance(value.data, NOT_BUILT_IN)


@dataclass(slots=True)
class Arguments:
    """What is given to a call."""

    positional: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)

    @property
    def values(self) -> list[Value]:
        """All of it."""
        return [*self.positional, *self.keywords.values()]

    @property
    def data(self) -> list[object]:
        """What is given by position."""
        return [value.data for value in self.positional]

    @property
    def keyword_data(self) -> dict[str, object]:
        """What is given by name."""
        return {name: value.data for name, value in self.keywords.items()}

    @property
    def are_told(self) -> bool:
        """Whether all of it is known and of built-in types."""
        return all(map(told, self.values))
