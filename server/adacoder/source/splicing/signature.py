"""How the parameters of a function that somebody else wrote are called, and taken, here."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from adacoder.pytext import parsed
from adacoder.source.scopes import DEFINITIONS, parameters

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_OWNERS = ("self", "cls")


@dataclass(frozen=True, slots=True)
class Fit:
    """What is to be done for the body of one function to stand in another."""

    names: Mapping[str, str] = field(default_factory=dict)
    """Their parameters that are called otherwise here."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Their parameters that there are none of here, with the expressions they are if nobody passes them."""
    same_calls: bool = True
    """Whether what calls theirs can call ours, keywords renamed."""
    passed: str = ""
    """The arguments by which ours would call theirs."""


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    by_position: bool
    default: str | None


def fit(signature: str, own: str, *, method: bool) -> Fit:
    """How the function of `signature` fits into that of `own`; both run from `def` to the colon.

    Positional parameters go by position where both have as many; what then remains goes by name, and what remains of
    that in order. A parameter that is there in none of these ways must have a default.
    """
    theirs, ours = arguments(signature), arguments(own)
    if theirs is None or ours is None:
        return Fit()
    pairs, left, missing = _paired(theirs, ours, method=method)
    names = {one.name: other.name for one, other in pairs}
    defaults = {each.name: each.default for each in left if each.default is not None}
    same_calls = not left and all(
        [
            *(each.default is not None for each in missing),
            *(other.by_position or not one.by_position for one, other in pairs),
        ]
    )
    loose = [each.name for each in missing if each.by_position] if theirs.vararg and not ours.vararg else []
    for one, other, default in (
        (theirs.vararg, ours.vararg, f"({', '.join(loose)}{',' if len(loose) == 1 else ''})"),
        (theirs.kwarg, ours.kwarg, "{}"),
    ):
        if one is not None and other is not None:
            names[one.arg] = other.arg
        elif one is not None:
            defaults[one.arg] = default
            same_calls = False
    changed = {old: new for old, new in names.items() if old != new}
    return Fit(changed, defaults, same_calls, _passed(theirs, names, loose))


def _passed(theirs: ast.arguments, names: Mapping[str, str], loose: Sequence[str]) -> str:
    """The arguments of a call of theirs: `names` of theirs with what they are here, and what only `*` takes."""
    passed: list[str] = list(loose)
    gap = False
    for arg in (*theirs.posonlyargs, *theirs.args):
        if arg.arg not in names:
            gap = True
        else:
            passed.append(f"{arg.arg}={names[arg.arg]}" if gap else names[arg.arg])
    if theirs.vararg is not None and theirs.vararg.arg in names:
        passed.append(f"*{names[theirs.vararg.arg]}")
    passed += [f"{arg.arg}={names[arg.arg]}" for arg in theirs.kwonlyargs if arg.arg in names]
    if theirs.kwarg is not None and theirs.kwarg.arg in names:
        passed.append(f"**{names[theirs.kwarg.arg]}")
    return ", ".join(passed)


def only_in(own: str, signature: str) -> set[str]:
    """The names of the parameters that `own` has and `signature` has not; both are headers as for `fit`."""
    ours, theirs = arguments(own), arguments(signature)
    if ours is None or theirs is None:
        return set()
    return {each.arg for each in parameters(ours)} - {each.arg for each in parameters(theirs)}


@lru_cache(maxsize=32)
def arguments(signature: str) -> ast.arguments | None:
    """The parameters of a header that ends with its colon; None where our own Python cannot read it, or would not take
    it: one name twice."""
    tree = parsed(f"{signature} pass")
    if tree is None or len(tree.body) != 1:
        return None
    node = tree.body[0]
    if not isinstance(node, DEFINITIONS):
        return None
    names = [arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)]
    return node.args if len(names) == len(set(names)) else None


def _paired(
    theirs: ast.arguments, ours: ast.arguments, *, method: bool
) -> tuple[list[tuple[_Parameter, _Parameter]], list[_Parameter], list[_Parameter]]:
    """Which of their parameters are which of ours, and what remains of both."""
    left, missing = _parameters(theirs), _parameters(ours)
    pairs: list[tuple[_Parameter, _Parameter]] = []

    def pair(found: Iterable[tuple[_Parameter, _Parameter]]) -> None:
        for one, other in list(found):
            pairs.append((one, other))
            left.remove(one)
            missing.remove(other)

    by_position = [[each for each in side if each.by_position] for side in (left, missing)]
    if len(by_position[0]) == len(by_position[1]):
        pair(zip(*by_position, strict=True))
    pair((one, other) for one in left for other in missing if one.name == other.name)
    # A method may have lost its first parameter, and a function may have been written as a method.
    spare = (missing if method else left) if len(left) != len(missing) else []
    lost = spare[:1] if spare and spare[0].name in _OWNERS else []
    pair(zip(*([each for each in side if each not in lost] for side in (left, missing)), strict=False))
    return pairs, left, missing


def _parameters(found: ast.arguments) -> list[_Parameter]:
    positional = [*found.posonlyargs, *found.args]
    without = len(positional) - len(found.defaults)
    defaults: list[ast.expr | None] = [*[None] * without, *found.defaults, *found.kw_defaults]
    return [
        _Parameter(arg.arg, index < len(positional), None if default is None else ast.unparse(default))
        for index, (arg, default) in enumerate(zip([*positional, *found.kwonlyargs], defaults, strict=True))
    ]
