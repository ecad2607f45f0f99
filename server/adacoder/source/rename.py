"""Renames what a function takes from outside its body: its parameters, and itself.

The result is proved: its syntax tree must be the old one with exactly those names changed, else nothing is
renamed.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adacoder.domain import Edit
from adacoder.pytext import Lines
from adacoder.source.names import parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def parameter_names(signature: str, own: str) -> Mapping[str, str]:
    """What the parameters of `signature` are called in `own`, by position; only those that differ.

    Keyword-only parameters are matched by name, and what remains of them by position. Both run from `def` to
    the colon. Empty where the two do not take the same parameters by number and kind.
    """
    theirs, ours = _arguments(signature), _arguments(own)
    if theirs is None or ours is None:
        return {}
    positional = ([*theirs.posonlyargs, *theirs.args], [*ours.posonlyargs, *ours.args])
    variadic = ([theirs.vararg, theirs.kwarg], [ours.vararg, ours.kwarg])
    if (
        len(positional[0]) != len(positional[1])
        or len(theirs.kwonlyargs) != len(ours.kwonlyargs)
        or [arg is None for arg in variadic[0]] != [arg is None for arg in variadic[1]]
    ):
        return {}
    pairs = [(a.arg, b.arg) for a, b in zip(*positional, strict=True)]
    pairs += [(a.arg, b.arg) for a, b in zip(*variadic, strict=True) if a is not None and b is not None]
    their_keys, our_keys = ([arg.arg for arg in args.kwonlyargs] for args in (theirs, ours))
    pairs += zip(
        [key for key in their_keys if key not in our_keys],
        [key for key in our_keys if key not in their_keys],
        strict=True,
    )
    return {old: new for old, new in pairs if old != new}


def _arguments(signature: str) -> ast.arguments | None:
    tree = parsed(f"{signature} pass")
    if tree is None or len(tree.body) != 1:
        return None
    node = tree.body[0]
    return node.args if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None


def rename_in_function(text: str, name: str, names: Mapping[str, str], *, method: bool) -> str:
    """`text`, which defines the function `name`, with `names` changed in that function's body.

    `names` maps old names, parameters or the function's own, to new ones. Of a `method` its own name is
    changed where it is an attribute of its first parameter. `text` stays as it is where our own Python cannot
    parse it, or where a new name means something in it already.
    """
    tree = parsed(text)
    if tree is None or not names:
        return text
    function = next((node for node in ast.walk(tree) if isinstance(node, _DEFINITIONS) and node.name == name), None)
    if function is None or _taken(function.body, names) or _beyond_names(function, names):
        return text
    parameters = [arg.arg for arg in _parameters(function.args)]
    local = _bound(function.body)
    scope = {old: new for old, new in names.items() if old in parameters or old not in local}
    uses: list[_Use] = []
    if method and name in scope:
        uses += _attributes(function, parameters[:1], name, scope.pop(name))
    uses += _Uses(function.body, scope).found
    return _replaced(text, tree, uses)


def rename_in_definition(text: str, names: Mapping[str, str]) -> str:
    """`text`, statements of a module, with the names changed that it takes from the module around it."""
    tree = parsed(text)
    if tree is None or _taken(tree.body, names):
        return text
    return _replaced(text, tree, _Uses(tree.body, _minus(names, _bound(tree.body))).found)


def _taken(body: list[ast.stmt], names: Mapping[str, str]) -> bool:
    """Whether a new name would meet one that `body` has, or another new one."""
    known = {name for statement in body for name in _all_names(statement)}
    new = list(names.values())
    return len(new) != len(set(new)) or any(name in known and name not in names for name in new)


def _beyond_names(function: ast.FunctionDef | ast.AsyncFunctionDef, names: Mapping[str, str]) -> bool:
    """Whether one of `names` is bound, or passed as a keyword to the function itself, where no plain name stands."""
    found: set[str | None] = set()
    for node in (inner for statement in function.body for inner in ast.walk(statement)):
        match node:
            case ast.alias(name=name, asname=alias):
                found.add(alias or name.partition(".")[0])
            case ast.ExceptHandler(name=name) | ast.MatchAs(name=name) | ast.MatchStar(name=name):
                found.add(name)
            case ast.MatchMapping(rest=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), keywords=keywords):
                if called == function.name:
                    found |= {keyword.arg for keyword in keywords}
    return not found.isdisjoint(names)


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    variadic = [arg for arg in (arguments.vararg, arguments.kwarg) if arg is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *variadic]


@dataclass(frozen=True, slots=True)
class _Use:
    """One place of a name, and what it is to be called."""

    node: ast.Name | ast.Attribute | ast.Nonlocal
    old: str
    new: str

    def apply(self) -> None:
        """Change the name in the syntax tree."""
        match self.node:
            case ast.Name():
                self.node.id = self.new
            case ast.Attribute():
                self.node.attr = self.new
            case ast.Nonlocal():
                self.node.names = [self.new if name == self.old else name for name in self.node.names]


class _Uses:
    """The uses in `body` of names that are bound in its own scope, or around it."""

    def __init__(self, body: list[ast.stmt], names: Mapping[str, str]) -> None:
        self.found: list[_Use] = []
        for statement in body:
            self._read(statement, names, names)

    def _read(self, node: ast.AST, names: Mapping[str, str], enclosing: Mapping[str, str]) -> None:
        """`names` are those to change right here, `enclosing` those to change in a function that begins here:
        in a class body the two differ, as methods do not see what the class binds."""
        match node:
            case ast.Name(id=name) if name in names:
                self.found.append(_Use(node, name, names[name]))
            case ast.Nonlocal(names=declared):
                self.found.extend(_Use(node, name, names[name]) for name in declared if name in names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                self._read_function(node, names, enclosing)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._read_comprehension(node, names, enclosing)
            case ast.ClassDef(body=body):
                for outside in [*node.decorator_list, *node.bases, *node.keywords]:
                    self._read(outside, names, enclosing)
                inside = _minus(enclosing, _bound(body))
                for statement in body:
                    self._read(statement, inside, enclosing)
            case _:
                for child in ast.iter_child_nodes(node):
                    self._read(child, names, enclosing)

    def _read_function(self, node: _Function, names: Mapping[str, str], enclosing: Mapping[str, str]) -> None:
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        arguments = _parameters(node.args)
        outside: list[ast.AST] = [*node.args.defaults, *(value for value in node.args.kw_defaults if value)]
        outside += [arg.annotation for arg in arguments if arg.annotation]
        if not isinstance(node, ast.Lambda):
            outside += [*node.decorator_list, *([node.returns] if node.returns else [])]
        for part in outside:
            self._read(part, names, enclosing)
        inside = _minus(enclosing, {arg.arg for arg in arguments} | _bound(body))
        for part in body:
            self._read(part, inside, inside)

    def _read_comprehension(self, node: _Comprehension, names: Mapping[str, str], enclosing: Mapping[str, str]) -> None:
        targets = {name.id for loop in node.generators for name in ast.walk(loop.target) if isinstance(name, ast.Name)}
        inside = _minus(enclosing, targets)
        self._read(node.generators[0].iter, names, enclosing)
        for index, loop in enumerate(node.generators):
            if index:
                self._read(loop.iter, inside, inside)
            for part in [loop.target, *loop.ifs]:
                self._read(part, inside, inside)
        for part in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
            self._read(part, inside, inside)


def _minus(names: Mapping[str, str], bound: Iterable[str]) -> Mapping[str, str]:
    return {old: new for old, new in names.items() if old not in set(bound)}


def _bound(body: Iterable[ast.AST]) -> set[str]:
    """What `body` binds in its own scope or declares `global`; `nonlocal` names belong to another."""
    bound: set[str] = set()
    elsewhere: set[str] = set()

    def read(node: ast.AST) -> None:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
                return
            case ast.Lambda():
                return
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                bound.update(walrus.target.id for walrus in ast.walk(node) if isinstance(walrus, ast.NamedExpr))
                return
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                bound.add(name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                bound.update(alias.asname or alias.name.partition(".")[0] for alias in aliases)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bound.add(name)
            case ast.MatchMapping(rest=str(name)):
                bound.add(name)
            case ast.Nonlocal(names=names):
                elsewhere.update(names)
            case ast.Global(names=names):
                bound.update(names)
        for child in ast.iter_child_nodes(node):
            read(child)

    for statement in body:
        read(statement)
    return bound - elsewhere


def _all_names(tree: ast.AST) -> Iterator[str]:
    """Every identifier in `tree` that is a name in some scope."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case ast.alias(name=name, asname=alias):
                yield alias or name.partition(".")[0]
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name


