"""Which names are undefined, and where a name comes from in this workspace.

Nothing of the workspace is executed: its files are read as text. The only file that imports pyflakes.
"""

from __future__ import annotations

import ast
import cmath
import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from adacoder.domain import Span
from adacoder.privacy.access import Access
from adacoder.privacy.names import NO_WISHES, Wishes
from adacoder.pytext import Lines
from adacoder.source.importing.exports import may_come_from
from adacoder.source.importing.habits import Habits
from adacoder.source.importing.installed import Installed
from adacoder.source.importing.readable import readable
from adacoder.source.importing.standard_library import meanings, standard_import
from adacoder.source.importing.standard_names import BUILTINS
from adacoder.source.importing.unseen import at_run_time, guarded_names, local_uses, may_bind_more
from adacoder.source.importing.usage import usage_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from adacoder.domain import Target
    from adacoder.source.importing.usage import Usage

_CMATH = re.compile(r"^[ \t\f]*(?:import|from)[ \t]+cmath\b", re.MULTILINE)
_MATH = re.compile(r"^[ \t\f]*(?:import|from)[ \t]+math\b", re.MULTILINE)
_ATTRIBUTE_OF_MODULES = re.compile(r"__\w+__")


def undefined_names(text: str, within: Span | Sequence[Span]) -> tuple[str, ...]:
    """The names that nothing defines, of those used in the lines of `within` in the module `text`; in order of use.

    A name that the module uses elsewhere too without defining it evidently comes from somewhere, and is left out; so
    are names like `__file__`, builtins of any Python, and all names where the module binds some that its text does not
    show. What only type checkers import is undefined where it is needed at run time. Empty where our own Python cannot
    parse what is within: then the user's decides.
    """
    return _undefined(text, (within,) if isinstance(within, Span) else tuple(within))


@lru_cache(maxsize=8)  # the rules of a repair begin with what was evaluated, and what they end with is evaluated
def _undefined(text: str, spans: tuple[Span, ...]) -> tuple[str, ...]:
    tree = readable(text, spans)
    if tree is None:
        return ()
    lines = Lines(text)
    ranges = [range(lines.line_at(span.start) + 1, lines.line_at(max(span.end - 1, span.start)) + 2) for span in spans]
    try:
        accused = _accused(tree)
        inside = dict.fromkeys(use.name for use in sorted(accused) if any(use.line in lines for lines in ranges))
        if not inside or may_bind_more(tree):
            return ()
    except RecursionError:  # pyflakes goes deeper into a tree than the parser did
        return ()
    elsewhere = {use.name for use in accused if not any(use.line in lines for lines in ranges)}
    known = elsewhere | guarded_names(tree)
    return tuple(name for name in inside if name not in known and not _ATTRIBUTE_OF_MODULES.fullmatch(name))


class _Use(NamedTuple):
    line: int
    """1-based."""
    column: int
    name: str


def _accused(tree: ast.Module) -> list[_Use]:
    """The names that are used though neither their module nor a function around them binds them."""
    found = _checked(tree)
    running = at_run_time(tree)
    if running is not None:
        # What stands in a string, as in `cast("Order", it)`, is read by type checkers alone.
        names = {(node.lineno, node.col_offset) for node in ast.walk(running) if isinstance(node, ast.Name)}
        found += [use for use in _checked(running) if (use.line, use.column) in names]
    local = local_uses(tree) if found else frozenset()
    return [use for use in dict.fromkeys(found) if (use.line, use.column) not in local]


def _checked(tree: ast.Module) -> list[_Use]:
    """What pyflakes finds undefined in `tree`, and what the module does not bind elsewhere, be it later."""
    # Imported here because it is needed only once there is a reply.
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
    bound = {name for scope in scopes for name, binding in scope.items() if not isinstance(binding, Annotation)}
    bound |= {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    return [use for use in found if use.name not in bound]


class ImportIndex:
    """How names are imported: in the target's module, in the project's other files, and by custom.

    Nothing is read before a name is looked for. `folders` are those of the user's interpreter; without them nothing is
    known of what is installed, and little that is not of the standard library is imported. `wishes` say what of the
    workspace is private.
    """

    def __init__(
        self, target: Target, workspace: Path, folders: Sequence[Path] = (), wishes: Wishes = NO_WISHES
    ) -> None:
        self._target = target
        self._habits = Habits(target, workspace, Access.around(target.module, workspace, wishes))
        self._installed = Installed(folders)

    def import_for(self, name: str, used_in: str = "") -> str | None:
        """The statement that imports `name` as the code `used_in` uses it: as the user's own files import it, else from
        the standard library, from what is installed, or from where the project defines it.

        None where nobody has it, or where it could come from more than one place.
        """
        meant = standard_import(name, used_in)
        habit = self._habits.import_of(name)
        if habit is not None:
            return self._by_habit(habit.statement, name, meant)
        if meant is not None and self._is_certain(meant):
            return self._in_company(meant, name)
        usage = usage_of(name, used_in) if used_in else None
        found = self._installed.import_for(name, usage) or self._of_a_library(name, usage)
        if found is not None:
            return found
        defined = self._habits.definition_of(name, usage)
        return None if defined is None else defined.statement

    def _by_habit(self, statement: str, name: str, meant: str | None) -> str | None:
        """`statement`, which the files import `name` with, unless the code uses it as something else: as a variable, or
        as what a module has under its own name."""
        is_known = statement == standard_import(name) or (meant is not None and statement in meanings(name))
        return meant if is_known else statement

    def _is_certain(self, statement: str) -> bool:
        """Whether a statement's module is of the standard library, or nothing is known of what is installed."""
        module = statement.split()[1].partition(".")[0].rstrip(",")
        return module in sys.stdlib_module_names or not self._installed.is_known

    def _in_company(self, statement: str, name: str) -> str:
        """`statement`; but what `math` and `cmath` both have comes from `cmath` where the module uses that alone."""
        text = self._target.text
        if statement == f"from math import {name}" and name in dir(cmath) and _CMATH.search(text):
            return statement if _MATH.search(text) else f"from cmath import {name}"
        return statement

    def _of_a_library(self, name: str, usage: Usage | None) -> str | None:
        """A class of the one installed library, of those that the project uses, that has it."""
        if usage is None or not name[0].isupper() or usage.is_computed_with:
            return None
        found = [module for module in sorted(self._habits.libraries) if self._installed.offers(module, name)]
        return f"from {found[0]} import {name}" if len(found) == 1 else None
