"""Make inputs that nobody wrote: the examples of a docstring, with other literals.

Two programs that give the same outputs for the examples may still differ. Such inputs show where. Each one is a
sequence of statements, because an example may need others before it, such as `s = Stack([1, 2])` before `s.push(3)`.
Exactly one literal differs from the docstring, or one argument comes from another example. So the author would accept
most of them. (In PGS, arXiv 2506.18315, and S*, arXiv 2502.14382, a model writes the inputs. Here, no model is asked.)
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import chain, zip_longest

from adacoder.domain import Example, Target
from adacoder.pytext import parsed
from adacoder.source.names import Bindings, bindings, used_names

_LONGEST = 1_000
"""Maximum characters of a statement that is varied."""
_MOST_STATEMENTS = 12
"""Maximum number of statements of an input. Longer sequences of examples are left out."""
_ELEMENTS = 4
"""Maximum number of elements of a literal that are varied."""
_DEEPEST = 3
"""Maximum nesting of the literals that are varied inside others."""


@dataclass(frozen=True, slots=True)
class Input:
    """Statements that run one after the other. Their outputs show how a function behaves."""

    statements: tuple[str, ...]
    """The sources of the statements, without a newline at the end."""

    @property
    def text(self) -> str:
        """All statements on one line, as a person would read them."""
        return "; ".join(" ".join(statement.split("\n")) for statement in self.statements)


def written(target: Target) -> tuple[Input, ...]:
    """Return the examples of `target` as inputs, in their order. Examples that need each other form one input."""
    return tuple(Input(tuple(map(_source, group))) for group in _groups(target))


def varied(target: Target, most: int, seed: int = 0) -> tuple[Input, ...]:
    """Return at most `most` inputs that differ from the examples of `target`. The same `seed` gives the same inputs."""
    chance = random.Random(seed)  # noqa: S311  # not for security
    groups = _groups(target)
    may_be_negative = any(isinstance(node, ast.USub) for group in groups for each in group for node in ast.walk(each))
    calls = [each for group in groups for each in group]
    sources: list[list[Input]] = []
    for group in groups:
        texts = tuple(map(_source, group))
        for at, statement in enumerate(group):
            for changed in _variants_of(statement, calls, may_be_negative=may_be_negative):
                inputs = [Input((*texts[:at], each, *texts[at + 1 :])) for each in map(_source, changed)]
                chance.shuffle(inputs)
                sources.append(inputs)
    chance.shuffle(sources)
    known = set(written(target))
    found: dict[Input, None] = {}
    for one in chain.from_iterable(zip_longest(*sources)):
        if one is not None and one not in known:
            found[one] = None
        if len(found) == most:
            break
    return tuple(found)


def smaller(one: Input) -> tuple[Input, ...]:
    """Return inputs that are shorter than `one`, the shortest first. A literal of each is smaller, or empty."""
    found: dict[Input, None] = {}
    for at, text in enumerate(one.statements):
        tree = _statement(text)
        if tree is None:
            continue
        for changed in _variants_of(tree, (), may_be_negative=False):
            for each in map(_source, changed):
                if len(each) < len(text):
                    found[Input((*one.statements[:at], each, *one.statements[at + 1 :]))] = None
    return tuple(sorted(found, key=lambda each: len(each.text)))


def _groups(target: Target) -> list[list[ast.stmt]]:
    """Return the statements of the examples. Those that use names which others bind are together.

    Imports and definitions are repeated in each group that uses them.
    """
    trees = [tree for example in target.examples if (tree := _read(example)) is not None]
    names = [_names(tree, target) for tree in trees]
    shared = {name for tree, (bound, _) in zip(trees, names, strict=True) if not _prepares(tree) for name in bound} - {
        target.name
    }
    groups: list[tuple[frozenset[str], list[int]]] = []
    ahead: list[int] = []
    for number, (bound, used) in enumerate(names):
        if _prepares(trees[number]):
            ahead.append(number)
            continue
        joins = (bound | used) & shared
        joined = [group for group in groups if group[0] & joins]
        members = sorted({number, *chain.from_iterable(its for _, its in joined)})
        groups = [
            *(group for group in groups if group not in joined),
            (joins.union(*(its for its, _ in joined)), members),
        ]
    found: list[list[ast.stmt]] = []
    for _, members in sorted(groups, key=lambda group: group[1]):
        used_here = frozenset[str]().union(*(names[number][1] for number in members))
        needed = [number for number in ahead if names[number][0] & used_here]
        if len(needed) + len(members) <= _MOST_STATEMENTS:
            found.append([trees[number] for number in (*needed, *members)])
    return found


def _read(example: Example) -> ast.stmt | None:
    return None if example.skipped or len(example.source) > _LONGEST else _statement(example.source)


def _statement(text: str) -> ast.stmt | None:
    match parsed(text):
        case ast.Module(body=[statement]):
            return statement
    return None


def _prepares(tree: ast.stmt) -> bool:
    return isinstance(tree, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def _names(tree: ast.stmt, target: Target) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that a statement binds, and those that it uses."""
    text = _source(tree)
    bound: Bindings = bindings(text, target.module)
    return frozenset(bound.origins), used_names(text)


