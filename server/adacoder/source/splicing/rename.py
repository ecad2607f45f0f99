"""Rename the parameters of a function, and the function itself, throughout its text.

Every variable of such a name is renamed, whatever its scope: as no new name is in use, none can come to mean another.
The result is proved: its syntax tree must be the old one with exactly these names changed. Where that cannot be shown,
there is no result.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from adacoder.domain import Edit
from adacoder.pytext import Lines, parsed
from adacoder.source.scopes import DEFINITIONS, all_names, bound_beyond_names
from adacoder.source.text import apply_edits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_SEEING_NAMES = frozenset({"dir", "eval", "exec", "locals", "vars"})
"""Builtins that know what the variables around them are called."""


def with_names(text: str, names: Mapping[str, str], function: str, *, method: bool) -> str | None:
    """Return `text`, which defines `function`, with variables renamed; None if that cannot be proved right.

    Where the function calls itself (a `method` does so on its first parameter), its name and keywords change too.
    """
    tree = parsed(text)
    root = None if tree is None else next((node for node in tree.body if isinstance(node, DEFINITIONS)), None)
    if tree is None or root is None or root.name != function or not _is_safe(root, names):
        return None
    owner = next((arg.arg for arg in (*root.args.posonlyargs, *root.args.args)), None) if method else None
    renaming = _Renaming(names, function, owner)
    try:
        changed = apply_edits(text, tuple(renaming.edits(text)))
        after = parsed(changed)
        is_proved = after is not None and ast.dump(after) == ast.dump(renaming.visit(tree))
    except RecursionError:  # all of these go deeper into an expression than Python's parser
        return None
    return changed if is_proved else None


def _is_safe(root: ast.FunctionDef | ast.AsyncFunctionDef, names: Mapping[str, str]) -> bool:
    """Tell whether a function does the same with all variables of these names renamed."""
    nodes = [node for statement in root.body for node in ast.walk(statement)]
    known, new = set(all_names(root)), list(names.values())
    parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
    stored = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    keywords = {node.arg for node in nodes if isinstance(node, ast.keyword)}
    return not (
        len(new) != len(set(new))
        or any(name in known and name not in names for name in new)
        or parameters & keywords & names.keys()
        or root.name in stored | parameters
        or any(isinstance(node, ast.ClassDef) for node in nodes)
        or any(isinstance(node, ast.Name) and node.id in _SEEING_NAMES for node in nodes)
        or any(name in names for node in nodes for name in bound_beyond_names(node))
    )


_EQUALS: object = "="
"""What parso's token for it is equal to."""


class _Token(Protocol):
    """The part of parso's tokens and nodes that is used."""

    type: str
    value: str
    start_pos: tuple[int, int]
    parent: _Token
    children: Sequence[_Token]

    def get_previous_leaf(self) -> _Token | None: ...


@dataclass(frozen=True, slots=True)
class _Renaming(ast.NodeTransformer):
    """New names for the variables of one function, in its text and in its syntax tree."""

    names: Mapping[str, str]
    function: str
    owner: str | None
    """The first parameter of a method."""

    def edits(self, text: str) -> Iterator[Edit]:
        """Replace the tokens that are these variables: parso finds those in f-strings too, under any Python."""
        import parso  # needed only for replies with names of their own

        used = parso.parse(text).get_used_names()  # type: ignore[no-untyped-call]  # parso has no types there
        lines = Lines(text)
        for old, new in self.names.items():
            for token in used.get(old, ()):
                if self._is_meant(token):
                    start = lines.starts[token.start_pos[0] - 1] + token.start_pos[1]
                    yield Edit(start, start + len(old), new)

    def _is_meant(self, token: _Token) -> bool:
        """Tell whether a token is a variable, or a keyword in a call of the function itself."""
        node = token.parent
        if node.type == "argument" and node.children[0] is token and node.children[1] == _EQUALS:
            call = node.parent if node.parent.type == "trailer" else node.parent.parent
            called = call.children[0].get_previous_leaf()
            return called is not None and self._is_function(called)
        return self._is_function(token) or not (_owner_of(token) or (self.owner and token.value == self.function))

    def _is_function(self, token: _Token) -> bool:
        return token.value == self.function and _owner_of(token) == self.owner

    def _is_called(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return self.owner is None and name == self.function
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                return owner == self.owner and name == self.function
        return False

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if self.owner is None or node.id != self.function:
            node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.names.get(node.arg, node.arg)
        return self.generic_visit(node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        node.names = [self.names.get(name, name) for name in node.names]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._visit_function(node)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        if self.owner is None:
            node.name = self.names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        for keyword in node.keywords if self._is_called(node.func) else ():
            keyword.arg = keyword.arg and self.names.get(keyword.arg, keyword.arg)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if self._is_called(node):
            node.attr = self.names.get(node.attr, node.attr)
        return self.generic_visit(node)


def _owner_of(token: _Token) -> str | None:
    """Return what stands before the dot that a token follows."""
    before = token.get_previous_leaf()
    owner = before.get_previous_leaf() if before is not None and before.value == "." else None
    return None if owner is None else owner.value
