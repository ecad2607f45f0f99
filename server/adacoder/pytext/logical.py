"""Find logical lines and statements. A logical line is the text between two NEWLINE tokens."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from adacoder.domain import Span
from adacoder.pytext.lines import Lines, content_end, indent_width, past_terminator
from adacoder.pytext.strings import skip_string, string_literals

STATEMENT_START = re.compile(
    r"[ \t\f]*(?:@\w|(?:async[ \t]+)?def[ \t]+\w+|class[ \t]+\w+[ \t]*[(:\[]"
    r"|(?:return|raise|import|while|with|try|pass|break|continue)\b|from[ \t]+[\w.]+[ \t]+import\b)"
)
"""Matches the start of a line that must be a new statement, even if a bracket above is still open."""
_HEAD = re.compile(r"(?:[ \t\f]*(?:#[^\r\n]*)?[\r\n])*(?P<indent>[ \t\f]*)(?![ \t\f#\r\n]|\Z)")
"""Matches the text before a logical line: blank lines, comments and indentation."""
_PLAIN = re.compile(r"[^#\r\n\\'\"()\[\]{}:]+")
"""Matches text without quotes, brackets, line ends and other characters that may end a logical line."""


@dataclass(frozen=True, slots=True)
class LogicalLine:
    """A logical line, as in Python's tokenizer.

    A logical line has several physical lines if brackets or strings continue over line ends. Blank lines and comment
    lines do not belong to any logical line.
    """

    start: int
    """Offset of the first character after the indentation."""
    end: int
    """The offset past the last character. A trailing comment is included, and the line terminator is not."""
    indent: str
    """The white space before the logical line."""
    code_end: int
    """The offset past the last character of code. A trailing comment is not included."""
    colon: int | None
    """The offset of the first colon outside brackets and strings. After `def` or `class`, this colon ends the header.
    """
    closed: bool
    """True if all brackets and strings are closed."""

    @property
    def width(self) -> int:
        """The column where the logical line starts."""
        return indent_width(self.indent)


def logical_lines(text: str, start: int = 0, end: int = sys.maxsize) -> Iterator[LogicalLine]:
    """Yield the logical lines between two offsets. `start` must begin a line outside any string or bracket."""
    position = start
    while head := _HEAD.match(text, position, end):
        line = _scan(text, *head.span("indent"))
        yield line
        position = line.end


def _scan(text: str, begin: int, start: int) -> LogicalLine:
    """Return the logical line whose indentation starts at `begin`, and whose first character is at `start`."""
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
            position = content_end(text, position)
            continue
        if character in "\r\n":
            after = past_terminator(text, position)
            if depth == 0:
                break
            if STATEMENT_START.match(text, after):
                closed = False
                break
            position = after
            continue
        if character == "\\" and position + 1 < size and text[position + 1] in "\r\n":
            position = past_terminator(text, position + 1)
            code_end = position
            continue
        if character in "'\"":
            position, whole = skip_string(text, position)
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


def statements(text: str) -> list[Span]:
    """Return the top-level statements of `text`.

    A statement includes its decorators, its body, and clauses such as `else` and `except`.
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
    """Remove the first line's indentation from all lines that have it. Lines inside strings stay unchanged."""
    prefix = text[: len(text) - len(text.lstrip(" \t"))]
    if not prefix:
        return text
    inside = string_interiors(text)
    lines = Lines(text)
    return "".join(
        lines[i] if i in inside else lines[i].removeprefix(prefix) if lines[i].strip() else lines[i].lstrip(" \t")
        for i in range(len(lines))
    )


def indented(text: str, indent: str) -> str:
    """Put `indent` before every line. Blank lines, and lines inside strings, stay unchanged."""
    inside = string_interiors(text)
    lines = Lines(text)
    return "".join(lines[i] if i in inside or not lines[i].strip() else indent + lines[i] for i in range(len(lines)))


def string_interiors(text: str) -> frozenset[int]:
    """Return the 0-based lines that begin inside a string, so that their white space belongs to the string."""
    lines = Lines(text)
    inside: set[int] = set()
    for literal in string_literals(text, 0, len(text)):
        inside.update(range(lines.line_at(literal.start) + 1, lines.line_at(literal.end) + 1))
    return frozenset(inside)
