"""Match the parameters of a candidate's function with the parameters of the target."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from adacoder.pytext import parsed
from adacoder.source.scopes import DEFINITIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_OWNERS = ("self", "cls")


@dataclass(frozen=True, slots=True)
class Fit:
    """Changes that make the candidate's body work with the target's parameters."""

    names: Mapping[str, str] = field(default_factory=dict)
    """Names of the candidate's parameters, mapped to the target's names. Equal names are left out."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Parameters that only the candidate has, mapped to the source of their default values."""


@dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    by_position: bool
    default: str | None


def fit(signature: str, own: str, *, method: bool) -> Fit:
    """Return the changes that adapt a body for the header `signature` to the header `own`.

    Each header begins with `def` and ends with the colon. Positional parameters are matched by position if both headers
    have equally many. Other parameters are matched by name, then in order.
    """
    theirs, ours = arguments(signature), arguments(own)
    if theirs is None or ours is None:
        return Fit()
    pairs, left, missing = _paired(theirs, ours, method=method)
    names = {one.name: other.name for one, other in pairs}
    defaults = {each.name: each.default for each in left if each.default is not None}
    loose = [each.name for each in missing if each.by_position] if theirs.vararg and not ours.vararg else []
    for one, other, default in (
        (theirs.vararg, ours.vararg, f"({', '.join(loose)}{',' if len(loose) == 1 else ''})"),
        (theirs.kwarg, ours.kwarg, "{}"),
    ):
        if one is not None and other is not None:
            names[one.arg] = other.arg
        elif one is not None:
            defaults[one.arg] = default
    changed = {old: new for old, new in names.items() if old != new}
    return Fit(changed, defaults)


@lru_cache(maxsize=32)
def arguments(signature: str) -> ast.arguments | None:
    """Parse a header from `def` to the colon, and return its parameters.

    Return None if the header is invalid or repeats a parameter.
    """
    tree = parsed(f"{signature} pass")
    if tree is None or len(tree.body) != 1:
        return None
    node = tree.body[0]
    if not isinstance(node, DEFINITIONS):
        return None
    names = [arg.arg for arg in ast.walk(node.args) if isinstance(arg, ast.arg)]
    return node.args if len(names) == len(set(names)) else None


def same_parameters(one: str, other: str) -> bool:
    """Return whether two headers have parameters of the same names and kinds."""
    return _kinds(one) == _kinds(other)


def _kinds(signature: str) -> object:
    parsed_arguments = arguments(signature)
    if parsed_arguments is None:
        return "".join(signature.split())
    each = parsed_arguments
    lists = (each.posonlyargs, each.args, each.kwonlyargs, [each.vararg], [each.kwarg])
    return [[parameter and parameter.arg for parameter in one] for one in lists]


def _paired(
    theirs: ast.arguments, ours: ast.arguments, *, method: bool
) -> tuple[list[tuple[_Parameter, _Parameter]], list[_Parameter], list[_Parameter]]:
    """Pair the candidate's parameters `theirs` with the target's parameters `ours`.

    Return the pairs, the unpaired candidate's parameters, and the unpaired target's parameters.
    """
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
    # A model may write a method without `self`, or a function with `self`. Then `self` has no partner.
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
