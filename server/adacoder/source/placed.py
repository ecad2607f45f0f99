"""The result of putting a candidate in the place of its target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adacoder.domain import Edit, Span


@dataclass(frozen=True, slots=True)
class Splice:
    """The module of a target with a candidate in place."""

    edits: tuple[Edit, ...]
    """Edits that turn `target.text` into `text`, in order; empty if nothing changes."""
    text: str
    function: Span
    """The whole function in `text`, including decorators."""
    added: tuple[Span, ...] = ()
    """Spans in `text` of the imports and definitions that were added with the function."""
