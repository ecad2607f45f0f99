"""A module with a Candidate in its Target's place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adacoder.domain import Edit, Span


@dataclass(frozen=True, slots=True)
class Splice:
    """A Target's module with a Candidate in place."""

    edits: tuple[Edit, ...]
    """Edits from `target.text` to `text`, in order; empty if nothing changes."""
    text: str
    function: Span
    """The whole function in `text`, decorators included."""
    added: tuple[Span, ...] = ()
    """Places of the Candidate's imports and definitions in `text`."""
