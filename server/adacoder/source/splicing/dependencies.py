"""Choose the imports and definitions that a function needs.

They are added at the top level of the module. If they would mask a name of the module there, they are placed inside the
function.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adacoder.pytext import dedent, parsed
from adacoder.source.body import prepended_in_functions
from adacoder.source.importing.exports import surely_exported
from adacoder.source.importing.standard_names import BUILTINS
from adacoder.source.names import (
    OWN,
    ImportedName,
    absolute,
    bindings,
    imported,
    names_at_run_time,
    names_in_annotations,
    statements_of,
    used_names,
    used_when_called,
)
from adacoder.source.scopes import DEFINITIONS, parameters
from adacoder.source.splicing.module_names import ModuleNames, module_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence, Set

    from adacoder.domain import Candidate, Target
    from adacoder.source.names import Bindings

_FUTURE = "__future__"
_ANNOTATIONS = ImportedName(_FUTURE, "annotations")
_QUOTED = re.compile(r"^(?=(?P<annotated>[^\n]*?(?:->|:|\bcast\()))(?P=annotated)[^\n]*['\"]", re.MULTILINE)
"""A line that may have a quoted annotation or type, such as `def f(x: "Name")`."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The imports and definitions to add together with a function."""

    futures: tuple[ImportedName, ...] = ()
    imports: tuple[ImportedName, ...] = ()
    definitions: tuple[str, ...] = ()
    """Statements for the top level of the module."""
    inside: tuple[str, ...] = ()
    """Statements for the beginning of the function's body."""


@dataclass(frozen=True, slots=True)
class _Needed:
    text: str
    bound: Bindings
    uses: frozenset[str]
    statements: Sequence[ast.stmt]
    """The syntax trees of `text`; empty if AdaCoder's Python cannot parse the text."""

    @classmethod
    def of(cls, text: str, target: Target, module: ModuleNames) -> _Needed:
        tree = parsed(text)
        statements = [] if tree is None else tree.body
        uses = _uses(text, statements, target, module, in_function=False)
        return cls(text, bindings(text, target.module), uses, statements)

    @property
    def binds(self) -> Set[str]:
        return self.bound.origins.keys()


def dependencies(target: Target, candidate: Candidate, function: str) -> Dependencies:
    """Choose the imports and definitions of `candidate` that the new body of the target needs.

    `function` is the source of the target with the new body, at column 0.
    """
    if not candidate.imports and not candidate.definitions:
        return Dependencies()
    module = module_names(target)
    statements = _statements_in(function)
    needed = _uses(function, statements, target, module, in_function=True)
    offered = [_Needed.of(text, target, module) for text in candidate.definitions]
    kept = _needed([each for each in offered if not _is_in_module(each, target, module)], needed)
    masking = _masking(kept, module)
    uses = needed.union(*(each.uses for each in kept))
    binds = frozenset[str]().union(*(each.binds for each in offered))
    imports = _offered(target, candidate, module)
    named = [name for name in imports if name.name != "*" and name.binds not in binds]
    chosen = [name for name in named if name.binds in uses and not _is_there(name, target, module)]
    unknown = uses - BUILTINS - module.bound.origins.keys() - module.elsewhere - binds - {n.binds for n in named}
    stars = [name for name in imports if name.name == "*"]
    for star in stars:
        if absolute(star.module, target.module) not in module.bound.stars:
            chosen += _narrowed(star, unknown, only=len(stars) == 1)
    inside = [name for name in chosen if _clashes(name, target, module)]
    used_inside = used_when_called(function).union(*(each.uses for each in masking)) if inside else frozenset[str]()
    return Dependencies(
        _futures(target, candidate, [*statements, *(node for each in kept for node in each.statements)], binds, module),
        tuple(name for name in chosen if name not in inside),
        tuple(
            prepended_in_functions(each.text, _statements(inside, each.uses)) for each in kept if each not in masking
        ),
        (*_statements(inside, used_inside), *(each.text for each in masking)),
    )


def _is_in_module(offered: _Needed, target: Target, module: ModuleNames) -> bool:
    """Return whether a definition is the target itself, or is already part of the module."""
    names = offered.binds & module.bound.origins.keys()
    return target.qualname in offered.binds or any(
        module.has_same(name, node) for name in names for node in offered.statements
    )


def _masking(kept: Sequence[_Needed], module: ModuleNames) -> list[_Needed]:
    """Return the definitions that would mask a name of the module or a builtin.

    A definition that uses one of these is returned, too, because both must be in the same function.
    """
    found: list[_Needed] = []
    while True:
        names = frozenset[str]().union(*(each.binds for each in found))
        more = [
            each
            for each in kept
            if any(module.takes(name) or name in BUILTINS for name in each.binds)
            or (each.uses | each.bound.changed) & names
        ]
        if len(more) == len(found):
            return found
        found = more


def _uses(
    text: str, statements: Sequence[ast.stmt], target: Target, module: ModuleNames, *, in_function: bool
) -> frozenset[str]:
    """Return the names that `text` uses, including names in quoted annotations.

    `statements` is the parsed text. If the module imports a name only for type checkers, only a use at run time counts.
    """
    found = used_names(text) | (names_in_annotations(statements) if _QUOTED.search(text) else frozenset())
    for_typing = found & module.bound.for_typing
    if not for_typing or not statements:
        return found
    is_lazy = _is_there(_ANNOTATIONS, target, module)
    running = {
        name for each in statements for name in names_at_run_time(each, is_lazy=is_lazy, in_function=in_function)
    }
    return found - (for_typing - running)


