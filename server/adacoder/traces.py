"""The lines of the target that an Example executed: text for a model or a person, which decides nothing.

The code's own process reported it, so hostile code may have reported anything; only its form and size are certain.
"""

from __future__ import annotations

from dataclasses import dataclass

from adacoder.domain import Line


@dataclass(frozen=True, slots=True)
class Executed:
    """A line of the target just before it ran; or how that line ended or interrupted its call."""

    call: int
    """Number of the call of the target's code, from 1 on in the order in which calls began; a nested function, a
    comprehension or a step of a recursion has its own. A generator that is resumed stays the same call."""
    line: int
    """1-based line of the module's text with the candidate in place, as in `Reached`."""
    values: tuple[tuple[str, str], ...] = ()
    """Locals that are new or changed since the call's previous entry, each with its representation. The first entry of
    a call has its arguments; changes by a line are in the entry after it."""
    gave: str = ""
    """Representation of the value that the line returned or yielded; empty if it did neither."""
    raised: str = ""
    """The exception that the line, or a call in it, raised; else empty."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The execution of one Example, in order; of a long one the beginning and the end."""

    first: tuple[Executed, ...] = ()
    last: tuple[Executed, ...] = ()
    """The entries after those that were left out; empty if none were."""
    left_out: int = 0
    """Number of entries left out in between."""
    ended: bool = False
    """True if it was followed to the Example's end. It was not if it ran too long, if the process ended, or if the code
    has tracers of its own or reached the limit of recursion."""

    code: tuple[Line, ...] = ()
    """The function's lines."""

    @property
    def executed(self) -> tuple[Executed, ...]:
        """All entries that were kept."""
        return self.first + self.last

    @property
    def is_complete(self) -> bool:
        """True if nothing is missing."""
        return self.ended and not self.left_out
