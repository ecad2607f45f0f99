"""Renames what a function takes from outside its body: its parameters, itself, and what stands beside it.

The result is proved: its syntax tree must be the old one with exactly those names changed. Where that cannot be
shown, or a new name means something already, there is no result.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from adacoder.domain import Edit
from adacoder.pytext import Lines, parsed
from adacoder.source.scopes import (
    DEFINITIONS,
    Use,
    all_names,
    bound,
    bound_beyond_names,
    bound_inside,
    global_uses,
    minus,
    parameters,
    uses,
)
from adacoder.source.text import offset_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_OF_NAMES = frozenset({"dir", "eval", "exec", "locals", "vars"})
"""Builtins that know what the names around them are."""
_BEFORE_NAME = re.compile(r"(?:async[ \t]+)?(?:def|class)[ \t]+")


def with_parameters(text: str, function: str, names: Mapping[str, str], *, called: str, method: bool) -> str | None:
    """`text`, which defines `function`, with the parameters in `names` called otherwise in that function's body.

    Where it calls itself, by the name `called`, and passes them by keyword, that changes too. The header stays.
    """
    tree = parsed(text)
    node = _function(tree, function)
    if tree is None or node is None or _taken(node.body, names):
        return None
    if not bound_inside(node.body).isdisjoint(names.values()):
        return None
    if any(isinstance(each, ast.Name) and each.id in _OF_NAMES for each in _walk(node.body)):
        return None
    if any(name in names for inner in _walk(node.body) for name in bound_beyond_names(inner)):
        return None
    found = uses(node.body, names)
    found += _keywords(node.body, _callers(node, called, method=method), names)
    return _replaced(text, tree, found)


def with_name(text: str, function: str, new: str, *, method: bool) -> str | None:
    """`text`, which defines `function`, with that function's body calling it `new`; the header stays.

    A `method` calls itself on its first parameter.
    """
    tree = parsed(text)
    node = _function(tree, function)
    if tree is None or node is None:
        return None
    if method:
        return _replaced(text, tree, _attributes(node, function, new))
    hidden = bound(node.body) | {arg.arg for arg in parameters(node.args)}
    names = minus({function: new}, hidden)
    if not names:
        return text
    return None if _taken(node.body, names) else _replaced(text, tree, uses(node.body, names))


def with_globals(text: str, names: Mapping[str, str]) -> str | None:
    """`text`, statements of a module, with names of the module called otherwise: where it binds them, and where
    it uses them."""
    tree = parsed(text)
    if tree is None or _taken(tree.body, names):
        return None
    for node in _own_imports(tree.body):
        if not names.keys().isdisjoint(bound_beyond_names(node)):
            return None
    return _replaced(text, tree, global_uses(tree, names))


def with_keywords(text: str, function: str, names: Mapping[str, str]) -> str | None:
    """`text`, statements of a module, with the keywords changed that they pass to `function`."""
    tree = parsed(text)
    if tree is None:
        return None
    if not names or function in bound(tree.body):
        return text
    return _replaced(text, tree, _keywords(tree.body, {(None, function)}, names))


def calls_itself(text: str, function: str) -> bool:
    """Whether `function`, which `text` defines, uses its own name in its body."""
    node = _function(parsed(text), function)
    if node is None:
        return False
    hidden = bound(node.body) | {arg.arg for arg in parameters(node.args)}
    return bool(uses(node.body, minus({function: function}, hidden)))


def _function(tree: ast.Module | None, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    nodes = [] if tree is None else [node for node in ast.walk(tree) if isinstance(node, DEFINITIONS)]
    return next((node for node in nodes if node.name == name), None)


def _walk(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in body:
        yield from ast.walk(node)


def _own_imports(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """What binds a name of the module in a way that cannot be renamed."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from node.names
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar | ast.MatchMapping):
            yield node
        if not isinstance(node, (*DEFINITIONS, ast.ClassDef, ast.Lambda)):
            yield from _own_imports(ast.iter_child_nodes(node))


