"""What people read: lines, progress and diffs, in colour on a terminal and as plain text elsewhere.

All of it goes through streams that `__main__` made visible, or through a `Screen`: no text is escaped by hand that is
printed as it is.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from adacoder.journal import OpenStep, Waiting
from adacoder.report import Visible, progress
from adacoder.report import visible as visible  # for what is laid out before it is printed

if TYPE_CHECKING:
    from rich.console import Console

    from adacoder.cli.screen import MovingLine
    from adacoder.domain import Step

_DIFF_STYLES = {"+++": "bold", "---": "bold", "@@": "cyan", "+": "green", "-": "red"}


def complain(message: str) -> None:
    """One line about what stopped the command."""
    print(message, file=sys.stderr)


def console(*, stderr: bool = False) -> Console:
    """A console that shows text as it is. Colours only on a terminal, and never with NO_COLOR."""
    from adacoder.cli.screen import Screen

    stream = sys.stderr if stderr else sys.stdout
    # Its own colours must reach the terminal as they are.
    file = stream.stream if isinstance(stream, Visible) else stream
    return Screen(file=file, highlight=False, markup=False, emoji=False, soft_wrap=True)


def moving_line(console: Console) -> MovingLine:
    """What says on a terminal what is waited for."""
    from adacoder.cli.screen import MovingLine

    return MovingLine(console)


def show_diff(console: Console, diff: str) -> None:
    """A unified diff, coloured by line."""
    for line in diff.split("\n")[:-1]:
        style = next((style for begin, style in _DIFF_STYLES.items() if line.startswith(begin)), "")
        console.print(line.removesuffix("\r"), style=style)


class Progress:
    """Follows one request's Journal: on a terminal a moving line below the steps that have ended, else a line a step.

    A step that failed with an error is left to the line that tells the error.
    """

    def __init__(self, console: Console, name: str, most_rounds: int) -> None:
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
