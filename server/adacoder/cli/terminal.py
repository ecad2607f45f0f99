"""Print lines, progress and diffs, in colour on a terminal and as plain text elsewhere.

Callers need not escape control characters: `__main__` wraps the streams in `Visible`, and `Screen` escapes as well.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self, TextIO

from adacoder.journal import Listener, OpenStep, Waiting
from adacoder.report import progress
from adacoder.visible import Visible
from adacoder.visible import visible as visible  # escapes a text before its layout is computed

if TYPE_CHECKING:
    from adacoder.cli.screen import MovingLine, Screen
    from adacoder.domain import Step

_LONG = 5.0
"""Seconds after which a wait is reported in a line, if the output is not a terminal."""
_DIFF_STYLES = {"+++": "bold", "---": "bold", "@@": "cyan", "+": "green", "-": "red"}


def complain(message: str) -> None:
    """Print a line to stderr."""
    print(message, file=sys.stderr)


class Plain:
    """A console that prints plain lines, for output that is not a terminal."""

    is_terminal = False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def print(self, text: str, style: str | None = None) -> None:
        """Print a line. Ignore `style`."""
        del style
        print(text, file=self._stream, flush=True)


class StandingLine:
    """Replaces `MovingLine` if the output is not a terminal. It prints each long wait once, and nothing else."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None
        self._what = ""
        self._has_told = False

    def show(self, what: str, style: str = "", *, waits: bool = False) -> None:
        """Implement `MovingLine.show`."""
        self._what = what
        if not waits:
            self._rest()
        elif self._timer is None and not self._has_told:
            self._timer = asyncio.get_running_loop().call_later(_LONG, self._tell)

    def hide(self) -> None:
        """Implement `MovingLine.hide`. The next long wait is reported again."""
        self._rest()
        self._has_told = False

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell(self) -> None:
        self._timer, self._has_told = None, True
        print(self._what, file=sys.stderr, flush=True)


def console(*, stderr: bool = False) -> Screen | Plain:
    """Return a Screen for a terminal. Otherwise return a Plain, which does not import rich."""
    stream = sys.stderr if stderr else sys.stdout
    # FORCE_COLOR and TTY_COMPATIBLE ask for rich's colours even if the output is no terminal
    draws = stream.isatty() or os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE") == "1"
    return screen(stderr=stderr) if draws else Plain(stream)


def screen(*, stderr: bool = False) -> Screen:
    """Return a console that prints text unchanged and unwrapped, in colour on a terminal unless NO_COLOR is set."""
    from adacoder.cli.screen import Screen

    stream = sys.stderr if stderr else sys.stdout
    # bypass `Visible`, which would escape the console's colour codes
    file = stream.stream if isinstance(stream, Visible) else stream
    return Screen(file=file, highlight=False, markup=False, emoji=False, soft_wrap=True)


def moving_line(console: Screen | Plain) -> MovingLine | StandingLine:
    """Return the line below all output on `console`. It shows the current work, or the reason for a wait."""
    if isinstance(console, Plain) or not console.is_terminal:
        return StandingLine()
    from adacoder.cli.screen import MovingLine

    return MovingLine(console)


def show_diff(console: Screen | Plain, diff: str) -> None:
    """Print a unified diff, coloured by line."""
    for line in diff.split("\n")[:-1]:
        style = next((style for begin, style in _DIFF_STYLES.items() if line.startswith(begin)), "")
        console.print(line.removesuffix("\r"), style=style)


class Progress:
    """Shows each step of a request when it ends. On a terminal, the last line shows the current step.

    Failed steps are left out, because their errors are reported separately.
    """

    def __init__(self, console: Screen | Plain, name: str, most_rounds: int) -> None:
        self._console = console
        self._name = name
        self._most_rounds = most_rounds
        self._tokens = 0
        """Tokens of the steps that have ended."""
        self._line = moving_line(console)

    def __enter__(self) -> Self:
        self._line.show(self._name)
        return self

    def __exit__(self, *_: object) -> None:
        self._line.hide()

    def __call__(self, event: OpenStep | Step | Waiting) -> None:
        """Show an event, as a Listener of a Journal."""
        line = f"{self._name} · {progress(event, self._most_rounds)}"
        if isinstance(event, OpenStep | Waiting):
            total = self._tokens + (event.written if isinstance(event, OpenStep) else 0)
            shown = f"{line} · {total:,} tokens in all" if self._tokens else line
            self._line.show(shown, waits=isinstance(event, Waiting))
            return
        self._tokens += event.tokens.completion
        if event.error is None:
            self._console.print(line, style="dim")


@contextmanager
def long_waits(name: str, most_rounds: int) -> Iterator[Listener]:
    """Yield a Listener for a Journal that prints only long waits, to stderr."""
    line = StandingLine()

    def hear(event: OpenStep | Step | Waiting) -> None:
        line.show(f"{name} · {progress(event, most_rounds)}", waits=isinstance(event, Waiting))

    try:
        yield hear
    finally:
        line.hide()