def _statements_in(function: str) -> list[ast.stmt]:
    """Return the statements in the body of a function; empty if AdaCoder's Python cannot parse the function."""
    tree = parsed(function)
    nodes = [] if tree is None else tree.body
    return [statement for node in nodes if isinstance(node, DEFINITIONS) for statement in node.body]


def _statements(names: Iterable[ImportedName], uses: frozenset[str]) -> tuple[str, ...]:
    return tuple(statements_of([name for name in names if name.binds in uses]))


def _needed(offered: Sequence[_Needed], needed: frozenset[str]) -> list[_Needed]:
    """Return the definitions that the function needs, directly or through other definitions."""
    kept: set[int] = set()
    while True:
        uses = needed.union(*(offered[index].uses for index in kept))
        binds = frozenset[str]().union(*(offered[index].binds for index in kept))
        more = {index for index, each in enumerate(offered) if each.binds & uses or each.bound.changed & binds}
        if more <= kept:
            return [offered[index] for index in sorted(kept)]
        kept |= more


def _offered(target: Target, candidate: Candidate, module: ModuleNames) -> list[ImportedName]:
    """Return the names that the candidate imports.

    Imports from `__future__` and from the module itself are left out.
    """
    names = [name for statement in candidate.imports for name in imported(dedent(statement))]
    names = [name for name in dict.fromkeys(names) if name.module != _FUTURE and not _is_own(name, target, module)]
    return list(_unhidden(names))[::-1]


def _unhidden(names: Sequence[ImportedName]) -> Iterator[ImportedName]:
    """Yield the imports that no later import replaces, beginning with the last import.

    `import a.b` does not replace `import a.c`, although both bind `a`.
    """
    later: set[tuple[str, bool]] = set()
    for name in reversed(names):
        is_whole = name.name is None and name.alias is None
        is_hidden = (name.binds, False) in later or (not is_whole and (name.binds, True) in later)
        if name.name == "*" or not is_hidden:
            yield name
        later.add((name.binds, is_whole))


def _is_own(name: ImportedName, target: Target, module: ModuleNames) -> bool:
    """Return whether an import loads the target's module, or binds the name of the target."""
    source = absolute(name.module, target.module)
    own = target.module.name
    if name.binds == target.qualname.partition(".")[0]:
        return True
    if name.name is None or name.name == "*":
        return source == own
    bound_here = OWN in module.bound.origins.get(name.name, ())
    if source.rpartition(".")[2] == own.rpartition(".")[2] and bound_here:
        return True
    return name.origin(target.module) == own or (source == own and not target.module.is_package)


def _is_there(name: ImportedName, target: Target, module: ModuleNames) -> bool:
    origin = name.origin(target.module)
    there = origin in module.bound.origins.get(name.binds, ())
    if name.binds == name.name and module.has_from_star(origin):
        return True
    if name.name is None and name.alias is None and "." in name.module:
        return there and any(f"{loaded}.".startswith(f"{name.module}.") for loaded in module.bound.modules)
    return there


def _clashes(name: ImportedName, target: Target, module: ModuleNames) -> bool:
    """Return whether an import at the top level could change the meaning of a name.

    This is the case if the module already uses the name, or if an `import *` may bind it, too.
    """
    if name.origin(target.module) in module.bound.origins.get(name.binds, ()):
        return False
    is_module = name.name is None and name.alias is None
    return module.takes(name.binds) or (
        not is_module and module.may_hide(name.binds, absolute(name.module, target.module))
    )


def _narrowed(star: ImportedName, unknown: frozenset[str], *, only: bool) -> list[ImportedName]:
    """Replace an `import *` by imports of those names in `unknown` that it provides.

    If its names are not known, and there is no other `import *`, it is assumed to provide all of `unknown`.
    """
    known = surely_exported(star.module)
    if known is None:
        known = unknown if only else frozenset()
    return [ImportedName(star.module, name) for name in sorted(unknown & known)]


def _futures(
    target: Target, candidate: Candidate, statements: Iterable[ast.stmt], binds: Set[str], module: ModuleNames
) -> tuple[ImportedName, ...]:
    """Return the candidate's `from __future__ import annotations` if an annotation in `statements` may need it.

    This import changes all annotations of the module, so it is added only if needed.
    """
    if _is_there(_ANNOTATIONS, target, module):
        return ()
    if not any(_ANNOTATIONS in imported(dedent(statement)) for statement in candidate.imports):
        return ()
    found = (annotation for statement in statements for annotation in _evaluated(statement))
    return (_ANNOTATIONS,) if any(_may_fail(annotation, binds) for annotation in found) else ()


def _evaluated(statement: ast.stmt) -> Iterator[ast.expr]:
    """Yield the annotations that Python may evaluate. Python never evaluates annotations of local variables."""
    for node in ast.walk(statement):
        match node:
            case ast.FunctionDef(args=args, returns=returns) | ast.AsyncFunctionDef(args=args, returns=returns):
                found = [*(each.annotation for each in parameters(args)), returns]
                yield from (annotation for annotation in found if annotation is not None)
            case ast.ClassDef(body=body):
                yield from (each.annotation for each in body if isinstance(each, ast.AnnAssign))


def _may_fail(annotation: ast.expr, binds: Set[str]) -> bool:
    """Return whether evaluating an annotation may fail.

    Old versions of Python cannot evaluate `int | None` or `list[int]`. Names in `binds` may be defined later.
    """
    return any(
        isinstance(node, ast.BinOp)
        or (isinstance(node, ast.Name) and node.id in binds)
        or (isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id[0].islower())
        for node in ast.walk(annotation)
    )
