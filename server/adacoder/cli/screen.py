"""Draw on a terminal with rich. Control codes in texts are escaped, so that only rich can control the terminal.

Importing rich is slow. So other modules import this module only when they have something to show.
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
    """A Console that escapes control characters in every text that it prints."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Render like `Console.render_str`, but escape `text` first, because rich silently drops some characters."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render like `Console.render`, but escape the text of all segments."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=visible(piece.text))


class MovingLine:
    """The last line of a terminal. It shows the current work, or the reason for a wait."""

    def __init__(self, console: Console) -> None:
        self._line = console.status("", spinner_style="cyan")

    def show(self, what: str, style: str = "", *, waits: bool = False) -> None:
        """Show `what` in the line. `waits` is ignored; only `StandingLine` needs it."""
        del waits
        self._line.update(Text(visible(what), style))  # rich would interpret markup in a string
        self._line.start()
        # Otherwise rich replaces stdout and stderr, and interprets control codes in printed text.
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if not isinstance(stream, Visible):
                setattr(sys, name, Visible(cast("TextIO", stream)))

    def hide(self) -> None:
        """Remove the moving line from the terminal."""
        self._line.stop()
