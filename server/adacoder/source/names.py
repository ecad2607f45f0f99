"""Find the names that Python code binds, and the names that it uses from its module or from builtins.

If AdaCoder's Python cannot parse the code, the result may have too many names.
"""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adacoder.pytext import parsed, statements, symbols, unmarked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from symtable import SymbolTable

    from adacoder.domain import Module, Span

IDENTIFIER = re.compile(r"(?<![\w.])[^\W\d]\w*")
_BINDS = re.compile(
    r"(?:(?:async[ \t]+)?def|class)[ \t]+(?P<defined>\w+)"
    r"|(?P<assigned>[^\W\d]\w*)[ \t]*(?::[^=\n]*)?=(?!=)"
)
_ALWAYS = (
    ast.Assign,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Delete,
    ast.FunctionDef,
    ast.Import,
    ast.ImportFrom,
)
"""Statements that always replace the earlier value of a name, unlike an assignment inside `if`."""
_NOT_WHEN_IMPORTED = re.compile(r"(?:\w+\.)*TYPE_CHECKING|MYPY|False|0|__name__ == '__main__'")
"""Matches conditions that are false when the module is imported."""
OWN = ""
"""The origin of a name that the module itself defines."""


@dataclass(frozen=True, slots=True)
class ImportedName:
    """One name of an import statement."""

    module: str
    """The module's name as written, with leading dots if relative."""
    name: str | None = None
    """The imported name; `*` for all names, None for `import module`."""
    alias: str | None = None

    @property
    def binds(self) -> str:
        """The name that the import binds."""
        return self.alias or self.name or self.module.partition(".")[0]

    @property
    def statement(self) -> str:
        """An import statement for this name alone."""
        return f"import {self.item}" if self.name is None else f"from {self.module} import {self.item}"

    @property
    def item(self) -> str:
        """The import of this name after the word `import`, such as `a as b`."""
        return f"{self.name or self.module}{f' as {self.alias}' if self.alias else ''}"

    def origin(self, module: Module) -> str:
        """Return the dotted path of the imported object if `module` contains the import."""
        source = absolute(self.module, module)
        if self.name is not None:
            return f"{source}.{self.name}".removeprefix(".")
        return source if self.alias else self.binds


def statements_of(names: Sequence[ImportedName]) -> Iterator[str]:
    """Yield import statements for `names`. Names from the same module share a statement."""
    joined: dict[str | ImportedName, list[ImportedName]] = {}
    for name in names:
        joined.setdefault(name if name.name in (None, "*") else name.module, []).append(name)
    for first, *rest in joined.values():
        yield ", ".join([first.statement, *(name.item for name in rest)])


def absolute(name: str, module: Module) -> str:
    """Make the module name `name` absolute, as seen from `module`. A name without leading dots stays unchanged."""
    rest = name.lstrip(".")
    level = len(name) - len(rest)
    if not level:
        return name
    package = module.name.split(".") if module.is_package else module.name.split(".")[:-1]
    if level - 1 > len(package):
        return name
    return ".".join([*package[: len(package) - level + 1], *([rest] if rest else [])])


def imported(statement: str) -> tuple[ImportedName, ...]:
    """Return the names that `statement` imports; empty if it imports nothing or does not parse."""
    tree = parsed(statement)
    if tree is None:
        return ()
    return tuple(name for node in tree.body for name in _imported(node))


def _imported(node: ast.stmt) -> Iterator[ImportedName]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield ImportedName(alias.name, None, alias.asname)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield ImportedName("." * node.level + (node.module or ""), alias.name, alias.asname)


@dataclass(slots=True)
class Bindings:
    """Names bound at the top level of a text, outside functions and classes."""

    origins: dict[str, set[str]] = field(default_factory=dict)
    """The possible origins of each name: dotted paths, or `OWN` for the module itself."""
    modules: set[str] = field(default_factory=set)
    """Names of modules that are imported by `import module`."""
    stars: set[str] = field(default_factory=set)
    """Modules in `import *` statements."""
    for_typing: set[str] = field(default_factory=set)
    """Names that are imported only for type checkers, or only if the module runs as a script."""
    changed: set[str] = field(default_factory=set)
    """Names of objects that may be changed in place, for example by `name[key] = …` or `name.add(…)`."""


def bindings(text: str, module: Module) -> Bindings:
    """Return the names that the top level of `text`, the source of `module`, binds at run time.

    Names that functions declare `global` are included.
    """
    found = Bindings()
    tree = parsed(text)
    if tree is not None:
        _Binder(found, module).read(tree)
        return found
    for span in statements(unmarked(text)):
        part = parsed(span.of(text))
        if part is not None:
            _Binder(found, module).read(part)
        elif match := _BINDS.match(span.of(text)):
            found.origins.setdefault(match["defined"] or match["assigned"], set()).add(OWN)
    return found


