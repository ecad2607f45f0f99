"""A terminal as rich draws on it. Whatever is drawn, the texts in it are visible, and only rich's own codes are codes.

Imports rich, which takes long: only when something is shown.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from adacoder.visible import Visible, visible


class Screen(Console):
    """A Console from which no text of others reaches the terminal but visibly."""

    def render_str(self, text: str, **options: Any) -> Text:
        """A text to be shown; rich would drop some control characters without a word."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The pieces of anything that is shown."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=visible(piece.text))


class MovingLine:
    """The last line of a terminal, which says what is waited for."""

    def __init__(self, console: Console) -> None:
        self._line = console.status("", spinner_style="cyan")

    def show(self, what: str, style: str = "", *, waits: bool = False) -> None:
        """Say that `what` goes on now, whether it `waits` for something or not."""
        del waits
        self._line.update(Text(visible(what), style))  # of a string rich would obey the markup
        self._line.start()
        # Meanwhile rich has put streams of its own in place, and would obey codes in what is printed.
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if not isinstance(stream, Visible):
                setattr(sys, name, Visible(cast("TextIO", stream)))

    def hide(self) -> None:
        """Leave the line to others."""
        self._line.stop()
