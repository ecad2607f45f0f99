"""Make new inputs for a function by varying the examples of its docstring.

Two functions that pass the same examples may still differ, and new inputs can show the difference. Each input changes
the examples only slightly, so most inputs are valid.

An input is a sequence of statements, because `s.push(3)` needs `s = Stack([1, 2])` before it.
"""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, combinations, zip_longest
from typing import TypeVar

from adacoder.domain import Module, Target
from adacoder.pytext import parsed
from adacoder.source.names import bindings, used_names

_LONGEST = 1_000
"""Maximum characters of a statement. Longer statements are not varied."""
_NESTED = 50
"""Maximum depth of a statement's syntax tree. Deeper statements are not varied."""
_MOST_STATEMENTS = 12
"""Maximum number of statements of an input. Longer sequences of examples are left out."""
_MOST_GROUPS = 40
"""Maximum number of groups of examples to vary. All later groups are ignored."""
_ELEMENTS = 4
"""Maximum number of elements of a list or other literal to vary."""
_DEEPEST = 3
"""Maximum depth at which a literal inside another literal is varied."""
_CALLS = 8
"""Maximum number of the examples' statements from which arguments are taken."""
_MARKS = " '1"
"""Characters to insert into a string, one at a time."""
_Text = TypeVar("_Text", str, bytes)


