"""Find undefined names, and find the imports that define them.

The project's files are read as text, and no code is run. Only this module imports pyflakes.
"""

from __future__ import annotations

import ast
import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from adacoder.domain import Span
from adacoder.privacy.access import Access
from adacoder.privacy.private_names import NO_WISHES, Wishes
from adacoder.pytext import Lines
from adacoder.source.importing.exports import may_come_from
from adacoder.source.importing.installed import InstalledModules
from adacoder.source.importing.project_imports import ProjectImports
from adacoder.source.importing.readable import readable
from adacoder.source.importing.standard_library import attributes_of, standard_import
from adacoder.source.importing.standard_names import BUILTINS, TWINS
from adacoder.source.scopes import bound, local_uses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from adacoder.domain import Target

_ATTRIBUTE_OF_MODULES = re.compile(r"__\w+__")


def undefined_names(text: str, within: Span | Sequence[Span]) -> tuple[str, ...]:
    """Return the undefined names that are used in the lines of `within` in the module `text`, in order of use.

    A name that is also undefined elsewhere is left out, because the module probably defines it dynamically. A name that
    is imported only for type checkers is undefined at run time.

    If AdaCoder's Python cannot parse the code in `within`, the result is empty.
    """
    return _undefined(text, (within,) if isinstance(within, Span) else tuple(within))


@lru_cache(maxsize=8)  # Several checks of a reply ask about the same code.
def _undefined(text: str, spans: tuple[Span, ...]) -> tuple[str, ...]:
    tree = readable(text, spans)
    if tree is None:
        return ()
    lines = Lines(text)
    ranges = [range(lines.line_at(span.start) + 1, lines.line_at(max(span.end - 1, span.start)) + 2) for span in spans]
    try:
        accused = _accused(tree)
        inside = dict.fromkeys(use.name for use in sorted(accused) if any(use.line in lines for lines in ranges))
    except RecursionError:  # pyflakes may recurse deeper than the parser.
        return ()
    elsewhere = {use.name for use in accused if not any(use.line in lines for lines in ranges)}
    return tuple(name for name in inside if name not in elsewhere and not _ATTRIBUTE_OF_MODULES.fullmatch(name))


class _Use(NamedTuple):
    line: int
    """The 1-based line."""
    column: int
    name: str


def _accused(tree: ast.Module) -> list[_Use]:
    """Return the uses of undefined names, which neither the module nor an enclosing function binds."""
    found = _checked(tree)
    for_typing = {name for node in tree.body for name in _imported_for_typing(node)}
    if for_typing:
        names = (node for node in _at_run_time(tree) if isinstance(node, ast.Name) and node.id in for_typing)
        found += [_Use(node.lineno, node.col_offset, node.id) for node in names]
    local = local_uses(tree) if found else frozenset()
    return [use for use in dict.fromkeys(found) if (use.line, use.column) not in local]


def _imported_for_typing(node: ast.stmt) -> set[str]:
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"), body=body, orelse=orelse):
            return bound(each for each in body if isinstance(each, ast.Import | ast.ImportFrom)) - bound(orelse)
    return set()


def _at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below `node`. Annotations are left out."""
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and field not in ("annotation", "returns"):
                yield child
                yield from _at_run_time(child)


def _checked(tree: ast.Module) -> list[_Use]:
    """Return the undefined names according to pyflakes. Names that the module binds anywhere are left out."""
    # This import is slow, and only the check of a reply needs it.
    from pyflakes.checker import Annotation, Checker, ModuleScope  # type: ignore[import-untyped]  # pyflakes has no types
    from pyflakes.messages import ImportStarUsage, UndefinedName  # type: ignore[import-untyped]  # pyflakes has no types

    checker = Checker(tree, builtins=BUILTINS, withDoctest=False)
    found: list[_Use] = []
    for message in checker.messages:
        if isinstance(message, UndefinedName | ImportStarUsage):
            name, *starred = map(str, message.message_args)
            if not (starred and may_come_from(name, starred[0].split(", "))):
                found.append(_Use(message.lineno, message.col, name))
    if not found:
        return []
    scopes = [scope for scope in checker.deadScopes if isinstance(scope, ModuleScope)]
    known = {name for scope in scopes for name, binding in scope.items() if not isinstance(binding, Annotation)}
    known |= {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    return [use for use in found if use.name not in known]


def is_in_the_table(name: str) -> bool:
    """Return whether `name` is a well-known name of the standard library, such as `sqrt`."""
    return standard_import(name) is not None


class ImportIndex:
    """Find the import of a name in the project, the standard library or installed packages.

    Files are read at the first look-up.

    Args:
        target: the function to write.
        workspace: the folder whose files are read.
        folders: the folders of the user's interpreter. Without them, installed packages are unknown.
        wishes: the user's patterns for private files, which are never read.
    """

    def __init__(
        self, target: Target, workspace: Path, folders: Sequence[Path] = (), wishes: Wishes = NO_WISHES
    ) -> None:
        self._project = ProjectImports(target, workspace, Access.around(target.module, workspace, wishes))
        self._installed = InstalledModules(folders)

    def import_for(self, name: str, used_in: str = "") -> str | None:
        """Return the statement that imports `name`; None if `name` is unknown or ambiguous.

        `used_in` is code that uses `name`. The project's own imports are searched first, because the project chose
        them.
        """
        standard = standard_import(name, used_in)
        own = self._project.import_of(name)
        if own is not None:
            statements = (f"import {name}", f"from {name} import {name}")
            return standard if name in TWINS and own.statement in statements else own.statement
        if standard is not None and self._is_certain(standard):
            return standard
        taken = attributes_of(name, used_in)
        found = self._installed.import_for(name, taken) or self._of_a_library(name)
        if found is not None:
            return found
        defined = self._project.definition_of(name)
        return None if defined is None else defined.statement

    def _is_certain(self, statement: str) -> bool:
        """Return whether `statement` can be used without a search of the installed packages.

        A search is needed only for a third-party module, and only if the installed packages are known.
        """
        module = statement.split()[1].partition(".")[0].rstrip(",")
        return module in sys.stdlib_module_names or not self._installed.is_known

    def _of_a_library(self, name: str) -> str | None:
        """Return the import of a class that exactly one library offers. Only libraries that the project uses count."""
        if not name[0].isupper():
            return None
        found = [module for module in sorted(self._project.libraries) if self._installed.offers(module, name)]
        return f"from {found[0]} import {name}" if len(found) == 1 else None
