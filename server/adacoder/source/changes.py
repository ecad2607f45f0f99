"""Compare two versions of a file to find changed docstrings and removed examples.

Comments, blank lines and the order of definitions do not count. No code is run.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum
from pathlib import Path
from typing import TypeGuard

from adacoder.domain import Example, Target
from adacoder.project import is_page
from adacoder.pytext import parsed
from adacoder.settings.pytest_files import files_with_tests
from adacoder.source.locate import Documented, documented, functions
from adacoder.source.pages import page

_NAME = re.compile(r"[^\W\d]\w*")
_MOST_COMPARED = 1_000_000
"""Maximum number of pairs of an old and a new example to compare.

If there are more, all examples after the first difference count as edited.
"""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Why(StrEnum):
    """The reason why a docstring is checked, as shown by `--json`."""

    CHANGED = "changed"
    """The docstring, or its function or class, changed."""
    NEW = "new"
    REACHED = "reached"
    """Other code in the file changed, and the docstring's examples or code use it."""


@dataclass(frozen=True, slots=True)
class Altered:
    """Differences between the earlier and the current examples of a docstring."""

    removed: tuple[Example, ...] = ()
    edited: tuple[Example, ...] = ()
    """Earlier examples whose source, output, options or position changed."""
    preceded: bool = False
    """True if a new example runs before an old example, and may change a variable of the old example."""

    def __bool__(self) -> bool:
        return bool(self.removed or self.edited or self.preceded)


@dataclass(frozen=True, slots=True)
class Change:
    """A docstring to check, because the docstring or code that it uses has changed."""

    why: Why
    now: Documented
    before: Target | None
    """The docstring in the earlier version of the file; None if the docstring is new."""
    altered: Altered


@dataclass(frozen=True, slots=True)
class ChangeResult:
    """The result of checking a `Change`."""

    why: Why
    altered: Altered
    lost: tuple[Example, ...] = ()
    """Earlier examples that the current code no longer passes."""
    failed_before: bool = False
    """True if all examples that fail now also failed with the earlier code."""
    fails: bool = False
    """True if this docstring makes the check fail."""


@dataclass(frozen=True, slots=True)
class FileChanges:
    """The differences between two versions of a file."""

    changes: tuple[Change, ...] = ()
    """The docstrings to check."""
    gone: tuple[Target, ...] = ()
    """Docstrings with examples that no longer exist."""
    bare: tuple[str, ...] = ()
    """Qualified names of changed and new functions without examples."""
    defined: frozenset[str] = frozenset()
    """Names that the file defines: functions, classes and variables, but not imports."""


def file_changes(
    before: str | None, now: str | None, path: Path, folder: Path, reaches: bool, every_function: bool
) -> FileChanges:
    """Compare two texts of a file in the workspace `folder`. A text is None if the file does not exist.

    Args:
        reaches: True to include docstrings that use changed code of the file, directly or indirectly.
        every_function: True to include functions without examples.
    """
    old, new = ([] if text is None else _read(text, path, folder, every_function) for text in (before, now))
    pairs, gone = _paired(old, new)
    tops = [each for each in path.parents if each.is_relative_to(folder)]
    difference = _ChangedCode(before, now, tops, is_python=not is_page(path))
    added = [one.target for one, earlier in pairs if earlier is None]
    names: dict[str, str] = {}
    for each in gone:
        names |= next(filter(None, (renamed(each, one, difference.defined) for one in added)), {})
    changes: list[Change] = []
    for one, earlier in pairs:
        has_examples = bool(one.target.examples or one.unreadable)
        altered = (
            Altered()
            if earlier is None
            else alterations(
                *(
                    [_with(names, each) for each in target.examples] if names else target.examples
                    for target in (earlier, one.target)
                )
            )
        )
        why = difference.why(one.target, earlier, altered)
        if why is not None and (why is not Why.REACHED or reaches) and (has_examples or altered or every_function):
            changes.append(Change(why, one, earlier, altered))
    shown = {one.target.qualname for one in new if every_function or one.target.examples or one.unreadable}
    bare = () if files_with_tests(folder)(path) else tuple(name for name in difference.functions if name not in shown)
    gone = [each for each in gone if not all(example.skipped for example in each.examples)]
    return FileChanges(tuple(changes), tuple(gone), bare, difference.defined)


