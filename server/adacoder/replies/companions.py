"""Find the imports, helpers, classes and constants in a passage of code that a function may need."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from adacoder.pytext import definitions, logical_lines, normalize, parsed, statements
from adacoder.replies.free_names import parameters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from adacoder.domain import Span, Target

_IMPORT = re.compile(r"import[ \t]+[\w.]+[ \t]*(?:,|as[ \t]|;|#|\n|$)|from[ \t]+[\w.]+[ \t]+import\b")
_DEFINITION = re.compile(
    r"^(?:(?:(?:async[ \t]+)?def|class)[ \t]+(?P<defined>\w+)|(?P<assigned>\w+)[ \t]*+(?::[^=\n]*+)?=(?!=))",
    re.MULTILINE,
)
"""A definition of a name at the top level of a module."""
_NAMES = r"[^\W\d]\w*(?:[ \t]*,[ \t]*[^\W\d]\w*)*"
_ASSIGNMENT = re.compile(
    rf"(?:type[ \t]+)?\(?(?P<names>{_NAMES})\)?(?:\[[^\n]*?\])?[ \t]*(?::[^=\n]+)?(?<![=!<>])=(?!=)"
)
_LONGEST_TARGETS = 500
"""Maximum characters at the start of a statement that are searched for the `=` of an assignment."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """A top-level statement of a reply that a function may need."""

    text: str
    binds: frozenset[str]
    """The names that the statement binds; empty if they are unknown."""
    is_import: bool
    place: Span
    """The span of the statement in the code from which it was read."""


def dependencies(text: str) -> list[Dependency]:
    """Return the imports and definitions at the top level of `text`. Statements that bind no name are left out."""
    tops = {each.span.start: each for each in definitions(text) if not each.parents}
    found: list[Dependency] = []
    for place in statements(text):
        statement = place.of(text).rstrip()
        if place.start in tops:
            found.append(Dependency(statement, frozenset({tops[place.start].name}), False, place))
        elif _IMPORT.match(statement):
            found += [Dependency(each, _imported(each), True, place) for each in _imports(statement)]
        elif names := _ASSIGNMENT.match(statement, 0, _LONGEST_TARGETS):
            binds = frozenset(re.split(r"[ \t]*,[ \t]*", names["names"]))
            found.append(Dependency(statement, binds, False, place))
        elif binds := _made(statement):
            found.append(Dependency(statement, binds, False, place))
    return found


def _made(statement: str) -> frozenset[str]:
    """Return the names that a statement may bind or change.

    This is for statements such as `table[key] = …`, or an import inside `try:`.
    """
    tree = parsed(statement)
    waiting: list[ast.AST] = [*(() if tree is None else tree.body)]
    names: set[str] = set()
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
                continue
            case ast.Lambda():
                continue
            case ast.Import() | ast.ImportFrom():
                names.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                names.add(name)
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                names.update(_owner(node))
            case ast.Expr(value=ast.Call(func=called, args=arguments)):
                names.update(*map(_owner, (called, *arguments)))
        waiting += ast.iter_child_nodes(node)
    return frozenset(names)


def _owner(node: ast.expr) -> Iterator[str]:
    """Yield the name at the beginning of `name.attribute[key]`."""
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _imports(statement: str) -> list[str]:
    """Split the imports of one logical line at its semicolons."""
    if ";" not in statement or "#" in statement or "\n" in statement:
        return [statement]
    return [part.strip() for part in statement.split(";") if _IMPORT.match(part.strip())]


def _imported(statement: str) -> frozenset[str]:
    tree = parsed(statement)
    return frozenset(
        alias.asname or alias.name.partition(".")[0]
        for node in ([] if tree is None else tree.body)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    )


def is_in_module(name: str, target: Target) -> bool:
    """Return whether a line of the target's module defines `name` at the top level."""
    return _first_line_in_module(name, target) is not None


def is_as_in_module(dependency: Dependency, target: Target) -> bool:
    """Return whether the target's module already has the definition `dependency`.

    For a class, the name must be the same. For a function, the parameters must be the same as well.
    """
    lines = (_first_line_in_module(name, target) for name in dependency.binds)
    return any(line is not None and _are_alike(dependency.text, line) for line in lines)


def _are_alike(ours: str, line: str) -> bool:
    one, other = definitions(ours)[:1], definitions(line)
    if not one or not other:
        return ours == line
    if one[0].is_class or other[0].is_class:
        return one[0].is_class and other[0].is_class
    return parameters(one[0].header.of(ours)) == parameters(other[0].header.of(line))


def _first_line_in_module(name: str, target: Target) -> str | None:
    """Return the first line of the top-level definition of `name` in the target's module."""
    text = normalize(target.text)
    start = _definitions_in(text).get(name)
    line = None if start is None else next(logical_lines(text, start), None)
    return None if line is None else text[line.start : line.code_end]


@lru_cache(maxsize=2)  # Callers ask for many names in the same text.
def _definitions_in(text: str) -> Mapping[str, int]:
    """Map each name that is defined at the top level to the offset of its first definition."""
    starts: dict[str, int] = {}
    for match in _DEFINITION.finditer(text):
        starts.setdefault(match["defined"] or match["assigned"], match.start())
    return starts
