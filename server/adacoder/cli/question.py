"""Ask the user which of two outputs is right. The answer becomes an example (TiCoder, arXiv 2404.10100)."""

from __future__ import annotations

import ast
import signal
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from adacoder.cli.terminal import complain
from adacoder.domain import Difference, Example
from adacoder.pytext import parsed
from adacoder.report.differences import brief
from adacoder.sandbox.literal_values import value_of


@dataclass(frozen=True, slots=True)
class Ruling:
    """The user's decision which of two outputs is right."""

    example: Example
    """An example with the input and the right output."""
    is_here: bool
    """True if the verified function gives this output, and False if the second program does."""


def can_ask() -> bool:
    """Return whether a person can read a question on stderr and answer it on stdin."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask(differs: Iterable[Difference]) -> Ruling | None:
    """Ask about the first difference that can be an example. Return None if there is none or the user skips it."""
    difference = next(filter(_can_be_an_example, differs), None)
    if difference is None:
        return None
    outputs = (difference.here, difference.there)
    complain(f"Which is right?\n  1  {brief(difference.call)} gives {brief(outputs[0])}, as in the written function")
    complain(f"  2  {brief(difference.call)} gives {brief(outputs[1])}, as in the second program")
    print("Type 1 or 2 to add it to the docstring, or press Enter to skip: ", end="", file=sys.stderr, flush=True)
    asked = signal.signal(signal.SIGINT, signal.default_int_handler)  # the event loop cannot handle Ctrl-C meanwhile
    try:
        said = sys.stdin.readline().strip()
    finally:
        signal.signal(signal.SIGINT, asked)
    if said not in ("1", "2"):
        return None
    return Ruling(Example(f"{difference.call}\n", f"{outputs[said == '2']}\n", 0), said == "1")


def _can_be_an_example(difference: Difference) -> bool:
    match parsed(difference.call):
        case ast.Module(body=[ast.Expr()]):
            return all(map(_is_literal, (difference.here, difference.there)))
    return False


def _is_literal(output: str) -> bool:
    try:
        value_of(output)
    except ValueError:
        return False
    return "\n" not in output