def renamed(gone: Target, new: Target, defined: frozenset[str]) -> dict[str, str] | None:
    """Map old names to new names if the examples of `gone` have moved to `new`; otherwise return None.

    The examples have moved if `new` begins with the same examples, apart from the names.

    Args:
        gone: a docstring that was removed.
        new: a docstring that was added.
        defined: names that the file of `gone` still defines. If the code is still there, the examples have not moved.
    """
    name, other = gone.qualname.split("."), new.qualname.split(".")
    is_same_class = gone.module.path == new.module.path and name[0] == other[0]
    is_of_module = name[0].startswith("__")  # The examples of a module may use any name of the module.
    if defined & ({gone.qualname, name[-1]} if is_same_class else defined if is_of_module else {name[0]}):
        return None
    names = {one: two for one, two in zip(_parts(gone), _parts(new), strict=False) if one != two}
    is_there = len(gone.examples) <= len(new.examples) and all(
        _with(names, one) == _with(names, two) for one, two in zip(gone.examples, new.examples, strict=False)
    )
    return names if is_there else None


def _parts(target: Target) -> list[str]:
    return [*reversed(target.qualname.split(".")), "", *reversed(target.module.name.split("."))]


def _with(names: Mapping[str, str], example: Example) -> Example:
    """Return a copy of an example with other names and without its line number."""
    source, want, error = (
        _NAME.sub(lambda found: names.get(found[0], found[0]), text)
        for text in (example.source, example.want, example.exception or "")
    )
    return replace(example, line=0, source=source, want=want, exception=error or None)


def alterations(before: Sequence[Example], now: Sequence[Example]) -> Altered:
    """Compare the earlier examples of a docstring with the current ones. Examples added at the end do not count.

    >>> one, two = Example("f(1)", "1", 0), Example("f(2)", "2", 2)
    >>> alterations([one, two], [one]).removed == (two,)
    True
    """
    old, new = ([replace(each, line=0) for each in examples] for examples in (before, now))
    shared = min(len(old), len(new))
    start = next((at for at in range(shared) if old[at] != new[at]), shared)
    if start >= len(old):
        return Altered()
    old, new, kept = old[start:], new[start:], set(new)
    if len(old) * len(new) > _MOST_COMPARED:
        return Altered(edited=tuple(before[start:]))
    removed: list[Example] = []
    edited: list[Example] = []
    preceded = False
    for tag, begin, end, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        preceded = preceded or (tag == "insert" and end < len(old))
        for number in range(begin, end if tag in ("replace", "delete") else begin):
            is_edited = first + number - begin < last or old[number] in kept
            (edited if is_edited else removed).append(before[start + number])
    return Altered(tuple(removed), tuple(edited), preceded)


def _read(text: str, path: Path, folder: Path, every_function: bool) -> list[Documented]:
    if is_page(path):
        whole = page(text, path, folder)
        return [] if whole is None else [whole]
    found = list(documented(text, path, folder))
    if every_function:
        starts = {one.target.docstring_span.start: index for index, one in enumerate(found)}
        # This version of a method's docstring also has the examples of the class.
        for one in functions(text, path, folder):
            found[starts[one.target.docstring_span.start]] = one
    return found


def _paired(
    old: Iterable[Documented], new: Iterable[Documented]
) -> tuple[list[tuple[Documented, Target | None]], list[Target]]:
    """Pair the old and new docstrings of the same name. Also return the old docstrings that have no partner."""
    waiting: dict[str, list[Target]] = defaultdict(list)
    for one in old:
        waiting[one.target.qualname].append(one.target)
    pairs = [(one, waiting[name].pop(0) if waiting[name := one.target.qualname] else None) for one in new]
    return pairs, [target for targets in waiting.values() for target in targets]


