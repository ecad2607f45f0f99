"""The functions of a text at a glance: what stands above them in an editor is asked for after every keystroke.

A text is read in pieces, each a definition at the margin and what follows it, and a piece that has been read before is
not read again. So what a keystroke costs is one piece and the search for where pieces begin.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from adacoder.pytext import Definition, definitions, line_number, long_strings
from adacoder.source.stubs import is_stub

_AT_MARGIN = re.compile(r"^(?:@|(?:async[ \t]+)?def\b|class\b)", re.MULTILINE)
_ABSTRACT = re.compile(r"@[ \t]*(?:\w+\.)*(?:overload|abstract\w+)\b")
"""Decorators of what is never to be written here."""
_PIECES = 4096
"""Pieces that are remembered."""


@dataclass(frozen=True, slots=True)
class Skimmed:
    """A function with a docstring, within reach of examples."""

    qualname: str
    line: int
    """First line, decorators included, 0-based."""
    is_stub: bool
    """True if it is yet to be written; not so where it is abstract."""


def skim(text: str) -> tuple[Skimmed, ...]:
    """The functions of `text` that can be targets, in order."""
    found: list[Skimmed] = []
    line = 0
    for start, end in pairwise([0, *_cuts(text), len(text)]):
        piece = text[start:end]
        found += (replace(each, line=line + each.line) for each in _read(piece))
        line += line_number(piece, len(piece))
    return tuple(found)


def _cuts(text: str) -> list[int]:
    """Where definitions at the margin begin, with their decorators."""
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
        Skimmed(each.qualname, line_number(piece, each.span.start), is_stub(each) and not _is_abstract(each))
        for each in definitions(piece)
        if not each.is_class and not each.in_function and each.docstring is not None and each.header_line.colon
    )


def _is_abstract(definition: Definition) -> bool:
    decorators = definition.lines[: definition.header_index]
    return any(_ABSTRACT.match(definition.text, line.start) for line in decorators)
