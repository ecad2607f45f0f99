"""The result of putting a Candidate in the place of its Target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adacoder.domain import Edit, Span


@dataclass(frozen=True, slots=True)
class Splice:
    """A Target's module with a Candidate in place."""

    edits: tuple[Edit, ...]
    """Edits that turn `target.text` into `text`, in order; empty if nothing changes."""
    text: str
    function: Span
    """The whole function in `text`, including decorators."""
    added: tuple[Span, ...] = ()
    """Spans of the Candidate's imports and definitions in `text`."""
