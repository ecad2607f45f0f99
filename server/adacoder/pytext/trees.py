"""Parse text with the Python that runs AdaCoder.

The user's Python may be newer or older. So if parsing fails, the text may still be valid, and the caller must read it
by its lines. Only this module calls Python's parser.
"""

from __future__ import annotations

import ast
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from symtable import SymbolTable

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""Exceptions of Python's parser for broken text, NUL characters and deep nesting."""
_LONGEST = 1_000_000
"""Maximum characters of a text to parse. Parsing blocks all other threads and cannot be interrupted."""
_MANY_DOTS = 500
_LONG_IMPORT = re.compile(rf"(?:\bimport|\bfrom|,)[\s\\.]*+\w++[\s\\]*+(?:\.[\s\\]*+\w++[\s\\]*+){{{_MANY_DOTS}}}")
"""Matches a very long dotted name in an import, because parsing time grows with the square of its length."""
_ONE_AT_A_TIME = threading.RLock()
"""Only one thread at a time may change Python's warning filters, because they are global."""


def parsed(text: str) -> ast.Module | None:
    """Return the syntax tree of `text`; None if AdaCoder's Python cannot parse it."""
    try:
        with _reading(text):
            try:
                return ast.parse(unmarked(text))
            except SystemError:  # Before Python 3.11.8, another thread can disturb the parser (gh-106905).
                return ast.parse(unmarked(text))
    except UNREADABLE:
        return None


@lru_cache(maxsize=64)  # All repair rules check the same text.
def error_line(text: str) -> int | None:
    """Return the 1-based line of the first syntax error in `text`; None without errors.

    AdaCoder's Python compiles the text and does not run it.
    """
    try:
        with _reading(text):
            compile(text, "<text>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error.lineno or 1
    except UNREADABLE:
        return 1
    return None


def symbols(text: str) -> SymbolTable | None:
    """Return the symbol table of the module `text`; None if AdaCoder's Python cannot parse it."""
    import symtable  # Only replies and examples need this module.

    try:
        with _reading(text):
            return symtable.symtable(unmarked(text), "<text>", "exec")
    except UNREADABLE:
        return None


def unmarked(text: str) -> str:
    """Replace a byte order mark by a form feed, so that offsets stay the same. Python ignores form feeds."""
    return "\f" + text[1:] if text.startswith("\ufeff") else text


@contextmanager
def _reading(text: str) -> Iterator[None]:
    """Suppress Python's warnings, for example about invalid escapes, while a text is parsed.

    Raises:
        ValueError: `text`, or a dotted name in it, is too long to parse quickly.
    """
    if len(text) > _LONGEST or (text.count(".") >= _MANY_DOTS and _LONG_IMPORT.search(text)):
        raise ValueError("this takes too long to read")
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