class _ChangedCode:
    """The differences between the code of two versions of a file."""

    def __init__(self, before: str | None, now: str | None, tops: Sequence[Path], *, is_python: bool) -> None:
        """`tops` are folders from which the project's files can be imported."""
        old, new = (_Pieces.of(text or "") if is_python else _Pieces() for text in (before, now))
        self._is_known = old is not None and new is not None
        """False if one of the versions cannot be parsed. All code then counts as changed."""
        self.functions: tuple[str, ...] = ()
        """Qualified names of changed and new functions."""
        self.defined = frozenset[str]()
        """See `FileChanges.defined`."""
        self._changed: set[str] = set()
        self._reached: set[str] = set()
        self._names: set[str] | None = set()
        """Names whose meaning may have changed; None if any name may have changed."""
        if old is None or new is None:
            return
        assigned = (each.id for one in (*new.rest, *new.inner) for each in ast.walk(one) if _is_assigned(each))
        self.defined = frozenset([*new.code, *assigned])
        names = {*old.code, *new.code}
        self._changed = {name for name in names if old.code.get(name) != new.code.get(name)}
        self.functions = tuple(name for name in new.code if name in self._changed and name not in new.classes)
        outside, inside = _changed(old.rest, new.rest), _changed(old.inner, new.inner)
        self._names = {name for each in outside for name in _names(each)}
        is_moved = not outside and [*map(ast.dump, old.rest)] != [*map(ast.dump, new.rest)]
        if is_moved or any(_may_change_anything(each, tops) for each in (*outside, *inside)):
            self._names = None
        else:
            self._names |= {each for name in self._changed for each in (*old.spread[name], *new.spread[name])}
            self._reached = _closed(new, self._names)

    def why(self, target: Target, earlier: Target | None, altered: Altered) -> Why | None:
        """Return the reason to check a docstring; None if there is none."""
        if earlier is None:
            return Why.NEW
        is_changed = not self._is_known or target.qualname in self._changed or target.docstring != earlier.docstring
        if is_changed or altered:
            return Why.CHANGED
        if self._names is None or target.qualname in self._reached:
            return Why.REACHED
        used = (name for example in target.examples for name in _NAME.findall(example.source))
        return Why.REACHED if any(name in self._names for name in used) else None


class _Pieces(ast.NodeTransformer):
    """The code of a module, split into functions, classes and other statements, without docstrings."""

    def __init__(self) -> None:
        self.code: dict[str, list[str]] = defaultdict(list)
        """The syntax trees of the functions and classes, by qualified name. The tree of a class excludes its methods.
        """
        self.classes: set[str] = set()
        self.uses: dict[str, set[str]] = defaultdict(set)
        """The names that each function or class uses."""
        self.spread: dict[str, set[str]] = defaultdict(set)
        """For each function, class or statement, the names by which other code may use it."""
        self.rest: list[ast.stmt] = []
        self.inner: list[ast.stmt] = []
        """Code inside functions and classes that runs on import, such as default values."""
        self._decorators: dict[str, set[str]] = defaultdict(set)
        self._class = ""

    @classmethod
    def of(cls, text: str) -> _Pieces | None:
        """Parse the text of a module; None if this fails."""
        tree = parsed(text)
        if tree is None:
            return None
        found = cls()
        try:
            _without_docstring(tree)
            found.generic_visit(tree)
            found.rest = _without_placeholders(tree.body)
            ast.dump(tree)
        except RecursionError:
            return None
        found._connect(tree)
        return found

    def _connect(self, tree: ast.Module) -> None:
        """Fill in `uses` and `spread` for the whole module.

        A decorator may register its function. So code that uses the decorator also counts as code that uses the
        function.
        """
        for number, each in enumerate(self.rest):
            self.uses[str(number)] |= set(_names(each))
            self.spread[str(number)] |= _bound(each)
        imported = {name for each in ast.walk(tree) if isinstance(each, ast.alias) for name in _names(each)}
        own = {each for names in self.spread.values() for each in names} - imported
        for name, used in self._decorators.items():
            self.spread[name] |= used & own

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # name required by ast
        """Replace a function by a placeholder."""
        return self._taken(node, is_class=False)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:  # name required by ast
        """Replace a function by a placeholder."""
        return self._taken(node, is_class=False)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:  # name required by ast
        """Replace a class by a placeholder, after its methods."""
        outer, self._class = self._class, f"{self._class}{node.name}."
        self.generic_visit(node)
        self._class = outer
        node.body = _without_placeholders(node.body)
        return self._taken(node, is_class=True)

    def _taken(self, node: _Function | ast.ClassDef, *, is_class: bool) -> ast.AST:
        name = f"{self._class}{node.name}"
        _without_docstring(node)
        self.code[name].append(ast.dump(node))
        self.uses[name] |= {self._class, *_names(node)} - {""}
        self._decorators[name] |= {each for decorator in node.decorator_list for each in _names(decorator)}
        self.inner += _run_at_import(node)
        self.spread[name].add(node.name)
        if is_class:
            self.classes.add(name)
            self.spread[name].add(f"{name}.")
        elif self._class and node.name.startswith("__"):  # Python calls special methods without naming them.
            self.spread[name] |= {self._class, self._class.split(".")[-2]}
        return _placeholder(node.name)