class _Binder(ast.NodeVisitor):
    def __init__(self, found: Bindings, module: Module) -> None:
        self._found = found
        self._module = module
        self._always = False
        """True inside a statement that `_ALWAYS` lists."""

    def read(self, tree: ast.Module) -> None:
        for statement in tree.body:
            self._always = isinstance(statement, _ALWAYS)
            # If an expression is nested too deeply, the rest of its statement is ignored.
            with suppress(RecursionError):
                self.visit(statement)
        self._always = False
        for node in ast.walk(tree):
            if isinstance(node, ast.Global):
                self._bind(*node.names)

    def _bind(self, *names: str | None, origin: str = OWN) -> None:
        for name in names:
            if name is not None:
                before = set[str]() if self._always else self._found.origins.get(name, set())
                self._found.origins[name] = {*before, origin}

    def visit_If(self, node: ast.If) -> None:
        is_negated = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
        test = node.test.operand if isinstance(node.test, ast.UnaryOp) and is_negated else node.test
        if not _NOT_WHEN_IMPORTED.fullmatch(ast.unparse(test)):
            self.generic_visit(node)
            return
        for_typing, running = (node.orelse, node.body) if is_negated else (node.body, node.orelse)
        for statement in running:
            self.visit(statement)
        within = (each for statement in for_typing for each in ast.walk(statement) if isinstance(each, ast.stmt))
        self._found.for_typing.update(name.binds for each in within for name in _imported(each))

    def generic_visit(self, node: ast.AST) -> None:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self._bind(name)
                return
            case ast.Lambda() | ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return
            case ast.Import() | ast.ImportFrom():
                for item in _imported(node):
                    self._bind_import(item)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                self._bind(name)
            case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
                self._bind(name)
            case ast.MatchMapping(rest=name):
                self._bind(name)
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                self._change(node)
            case ast.AugAssign(target=target):
                self._change(target)
            case ast.Expr(value=ast.Call(func=called, args=arguments)):
                for each in (called, *arguments):
                    self._change(each)
        super().generic_visit(node)

    def _bind_import(self, name: ImportedName) -> None:
        if name.name == "*":
            self._found.stars.add(absolute(name.module, self._module))
            return
        if name.name is None:
            self._found.modules.add(name.module)
        self._bind(name.binds, origin=name.origin(self._module))

    def _change(self, node: ast.expr) -> None:
        while isinstance(node, ast.Subscript | ast.Attribute):
            node = node.value
        if isinstance(node, ast.Name):
            self._found.changed.add(node.id)


def used_names(text: str) -> frozenset[str]:
    """Return the names that the code `text` uses from its module or the builtins.

    Names that `text` itself binds and uses at its top level are included.
    """
    table = symbols(text)
    if table is None:
        return frozenset(IDENTIFIER.findall(text))
    top = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}
    return frozenset(top.union(_globals(table.get_children())))


def used_when_called(text: str) -> frozenset[str]:
    """Return the names that functions in `text` use when they run. Names in their headers are left out."""
    table = symbols(text)
    return frozenset(IDENTIFIER.findall(text) if table is None else _globals(table.get_children()))


def names_in_annotations(statements: Iterable[ast.stmt]) -> frozenset[str]:
    """Collect the names in string annotations. Only type checkers read these names."""
    found: set[str] = set()
    for annotation in (annotation for statement in statements for annotation in _annotations(statement)):
        for node in ast.walk(annotation):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                tree = parsed(node.value)
                nodes = [] if tree is None else list(ast.walk(tree))
                found.update(each.id for each in nodes if isinstance(each, ast.Name))
    return frozenset(found)


def names_at_run_time(node: ast.AST, *, is_lazy: bool, in_function: bool) -> Iterator[str]:
    """Yield the names that Python looks up when `node`, or a function in it, runs.

    Annotations count unless `is_lazy` is true. Python never evaluates annotations of local variables.
    """
    if isinstance(node, ast.Name):
        yield node.id
    in_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
        in_function and not isinstance(node, ast.ClassDef)
    )
    for field_name, value in ast.iter_fields(node):
        is_read = is_lazy or (in_function and isinstance(node, ast.AnnAssign))
        if not (is_read and field_name in ("annotation", "returns")):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from names_at_run_time(child, is_lazy=is_lazy, in_function=in_function)


def _annotations(statement: ast.stmt) -> Iterator[ast.expr]:
    for node in ast.walk(statement):
        match node:
            case ast.AnnAssign(annotation=annotation) | ast.arg(annotation=ast.expr() as annotation):
                yield annotation
            case (
                ast.FunctionDef(returns=ast.expr() as annotation)
                | ast.AsyncFunctionDef(returns=ast.expr() as annotation)
            ):
                yield annotation
            case ast.Call(func=ast.Name(id="cast") | ast.Attribute(attr="cast"), args=[annotation, _]):
                yield annotation


def _globals(tables: Iterable[SymbolTable]) -> Iterator[str]:
    for table in tables:
        yield from (symbol.get_name() for symbol in table.get_symbols() if symbol.is_global())
        yield from _globals(table.get_children())


def without(text: str, span: Span, indent: str) -> str:
    """Return `text` with `pass` in place of the definition at `span`, to find the names that other code uses."""
    return f"{text[: span.start]}{indent}pass{text[span.end :]}"
