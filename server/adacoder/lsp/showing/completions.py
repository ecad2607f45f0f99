"""Offer kept results as inline completions, which editors show as grey text at the cursor.

An inline completion can only replace a part of one line. So a result is only offered if it needs a single edit at the
cursor. For other results, there are code actions and lenses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lsprotocol import types

from adacoder.domain import Edit, TargetError
from adacoder.lsp.features import COMMAND
from adacoder.lsp.jobs.results import KeptResult
from adacoder.lsp.snapshot import Snapshot
from adacoder.pytext import Lines
from adacoder.source.notebook import moved
from adacoder.source.text import PositionEncoding, offset_at, range_of
from adacoder.visible import visible


def completions(
    snapshot: Snapshot, at: types.Position, kept: Sequence[KeptResult], encoding: PositionEncoding
) -> list[types.InlineCompletionItem]:
    """Return the inline completions at the cursor, the latest result first.

    A result is only offered if it was verified for the current text of the module. An accepted completion is checked
    again, because the user may have typed meanwhile.
    """
    lines = Lines(snapshot.text)
    cursor = offset_at(lines, at.line, at.character, encoding)
    found = []
    for result in kept:
        if _is_near(result, cursor, lines) and result.is_verified_in(snapshot.module_text):
            for edit in _at_cursor(result, snapshot, cursor, lines):
                place = types.Range(*(types.Position(*each) for each in range_of(edit, snapshot.text, encoding)))
                function = {"uri": snapshot.uri, "qualifiedName": result.qualname}
                check = types.Command("Run the examples", COMMAND + "check", arguments=[function])
                found.append(types.InlineCompletionItem(edit.text, range=place, command=check))
    return found


def _is_near(result: KeptResult, cursor: int, lines: Lines) -> bool:
    """Return whether the cursor may be in the function of a result, or on the line below the function.

    This fast check needs no parser.
    """
    start = lines.text.rfind(result.source, 0, cursor + len(result.source))
    return start >= 0 and lines.line_at(cursor) <= lines.line_at(start + len(result.source)) + 1


def _at_cursor(result: KeptResult, snapshot: Snapshot, cursor: int, lines: Lines) -> Iterator[Edit]:
    """Yield the edit that inserts the result, if a single edit at the cursor is enough.

    A result with invisible characters is skipped. The diff of the result makes such characters visible.
    """
    try:
        target = result.function_in(snapshot)
    except TargetError:
        return
    text, line = lines.text, lines.line_at(cursor)
    edits = result.edits_in(target)
    if len(edits) != 1 or target.source != result.source:
        return
    edit = moved(edits[0], -snapshot.start)
    if visible(edit.text.replace("\r", "")) != edit.text.replace("\r", ""):
        return
    first, last = lines.line_at(edit.start), lines.line_at(edit.end)
    if first == last == line:
        start, end = min(edit.start, cursor), max(edit.end, cursor)
        yield Edit(start, end, text[start : edit.start] + edit.text + text[edit.end : end])
    elif edit.start == edit.end and first == line - 1:
        start, end = lines.starts[line], lines.end(line)
        terminator, body = text[edit.end : start], edit.text.lstrip("\r\n")
        if body != edit.text and not (terminator + text[start:end]).strip():
            # Keep an empty line that existed before. On an indented line, the user has begun to write the body.
            yield Edit(start, end, body if start < end else body + terminator)
