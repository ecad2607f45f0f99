"""Traces: the lines of the target that an Example executed. Models and people read them, but no verdict depends on
them.

The process of the traced code reports the trace, so hostile code can report anything. Only its form and size are
checked.
"""

from __future__ import annotations

from dataclasses import dataclass

from adacoder.domain import SourceLine


@dataclass(frozen=True, slots=True)
class Executed:
    """An entry of a trace: a line of the target just before it ran, or how it ended or interrupted its call."""

    call: int
    """1-based number of the call. The calls of the target's code are numbered in the order in which they began. Nested
    functions, comprehensions and recursive calls have their own numbers. A generator that continues keeps its number.
    """
    line: int
    """1-based line in the module's text with the candidate in place, as in `Reached`."""
    values: tuple[tuple[str, str], ...] = ()
    """Name and representation of each local that is new or changed since the call's previous entry. The first entry of
    a call has the call's arguments. The changes that a line makes appear in the next entry.
    """
    gave: str = ""
    """Representation of the value that the line returned or yielded; empty if it did neither."""
    raised: str = ""
    """The exception that the line, or a call in it, raised; empty if there was none."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The execution of one Example, in order. A long trace keeps only its beginning and its end."""

    first: tuple[Executed, ...] = ()
    last: tuple[Executed, ...] = ()
    """The entries after the omitted ones; empty if nothing was omitted."""
    left_out: int = 0
    """Number of omitted entries between `first` and `last`."""
    ended: bool = False
    """True if the trace reaches the end of the Example. It stops earlier if the Example runs too long, if the process
    ends, or if the code sets its own tracer or reaches the recursion limit.
    """

    code: tuple[SourceLine, ...] = ()
    """The function's lines."""

    @property
    def executed(self) -> tuple[Executed, ...]:
        """The entries that were kept, in order."""
        return self.first + self.last

    @property
    def is_complete(self) -> bool:
        """True if the trace has all entries up to the end of the Example."""
        return self.ended and not self.left_out
