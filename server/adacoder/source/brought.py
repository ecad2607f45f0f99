"""What a function needs of the imports and definitions that come along with it, and where each may go.

A name that the module binds itself, or that it uses in some other meaning, keeps its meaning: such an import
moves into the functions that need it, and such a definition is left out.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from adacoder.pytext import dedent
from adacoder.source.body import with_first_in_function
from adacoder.source.names import OWN, Imported, absolute, bindings, imported, parsed, used_names, without
from adacoder.source.standard_library import NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Set

    from adacoder.domain import Candidate, Target
    from adacoder.source.names import Bindings

_BUILTINS = frozenset(dir(builtins))
_FUTURE = "__future__"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Brought:
    """What comes along with a function, as statements at column 0."""

    futures: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    """Imports that go into the function's own body."""


@dataclass(frozen=True, slots=True)
class _Around:
    """What the names of a target's module mean without the target."""

    bound: Bindings
    elsewhere: frozenset[str]
    """Names used outside the target that the module does not bind: builtins, or what `import *` gives."""

    def taken(self, name: str) -> bool:
        """Whether a new binding of `name` in the module would change what it means there."""
        return name in self.bound.origins or name in self.elsewhere


@lru_cache(maxsize=8)
def _around(target: Target) -> _Around:
    bound = bindings(target.text, target.module)
    used = used_names(without(target.text, target.definition, target.indent)) - bound.origins.keys()
    return _Around(bound, used if bound.stars else used & _BUILTINS)


@dataclass(frozen=True, slots=True)
class _Definition:
    text: str
    bound: Bindings
    uses: frozenset[str]

    @property
    def binds(self) -> Set[str]:
        return self.bound.origins.keys()


def brought(target: Target, candidate: Candidate, function: str) -> Brought:
    """What of `candidate` comes along with `function`, the target with its new body, at column 0."""
    around = _around(target)
    needed = used_names(function)
    kept = _needed_definitions(target, candidate, needed, around)
    uses = needed.union(*(each.uses for each in kept))
    binds = frozenset[str]().union(*(each.binds for each in kept))
    offered = _offered(target, candidate, around)
    named = [name for name in offered if name.name != "*" and name.binds not in binds]
    chosen = [name for name in named if name.binds in uses and not _is_there(name, target, around)]
    unknown = uses - _BUILTINS - around.bound.origins.keys() - around.elsewhere - binds - {n.binds for n in named}
    for star in offered:
        if star.name == "*" and absolute(star.module, target.module) not in around.bound.stars:
            chosen += _narrowed(star, unknown)
    inside = [name for name in chosen if _clashes(name, target, around)]
    return Brought(
        _futures(target, candidate, function, kept, around),
        tuple(name.statement for name in chosen if name not in inside),
        tuple(with_first_in_function(each.text, _statements(inside, each.uses)) for each in kept),
        _statements(inside, needed),
    )


def _statements(names: Iterable[Imported], uses: frozenset[str]) -> tuple[str, ...]:
    return tuple(name.statement for name in names if name.binds in uses)


def _needed_definitions(
    target: Target, candidate: Candidate, needed: frozenset[str], around: _Around
) -> list[_Definition]:
    """The definitions, in their order, that the function uses, or that those use in turn."""
    offered = [_Definition(text, bindings(text, target.module), used_names(text)) for text in candidate.definitions]
    offered = [each for each in offered if not any(around.taken(name) for name in each.binds)]
    kept: set[int] = set()
    while True:
        uses = needed.union(*(offered[index].uses for index in kept))
        binds = frozenset[str]().union(*(offered[index].binds for index in kept))
        more = {index for index, each in enumerate(offered) if each.binds & uses or each.bound.changed & binds}
        if more <= kept:
            return [offered[index] for index in sorted(kept)]
        kept |= more


def _offered(target: Target, candidate: Candidate, around: _Around) -> list[Imported]:
    """What the candidate's imports bind, each once, without `__future__` and the module's own names."""
    names = [name for statement in candidate.imports for name in imported(dedent(statement))]
    return [name for name in dict.fromkeys(names) if name.module != _FUTURE and not _is_own(name, target, around)]


def _is_own(name: Imported, target: Target, around: _Around) -> bool:
    """Whether the module would import itself, or the target from where the candidate thinks it is."""
    source = absolute(name.module, target.module)
    own = target.module.name
    if name.binds == target.qualname.partition(".")[0]:
        return True
    if name.name is None or name.name == "*":
        return source == own
    bound_here = OWN in around.bound.origins.get(name.name, ())
    if source.rpartition(".")[2] == own.rpartition(".")[2] and bound_here:
        return True
    return name.origin(target.module) == own or (source == own and not target.module.is_package)


def _is_there(name: Imported, target: Target, around: _Around) -> bool:
    """Whether the module imports the very same already."""
    there = name.origin(target.module) in around.bound.origins.get(name.binds, ())
    if name.name is None and name.alias is None and "." in name.module:
        return there and any(f"{module}.".startswith(f"{name.module}.") for module in around.bound.modules)
    return there


def _clashes(name: Imported, target: Target, around: _Around) -> bool:
    """Whether importing the name at module level would change what it means there."""
    return around.taken(name.binds) and name.origin(target.module) not in around.bound.origins.get(name.binds, ())


def _narrowed(star: Imported, unknown: frozenset[str]) -> list[Imported]:
    """What an `import *` stands for: of a module that is known, the unknown names that it has; else itself,
    if names are still unknown."""
    if star.module in NAMES:
        return [Imported(star.module, name) for name in NAMES[star.module] if name in unknown]
    return [star] if unknown else []


def _futures(
    target: Target, candidate: Candidate, function: str, kept: Iterable[_Definition], around: _Around
) -> tuple[str, ...]:
    """`from __future__ import annotations` where annotations come along that may need it."""
    wanted = Imported(_FUTURE, "annotations")
    if _is_there(wanted, target, around):
        return ()
    if not any(wanted in imported(dedent(statement)) for statement in candidate.imports):
        return ()
    own = parsed(function)
    inner: list[ast.stmt] = (
        []
        if own is None
        else [statement for node in own.body if isinstance(node, _FUNCTIONS) for statement in node.body]
    )
    for definition in kept:
        tree = parsed(definition.text)
        inner += [] if tree is None else tree.body
    return (wanted.statement,) if any(_is_annotated(statement) for statement in inner) else ()


def _is_annotated(tree: ast.stmt) -> bool:
    return any(
        (isinstance(node, ast.arg) and node.annotation is not None)
        or (isinstance(node, _FUNCTIONS) and node.returns is not None)
        for node in ast.walk(tree)
    )
