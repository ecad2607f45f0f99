"""What people read: lines, progress and diffs, in colour on a terminal and as plain text elsewhere.

What a model or a candidate wrote may hold control characters; a terminal is shown what they are, and does not obey.
"""

from __future__ import annotations

import re
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from adacoder.journal import OpenStep, Waiting
from adacoder.report import progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status as Spinner

    from adacoder.domain import Step

_COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters other than tab and newline, and those that change the direction of writing."""
_DIFF_STYLES = {"+++": "bold", "---": "bold", "@@": "cyan", "+": "green", "-": "red"}


def visible(text: str) -> str:
    """`text` with control characters as their escapes."""
    return _COMMANDING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def complain(message: str) -> None:
    """One line about what stopped the command."""
    print(visible(message), file=sys.stderr)


def console(*, stderr: bool = False) -> Console:
    """A console that shows text as it is. Colours only on a terminal, and never with NO_COLOR."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)


def show_diff(console: Console, diff: str) -> None:
    """A unified diff, coloured by line."""
    for line in diff.split("\n")[:-1]:
        style = next((style for begin, style in _DIFF_STYLES.items() if line.startswith(begin)), "")
        console.print(visible(line.removesuffix("\r")), style=style)


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
        self._spinner: Spinner | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._spinner = self._console.status(self._name, spinner_style="cyan")
            self._spinner.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._spinner is not None:
            self._spinner.stop()

    def __call__(self, event: OpenStep | Step | Waiting) -> None:
        """Hear of an event, as a Journal's Listener."""
        line = f"{self._name} · {progress(event, self._most_rounds)}"
        if isinstance(event, OpenStep | Waiting):
            self._move(line, event.written if isinstance(event, OpenStep) else 0)
            return
        self._tokens += event.tokens.completion
        if "error" not in event.details:
            self._console.print(visible(line), style="dim")

    def _move(self, line: str, written: int) -> None:
        if self._spinner is not None:
            total = self._tokens + written
            self._spinner.update(f"{visible(line)} · {total:,} tokens in all" if total > written else visible(line))
