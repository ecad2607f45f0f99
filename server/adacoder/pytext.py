"""The line structure of Python text, found without parsing it.

What the user types is often broken, and only the user's own interpreter may call something a syntax error (it may be
older or newer than ours). So whatever must be found in a text (statements, functions, where a body begins) is found
from its lines: strings, comments, brackets and indentation. A text that is broken in one place stays readable in the
others: an open bracket ends where a statement keyword starts a line, and a triple quote that is never closed ends
with its line.

Only `\\r\\n`, `\\r` and `\\n` end a line, as in the Language Server Protocol and in Python's tokenizer; a form feed
does not. Offsets are code points.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from adacoder.domain import Span

_LINE_END = re.compile(r"\r\n|\r|\n")
_STRING_START = re.compile(r"(?P<prefix>[rRbBuUfFtT]{0,3})(?P<quote>'''|\"\"\"|'|\")")
_STATEMENT_START = re.compile(
    r"[ \t\f]*(?:@\w|(?:async[ \t]+)?def[ \t]+\w+|class[ \t]+\w+[ \t]*[(:]"
    r"|(?:return|raise|import|while|with|try|pass|break|continue)\b|from[ \t]+[\w.]+[ \t]+import\b)"
)
_BLANK = re.compile(r"[ \t\f]*")
_PLAIN = re.compile(r"[^#\r\n\\'\"()\[\]{}:]+")
"""What neither ends a logical line nor changes how the rest of it is read."""
_DEFINITION = re.compile(r"(?P<kind>(?:async[ \t]+)?def|class)[ \t]+(?P<name>[^\W\d]\w*)")
TAB_SIZE = 8
"""Columns between tab stops, as Python's tokenizer counts them."""


class Lines:
    """A text cut into lines, with offsets: `lines[i]` keeps its terminator."""

    def __init__(self, text: str) -> None:
        self.text = text
        starts = [0]
        starts.extend(match.end() for match in _LINE_END.finditer(text))
        self.starts = starts

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> str:
        return self.text[self.starts[index] : self.end_with_terminator(index)]

    def line_at(self, offset: int) -> int:
        """The 0-based line that holds `offset`."""
        return bisect_right(self.starts, offset) - 1

    def end_with_terminator(self, index: int) -> int:
        """The offset just past line `index` and its terminator."""
        return self.starts[index + 1] if index + 1 < len(self.starts) else len(self.text)

    def end(self, index: int) -> int:
        """The offset just past the content of line `index`, before its terminator."""
        end = self.end_with_terminator(index)
        while end > self.starts[index] and self.text[end - 1] in "\r\n":
            end -= 1
        return end


def indent_width(white_space: str) -> int:
    """The column that leading `white_space` reaches; a form feed starts over, a tab goes to the next stop."""
    column = 0
    for character in white_space:
        if character == "\t":
            column += TAB_SIZE - column % TAB_SIZE
        elif character == "\f":
            column = 0
        else:
            column += 1
    return column


def line_ending(text: str) -> str:
    """The terminator that most lines of `text` use; `\\n` where there is none."""
    found = [match.group() for match in _LINE_END.finditer(text)]
    return max(set(found), key=lambda ending: (found.count(ending), ending == "\n")) if found else "\n"


def normalize(text: str) -> str:
    """`text` with every line ending as `\\n`."""
    return _LINE_END.sub("\n", text) if "\r" in text else text


@dataclass(frozen=True, slots=True)
class LogicalLine:
    """One logical line: what stands between two NEWLINE tokens, over as many lines as its brackets and strings take.

    Blank lines and lines with nothing but a comment are no logical lines.
    """

    start: int
    """Offset of its first character that is not white space."""
    end: int
    """Offset past its last character, trailing comment included, terminator not."""
    indent: str
    """The white space before it."""
    code_end: int
    """Offset past its last character that is neither white space nor comment."""
    colon: int | None
    """Offset of the first colon outside brackets and strings; in the line of a `def` or `class`, its own."""
    closed: bool
    """Whether its brackets and strings are closed."""

    @property
    def width(self) -> int:
        """The column it starts at."""
        return indent_width(self.indent)


def logical_lines(text: str, start: int = 0) -> Iterator[LogicalLine]:
    """The logical lines of `text` from offset `start`, which must begin a line outside any string or bracket."""
    position = start
    size = len(text)
    while position < size:
        begin = position
        position = _after(_BLANK, text, position)
        if position >= size:
            return
        if text[position] in "\r\n":
            position = _skip_terminator(text, position)
            continue
        if text[position] == "#":
            position = _skip_terminator(text, _content_end(text, position))
            continue
        line = _scan(text, begin, position)
        yield line
        position = _skip_terminator(text, line.end)


