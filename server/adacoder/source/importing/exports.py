"""List the names that `import *` binds, for common modules of the standard library."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from adacoder.source.importing.standard_names import NAMES, words

if TYPE_CHECKING:
    from collections.abc import Iterable

_MODULES = words(
    "bisect cmath collections copy dataclasses datetime decimal enum fractions functools heapq itertools json math"
    " operator os random re statistics string sys threading time typing"
)
_LEFT_OUT = {"asyncio": {"TaskGroup"}, "os": {"PathLike"}}
"""For each module, the names that its `__all__` lacks in some Python versions."""


def exported(module: str) -> frozenset[str] | None:
    """Return the names that `import *` from `module` binds in any Python version; None if unknown."""
    return _exports().get(module)


def surely_exported(module: str) -> frozenset[str] | None:
    """Return names that `import *` from `module` binds in every Python version; None if unknown.

    Some of these names may be missing from the result.
    """
    names = _exports().get(module, NAMES.get(module))
    return None if names is None else frozenset(names).difference(_LEFT_OUT.get(module, ()))


def may_come_from(name: str, modules: Iterable[str]) -> bool:
    """Return whether `import *` from any of `modules` may bind `name`.

    A module that is not in the table may bind any name.
    """
    return any(names is None or name in names for names in map(exported, modules))


@cache
def _exports() -> dict[str, frozenset[str]]:
    """Import common modules and list the names that they export. This is slow and rarely needed."""
    modules = map(import_module, sorted(_MODULES))
    return {
        module.__name__: frozenset(
            getattr(module, "__all__", [name for name in dir(module) if not name.startswith("_")])
        ).union(NAMES.get(module.__name__, ()))
        for module in modules
    }
