"""Compute the offsets and the indentation of physical lines. A physical line is the text up to one line terminator."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property, lru_cache

LINE_END = re.compile(r"\r\n|\r|\n")
_NEWLINE = re.compile(r"\n")
_FENCE = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)
TAB_SIZE = 8
"""The number of columns between tab stops in Python's tokenizer."""


class Lines:
    """The lines of a text, and their offsets. `lines[i]` is a line with its terminator."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def starts(self) -> list[int]:
        """The start offset of each line."""
        return _starts(self.text)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, index: int) -> str:
        return self.text[self.starts[index] : self.end_with_terminator(index)]

    def line_at(self, offset: int) -> int:
        """Return the 0-based line that contains `offset`."""
        return bisect_right(self.starts, offset) - 1

    def end_with_terminator(self, index: int) -> int:
        """Return the offset just past line `index` and its terminator."""
        return self.starts[index + 1] if index + 1 < len(self.starts) else len(self.text)

    def end(self, index: int) -> int:
        """Return the offset just past the content of line `index`, before its terminator."""
        end = self.end_with_terminator(index)
        while end > self.starts[index] and self.text[end - 1] in "\r\n":
            end -= 1
        return end


@lru_cache(maxsize=4)  # Reading the functions of a file needs the result for each function.
def _starts(text: str) -> list[int]:
    # If every `\r` is followed by `\n`, the simpler pattern finds the same line ends, and is three times as fast.
    terminator = _NEWLINE if "\r" not in text or text.count("\r") == text.count("\r\n") else LINE_END
    return [0, *[match.end() for match in terminator.finditer(text)]]


def line_number(text: str, offset: int) -> int:
    """Return the 0-based line that contains `offset`."""
    newlines = text.count("\n", 0, offset)
    if "\r" not in text:
        return newlines
    inside_terminator = offset > 0 and text.startswith("\r\n", offset - 1)
    return newlines + text.count("\r", 0, offset) - text.count("\r\n", 0, offset) - inside_terminator


def line_start(text: str, line: int) -> int | None:
    """Return the start offset of the 0-based `line`; None if the text has fewer lines."""
    starts = Lines(text).starts
    return starts[line] if 0 <= line < len(starts) else None


def indent_of(line: str) -> str:
    """Return the white space at the beginning of a line."""
    return line[: len(line) - len(line.lstrip(" \t\f"))]


def indent_width(white_space: str) -> int:
    """Return the column after leading `white_space`.

    Tabs advance to the next tab stop, and a form feed resets the column.
    """
    if not white_space.strip(" "):
        return len(white_space)
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
    """Return the most frequent line terminator in `text`; `\\n` if it has none."""
    found = [match.group() for match in LINE_END.finditer(text)]
    return max(set(found), key=lambda ending: (found.count(ending), ending == "\n")) if found else "\n"


def normalize(text: str) -> str:
    """Convert all line endings to `\\n`."""
    return LINE_END.sub("\n", text) if "\r" in text else text


def fence_around(text: str) -> str:
    """Return a fence of Markdown that is longer than any fence in `text`, and has at least three backticks."""
    return "`" * max((len(match[1]) + 1 for match in _FENCE.finditer(text)), default=3)


def content_end(text: str, position: int) -> int:
    """Return the end of the line that contains `position`, without its terminator."""
    match = LINE_END.search(text, position)
    return match.start() if match else len(text)


def past_terminator(text: str, position: int) -> int:
    """Return the offset just past the line terminator at `position`. Without a terminator, return `position`."""
    match = LINE_END.match(text, position)
    return match.end() if match else position