def _scan(text: str, begin: int, start: int) -> LogicalLine:
    """The logical line whose first character stands at `start` and whose white space begins at `begin`."""
    size = len(text)
    depth = 0
    colon: int | None = None
    position = code_end = start
    closed = True
    while position < size:
        if plain := _PLAIN.match(text, position):
            position = plain.end()
            if code := plain.group().rstrip(" \t\f"):
                code_end = plain.start() + len(code)
            continue
        character = text[position]
        if character == "#":
            position = _content_end(text, position)
            continue
        if character in "\r\n":
            after = _skip_terminator(text, position)
            if depth == 0:
                break
            if _STATEMENT_START.match(text, after):
                closed = False
                break
            position = after
            continue
        if character == "\\" and position + 1 < size and text[position + 1] in "\r\n":
            position = _skip_terminator(text, position + 1)
            code_end = position
            continue
        if character in "'\"":
            position, whole = _skip_string(text, position)
            closed = closed and whole
            code_end = position
            continue
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth = max(depth - 1, 0)
        elif character == ":" and depth == 0 and colon is None and text[position + 1 : position + 2] != "=":
            colon = position
        position += 1
        code_end = position
    if depth and position >= size:
        closed = False
    end = position
    return LogicalLine(start, end, text[begin:start], min(code_end, end), colon, closed)


def _skip_string(text: str, quote_at: int) -> tuple[int, bool]:
    """The offset past the string literal whose quote stands at `quote_at`, and whether it is closed.

    A backslash keeps the next character from closing the string, in raw strings too.
    """
    quote = text[quote_at]
    triple = quote * 3
    if text.startswith(triple, quote_at):
        position = quote_at + 3
        while True:
            end = text.find(triple, position)
            if end < 0:
                return _content_end(text, quote_at), False
            backslashes = end - len(text[position:end].rstrip("\\")) - position
            if backslashes % 2 == 0:
                return end + 3, True
            position = end + 1
    position = quote_at + 1
    size = len(text)
    while position < size:
        character = text[position]
        if character == "\\":
            position = (
                _skip_terminator(text, position + 1)
                if text[position + 1 : position + 2] in ("\r", "\n")
                else position + 2
            )
            continue
        if character == quote:
            return position + 1, True
        if character in "\r\n":
            return position, False
        position += 1
    return size, False


def _content_end(text: str, position: int) -> int:
    match = _LINE_END.search(text, position)
    return match.start() if match else len(text)


