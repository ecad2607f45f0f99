"""Where in a syntax tree a name of one scope is used, and which names a scope binds."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    _Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    _Named = (
        ast.Name
        | ast.Attribute
        | ast.Global
        | ast.Nonlocal
        | ast.FunctionDef
        | ast.AsyncFunctionDef
        | ast.ClassDef
        | ast.keyword
    )

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Use:
    """One place of a name, and what it is to be called."""

    node: _Named
    old: str
    new: str

    def apply(self) -> None:
        """Change the name in the syntax tree."""
        match self.node:
            case ast.Name():
                self.node.id = self.new
            case ast.Attribute():
                self.node.attr = self.new
            case ast.keyword():
                self.node.arg = self.new
            case ast.Global() | ast.Nonlocal():
                self.node.names = [self.new if name == self.old else name for name in self.node.names]
            case _:
                self.node.name = self.new


def uses(body: Iterable[ast.AST], names: Mapping[str, str]) -> list[Use]:
    """The uses in `body` of names that are bound in its own scope, or around it."""
    finder = _Finder(frozenset())
    for node in body:
        finder.read(node, names, names)
    return finder.found


def global_uses(module: ast.Module, names: Mapping[str, str]) -> list[Use]:
    """The uses in `module` of names of its top level, those too that `global` reaches."""
    finder = _Finder(frozenset(names))
    for node in module.body:
        finder.read(node, names, names)
    return finder.found


class _Finder:
    """Collects the uses of names, scope by scope."""

    def __init__(self, of_module: frozenset[str]) -> None:
        self.found: list[Use] = []
        self._of_module = of_module
        """The names that a `global` statement means."""

    def read(self, node: ast.AST, names: Mapping[str, str], enclosing: Mapping[str, str]) -> None:
        """`names` are those to change right here, `enclosing` those to change in a function that begins here:
        in a class body the two differ, as methods do not see what the class binds."""
        match node:
            case ast.Name(id=name) if name in names:
                self.found.append(Use(node, name, names[name]))
            case ast.Nonlocal(names=declared):
                self.found.extend(Use(node, name, names[name]) for name in declared if name in names)
            case ast.Global(names=declared):
                self.found.extend(
                    Use(node, name, names[name]) for name in declared if name in self._of_module & names.keys()
                )
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self._read_function(node, names, enclosing)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._read_comprehension(node, names, enclosing)
            case ast.ClassDef():
                self._read_class(node, names, enclosing)
            case _:
                for child in ast.iter_child_nodes(node):
                    self.read(child, names, enclosing)

    def _read_class(self, node: ast.ClassDef, names: Mapping[str, str], enclosing: Mapping[str, str]) -> None:
        self._read_name(node, names)
        for outside in [*node.decorator_list, *node.bases, *node.keywords]:
            self.read(outside, names, enclosing)
        inside = self._inside(enclosing, node.body)
        for statement in node.body:
            self.read(statement, inside, enclosing)

    def _read_function(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        names: Mapping[str, str],
        enclosing: Mapping[str, str],
    ) -> None:
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        arguments = parameters(node.args)
        outside: list[ast.AST] = [*node.args.defaults, *(value for value in node.args.kw_defaults if value)]
        outside += [arg.annotation for arg in arguments if arg.annotation]
        if not isinstance(node, ast.Lambda):
            self._read_name(node, names)
            outside += [*node.decorator_list, *([node.returns] if node.returns else [])]
        for part in outside:
            self.read(part, names, enclosing)
        inside = minus(self._inside(enclosing, body), {arg.arg for arg in arguments})
        for part in body:
            self.read(part, inside, inside)

    def _read_name(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, names: Mapping[str, str]) -> None:
        if node.name in names:
            self.found.append(Use(node, node.name, names[node.name]))

    def _inside(self, names: Mapping[str, str], body: Iterable[ast.AST]) -> Mapping[str, str]:
        """Of `names` those that mean the same in a scope with this body."""
        body = list(body)
        return minus(names, bound(body) - (declared_global(body) & self._of_module))

    def _read_comprehension(self, node: _Comprehension, names: Mapping[str, str], enclosing: Mapping[str, str]) -> None:
        targets = {name.id for loop in node.generators for name in ast.walk(loop.target) if isinstance(name, ast.Name)}
        inside = minus(enclosing, targets)
        self.read(node.generators[0].iter, names, enclosing)
        for index, loop in enumerate(node.generators):
            if index:
                self.read(loop.iter, inside, inside)
            for part in [loop.target, *loop.ifs]:
                self.read(part, inside, inside)
        for part in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
            self.read(part, inside, inside)


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    """All parameters, variadic ones last."""
    variadic = [arg for arg in (arguments.vararg, arguments.kwarg) if arg is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *variadic]


def minus(names: Mapping[str, str], hidden: Iterable[str]) -> Mapping[str, str]:
    """`names` without those that are `hidden`."""
    return {old: new for old, new in names.items() if old not in set(hidden)}


def declared_global(body: Iterable[ast.AST]) -> set[str]:
    """What `body` declares `global` in its own scope."""
    found: set[str] = set()
    for node in _own_scope(body):
        if isinstance(node, ast.Global):
            found.update(node.names)
    return found


def bound(body: Iterable[ast.AST]) -> set[str]:
    """What `body` binds in its own scope or declares `global`; `nonlocal` names belong to another."""
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
            case _:
                found.update(_binds(node))
    return found - elsewhere


def bound_inside(body: Iterable[ast.AST]) -> set[str]:
    """What the functions, classes and comprehensions in `body` bind in scopes of their own."""
    found: set[str] = set()
    for node in (node for statement in body for node in ast.walk(statement)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                found |= bound(node.body) | {arg.arg for arg in parameters(node.args)}
            case ast.Lambda():
                found |= bound([node.body]) | {arg.arg for arg in parameters(node.args)}
            case ast.ClassDef():
                found |= bound(node.body)
            case ast.comprehension():
                found |= bound([node.target])
    return found


def _own_scope(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of `body` without the inside of functions, classes and comprehensions."""
    for node in body:
        yield node
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda():
                continue
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                continue
        yield from _own_scope(ast.iter_child_nodes(node))


def _binds(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case _:
            yield from bound_beyond_names(node)


def bound_beyond_names(node: ast.AST) -> Iterator[str]:
    """What `node` itself binds where no plain name stands."""
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
    """Every identifier in `tree` that is a name in some scope."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                yield name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case _:
                yield from bound_beyond_names(node)