def _placeholder(name: str) -> ast.stmt:
    """Return a statement that replaces a definition, so that an `if` around the definition keeps a body."""
    return ast.Global([name])


def _without_placeholders(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    return [each for each in body if not isinstance(each, ast.Global)]


def _without_docstring(node: ast.Module | _Function | ast.ClassDef) -> None:
    if ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:]


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the names and attributes in a syntax tree, and the names that imports bind."""
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name.partition(".")[0]
            case ast.Global(names=names):
                yield from names


def _is_assigned(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _bound(node: ast.stmt) -> set[str]:
    """Return the names that a top-level statement may bind or change."""
    bound = set[str]()
    for inner in ast.walk(node):
        match inner:
            case ast.Expr() | ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                return set(_names(node))
            case ast.Name(ctx=ast.Store()) | ast.alias() | ast.Global():
                bound.update(_names(inner))
    return bound


def _run_at_import(node: _Function | ast.ClassDef) -> list[ast.stmt]:
    if isinstance(node, ast.ClassDef):
        return node.body
    return [ast.Return(each) for each in (*node.args.defaults, *node.args.kw_defaults) if each is not None]


def _changed(before: Sequence[ast.stmt], now: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the statements that only one of the two versions contains."""
    old, new = ([(ast.dump(each), each) for each in rest] for rest in (before, now))
    counts = [Counter(text for text, _ in rest) for rest in (old, new)]
    return [each for text, each in (*old, *new) if counts[0][text] != counts[1][text]]


_ANYTHING = ast.Expr | ast.For | ast.While | ast.With | ast.AsyncFor | ast.AsyncWith | ast.Raise | ast.Assert
_CONSTRUCTORS = {
    *("bool", "bytes", "dict", "float", "frozenset", "int", "list", "object", "range", "set", "str", "tuple"),
    *("Decimal", "Path", "TypeVar", "auto", "defaultdict", "deque", "field", "namedtuple"),
    *("collections.deque", "dataclasses.field", "enum.auto", "logging.getLogger", "re.compile", "typing.TypeVar"),
}
"""Callables that have no effect on other objects."""


def _may_change_anything(node: ast.stmt, tops: Sequence[Path]) -> bool:
    """Return whether a statement may affect any object, for example through a call or an import."""
    for inner in ast.walk(node):
        match inner:
            case ast.Expr(value=ast.Constant()):
                continue
            case ast.Call(func=ast.Name(id=name)) if name in _CONSTRUCTORS:
                continue
            case ast.Call(func=ast.Attribute(value=ast.Name(id=top), attr=name)) if f"{top}.{name}" in _CONSTRUCTORS:
                continue
            case ast.Call():
                return True
            case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
                return True
            case ast.Import(names=names) if any(_is_foreign(each.name, tops) for each in names):
                return True
            case ast.ImportFrom(module=name, level=level, names=names):
                if level or names[0].name == "*" or _is_foreign(name or "", tops):
                    return True
            case _ if isinstance(inner, _ANYTHING):
                return True
    return False


def _is_foreign(module: str, tops: Sequence[Path]) -> bool:
    """Return whether a module may come from outside the standard library."""
    name = module.partition(".")[0]
    files = (top / each for top in tops for each in (name, f"{name}.py"))
    return name not in sys.stdlib_module_names or any(map(os.path.lexists, files))


def _closed(pieces: _Pieces, names: set[str]) -> set[str]:
    """Return the functions and classes that use any of `names`, directly or indirectly.

    The names by which other code may use these functions and classes are added to `names`.
    """
    users: dict[str, set[str]] = defaultdict(set)
    for name, used in pieces.uses.items():
        for each in used:
            users[each].add(name)
    found = set[str]()
    waiting = list(names)
    while waiting:
        more = users[waiting.pop()] - found
        found |= more
        spread = {each for name in more for each in pieces.spread[name]} - names
        names |= spread
        waiting += spread
    return found