def _after(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _skip_terminator(text: str, position: int) -> int:
    return _after(_LINE_END, text, position)


@dataclass(frozen=True)
class Definition:
    """A function or class as its lines show it."""

    text: str
    name: str
    """As `__name__` spells it: identifiers that Python takes for the same (NFKC) have the same name."""
    is_class: bool
    parents: tuple[Definition, ...]
    """The definitions it stands in, outermost first."""
    lines: tuple[LogicalLine, ...]
    """Its logical lines: decorators, header, body."""
    header_index: int
    """Which of `lines` is the header."""

    @property
    def qualname(self) -> str:
        """Dotted path from the module, without `<locals>`."""
        return ".".join([*(parent.name for parent in self.parents), self.name])

    @property
    def in_function(self) -> bool:
        """Whether a function encloses it, so that nothing outside can reach it."""
        return any(not parent.is_class for parent in self.parents)

    @property
    def header_line(self) -> LogicalLine:
        """The logical line of `def` or `class`; a one-line body stands on it too."""
        return self.lines[self.header_index]

    @cached_property
    def span(self) -> Span:
        """From the start of the first decorator's (or the header's) line to the end of the last line of the body,
        comments at the body's own indentation included, the last terminator not."""
        first = self.lines[0]
        return Span(first.start - len(first.indent), self._end())

    @property
    def header(self) -> Span:
        """From `def` to the colon, inclusive; to the end of the line where there is no colon."""
        line = self.header_line
        return Span(line.start, line.code_end if line.colon is None else line.colon + 1)

    @property
    def body_lines(self) -> tuple[LogicalLine, ...]:
        """The logical lines after the header's."""
        return self.lines[self.header_index + 1 :]

    @property
    def docstring(self) -> Span | None:
        """The string literal that is the body's first statement, quotes included; None if there is none."""
        header = self.header
        line = self.header_line
        if header.end < line.code_end:
            start = header.end
            while self.text[start] in " \t\f\\\r\n":
                start += 1
        elif self.body_lines:
            line = self.body_lines[0]
            start = line.start
        else:
            return None
        match = _STRING_START.match(self.text, start)
        if match is None or set(match.group("prefix")) & set("bBfFtT"):
            return None
        end, closed = _skip_string(self.text, match.end() - len(match.group("quote")))
        is_whole_statement = self.text[end : line.code_end].lstrip(" \t\f")[:1] in ("", ";")
        return Span(start, end) if closed and is_whole_statement else None

    def _end(self) -> int:
        """Past the last logical line and the comment lines after it that stand at the body's indentation."""
        end = self.lines[-1].end
        body = self.body_lines
        if not body:
            return end
        width = body[0].width
        position = _skip_terminator(self.text, end)
        while position < len(self.text):
            content_end = _content_end(self.text, position)
            content = self.text[position:content_end]
            stripped = content.lstrip(" \t\f")
            if stripped:
                if not stripped.startswith("#") or indent_width(content[: len(content) - len(stripped)]) < width:
                    break
                end = content_end
            following = _skip_terminator(self.text, content_end)
            if following == content_end:
                break
            position = following
        return end


def definitions(text: str) -> list[Definition]:
    """All functions and classes of `text`, nested ones included, in the order of their headers."""
    lines = list(logical_lines(text))
    found: list[Definition] = []
    _collect(text, lines, (), found)
    return found


def _collect(text: str, lines: list[LogicalLine], parents: tuple[Definition, ...], found: list[Definition]) -> None:
    index = 0
    while index < len(lines):
        first = index
        while index < len(lines) and text[lines[index].start] == "@" and lines[index].width == lines[first].width:
            index += 1
        if index == len(lines):
            return
        header = lines[index]
        match = _DEFINITION.match(text, header.start)
        if match is None or header.width != lines[first].width:
            index = max(index, first + 1)
            continue
        after = index + 1
        while after < len(lines) and lines[after].width > header.width:
            after += 1
        definition = Definition(
            text,
            unicodedata.normalize("NFKC", match.group("name")),
            match.group("kind") == "class",
            parents,
            tuple(lines[first:after]),
            index - first,
        )
        found.append(definition)
        _collect(text, list(definition.body_lines), (*parents, definition), found)
        index = after


def statements(text: str) -> list[Span]:
    """The top-level statements of `text`, each from its first decorator or keyword to the end of its block.

    A line that is indented deeper than the first, or that continues a compound statement (`else`, `except`, …) which
    stands before it, belongs to that statement.
    """
    found: list[Span] = []
    decorated = False
    for line in logical_lines(text):
        continues = _CONTINUES.match(text, line.start) is not None
        if found and (line.width > 0 or decorated or (continues and _CONTINUED.match(text, found[-1].start))):
            found[-1] = Span(found[-1].start, line.end)
        else:
            found.append(Span(line.start, line.end))
        decorated = line.width == 0 and text[line.start] == "@"
    return found


_CONTINUES = re.compile(r"(?:elif|else|except|finally|case)\b")
_CONTINUED = re.compile(r"(?:async\s+)?(?:if|for|while|try|match)\b")


def dedent(text: str) -> str:
    """`text` with its first line's indentation taken off every line that has it; text inside strings stays."""
    prefix = text[: len(text) - len(text.lstrip(" \t"))]
    if not prefix:
        return text
    inside = string_interiors(text)
    lines = Lines(text)
    return "".join(
        lines[i] if i in inside else lines[i].removeprefix(prefix) if lines[i].strip() else lines[i].lstrip(" \t")
        for i in range(len(lines))
    )


def string_interiors(text: str) -> frozenset[int]:
    """The lines (0-based) of `text` that begin inside a string literal, so that their white space is content."""
    lines = Lines(text)
    inside: set[int] = set()
    for line in logical_lines(text):
        position = line.start
        while position < line.code_end:
            if text[position] == "#":
                position = _content_end(text, position)
            elif text[position] in "'\"":
                end, _ = _skip_string(text, position)
                inside.update(range(lines.line_at(position) + 1, lines.line_at(end) + 1))
                position = end
            else:
                position += 1
    return frozenset(inside)
