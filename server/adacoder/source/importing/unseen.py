"""What a search for undefined names does not see: what is bound at run time, or only seems bound."""

from __future__ import annotations

import ast
from copy import deepcopy
from typing import TYPE_CHECKING

from adacoder.source.scopes import bound, declared_global, parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOKS = frozenset({"copy", "get", "items", "keys", "values"})
"""Methods of a dictionary that change nothing."""
_READERS = frozenset({"dict", "dir", "id", "len", "list", "repr", "set", "sorted"})
_BINDERS = frozenset({"_convert_", "_convert", "global_enum"})
"""What the standard library's `enum` puts its members into a module with."""


def may_bind_more(tree: ast.Module) -> bool:
    """Whether a module binds names at run time that its text does not show: by `globals()`, `exec`, and the like."""
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    return any(_binds_unseen(node, parents) for node in parents)


def _binds_unseen(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="exec"), args=args):
            return len(args) == 1
        case ast.Call(func=ast.Name(id="globals"), args=[]) | ast.Attribute(attr="__dict__"):
            return _is_written(node, parents)
        case ast.Call(func=ast.Name(id="vars" | "locals"), args=[]):
            return _is_written(node, parents) and not _in_function(node, parents)
        case ast.Call(func=ast.Name(id="setattr"), args=[ast.Subscript(), *_]):
            return True
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in _BINDERS
        case _:
            return False


def _is_written(namespace: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether something may be put into a namespace, and not only looked up."""
    of_a_module = isinstance(namespace, ast.Call) or "sys.modules" in ast.unparse(namespace)
    match parents[namespace]:
        case ast.Attribute(attr=name):
            written = name not in _LOOKS
        case ast.Subscript(ctx=context):
            written = not isinstance(context, ast.Load)
        case ast.Compare() | ast.For() | ast.comprehension() | ast.Expr():
            written = False
        case ast.Call(func=ast.Name(id=name)):
            written = name not in _READERS
        case _:
            written = True
    return of_a_module and written


def _in_function(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    while not isinstance(node, ast.Module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return True
        node = parents[node]
    return False


def guarded_names(tree: ast.Module) -> frozenset[str]:
    """The names that are tried under `except NameError`: who wrote that knows that they may be missing."""
    return frozenset(
        inner.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and any(_catches_name_errors(handler) for handler in node.handlers)
        for statement in node.body
        for inner in ast.walk(statement)
        if isinstance(inner, ast.Name)
    )


def _catches_name_errors(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or any(
        isinstance(node, ast.Name) and node.id in ("NameError", "Exception") for node in ast.walk(handler.type)
    )


def local_uses(tree: ast.Module) -> frozenset[tuple[int, int]]:
    """Where names stand that a function around them binds, be it later, or deletes: lines and columns.

    They are local to that function: whether they have a value there or not, no import gives them one.
    """
    return frozenset(_local_uses(tree, frozenset()))


def _local_uses(node: ast.AST, local: frozenset[str]) -> Iterator[tuple[int, int]]:
    match node:
        case ast.Name(id=name) if name in local:
            yield node.lineno, node.col_offset
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            own = {parameter.arg for parameter in parameters(node.args)} | bound(node.body)
            inside = (local | own) - declared_global(node.body)
            for statement in node.body:
                yield from _local_uses(statement, inside)
            for outside in (node.args, *node.decorator_list, *([node.returns] if node.returns else [])):
                yield from _local_uses(outside, local)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _local_uses(child, local)


def at_run_time(tree: ast.Module) -> ast.Module | None:
    """A copy of `tree` without annotations and without what only type checkers read; None where there is no such
    thing as the latter."""
    if not any(_is_for_typing(statement) for statement in tree.body):
        return None
    running = deepcopy(tree)
    _AtRunTime().visit(running)
    return ast.fix_missing_locations(running)


class _AtRunTime(ast.NodeTransformer):
    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        return (node.orelse or ast.Pass()) if _is_for_typing(node) else node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)


def _is_for_typing(statement: ast.stmt) -> bool:
    match statement:
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            return True
    return False
