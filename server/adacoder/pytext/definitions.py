"""Find functions and classes from the lines of a text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from adacoder.domain import Span
from adacoder.pytext.lines import content_end, indent_width, past_terminator
from adacoder.pytext.logical import LogicalLine, logical_lines
from adacoder.pytext.strings import skip_string

DEFINITION = re.compile(r"(?P<kind>(?:async[ \t]+)?def|class)[ \t]+(?P<name>[^\W\d]\w*)")
_DEEPEST = 100
"""Python's maximum number of indentation levels."""
_MOST_KEPT = 8
"""Number of texts whose definitions are kept."""
_STRING_START = re.compile(r"(?P<prefix>[rRuU]?)(?=['\"])")
_FILLER = re.compile(r"(?:[ \t\f\r\n]|\\(?=[\r\n])|#[^\r\n]*)*")
"""Matches white space, line continuations and comments between strings in parentheses."""


@dataclass(frozen=True)
class Definition:
    """A function or class."""

    text: str
    name: str
    """The name as in `__name__`. Python normalises names to NFKC."""
    is_class: bool
    parents: tuple[Definition, ...]
    """The enclosing definitions, outermost first."""
    lines: tuple[LogicalLine, ...]
    """The logical lines of the definition: decorators, header, body."""
    header_index: int
    """Index of the header in `lines`."""

    @property
    def qualname(self) -> str:
        """Dotted path from the module, without `<locals>`."""
        return ".".join([*(parent.name for parent in self.parents), self.name])

    @property
    def in_function(self) -> bool:
        """True if the definition is inside a function, so that code outside the function cannot use it."""
        return any(not parent.is_class for parent in self.parents)

    @property
    def header_line(self) -> LogicalLine:
        """The logical line of `def` or `class`, including a body on the same line."""
        return self.lines[self.header_index]

    def has_decorator(self, pattern: re.Pattern[str]) -> bool:
        """Return whether any decorator begins with `pattern`."""
        return any(pattern.match(self.text, line.start) for line in self.lines[: self.header_index])

    @cached_property
    def span(self) -> Span:
        """The span from the first decorator or the header to the end of the body.

        Comments below the body are included if they are indented like the body.
        """
        first = self.lines[0]
        return Span(first.start - len(first.indent), self._end())

    @property
    def header(self) -> Span:
        """The span from `def` or `class` through the colon, or to the end of the line if the colon is missing."""
        line = self.header_line
        return Span(line.start, line.code_end if line.colon is None else line.colon + 1)

    @property
    def body_lines(self) -> tuple[LogicalLine, ...]:
        """The logical lines after the header's line."""
        return self.lines[self.header_index + 1 :]

    @cached_property
    def docstring(self) -> Span | None:
        """The span of the docstring, including its quotes; None if there is no docstring."""
        line = self.header_line
        if self.header.end < line.code_end:
            return docstring_at(self.text, self.header.end, line.code_end)
        if not self.body_lines:
            return None
        line = self.body_lines[0]
        return docstring_at(self.text, line.start, line.code_end)

    def _end(self) -> int:
        """Return the end of the body. Comments below the body are included if they are indented like the body."""
        end = self.lines[-1].end
        body = self.body_lines
        if not body:
            return end
        width = body[0].width
        position = past_terminator(self.text, end)
        while position < len(self.text):
            line_end = content_end(self.text, position)
            content = self.text[position:line_end]
            stripped = content.lstrip(" \t\f")
            if stripped:
                if not stripped.startswith("#") or indent_width(content[: len(content) - len(stripped)]) < width:
                    break
                end = line_end
            following = past_terminator(self.text, line_end)
            if following == line_end:
                break
            position = following
        return end


@lru_cache(maxsize=_MOST_KEPT)
def definitions(text: str) -> Sequence[Definition]:
    """Return all functions and classes of `text`, including nested ones, in the order of their headers.

    The last results are kept, because several steps read the same text.
    """
    return tuple(definitions_in(text, tuple(logical_lines(text)), ()))


def definitions_in(text: str, lines: Sequence[LogicalLine], parents: tuple[Definition, ...]) -> list[Definition]:
    """Return all functions and classes in `lines`, the body of the last definition in `parents`.

    Definitions that are nested deeper than Python allows are left out.
    """
    found: list[Definition] = []
    _collect(text, lines, parents, found)
    return found


def _collect(text: str, lines: Sequence[LogicalLine], parents: tuple[Definition, ...], found: list[Definition]) -> None:
    index = 0
    while index < len(lines) and len(parents) < _DEEPEST:
        first = index
        while index < len(lines) and text[lines[index].start] == "@" and lines[index].width == lines[first].width:
            index += 1
        if index == len(lines):
            return
        header = lines[index]
        if not DEFINITION.match(text, header.start) or (index > first and header.width != lines[first].width):
            index = max(index, first + 1)
            continue
        after, width = index + 1, header.width
        while after < len(lines) and lines[after].width > width:
            after += 1
        definition = define(text, lines[first:after], index - first, parents)
        found.append(definition)
        _collect(text, definition.body_lines, (*parents, definition), found)
        index = after


def define(text: str, lines: Sequence[LogicalLine], header_index: int, parents: tuple[Definition, ...]) -> Definition:
    """Build a definition from its `lines`.

    Raises:
        ValueError: the line at `header_index` is not a `def` or `class`.
    """
    match = DEFINITION.match(text, lines[header_index].start)
    if match is None:
        raise ValueError("this line defines nothing")
    name = unicodedata.normalize("NFKC", match.group("name"))
    return Definition(text, name, match.group("kind") == "class", parents, tuple(lines), header_index)


def docstring_at(text: str, start: int, end: int) -> Span | None:
    """Return the span of the docstring that begins the logical line `text[start:end]`; None if there is none.

    The docstring may consist of several adjacent strings, and may be in parentheses.
    """
    position = begin = _past_filler(text, start)
    depth = 0
    while text.startswith("(", position):
        depth += 1
        position = _past_filler(text, position + 1)
    finish = begin
    while position < end and (match := _STRING_START.match(text, position)):
        finish, is_closed = skip_string(text, match.end())
        if not is_closed:
            return None
        position = _past_filler(text, finish)
    if finish == begin:
        return None
    while depth and text.startswith(")", position):
        depth -= 1
        finish = position + 1
        position = _past_filler(text, finish)
    is_whole_statement = not depth and text[finish:end].lstrip(" \t\f")[:1] in ("", ";")
    return Span(begin, finish) if is_whole_statement else None


def _past_filler(text: str, position: int) -> int:
    match = _FILLER.match(text, position)
    return match.end() if match else position