@dataclass(frozen=True, slots=True)
class Input:
    """Statements that run in order to show how a function behaves."""

    statements: tuple[str, ...]
    """The source of each statement, without a final newline."""

    @property
    def text(self) -> str:
        """All statements on one line, to show to a user."""
        return "; ".join(" ".join(statement.split("\n")) for statement in self.statements)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A statement in the layout of `ast.unparse`, with the names that it binds and uses."""

    text: str
    tree: ast.stmt
    bound: frozenset[str]
    used: frozenset[str]

    @property
    def prepares(self) -> bool:
        kinds = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        return isinstance(self.tree, kinds)

    @property
    def calls(self) -> list[ast.Call]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]

    def source_of(self, node: ast.expr) -> str:
        start, end = self._place(node)
        return self.text.encode()[start:end].decode()

    def with_other(self, node: ast.expr, source: str) -> str:
        data, (start, end) = self.text.encode(), self._place(node)
        return (data[:start] + source.encode() + data[end:]).decode()

    def exchanged(self, one: ast.expr, other: ast.expr) -> str:
        """Return the text with two expressions exchanged. In the text, `one` must be before `other`."""
        data, (start, end), (further, last) = self.text.encode(), self._place(one), self._place(other)
        parts = (data[:start], data[further:last], data[end:further], data[start:end], data[last:])
        return b"".join(parts).decode()

    def _place(self, node: ast.expr) -> tuple[int, int]:
        starts = [0, *accumulate(len(line.encode()) + 1 for line in self.text.split("\n"))]
        start, end = starts[node.lineno - 1] + node.col_offset, starts[(node.end_lineno or 1) - 1]
        return start, end + (node.end_col_offset or 0)


def written(target: Target) -> tuple[Input, ...]:
    """Return the examples of `target` as inputs, in order. Examples that share variables form one input."""
    return tuple(Input(tuple(each.text for each in group)) for group in _groups(target))


def varied(target: Target, most: int, seed: int = 0) -> tuple[Input, ...]:
    """Return at most `most` inputs that differ from the examples of `target`. The same `seed` gives the same inputs."""
    chance = random.Random(seed)  # noqa: S311  # not for security
    groups = _groups(target)
    every = [each for group in groups for each in group]
    may_be_negative = any(isinstance(node, ast.USub) for each in every for node in ast.walk(each.tree))
    sources: list[list[Input]] = []
    for group in groups:
        texts = tuple(each.text for each in group)
        for at, statement in enumerate(group):
            others = chance.sample(every, min(_CALLS, len(every)))
            for changed in (
                *_with_other_literals(statement, may_be_negative=may_be_negative),
                *_with_other_arguments(statement, others),
                *_with_repeated_literals(statement),
                *_with_exchanged_arguments(statement),
            ):
                inputs = [Input((*texts[:at], each, *texts[at + 1 :])) for each in changed]
                chance.shuffle(inputs)
                sources.append(inputs)
    chance.shuffle(sources)
    known = set(written(target))
    found: dict[Input, None] = {}
    for one in chain.from_iterable(zip_longest(*sources)):
        if len(found) == most:
            break
        if one is not None and one not in known:
            found[one] = None
    return tuple(found)


def smaller(one: Input, module: Module) -> tuple[Input, ...]:
    """Return variants of `one` in which one literal is shorter. The shortest variant is first."""
    found: dict[Input, None] = {}
    for at, text in enumerate(one.statements):
        for statement in _statements(text, module):
            for each in chain.from_iterable(_with_other_literals(statement, may_be_negative=False)):
                if len(each) < len(text):
                    found[Input((*one.statements[:at], each, *one.statements[at + 1 :]))] = None
    return tuple(sorted(found, key=lambda each: len(each.text)))


def _groups(target: Target) -> list[list[_Parsed]]:
    """Return the statements of the examples in groups.

    All statements that share a variable are in the same group. Imports and definitions are repeated in each group that
    uses them.
    """
    sources = (example.source for example in target.examples if not example.skipped)
    read = [each for source in sources for each in _statements(source, target.module)]
    shared = frozenset[str]().union(*(each.bound for each in read if not each.prepares)) - {target.name}
    groups: list[tuple[frozenset[str], list[int]]] = []
    for number, each in enumerate(read):
        if not each.prepares:
            joins = (each.bound | each.used) & shared
            joined = [group for group in groups if group[0] & joins]
            members = sorted({number, *chain.from_iterable(its for _, its in joined)})
            rest = [group for group in groups if group not in joined]
            groups = [*rest, (joins.union(*(its for its, _ in joined)), members)]
    found: list[list[_Parsed]] = []
    for _, members in sorted(groups, key=lambda group: group[1]):
        used = frozenset[str]().union(*(read[number].used for number in members))
        needed = [each for each in read if each.prepares and each.bound & used]
        if len(needed) + len(members) <= _MOST_STATEMENTS:
            found.append([*needed, *(read[number] for number in members)])
    return found[:_MOST_GROUPS]


def _statements(source: str, module: Module) -> list[_Parsed]:
    """Parse the statements of an example; return none if the example is too long or too deeply nested."""
    match parsed(source) if len(source) <= _LONGEST else None:
        case ast.Module(body=trees) if not any(map(_is_deep, trees)):
            texts = list(map(ast.unparse, trees))
        case _:
            return []
    found = []
    for text in texts:
        match parsed(text):
            case ast.Module(body=[tree]):
                found.append(_Parsed(text, tree, frozenset(bindings(text, module).origins), used_names(text)))
    return found if len(found) == len(texts) else []


def _is_deep(tree: ast.AST) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(_NESTED):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return bool(level)


def _with_other_literals(statement: _Parsed, *, may_be_negative: bool) -> Iterator[list[str]]:
    """For each literal in the statement, yield copies of the statement with other values of the literal."""
    for node in _literals(statement.tree):
        others = _others(node, may_be_negative=may_be_negative)
        texts = (f"({text})" if text.startswith("-") else text for text in map(_literal, others))
        # `ast.unparse` removes parentheses that are not needed.
        yield [ast.unparse(tree) for text in texts if (tree := parsed(statement.with_other(node, text))) is not None]


def _with_other_arguments(statement: _Parsed, others: Sequence[_Parsed]) -> Iterator[list[str]]:
    """For each call in the statement, yield copies that take an argument from a similar call in `others`."""
    for call in statement.calls:
        yield [
            statement.with_other(argument, source)
            for other in others
            for theirs in other.calls
            if _is_like(call, theirs)
            for argument, its in zip(call.args, theirs.args, strict=True)
            if (source := other.source_of(its)) != statement.source_of(argument)
        ]


def _with_exchanged_arguments(statement: _Parsed) -> Iterator[list[str]]:
    """For each call in the statement, yield copies that exchange two literal arguments of the same type."""
    for call in statement.calls:
        yield [
            statement.exchanged(one, other)
            for one, other in combinations(call.args[:_ELEMENTS], 2)
            if _has_value(one) and _has_value(other) and _kind(one) is _kind(other)
            if statement.source_of(one) != statement.source_of(other)
        ]


def _with_repeated_literals(statement: _Parsed) -> Iterator[list[str]]:
    """For each number or string in the statement, yield copies that repeat another one in its place.

    For example, `f(1, 2)` gives `f(2, 2)` and `f(1, 1)`.
    """
    several = ast.List | ast.Tuple | ast.Set | ast.Dict
    single = [node for node in _literals(statement.tree) if not isinstance(node, several)][: 2 * _ELEMENTS]
    for node in single:
        sources = {statement.source_of(other): None for other in single if _kind(other) is _kind(node)}
        yield [statement.with_other(node, source) for source in sources if source != statement.source_of(node)]


def _kind(node: ast.expr) -> type:
    return type(node.value) if isinstance(node, ast.Constant) else type(node)


def _is_like(call: ast.Call, other: ast.Call) -> bool:
    same = ast.dump(call.func) == ast.dump(other.func) and len(call.args) == len(other.args)
    return same and all(type(one) is type(its) for one, its in zip(call.args, other.args, strict=True))


def _literals(statement: ast.stmt) -> Iterator[ast.expr]:
    """Yield the literals that a statement assigns or passes to a call."""

    def search(node: ast.AST, *, counts: bool, depth: int) -> Iterator[ast.expr]:
        is_literal = counts and isinstance(node, ast.expr) and _has_value(node)
        if is_literal:
            yield node  # type: ignore[misc]  # an expression, as was checked
            depth += 1
        if depth > _DEEPEST or isinstance(node, ast.JoinedStr):
            return
        for name, below in ast.iter_fields(node):
            counted = name in ("args", "keywords") if isinstance(node, ast.Call) else counts
            counted |= isinstance(node, ast.Assign | ast.AnnAssign) and name == "value"
            counted &= not (isinstance(node, ast.Subscript) and name == "slice")
            several = below if isinstance(below, list) else [below]
            for each in several[:_ELEMENTS] if is_literal else several:
                if isinstance(each, ast.AST):
                    yield from search(each, counts=counted, depth=depth)

    yield from search(statement, counts=False, depth=0)


def _literal(value: object) -> str:
    """Return the source of `value`. Elements of a set are sorted, so that equal sets have equal sources."""
    match value:
        case set():
            return f"{{{', '.join(sorted(map(_literal, value)))}}}" if value else "set()"
        case list():
            return f"[{', '.join(map(_literal, value))}]"
        case tuple():
            return f"({''.join(f'{_literal(each)}, ' for each in value)})"
        case dict():
            return f"{{{', '.join(f'{_literal(key)}: {_literal(each)}' for key, each in value.items())}}}"
    return repr(value)


def _has_value(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError):
        return False
    return not isinstance(node, ast.Constant) or node.value is not Ellipsis


def _others(node: ast.expr, *, may_be_negative: bool) -> Iterator[object]:
    """Yield other values of the same type as the literal `node`."""
    value = ast.literal_eval(node)
    for other in _mutated(value):
        is_new_sign = not may_be_negative and isinstance(other, int | float) and other < 0
        if not is_new_sign and repr(other) != repr(value) and not _is_infinite(other):
            yield other


def _cut(value: _Text) -> tuple[_Text, ...]:
    half = len(value) // 2
    return (value[:0], value[:1], value[:half], value[half:], value[1:], value[:-1], value[::-1], 2 * value)


def _is_infinite(value: object) -> bool:
    """Return whether a value is an infinity or NaN, which no literal can represent."""
    return isinstance(value, float) and not math.isfinite(value)


def _mutated(value: object) -> Iterable[object]:
    match value:
        case bool():
            return (not value,)
        case int():
            return (value + 1, value - 1, value + 2, 0, 1, 2, 2 * value, 2 * value + 1, -value, value // 2)
        case float():
            return (value + 0.5, value / 2, value / 10, 2 * value, 0.0, 1.0, -value, value // 1)
        case str():
            half = len(value) // 2
            inserted = (f"{value[:half]}{mark}{value[half:]}" for mark in _MARKS)
            return (*_cut(value), value.swapcase(), *inserted, f"{value} {value}", value.replace(" ", "  ", 1))
        case bytes():
            return (*_cut(value), value.swapcase())
        case list():
            middle = len(value) // 2
            rest = (value[:1], value[:middle], value[middle:], value[1:], value[:-1])
            return ([], *rest, value[::-1], 2 * value, value + value[:1])
        case set():
            elements = sorted(value, key=_literal)
            return ({*elements[1:]}, {*elements[:1]}, set[object]())
        case dict():
            keys = [*value][:_ELEMENTS]
            return (*({key: value[key] for key in value if key != left} for left in keys), {})
    return ()  # Tuples often have a fixed length, so only the elements of a tuple vary.
