"""Find the names that scopes of a syntax tree bind, and the positions of local names."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    """List all parameters. `*args` and `**kwargs` are last."""
    variadic = [arg for arg in (arguments.vararg, arguments.kwarg) if arg is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *variadic]


def declared_global(body: Iterable[ast.AST]) -> set[str]:
    """Return the names that `body` declares `global` in its own scope."""
    found: set[str] = set()
    for node in _own_scope(body):
        if isinstance(node, ast.Global):
            found.update(node.names)
    return found


def bound(body: Iterable[ast.AST]) -> set[str]:
    """Return the names that `body` binds or declares `global`, without names in inner scopes."""
    found: set[str] = set()
    elsewhere: set[str] = set()
    for node in _own_scope(body):
        match node:
            case ast.Nonlocal(names=names):
                elsewhere.update(names)
            case ast.Global(names=names):
                found.update(names)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                found.update(walrus.target.id for walrus in ast.walk(node) if isinstance(walrus, ast.NamedExpr))
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case _:
                found.update(bound_beyond_names(node))
    return found - elsewhere


def _own_scope(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of `body`, without the contents of functions, classes and comprehensions."""
    for node in body:
        yield node
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                continue
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                continue
        yield from _own_scope(ast.iter_child_nodes(node))


def bound_beyond_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that `node` binds other than by assignment, for example by `import`, `def` or `except`."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=alias):
            yield alias or name.partition(".")[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name


def all_names(tree: ast.AST) -> Iterator[str]:
    """Yield all names in `tree`, in any scope."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                yield name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case _:
                yield from bound_beyond_names(node)


def local_uses(tree: ast.Module) -> frozenset[tuple[int, int]]:
    """Return the line and column of each use of a local variable.

    An import at the top of the module cannot define such a name.
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
