"""Read `__doctest_skip__` and `__doctest_requires__`, with which a module skips docstrings in doctestplus.

The module is not run. So only literals at its top level are read.
"""

from __future__ import annotations

import ast
import doctest
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache

from adacoder.domain import Target
from adacoder.pytext import parsed

_SKIP, _REQUIRES = "__doctest_skip__", "__doctest_requires__"


@dataclass(frozen=True, slots=True)
class Skips:
    """The docstrings of a module that doctestplus skips, as patterns of qualified names.

    The pattern `.` stands for the module's own docstring.
    """

    always: tuple[str, ...] = ()
    without: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Pairs of a pattern and the packages that the docstrings need. A package may include a version."""

    def on(self, target: Target) -> Target:
        """Return `target` with examples that are skipped, or that need packages, according to these patterns."""
        if any(_names(pattern, target) for pattern in self.always):
            return replace(target, examples=tuple(replace(each, flags=doctest.SKIP) for each in target.examples))
        needed = {name for pattern, names in self.without if _names(pattern, target) for name in names}
        if not needed:
            return target
        return replace(target, examples=tuple(replace(each, needs=each.needs | needed) for each in target.examples))


@lru_cache(maxsize=8)
def skips(text: str) -> Skips:
    """Read the skips of a module. Values that are not literals are ignored."""
    tree = parsed(text) if _SKIP in text or _REQUIRES in text else None
    if tree is None:
        return Skips()
    always: tuple[str, ...] = ()
    without: list[tuple[str, tuple[str, ...]]] = []
    for name, value in _assigned(tree):
        if name == _SKIP:
            always = _texts(value)
        elif isinstance(value, dict):
            without = [(pattern, _texts(names)) for keys, names in value.items() for pattern in _texts(keys)]
    return Skips(always, tuple(without))


def _assigned(tree: ast.Module) -> Iterator[tuple[str, object]]:
    for node in tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.expr() as value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name in (_SKIP, _REQUIRES):
                try:
                    yield name, ast.literal_eval(value)
                except (ValueError, TypeError, RecursionError):
                    continue


def _texts(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple | set) else [value]
    return tuple(each for each in values if isinstance(each, str))


def _names(pattern: str, target: Target) -> bool:
    name = "." if target.qualname == "__doc__" else target.qualname
    return pattern == "*" or fnmatchcase(name, pattern)
