"""The one place where a text is given to our own Python's parser.

What that cannot read need not be wrong: the user's Python may be newer, or older. So None never means a syntax error,
only that the text has to be read by its lines.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What Python raises for a text that it cannot read: broken, with NUL characters, or nested too deeply."""


def parsed(text: str) -> ast.Module | None:
    """The syntax tree of `text`; None if our own Python cannot parse it."""
    try:
        with unwarned():
            return ast.parse(unmarked(text))
    except UNREADABLE:
        return None


@lru_cache(maxsize=64)  # every rule of a repair asks about the same text
def error_line(text: str) -> int | None:
    """The 1-based line where our own Python stops understanding `text`; None if nowhere. Nothing is run."""
    try:
        with unwarned():
            compile(text, "<text>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error.lineno or 1
    except UNREADABLE:
        return 1
    return None


def unmarked(text: str) -> str:
    """`text` with a byte order mark turned into a form feed: to Python white space, at the same offset."""
    return "\f" + text[1:] if text.startswith("\ufeff") else text


@contextmanager
def unwarned() -> Iterator[None]:
    """Without Python's warnings about what it reads, such as an invalid escape: it is not our text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