def _attributes(function: ast.AST, owners: list[str], old: str, new: str) -> Iterator[_Use]:
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id=owner), attr=attribute) if owner in owners and attribute == old:
                yield _Use(node, old, new)


def _replaced(text: str, tree: ast.Module, uses: list[_Use]) -> str:
    """`text` with every use in its `tree` renamed; as it was if their places cannot be told for certain."""
    if not uses:
        return text
    strings: dict[ast.AST, ast.JoinedStr] = {}
    for string in ast.walk(tree):
        if isinstance(string, ast.JoinedStr):
            for node in ast.walk(string):
                strings.setdefault(node, string)
    place = _Places(text)
    edits = {edit for use in uses for edit in place.edits(use, strings.get(use.node))}
    changed = text
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        changed = changed[: edit.start] + edit.text + changed[edit.end :]
    for use in uses:
        use.apply()
    after = parsed(changed)
    return changed if after is not None and ast.dump(after) == ast.dump(tree) else text


class _Places:
    """Where the nodes of a syntax tree stand in its text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = Lines(text)

    def edits(self, use: _Use, string: ast.JoinedStr | None) -> Iterator[Edit]:
        """What renames `use`; in an f-string, where older Pythons tell no places, every use of it."""
        start, end = self._span(string or use.node)
        if string is not None:
            starts = [start + at for at in _in_braces(self._text[start:end], use.old)]
        elif isinstance(use.node, ast.Nonlocal):
            starts = [start + match.start() for match in re.finditer(rf"\b{use.old}\b", self._text[start:end])]
        else:
            starts = [end - len(use.old)]
        for at in starts:
            yield Edit(at, at + len(use.old), use.new)

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        return (
            self._offset(node.lineno, node.col_offset),
            self._offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset),
        )

    def _offset(self, line: int, column: int) -> int:
        """The code-point offset of a place that the syntax tree gives in bytes of UTF-8."""
        before = self._lines[line - 1].encode()[:column].decode(errors="ignore")
        return self._lines.starts[line - 1] + len(before)


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
