"""The hover on a function: its latest evidence, the evidence's age, and whether it still fits the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import get_capability

from adacoder import report

if TYPE_CHECKING:
    from adacoder.lsp.showing.evidence import Placed

_SHOWN = 3
"""Maximum failed examples in a hover."""


def hover(placed: Placed, text: str, client: types.ClientCapabilities) -> types.Hover:
    """The hover of a function in `text`."""
    told = "\n\n".join(_paragraphs(placed, is_same_file=hash(text) == placed.evidence.text))
    formats = get_capability(client, "text_document.hover.content_format", None) or ()
    kind = types.MarkupKind.Markdown if types.MarkupKind.Markdown in formats else types.MarkupKind.PlainText
    return types.Hover(types.MarkupContent(kind, told))


def _paragraphs(placed: Placed, *, is_same_file: bool) -> Iterator[str]:
    evidence = placed.evidence
    mark = "✗" if evidence.failed else "✓" if evidence.passed and evidence.is_of_text else "–"
    yield f"{mark} {report.inline(evidence.summary)}"
    yield f"{report.age(evidence.age).capitalize()}, {_which_text(placed, is_same_file)}."
    if placed.holds:
        for result in evidence.failing[:_SHOWN]:
            yield report.fenced(report.as_doctest(result.example, result.got, result.error), "text")


def _which_text(placed: Placed, is_same_file: bool) -> str:
    if not placed.holds:
        return "for another text of this function: check it again"
    if not placed.evidence.is_of_text:
        return "of a candidate that is not in the file"
    return "for this very text" if is_same_file else "for this very function; other text of the file has changed since"
