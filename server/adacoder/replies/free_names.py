"""Find the names that a piece of code uses but does not define."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from adacoder.pytext import normalize, parsed, symbols

if TYPE_CHECKING:
    from symtable import SymbolTable

_WORD = re.compile(r"[^\W\d]\w*")


def words(text: str) -> frozenset[str]:
    """Return all words in `text` that may be names, even in strings and comments."""
    return frozenset(_WORD.findall(text))


def free_names(text: str) -> frozenset[str]:
    """Return the names that the module `text` uses but does not bind.

    If AdaCoder's Python cannot parse `text`, return all words in it.
    """
    module = symbols(text)
    if module is None:
        return words(text)
    bound = {
        symbol.get_name()
        for symbol in module.get_symbols()
        if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
    }
    return frozenset(_used(module)) - bound


def _used(module: SymbolTable) -> Iterator[str]:
    waiting = [module]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        yield from (
            symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced() and symbol.is_global()
        )


def parameters(signature: str) -> list[str] | None:
    """Return the parameter names of a signature, with `*args` and `**kwargs` last; None if it cannot be parsed."""
    tree = parsed(f"{normalize(signature)} pass")
    function = tree.body[0] if tree else None
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    given = function.args
    stars = [each for each in (given.vararg, given.kwarg) if each is not None]
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs, *stars)]
