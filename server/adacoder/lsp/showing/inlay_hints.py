"""Inlay hints: the actual result after a failed example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from adacoder import report
from adacoder.lsp.showing.diagnostics import place_of
from adacoder.lsp.to_proto import end_of

if TYPE_CHECKING:
    from adacoder.lsp.showing.evidence import Placed
    from adacoder.source.text import PositionEncoding

_LONGEST = 80
"""Maximum characters of an output in the line. The tooltip shows all of it."""


def inlay_hints(
    evidence: Iterable[Placed], within: types.Range, lines: Sequence[str], encoding: PositionEncoding
) -> Iterator[types.InlayHint]:
    """Yield the hints for the lines in `within`."""
    for placed in evidence:
        if not (placed.holds and placed.evidence.is_of_text):
            continue
        for result in placed.evidence.failing:
            _, line = place_of(result.example, placed, lines)
            came = " ".join((result.error or result.got).split())
            if came and line != placed.header and within.start.line <= line <= within.end.line:
                shown = came if len(came) <= _LONGEST else f"{came[:_LONGEST]}…"
                yield types.InlayHint(
                    position=end_of(lines, line, encoding),
                    label=f"{'raised' if result.error else 'gave'} {shown}",
                    tooltip=report.as_doctest(result.example, result.got, result.error),
                    padding_left=True,
                )
