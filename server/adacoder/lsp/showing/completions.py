"""Offer kept results as inline completions, which editors show as grey text at the cursor.

An inline completion replaces a part of one line. So AdaCoder offers a result only if it changes one place of the text,
on the line of the cursor or, below a docstring, on the blank line after it. A result that also adds an import is
offered by actions and lenses alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from adacoder.domain import Edit, TargetError
from adacoder.lsp.features import COMMAND
from adacoder.lsp.jobs.results import KeptResult
from adacoder.lsp.snapshot import Snapshot
from adacoder.pytext import Lines
from adacoder.source.notebook import moved
from adacoder.source.text import PositionEncoding, offset_at, range_of


def completions(
    snapshot: Snapshot, at: types.Position, kept: Sequence[KeptResult], encoding: PositionEncoding
) -> list[types.InlineCompletionItem]:
    """Return the inline completions at the cursor, the latest result first.

    Only a verified result is offered, and only while its function has the text for which it was verified. When the user
    accepts a completion, its command runs the examples on the new text.
    """
    lines = Lines(snapshot.text)
    cursor = offset_at(lines, at.line, at.character, encoding)
    items = []
    for result in kept:
        edit = _whole(result, snapshot) if result.is_verified else None
        edit = None if edit is None else _at_cursor(edit, cursor, lines)
        if edit is not None:
            start, end = (types.Position(*each) for each in range_of(edit, snapshot.text, encoding))
            command = types.Command("Verify it here", COMMAND + "insert", arguments=[{"jobId": result.job_id}])
            items.append(types.InlineCompletionItem(edit.text, range=types.Range(start, end), command=command))
    return items


def _whole(result: KeptResult, snapshot: Snapshot) -> Edit | None:
    """Return the only edit that inserts a result, with offsets in the document; None if there are several."""
    try:
        target = result.function_in(snapshot)
    except TargetError:
        return None
    edits = result.edits_in(target)
    return moved(edits[0], -snapshot.start) if len(edits) == 1 and target.source == result.source else None


def _at_cursor(edit: Edit, cursor: int, lines: Lines) -> Edit | None:
    """Return an edit of the cursor's line, around the cursor, that does the same; None if there is none."""
    text, line = lines.text, lines.line_at(cursor)
    first, last = lines.line_at(edit.start), lines.line_at(edit.end)
    if first == last == line:
        start, end = min(edit.start, cursor), max(edit.end, cursor)
        return Edit(start, end, text[start : edit.start] + edit.text + text[edit.end : end])
    start, end = lines.starts[line], lines.end(line)
    is_below = first == last == line - 1 and not text[edit.end : start].strip() and not text[start:end].strip()
    body = edit.text.lstrip("\r\n")
    return Edit(start, end, body) if is_below and body != edit.text else None
