"""The mirror of an open document: pygls's document, with lines split as the protocol specifies.

pygls 2.1.1 splits lines with `str.splitlines`, for which a form feed, U+2028 and six other characters also end a line.
In LSP only `\\n`, `\\r\\n` and `\\r` do. In a file with a form feed (Python's own library has many) every change after
it would land in the wrong line, and the mirror would differ from the editor's text. pygls also rebuilds the whole text
at every change, while `Document` touches only the lines that change.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from lsprotocol import types
from pygls import workspace

from adacoder.pytext import Lines
from adacoder.source.text import PositionEncoding, offset_at


class Document(workspace.TextDocument):
    """An open document. It is stored as lines, which are joined when its text is requested."""

    _cut: list[str] | None = None
    """The text as lines with their terminators. The last line has none and may be empty.

    None: not split yet."""

    @property
    def source(self) -> str:
        """The whole text with its original line endings."""
        if self._source is None and self._cut is not None:
            self._source = "".join(self._cut)
        return super().source

    @property
    def lines(self) -> list[str]:
        """The text as lines with their terminators."""
        if self._cut is None:
            self._cut = _lines(self.source)
        return self._cut

    def _apply_full_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        self._source, self._cut = change.text, None

    def _apply_incremental_change(self, change: types.TextDocumentContentChangePartial) -> None:
        lines = self.lines
        # VS Code swaps the ends of a reversed range.
        ends = self._place(lines, change.range.start), self._place(lines, change.range.end)
        (start_line, start), (end_line, end) = sorted(ends)
        # Include one more line on either side: a `\r` before the change and a `\n` after it may now be one line end.
        first, last = max(start_line - 1, 0), min(end_line + 2, len(lines))
        before = "".join(lines[first:start_line]) + lines[start_line][:start]
        after = lines[end_line][end:] + "".join(lines[end_line + 1 : last])
        fresh = _lines(before + change.text + after)
        if last < len(lines):
            fresh.pop()  # it is empty, because the line before it has a terminator
        lines[first:last] = fresh
        self._source = None

    def _place(self, lines: Sequence[str], position: types.Position) -> tuple[int, int]:
        """The line of a position and its index in the line. A position beyond an end counts as that end."""
        if position.line >= len(lines):
            return len(lines) - 1, len(lines[-1])
        line = lines[position.line]
        return position.line, offset_at(Lines(line), 0, position.character, encoding_of(self))


def encoding_of(owner: workspace.TextDocument | workspace.Workspace) -> PositionEncoding:
    """The unit in which the client counts characters."""
    return types.PositionEncodingKind(owner.position_codec.encoding).value


def _lines(text: str) -> list[str]:
    return [text[start:end] for start, end in pairwise([*Lines(text).starts, len(text)])]
