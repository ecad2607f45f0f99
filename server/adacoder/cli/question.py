"""Ask in a terminal which of two outputs is right."""

from __future__ import annotations

import signal
import sys

from adacoder.agents.questions import Ruling
from adacoder.cli.terminal import complain
from adacoder.domain import Difference
from adacoder.report.differences import brief, outputs

_ANSWERS = {"1": Ruling.HERE, "2": Ruling.THERE, "3": Ruling.RAISES}


def can_ask() -> bool:
    """Return whether a person can read a question on stderr and answer it on stdin."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(difference: Difference) -> Ruling | None:
    """Ask the user which of two outputs is right. Return None if the user does not answer."""
    call, (here, there) = brief(difference.call), outputs(difference)
    complain(f"Which is right?\n  1  {call} gives {here}, as in the written function")
    complain(f"  2  {call} gives {there}, as in the second program")
    complain(f"  3  {call} should raise ValueError")
    print("Type 1, 2 or 3 to add it to the docstring, or press Enter to skip: ", end="", file=sys.stderr, flush=True)
    asked = signal.signal(signal.SIGINT, signal.default_int_handler)  # the event loop's own handler would delay Ctrl-C
    try:
        return _ANSWERS.get(sys.stdin.readline().strip())
    finally:
        signal.signal(signal.SIGINT, asked)
