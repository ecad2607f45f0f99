"""Find the functions around a position without reading the whole text.

The search goes up from the position, line by line. Outside triple-quoted strings, a line with a statement keyword such
as `def` certainly starts a logical line. For other lines, the text below the nearest such line is read. The result is
the same as from `definitions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice, takewhile

from adacoder.pytext.definitions import DEFINITION, Definition, define, definitions_in
from adacoder.pytext.lines import content_end, indent_width
from adacoder.pytext.logical import STATEMENT_START, LogicalLine, logical_lines
from adacoder.pytext.strings import is_continued, long_strings

_WHITE = re.compile(r"[ \t\f]*")
_BEYOND = 1 << 30
"""A column to the right of the end of every line."""


def functions_around(text: str, offset: int) -> list[Definition]:
    """Return the functions around the line at `offset`, outermost first.

    The result is the same as from `definitions`, but the body of a class has only its first line.
    """
    above = _Above(text, offset)
    parents: tuple[Definition, ...] = ()
    for start in reversed(list(above.headers())):
        definition = define(text, _head(text, start), 0, parents)
        if not definition.is_class:
            found = definitions_in(text, above.lines_of(start), parents)
            return [each for each in found if not each.is_class and above.is_in(each)]
        parents = (*parents, definition)
    return []


def starts_logical_line(text: str, offset: int) -> bool:
    """Return whether a logical line of `text` starts at `offset`."""
    return _Above(text, offset).is_start(offset)


def _head(text: str, header_start: int) -> list[LogicalLine]:
    """Return the logical lines of a definition's header and of the first statement in its body."""
    header, *following = islice(logical_lines(text, header_start), 2)
    return [header, *(line for line in following if line.width > header.width)]


class _Above:
    """A line of a text, called the current line, and all lines above it."""

    def __init__(self, text: str, offset: int) -> None:
        self._text = text
        self._has_returns = "\r" in text
        self._has_form_feeds = "\f" in text
        self._line = self._line_start(offset)
        self._line_end = content_end(text, offset)
        self._strings = long_strings(text, self._line_end)

    def is_in(self, definition: Definition) -> bool:
        """Return whether `definition` contains the current line."""
        return definition.span.start <= self._line <= definition.span.end

    def is_start(self, offset: int) -> bool:
        """Return whether a logical line starts at `offset`. The offset must be on the current line."""
        is_outside = next(self._upward(self._line)) == self._line
        return is_outside and self._content(self._line) == offset and self._is_logical(self._line)

    def headers(self) -> Iterator[int]:
        """Yield the starts of the headers around the current line, innermost first.

        The search goes up to lines with ever less indentation. If such a line may be part of a longer statement, the
        bodies above it are read to be sure.
        """
        text = self._text
        bound = lowest = _BEYOND
        lowest_start = self._line
        deep = ""  # Lines with this prefix are indented too far to be a header.
        if decorated := self._decorated():
            yield _start(decorated)
            bound = lowest = decorated.width
        for start in self._upward(self._line):
            if (deep and text.startswith(deep, start)) or (content := self._content(start)) is None:
                continue
            width = indent_width(text[start:content])
            if width >= bound:
                continue
            is_header = DEFINITION.match(text, content) is not None
            if self._is_logical(start) if is_header else self._is_certain(start):
                if is_header and (width < lowest or self._is_open_below(start, width, lowest_start)):
                    yield start
                if not width:
                    return
                bound = width
                deep = "" if self._has_form_feeds else " " * bound
            if width <= lowest:
                lowest, lowest_start = width, start

    def lines_of(self, header_start: int) -> list[LogicalLine]:
        """Return the logical lines of a definition's decorators, header and body."""
        width = next(logical_lines(self._text, header_start)).width
        lines = logical_lines(self._text, self._above_decorators(header_start))
        own: list[LogicalLine] = []
        for line in lines:
            if _start(line) >= header_start:
                return [*own, line, *takewhile(lambda each: each.width > width, lines)]
            if self._text[line.start] != "@" or line.width != width:
                own = []
            else:
                own.append(line)
        return own

    def _upward(self, start: int) -> Iterator[int]:
        """Yield the starts of the lines from `start` upward, except those inside triple-quoted strings."""
        text, strings = self._text, reversed(self._strings)
        string = next(strings, None)
        while True:
            while string and start <= string.start:
                string = next(strings, None)
            if string and start < string.end:
                start = self._line_start(string.start)
                continue
            yield start
            if not start:
                return
            is_pair = self._has_returns and text.startswith("\r\n", start - 2)
            start = self._line_start(start - 1 - is_pair)

    def _line_start(self, offset: int) -> int:
        newline = self._text.rfind("\n", 0, offset)
        return (max(newline, self._text.rfind("\r", 0, offset)) if self._has_returns else newline) + 1

    def _content(self, start: int) -> int | None:
        """Return the offset of a line's first character after the indentation; None for a blank line or a comment."""
        match = _WHITE.match(self._text, start)
        content = match.end() if match else start
        return None if self._text[content : content + 1] in ("", "\n", "\r", "#") else content

    def _is_certain(self, start: int) -> bool:
        """Return True if a logical line certainly starts at `start`, and False if this is uncertain.

        The offset `start` must be outside any string.
        """
        if not start:
            return True
        return STATEMENT_START.match(self._text, start) is not None and not is_continued(self._text, start)

    def _is_logical(self, start: int) -> bool:
        if self._is_certain(start):
            return True
        above = logical_lines(self._text, self._certain(start), start)
        return all(line.end < start for line in above)

    def _certain(self, start: int) -> int:
        """Return the start of the nearest line, at or above `start`, that certainly starts a logical line."""
        return next(filter(self._is_certain, self._upward(start)), 0)

    def _is_open_below(self, header_start: int, width: int, doubtful: int) -> bool:
        """Return whether the body of a definition continues down to the current line.

        Args:
            header_start: the start of the definition's header.
            width: the column of this header.
            doubtful: the start of a line that ends the body if the line starts a statement.
        """
        if self._is_logical(doubtful):
            return False
        body = islice(logical_lines(self._text, header_start, self._line_end), 1, None)
        return all(line.width > width for line in body)

    def _decorated(self) -> LogicalLine | None:
        """Return the header below the decorator in the current line; None if the line is not part of a decorator."""
        begin, has_decorator = self._line, False
        for begin in self._upward(self._line):
            has_decorator |= self._is_decorator(begin)
            if self._is_certain(begin):
                break
        if not has_decorator:
            return None
        decorator: LogicalLine | None = None
        for line in logical_lines(self._text, begin):
            is_decorator = self._text[line.start] == "@"
            if _start(line) <= self._line:
                decorator = line if is_decorator else None
            elif decorator is None or line.width != decorator.width:
                return None
            elif not is_decorator:
                return line if DEFINITION.match(self._text, line.start) else None
        return None

    def _above_decorators(self, header_start: int) -> int:
        """Return the offset of a line above the decorators of a header. Without decorators, return `header_start`."""
        above, has_decorator = header_start, False
        for above in islice(self._upward(header_start), 1, None):
            if self._is_decorator(above):
                has_decorator = True
            elif self._is_certain(above):
                break
        return above if has_decorator else header_start

    def _is_decorator(self, start: int) -> bool:
        content = self._content(start)
        return content is not None and self._text[content] == "@"


def _start(line: LogicalLine) -> int:
    return line.start - len(line.indent)
