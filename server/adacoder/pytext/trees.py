"""Parse text with the Python that runs AdaCoder. Only this module calls Python's parser.

The user's Python may be newer or older than AdaCoder's. So a result of None does not prove a syntax error. It only
means that the text must be read by its lines.
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
"""Exceptions of Python's parser. Their causes are broken text, NUL characters, and code that is nested too deeply."""
_LONGEST = 1_000_000
"""Maximum characters of a text that is parsed. The parser cannot be interrupted, and blocks everything else."""
_MANY_DOTS = 500
_LONG_IMPORT = re.compile(rf"(?:\bimport|\bfrom|,)[\s\\.]*+\w++[\s\\]*+(?:\.[\s\\]*+\w++[\s\\]*+){{{_MANY_DOTS}}}")
"""A very long dotted name in an import. For each part, Python's parser copies all earlier parts."""
_ONE_AT_A_TIME = threading.RLock()
"""A lock for Python's warning filters, because the whole process shares them."""


def parsed(text: str) -> ast.Module | None:
    """Return the syntax tree of `text`; None if AdaCoder's Python cannot parse it."""
    try:
        with _reading(text):
            try:
                return ast.parse(unmarked(text))
            except SystemError:  # before Python 3.11.8, a parser in another thread can disturb this one (gh-106905)
                return ast.parse(unmarked(text))
    except UNREADABLE:
        return None


@lru_cache(maxsize=64)  # all repair rules check the same text
def error_line(text: str) -> int | None:
    """Return the 1-based line of the first syntax error that AdaCoder's Python finds in `text`; None without errors.

    The text is not run.
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
    import symtable  # needed only once there is a reply or an example

    try:
        with _reading(text):
            return symtable.symtable(unmarked(text), "<text>", "exec")
    except UNREADABLE:
        return None


def unmarked(text: str) -> str:
    """Replace a byte order mark with a form feed, which is white space to Python. Offsets stay the same."""
    return "\f" + text[1:] if text.startswith("\ufeff") else text


@contextmanager
def _reading(text: str) -> Iterator[None]:
    """Suppress Python's warnings while the user's text is parsed. For example, the text may have invalid escapes.

    Raises:
        ValueError: `text`, or a dotted name in it, is too long to parse quickly.
    """
    if len(text) > _LONGEST or (text.count(".") >= _MANY_DOTS and _LONG_IMPORT.search(text)):
        raise ValueError("this takes too long to read")
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
