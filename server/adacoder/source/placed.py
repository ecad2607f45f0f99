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
    """What turns `target.text` into `text`, in order; none if nothing changes."""
    text: str
    function: Span
    """The whole function in `text`, decorators included."""
    added: tuple[Span, ...] = ()
    """Where in `text` the imports and definitions stand that the Candidate brought."""
