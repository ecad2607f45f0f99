"""Comparison of displayed values.

What a worker says is hostile. Only what is plainly a literal is read, and nothing that Python's parser could choke on:
of bounded length and depth, and without arithmetic.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Hashable

_LONGEST = 20_000
"""Maximum length of a text that is read."""
_DEEPEST = 50
"""Maximum nesting of brackets."""
_STRING = re.compile(r"""b?(?:"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|'[^'\\\n]*(?:\\.[^'\\\n]*)*'?)""")
"""A string, or the rest of the line where it is not closed: then nothing is searched twice."""
_ARITHMETIC = re.compile(r"[\w.)\]}]\s*[-+]|[-+]\s*[-+]|[*/%@~^&|<>=!]")
"""Operators in a literal without strings and exponents."""
_EXPONENT = re.compile(r"(?<=[\d.])[eE][-+]?(?=\d)")
_OPENS, _CLOSES = frozenset("([{"), frozenset(")]}")


def same_value(one: str, other: str) -> bool:
    """True if two texts are literals of the same value.

    Numbers are the same as `==` has it, so 15 is 15.0; but no number is True or False, and no list is a tuple. Nothing
    is rounded: who writes 3.14 may mean just that.
    """
    form = _form_of(one)
    return form is not None and form == _form_of(other)


def _form_of(written: str) -> Hashable | None:
    """Canonical form of the value of a literal; None if the text is none."""
    try:
        return _form(value_of(written))
    except (ValueError, TypeError):
        return None


def value_of(written: str) -> object:
    """The value of a literal.

    Raises:
        ValueError: it is none, or too long.
    """
    text = written.strip()
    if len(text) > _LONGEST or not _is_plain(text):
        raise ValueError("no plain literal")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            value: object = ast.literal_eval(text)
    except (TypeError, SyntaxError, MemoryError, RecursionError) as error:
        raise ValueError("no literal") from error
    return value


def _is_plain(text: str) -> bool:
    """True if `text`, if it is Python at all, is a literal without arithmetic or deep nesting."""
    bare = _EXPONENT.sub("", _STRING.sub("''", text))
    if _ARITHMETIC.search(bare):
        return False
    depth = deepest = 0
    for character in bare:
        depth += (character in _OPENS) - (character in _CLOSES)
        deepest = max(deepest, depth)
    return deepest <= _DEEPEST


def _form(value: object) -> Hashable:
    """Return equal objects for the same values only."""
    match value:
        case float() if math.isnan(value):
            return "nan"
        case bool() | str() | bytes() | None:
            return type(value), value
        case int() | float():
            return "number", value
        case list() | tuple():
            return type(value), tuple(map(_form, value))
        case set():
            return set, frozenset(map(_form, value))
        case dict():
            return dict, frozenset((_form(key), _form(each)) for key, each in value.items())
        case _:
            raise ValueError(f"{type(value)} is no literal's type")
