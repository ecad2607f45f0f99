"""Convert ranges and edits of a text to the client's position encoding."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from adacoder.domain import JSON, Edit, Span
from adacoder.lsp.snapshot import Snapshot
from adacoder.pytext import Lines
from adacoder.source.notebook import moved
from adacoder.source.text import PositionEncoding, position_at, range_of


def range_of_lines(lines: Sequence[str] | Lines, first: int, last: int, encoding: PositionEncoding) -> types.Range:
    """Return the range of the lines `first` to `last`. The indentation of the first line is not included."""
    content = lines[first].rstrip("\r\n")
    start = len(content) - len(content.lstrip())
    return types.Range(types.Position(first, _character(content, start, encoding)), end_of(lines, last, encoding))


def end_of(lines: Sequence[str] | Lines, line: int, encoding: PositionEncoding) -> types.Position:
    """Return the position at the end of a line."""
    content = lines[line].rstrip("\r\n")
    return types.Position(line, _character(content, len(content), encoding))


def _character(content: str, offset: int, encoding: PositionEncoding) -> int:
    return position_at(content, offset, encoding)[1]


def range_of_span(span: Span, text: str, encoding: PositionEncoding) -> JSON:
    """Return the range of `span` in `text`, as JSON."""
    (line, character), (last, end) = range_of(Edit(span.start, span.end, ""), text, encoding)
    return {"start": {"line": line, "character": character}, "end": {"line": last, "character": end}}


def workspace_edit(
    snapshot: Snapshot, edits: Sequence[Edit], encoding: PositionEncoding, *, is_bound: bool
) -> types.WorkspaceEdit:
    """Convert edits of a snapshot's module to LSP.

    With `is_bound`, the client makes the edits only in the snapshot's version of the document.
    """
    own = (moved(edit, -snapshot.start) for edit in edits)
    ranges = (types.Range(*(types.Position(*at) for at in range_of(edit, snapshot.text, encoding))) for edit in own)
    made = [types.TextEdit(range=each, new_text=edit.text) for each, edit in zip(ranges, edits, strict=True)]
    if not is_bound:
        return types.WorkspaceEdit(changes={snapshot.uri: made})
    document = types.OptionalVersionedTextDocumentIdentifier(uri=snapshot.uri, version=snapshot.version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(text_document=document, edits=made)])
