"""Find the import of a name from the standard library."""

from __future__ import annotations

import ast
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from adacoder.pytext import parsed
from adacoder.source.importing.standard_names import (
    ALIASES,
    MODULE_OF,
    OF_DATETIME,
    SUBMODULES,
    TWINS,
    WITH_ATTRIBUTES,
    WITH_EFFECT,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEEPEST = 8
"""Maximum number of attributes in a chain such as `a.b.c`."""


def standard_import(name: str, used_in: str = "") -> str | None:
    """Return the likely import of `name` from the standard library; None if there is none.

    `used_in` is code that uses `name`. Without such code, the most common meaning is assumed.
    """
    taken = attributes_of(name, used_in)
    if name in TWINS and taken is not None:
        return _twin(name, taken)
    if name in MODULE_OF:
        if taken and name[0].islower() and name not in WITH_ATTRIBUTES:
            return None  # Code rarely uses attributes of functions, so the name is probably a variable.
        return f"from {MODULE_OF[name]} import {name}"
    if taken == frozenset() or name in WITH_EFFECT or name.startswith("_"):
        return None  # Code rarely uses a module without attributes, so the name is probably a variable.
    if name in ALIASES:
        return ALIASES[name]
    if name not in sys.stdlib_module_names:
        return None
    needed = [module for module in SUBMODULES if module.removeprefix(f"{name}.") in (taken or ())]
    return f"import {', '.join(needed or [name])}"


def _twin(name: str, taken: frozenset[str]) -> str:
    """Import the module `name` or its member of the same name, whichever has the attributes in `taken`.

    For example, `datetime.date.today()` needs the module, and `datetime.now()` needs the class.
    """
    is_module = not taken <= OF_DATETIME if name == "datetime" else bool(taken)
    return f"import {name}" if is_module else f"from {name} import {name}"


def attributes_of(name: str, code: str) -> frozenset[str] | None:
    """Return the dotted attributes of `name` in `code`; None if `code` does not use `name` or cannot be parsed."""
    return _attributes(code).get(name)


@lru_cache(maxsize=1)  # Callers look up several names in the same code.
def _attributes(code: str) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    tree = parsed(code)
    for node in () if tree is None else ast.walk(tree):
        path: list[str] = []
        base: ast.AST = node
        while isinstance(base, ast.Attribute) and len(path) < _DEEPEST:
            path.insert(0, base.attr)
            base = base.value
        if isinstance(base, ast.Name):
            found.setdefault(base.id, set()).update([".".join(path)] if path else [])
    return {name: frozenset(paths) for name, paths in found.items()}