def _source(tree: ast.stmt) -> str:
    return ast.unparse(tree)


def _variants_of(
    statement: ast.stmt, others: Sequence[ast.stmt], *, may_be_negative: bool
) -> Iterator[Iterator[ast.stmt]]:
    """Yield, for each literal of a statement that can vary, the statement with other literals in its place.

    Arguments are also taken from the calls of the same function in `others`.
    """
    for path, node in _literals(statement):
        yield (_with(statement, path, each) for each in _others(node, may_be_negative=may_be_negative))
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    for number, call in enumerate(calls):
        yield (
            changed
            for other in others
            for theirs in ast.walk(other)
            if isinstance(theirs, ast.Call) and _is_like(call, theirs)
            for at, argument in enumerate(theirs.args)
            if ast.dump(argument) != ast.dump(call.args[at])
            and (changed := _with_argument(statement, number, at, argument)) is not None
        )


def _is_like(call: ast.Call, other: ast.Call) -> bool:
    same = ast.dump(call.func) == ast.dump(other.func) and len(call.args) == len(other.args)
    return same and all(type(one) is type(its) for one, its in zip(call.args, other.args, strict=True))


def _with_argument(statement: ast.stmt, number: int, at: int, argument: ast.expr) -> ast.stmt | None:
    """Return a copy of `statement` whose call with this `number` has another argument."""
    copy = deepcopy(statement)
    calls = [node for node in ast.walk(copy) if isinstance(node, ast.Call)]
    if isinstance(calls[number].args[at], ast.Starred):
        return None
    calls[number].args[at] = deepcopy(argument)
    return copy


_Path = tuple[tuple[str, int | None], ...]
"""The way from a node to one below it: names of fields, each with an index if the field is a list."""


def _literals(statement: ast.stmt) -> Iterator[tuple[_Path, ast.expr]]:
    """Yield the literals that a statement assigns, or passes to a call, each with its path."""

    def search(node: ast.AST, path: _Path, *, counts: bool, depth: int) -> Iterator[tuple[_Path, ast.expr]]:
        is_literal = counts and isinstance(node, ast.expr) and _has_value(node)
        if is_literal:
            yield path, node  # type: ignore[misc]  # an expression, as was checked
            depth += 1
        if depth > _DEEPEST or isinstance(node, ast.JoinedStr):
            return
        for name, below in ast.iter_fields(node):
            counted = name in ("args", "keywords") if isinstance(node, ast.Call) else counts
            counted |= isinstance(node, ast.Assign | ast.AnnAssign) and name == "value"
            if isinstance(node, ast.Subscript) and name == "slice":
                counted = False
            several = below if isinstance(below, list) else [below]
            for at, each in enumerate(several[:_ELEMENTS] if is_literal else several):
                if isinstance(each, ast.AST):
                    step = (name, at if isinstance(below, list) else None)
                    yield from search(each, (*path, step), counts=counted, depth=depth)

    yield from search(statement, (), counts=False, depth=0)


def _has_value(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        return False
    return not isinstance(node, ast.Constant) or node.value is not Ellipsis


def _with(statement: ast.stmt, path: _Path, value: object) -> ast.stmt:
    """Return a copy of `statement` with another literal at `path`."""
    copy = deepcopy(statement)
    parent: ast.AST = copy
    for name, at in path[:-1]:
        below = getattr(parent, name)
        parent = below if at is None else below[at]
    name, at = path[-1]
    literal = ast.parse(repr(value), mode="eval").body
    if at is None:
        setattr(parent, name, literal)
    else:
        getattr(parent, name)[at] = literal
    return copy


def _others(node: ast.expr, *, may_be_negative: bool) -> Iterator[object]:
    """Yield other values of the same type as the literal `node`."""
    value = ast.literal_eval(node)
    for other in _mutated(value):
        is_new_sign = not may_be_negative and isinstance(other, int | float) and other < 0
        if not is_new_sign and repr(other) != repr(value):
            yield other


def _mutated(value: object) -> Iterable[object]:
    match value:
        case bool():
            return (not value,)
        case int():
            return (value + 1, value - 1, 0, 1, 2, 2 * value, 2 * value + 1, -value, value // 2)
        case float():
            return (value + 0.5, value / 2, 2 * value, 0.0, 1.0, -value, float(round(value)))
        case str() | bytes():
            half = len(value) // 2
            parts = (value[:0], value[:1], value[:half], value[half:], value[1:], value[:-1])
            return (*parts, value[::-1], 2 * value, value.swapcase())
        case list():
            middle = len(value) // 2
            rest = (value[:1], value[:middle], value[middle:], value[1:], value[:-1])
            return ([], *rest, value[::-1], 2 * value, value + value[:1])
        case set():
            elements = sorted(value, key=repr)
            return ({*elements[1:]}, {*elements[:1]}, set[object]())
        case dict():
            keys = [*value][:_ELEMENTS]
            return (*({key: value[key] for key in value if key != left} for left in keys), {})
    return ()  # A tuple often has a fixed form, so only its elements vary.
