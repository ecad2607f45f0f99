"""What people read: lines, progress and diffs, in colour on a terminal and as plain text elsewhere.

All of it goes through streams that `__main__` made visible, or through a `Screen`: no text is escaped by hand that is
printed as it is.
"""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from adacoder.journal import OpenStep, Waiting
from adacoder.report import Visible, progress
from adacoder.report import visible as visible  # for what is laid out before it is printed

if TYPE_CHECKING:
    from adacoder.cli.screen import MovingLine, Screen
    from adacoder.domain import Step

_DIFF_STYLES = {"+++": "bold", "---": "bold", "@@": "cyan", "+": "green", "-": "red"}


def complain(message: str) -> None:
    """One line about what stopped the command."""
    print(message, file=sys.stderr)


class Plain:
    """Where no terminal is: lines of text, as they are."""

    is_terminal = False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def print(self, text: str, style: str | None = None) -> None:
        """Print a line; there is no style here."""
        del style
        print(text, file=self._stream, flush=True)


class StandingLine:
    """The line that moves on a terminal, where there is none: it says nothing."""

    def show(self, what: str, style: str = "") -> None:
        """As `MovingLine.show`."""

    def hide(self) -> None:
        """As `MovingLine.hide`."""


def console(*, stderr: bool = False) -> Screen | Plain:
    """What lines are printed on: a Screen on a terminal; elsewhere that is not worth what it takes to be imported."""
    stream = sys.stderr if stderr else sys.stdout
    # The variables by which rich is told to draw elsewhere too.
    draws = stream.isatty() or os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE") == "1"
    return screen(stderr=stderr) if draws else Plain(stream)


def screen(*, stderr: bool = False) -> Screen:
    """A console that shows text as it is. Colours only on a terminal, and never with NO_COLOR."""
    from adacoder.cli.screen import Screen

    stream = sys.stderr if stderr else sys.stdout
    # Its own colours must reach the terminal as they are.
    file = stream.stream if isinstance(stream, Visible) else stream
    return Screen(file=file, highlight=False, markup=False, emoji=False, soft_wrap=True)


def moving_line(console: Screen | Plain) -> MovingLine | StandingLine:
    """What says on a terminal what is waited for."""
    if isinstance(console, Plain) or not console.is_terminal:
        return StandingLine()
    from adacoder.cli.screen import MovingLine

    return MovingLine(console)


def show_diff(console: Screen | Plain, diff: str) -> None:
    """A unified diff, coloured by line."""
    for line in diff.split("\n")[:-1]:
        style = next((style for begin, style in _DIFF_STYLES.items() if line.startswith(begin)), "")
        console.print(line.removesuffix("\r"), style=style)


class Progress:
    """Follows one request's Journal: on a terminal a moving line below the steps that have ended, else a line a step.

    A step that failed with an error is left to the line that tells the error.
    """

    def __init__(self, console: Screen | Plain, name: str, most_rounds: int) -> None:
        self._console = console
        self._name = name
        self._most_rounds = most_rounds
        self._tokens = 0
        """Of the steps that have ended."""
        self._line = moving_line(console)

    def __enter__(self) -> Self:
        self._line.show(self._name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.hide()

    def __call__(self, event: OpenStep | Step | Waiting) -> None:
        """Hear of an event, as a Journal's Listener."""
        line = f"{self._name} · {progress(event, self._most_rounds)}"
        if isinstance(event, OpenStep | Waiting):
            self._move(line, event.written if isinstance(event, OpenStep) else 0)
            return
        self._tokens += event.tokens.completion
        if "error" not in event.details:
            self._console.print(line, style="dim")

    def _move(self, line: str, written: int) -> None:
        total = self._tokens + written
        self._line.show(f"{line} · {total:,} tokens in all" if total > written else line)
