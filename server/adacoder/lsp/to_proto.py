"""Convert lines of a document to ranges in the client's position encoding."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from adacoder.source.text import PositionEncoding, position_at


def range_of_lines(lines: Sequence[str], first: int, last: int, encoding: PositionEncoding) -> types.Range:
    """The range from the first non-blank character of line `first` to the end of line `last`."""
    content = lines[first].rstrip("\r\n")
    start = len(content) - len(content.lstrip())
    return types.Range(types.Position(first, _character(content, start, encoding)), end_of(lines, last, encoding))


def end_of(lines: Sequence[str], line: int, encoding: PositionEncoding) -> types.Position:
    """The end of a line, before its terminator."""
    content = lines[line].rstrip("\r\n")
    return types.Position(line, _character(content, len(content), encoding))


def _character(content: str, offset: int, encoding: PositionEncoding) -> int:
    return position_at(content, offset, encoding)[1]
