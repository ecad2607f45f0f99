"""Select the decorators in a reply that may be inserted with the function."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adacoder.pytext import definitions, logical_lines, normalize

if TYPE_CHECKING:
    from adacoder.domain import Target

_NAME = re.compile(r"@[ \t]*(?P<name>[\w.]+)")
_CACHES = frozenset({"cache", "lru_cache"})
_KEPT = _CACHES | {"contextmanager", "asynccontextmanager", "njit", "jit", "singledispatch"}
"""Decorators that the body may need in order to work. Other decorators usually belong to a class or a framework."""
_MUTABLE = re.compile(r"->[ \t]*['\"]?(?:typing\.)?(?:list|dict|set|bytearray|List|Dict|Set|DefaultDict|Counter)\b")
_YIELDS = re.compile(r"^[ \t]*(?:.*=[ \t]*)?(?:\([ \t]*)?yield\b", re.MULTILINE)


def decorators_of(function: str) -> list[str]:
    """Return the decorators of the first function in a text."""
    found = definitions(function)[:1]
    if not found:
        return []
    text = function[: found[0].header.start]
    return [text[line.start : line.code_end] for line in logical_lines(text) if text[line.start] == "@"]


def new_decorators(function: str, target: Target) -> list[str]:
    """Return the decorators that `function` has and the target lacks."""
    own = "".join(normalize(target.source[: target.header.start - target.definition.start]).split())
    return [each for each in decorators_of(function) if "".join(each.split()) not in own]


def may_be_kept(decorator: str, brought: frozenset[str]) -> bool:
    """Return whether a decorator may be inserted: it is in `_KEPT`, or the reply defines it.

    `brought` are the names that the reply defines.
    """
    name = _name(decorator)
    return name.rpartition(".")[2] in _KEPT or name.partition(".")[0] in brought


def changes_results(decorator: str, function: str, target: Target) -> bool:
    """Return whether a decorator is a cache that may change results.

    With such a cache, several calls return the same list or iterator.
    """
    is_cache = _name(decorator).rpartition(".")[2] in _CACHES
    return is_cache and (_MUTABLE.search(target.signature) or _YIELDS.search(function)) is not None


def _name(decorator: str) -> str:
    found = _NAME.match(decorator)
    return found["name"] if found else ""
