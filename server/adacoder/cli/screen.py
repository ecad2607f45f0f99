"""Draw on a terminal with rich. All text is made visible, so that the terminal only obeys rich's own control codes.

This module imports rich, and that is slow. So other modules import it only when there is something to show.
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
    """A Console that makes all text visible before it reaches the terminal."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Make `text` visible first, because rich silently drops some control characters."""
        return super().render_str(visible(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render like `Console.render`, but make the text of all segments visible."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=visible(piece.text))


class MovingLine:
    """The last line of a terminal, which shows the current work or the reason for a wait."""

    def __init__(self, console: Console) -> None:
        self._line = console.status("", spinner_style="cyan")

    def show(self, what: str, style: str = "", *, waits: bool = False) -> None:
        """Show `what` as the current work. `waits` is only used by the replacement for this class, `StandingLine`."""
        del waits
        self._line.update(Text(visible(what), style))  # rich would obey markup in a string
        self._line.start()
        # While the line is shown, rich replaces the standard streams. It would then obey control codes in printed text.
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if not isinstance(stream, Visible):
                setattr(sys, name, Visible(cast("TextIO", stream)))

    def hide(self) -> None:
        """Remove the line from the terminal."""
        self._line.stop()
