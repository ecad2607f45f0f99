"""The functions around a position, found without reading the logical lines of the whole text.

A top-level definition ends everything above it. So only the lines from the last one above a position are read, up to
the next line at the margin. The result is the same as with `definitions` on the whole text.
"""

from __future__ import annotations

import re

from adacoder.pytext.definitions import Definition, definitions_in
from adacoder.pytext.lines import content_end
from adacoder.pytext.logical import STATEMENT_START, LogicalLine, logical_lines
from adacoder.pytext.strings import is_continued, long_strings

_AT_MARGIN = re.compile(r"^(?:@|(?:async[ \t]+)?def\b|class\b)", re.MULTILINE)


def functions_around(text: str, offset: int) -> list[Definition]:
    """Return the functions that the line at `offset` belongs to, outermost first.

    These are the functions of `definitions(text)` whose span covers the line.
    """
    line = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    found = definitions_in(text, _lines_around(text, offset), ())
    return [each for each in found if not each.is_class and each.span.start <= line <= each.span.end]


def starts_logical_line(text: str, offset: int) -> bool:
    """True if a logical line of `text` starts at `offset`."""
    return any(line.start == offset for line in _lines_around(text, offset))


def top_level_starts(text: str, end: int) -> list[int]:
    """Offsets before `end` of top-level definitions, or of their first decorators.

    A definition is left out unless its line certainly starts a logical line, whatever is above it.
    """
    strings = iter(long_strings(text, end))
    string = next(strings, None)
    found: list[int] = []
    is_decorated = False
    for match in _AT_MARGIN.finditer(text, 0, end):
        start = match.start()
        while string is not None and string.end <= start:
            string = next(strings, None)
        if string is not None and string.start < start:
            continue
        if not is_decorated and STATEMENT_START.match(text, start) and not is_continued(text, start):
            found.append(start)
        is_decorated = match[0] == "@"
    return found


def _lines_around(text: str, offset: int) -> list[LogicalLine]:
    """The logical lines from the last top-level definition on, until nothing that the line belongs to goes on."""
    end = content_end(text, offset)
    starts = top_level_starts(text, end)
    found: list[LogicalLine] = []
    for line in logical_lines(text, starts[-1] if starts else 0):
        if line.start > end and not line.width and not (found and text[found[-1].start] == "@"):
            break
        found.append(line)
    return found
