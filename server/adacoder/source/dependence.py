"""Order unwritten functions so that each follows the functions that it will probably call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adacoder.source.remarks import remarks
from adacoder.source.stubs import documented_stubs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from adacoder.domain import Target

_WORD = re.compile(r"\w+")
_NAMED = re.compile(r"`(?:\w+\.)*(\w+)(?:\([^`]*\))?`|\b(\w+)\(")
"""A function named in prose: in backticks, or followed by parentheses."""


def by_dependence(targets: Sequence[Target]) -> list[Target]:
    """Sort `targets` so that each follows the targets that it mentions.

    Code, docstrings and comments are searched for the names. Otherwise, the order stays the same. A cycle is broken at
    its first function.
    """
    names, called = [_names(each) for each in targets], [_called(each) for each in targets]
    needed = [{at for at, name in enumerate(called) if name in names[own] and at != own} for own in range(len(targets))]
    ordered: dict[int, Target] = {}
    while len(ordered) < len(targets):
        left = [index for index in range(len(targets)) if index not in ordered]
        chosen = next((index for index in left if needed[index] <= ordered.keys()), left[0])
        ordered[chosen] = targets[chosen]
    return list(ordered.values())


def stubs_used(target: Target, code: str) -> list[str]:
    """Return the names of the other unwritten functions in the module of `target` that `code` mentions."""
    words = {*_words([code])}
    others = (each for each in documented_stubs(target.text) if each.qualname != target.qualname)
    return [each.name for each in others if each.name in words]


def _called(target: Target) -> str:
    """Return the name by which other code uses `target`: for a special method such as `__add__`, its class."""
    owner = target.qualname.rpartition(".")[0].rpartition(".")[2]
    is_special = target.name.startswith("__") and target.name.endswith("__")
    return owner if owner and is_special else target.name


def _names(target: Target) -> set[str]:
    head = target.text[target.definition.start : target.header.end]
    code = [head, *(example.source for example in (*target.examples, *target.of_class))]
    prose = _NAMED.findall("\n".join([target.docstring, *remarks(target)]))
    return {*_words(code), *(name for names in prose for name in names if name)} - {target.name}


def _words(texts: Iterable[str]) -> Iterable[str]:
    return (word for text in texts for word in _WORD.findall(text))