def _taken(body: list[ast.stmt], names: Mapping[str, str]) -> bool:
    """Whether a new name would meet one that `body` has, or another new one."""
    known = {name for statement in body for name in all_names(statement)}
    new = list(names.values())
    return len(new) != len(set(new)) or any(name in known and name not in names for name in new)


def _callers(
    function: ast.FunctionDef | ast.AsyncFunctionDef, called: str, *, method: bool
) -> set[tuple[str | None, str]]:
    """On which objects, and by which name, `function` is called in its own body."""
    arguments = [arg.arg for arg in parameters(function.args)]
    if method:
        return {(owner, called) for owner in arguments[:1]}
    return set() if called in {*arguments, *bound(function.body)} else {(None, called)}


def _keywords(body: Iterable[ast.AST], callers: set[tuple[str | None, str]], names: Mapping[str, str]) -> list[Use]:
    found: list[Use] = []
    for node in _walk(body):
        match node:
            case ast.Call(func=ast.Name(id=called), keywords=keywords) if (None, called) in callers:
                pass
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=called), keywords=keywords) if (
                owner,
                called,
            ) in callers:
                pass
            case _:
                continue
        found += [Use(each, old, names[old]) for each in keywords if (old := each.arg or "") in names]
    return found


def _attributes(function: ast.FunctionDef | ast.AsyncFunctionDef, old: str, new: str) -> list[Use]:
    owners = [arg.arg for arg in parameters(function.args)][:1]
    return [
        Use(node, old, new)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.value.id in owners and node.attr == old
    ]


def _replaced(text: str, tree: ast.Module, found: list[Use]) -> str | None:
    """`text` with every use in its `tree` renamed; None if their places cannot be told for certain."""
    if not found:
        return text
    strings: dict[ast.AST, ast.JoinedStr] = {}
    for string in ast.walk(tree):
        if isinstance(string, ast.JoinedStr):
            for node in ast.walk(string):
                strings.setdefault(node, string)
    place = _Places(text)
    edits = {edit for use in found for edit in place.edits(use, strings.get(use.node))}
    changed = text
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        changed = changed[: edit.start] + edit.text + changed[edit.end :]
    for use in found:
        use.apply()
    after = parsed(changed)
    return changed if after is not None and ast.dump(after) == ast.dump(tree) else None


class _Places:
    """Where the nodes of a syntax tree stand in its text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = Lines(text)

    def edits(self, use: Use, string: ast.JoinedStr | None) -> Iterator[Edit]:
        """What renames `use`; in an f-string, where older Pythons tell no places, every use of it."""
        for at in self._starts(use, string):
            yield Edit(at, at + len(use.old), use.new)

    def _starts(self, use: Use, string: ast.JoinedStr | None) -> Iterable[int]:
        start, end = self._span(string or use.node)
        if string is not None:
            return (start + at for at in _in_braces(self._text[start:end], use.old))
        match use.node:
            case ast.Global() | ast.Nonlocal():
                return (start + match.start() for match in re.finditer(rf"\b{use.old}\b", self._text[start:end]))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                before = _BEFORE_NAME.match(self._text, start)
                return () if before is None else (before.end(),)
            case ast.keyword():
                return (start,)
            case _:
                return (end - len(use.old),)

    def _span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        return (
            self._offset(node.lineno, node.col_offset),
            self._offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset),
        )

    def _offset(self, line: int, column: int) -> int:
        return offset_at(self._lines, line - 1, column, "utf-8")


def _in_braces(string: str, name: str) -> Iterator[int]:
    """Where `name` stands in the braces of an f-string."""
    depth = 0
    for match in re.finditer(rf"\{{\{{|\{{|\}}|(?<![\w.]){name}\b", string):
        found = match[0]
        if found == "{{" and depth:
            depth += 2
        elif found == "{":
            depth += 1
        elif found == "}":
            depth = max(depth - 1, 0)
        elif found == name and depth:
            yield match.start()
