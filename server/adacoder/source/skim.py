"""List the functions of a text quickly, because editors request code lenses after every keystroke.

The text is split at top-level definitions, and the result for each part is cached. After a keystroke, usually only one
part is read again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from adacoder.pytext import definitions, line_number, long_strings
from adacoder.source.stubs import is_stub

_AT_MARGIN = re.compile(r"^(?:@|(?:async[ \t]+)?def\b|class\b)", re.MULTILINE)
_ABSTRACT = re.compile(r"@[ \t]*(?:\w+\.)*(?:overload|abstract\w+)\b")
"""Matches the decorators of functions that need no body, such as `@overload` and `@abstractmethod`."""
_PIECES = 4096
"""Maximum number of cached parts of texts."""


@dataclass(frozen=True, slots=True)
class Skimmed:
    """A function with a docstring that may become a target."""

    qualname: str
    line: int
    """The 0-based first line, which may be a decorator's line."""
    is_stub: bool
    """True if the function still has to be written. Abstract methods do not count."""
    has_examples: bool = False
    """True if the docstring has a `>>>` prompt."""


def skim(text: str) -> tuple[Skimmed, ...]:
    """Return the functions of `text` that can be targets, in order."""
    found: list[Skimmed] = []
    line = 0
    for start, end in pairwise([0, *_cuts(text), len(text)]):
        piece = text[start:end]
        found += (replace(each, line=line + each.line) for each in _read(piece))
        line += line_number(piece, len(piece))
    return tuple(found)


def _cuts(text: str) -> list[int]:
    """Return the offsets of top-level definitions, or of their first decorators."""
    strings = iter(long_strings(text, len(text)))
    string = next(strings, None)
    cuts: list[int] = []
    is_decorated = False
    for match in _AT_MARGIN.finditer(text):
        start = match.start()
        while string is not None and string.end <= start:
            string = next(strings, None)
        if string is not None and string.start < start:
            continue
        if not is_decorated:
            cuts.append(start)
        is_decorated = match[0] == "@"
    return cuts


@lru_cache(maxsize=_PIECES)
def _read(piece: str) -> tuple[Skimmed, ...]:
    return tuple(
        Skimmed(
            each.qualname,
            line_number(piece, each.span.start),
            is_stub(each) and not each.has_decorator(_ABSTRACT),
            ">>>" in each.docstring.of(piece),
        )
        for each in definitions(piece)
        if not each.is_class and not each.in_function and each.docstring is not None and each.header_line.colon
    )
