"""The one place where a text is given to our own Python's parser.

What that cannot read need not be wrong: the user's Python may be newer, or older. So None never means a syntax error,
only that the text has to be read by its lines.
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
"""Exceptions of Python's parser: broken text, NUL characters, or too deep nesting."""
_LONGEST = 1_000_000
"""Characters of a text that is read: nothing stops the parser once it is at work, and all else waits for it."""
_MANY_DOTS = 500
_LONG_IMPORT = re.compile(rf"(?:\bimport|\bfrom|,)[\s\\.]*+\w++[\s\\]*+(?:\.[\s\\]*+\w++[\s\\]*+){{{_MANY_DOTS}}}")
"""A dotted name that is imported: for its every part Python's parser copies all the parts before it."""
_ONE_AT_A_TIME = threading.RLock()
"""Python's filters of warnings belong to the whole process."""


def parsed(text: str) -> ast.Module | None:
    """The syntax tree of `text`; None if our own Python cannot parse it."""
    try:
        with _reading(text):
            return ast.parse(unmarked(text))
    except UNREADABLE:
        return None


@lru_cache(maxsize=64)  # every rule of a repair asks about the same text
def error_line(text: str) -> int | None:
    """The 1-based line where our own Python stops understanding `text`; None if nowhere. Nothing is run."""
    try:
        with _reading(text):
            compile(text, "<text>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error.lineno or 1
    except UNREADABLE:
        return 1
    return None


def symbols(text: str) -> SymbolTable | None:
    """The names of `text`, a module, scope by scope; None if our own Python cannot parse it."""
    import symtable  # what needs it comes with a reply, or with examples

    try:
        with _reading(text):
            return symtable.symtable(unmarked(text), "<text>", "exec")
    except UNREADABLE:
        return None


def unmarked(text: str) -> str:
    """`text` with a byte order mark turned into a form feed: to Python white space, at the same offset."""
    return "\f" + text[1:] if text.startswith("\ufeff") else text


@contextmanager
def _reading(text: str) -> Iterator[None]:
    """Parse without Python's warnings, such as about an invalid escape, because the text is not ours.

    Raises:
        ValueError: `text`, or a dotted name in it, is too long for Python's parser to read quickly.
    """
    if len(text) > _LONGEST or (text.count(".") >= _MANY_DOTS and _LONG_IMPORT.search(text)):
        raise ValueError("this takes too long to read")
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
