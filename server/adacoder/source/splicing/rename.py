"""Rename the parameters of a function, and the function itself, in the function's text.

The new names must not be in use yet. So a variable can be renamed in all scopes of the function. Afterwards, the syntax
trees are compared: they may differ only in these names.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from adacoder.domain import Edit
from adacoder.pytext import Lines, parsed
from adacoder.source.scopes import DEFINITIONS, all_names
from adacoder.source.text import apply_edits, offset_at

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORD = re.compile(r"(?<![\w.])[^\W\d]\w*")
_FIELD = re.compile(r"\{\{|\{[^{}]*")
"""Matches an escaped brace, or the beginning of a replacement field in an f-string."""
_SEEING_NAMES = frozenset({"dir", "eval", "exec", "locals", "vars"})
"""Builtins whose results depend on the names of local variables. A function that uses them is not changed."""


def with_names(text: str, names: Mapping[str, str], function: str, *, method: bool) -> str | None:
    """Rename variables in `text`, which defines `function`; return None if renaming is not safe.

    In recursive calls, keywords are renamed as well. For a method, these are calls such as `self.f()`.
    """
    tree = parsed(text)
    root = None if tree is None else next((node for node in tree.body if isinstance(node, DEFINITIONS)), None)
    if tree is None or root is None or root.name != function or not _is_safe(root, names):
        return None
    owner = next((arg.arg for arg in (*root.args.posonlyargs, *root.args.args)), None) if method else None
    renaming = _Renaming(text, names, function, owner)
    try:
        renamed = ast.dump(renaming.visit(tree))
        changed = apply_edits(text, tuple(renaming.edits))
        after = parsed(changed)
        is_proved = after is not None and ast.dump(after) == renamed
    except RecursionError:  # Visiting, dumping and parsing may all recurse too deeply.
        return None
    return changed if is_proved else None


def _is_safe(root: ast.FunctionDef | ast.AsyncFunctionDef, names: Mapping[str, str]) -> bool:
    """Return whether a function would behave the same after renaming these variables."""
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
        or any(_means_otherwise(node, names) for node in nodes)
    )


def _means_otherwise(node: ast.AST, names: Mapping[str, str]) -> bool:
    """Return whether a node uses one of `names`, but not as a variable: for example, in an import."""
    if isinstance(node, ast.Name | ast.arg | ast.keyword | ast.Attribute | ast.Constant | ast.Nonlocal):
        return False
    values = [value if isinstance(value, list) else [value] for _, value in ast.iter_fields(node)]
    return any(isinstance(each, str) and each.partition(".")[0] in names for value in values for each in value)


@dataclass(frozen=True, slots=True)
class _Renaming(ast.NodeTransformer):
    """Renames variables in the syntax tree of a function. The same changes of the text are collected in `edits`."""

    text: str
    names: Mapping[str, str]
    function: str
    owner: str | None
    """The first parameter of a method."""
    edits: set[Edit] = field(default_factory=set)

    def _rename(self, old: str, node: ast.expr | ast.arg | ast.keyword) -> str:
        self._edit(old, self._offset(node.lineno, node.col_offset))
        return self.names.get(old, old)

    def _edit(self, old: str, start: int) -> None:
        if old in self.names and self.text.startswith(old, start):
            self.edits.add(Edit(start, start + len(old), self.names[old]))

    def _edit_all(self, node: ast.expr | ast.stmt, pattern: re.Pattern[str]) -> None:
        """Rename variables in the parts of a node's text that `pattern` matches."""
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
        for part in pattern.finditer(self.text, start, end):
            for word in _WORD.finditer(self.text, *part.span()):
                self._edit(word[0], word.start())

    def _offset(self, line: int, column: int) -> int:
        return offset_at(Lines(self.text), line - 1, column, "utf-8")

    def _is_called(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return self.owner is None and name == self.function
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                return owner == self.owner and name == self.function
        return False

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        # Before Python 3.12, nodes inside f-strings have wrong positions.
        self._edit_all(node, _FIELD)
        return replace(self, edits=set()).generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if self.owner is None or node.id != self.function:
            node.id = self._rename(node.id, node)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self._rename(node.arg, node)
        return self.generic_visit(node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        self._edit_all(node, _WORD)
        node.names = [self.names.get(name, name) for name in node.names]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        if self.owner is None and node.name in self.names:
            self._edit(node.name, self.text.find(node.name, self._offset(node.lineno, node.col_offset) + len("def")))
            node.name = self.names[node.name]
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self.visit_FunctionDef(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        for keyword in node.keywords if self._is_called(node.func) else ():
            keyword.arg = keyword.arg and self._rename(keyword.arg, keyword)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if self._is_called(node):
            end = self._offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
            self._edit(node.attr, end - len(node.attr))
            node.attr = self.names.get(node.attr, node.attr)
        return self.generic_visit(node)
