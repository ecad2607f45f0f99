"""Traces: the lines of the target that an Example executed, for models and people to read.

The process that runs the traced code reports the trace. Hostile code can forge it, so no verdict depends on traces, and
only their form and size are checked.
"""

from __future__ import annotations

from dataclasses import dataclass

from adacoder.domain import SourceLine


@dataclass(frozen=True, slots=True)
class Executed:
    """An entry of a trace: a line of the target before it ran, or a line that returned, yielded or raised."""

    call: int
    """1-based number of the call of the target's code, in the order in which the calls began. Nested functions,
    comprehensions and recursive calls have their own numbers. A resumed generator keeps its number.
    """
    line: int
    """1-based line in the module with the candidate in place."""
    values: tuple[tuple[str, str], ...] = ()
    """Name and `repr` of each local that is new or changed since the call's previous entry. The first entry of a call
    has the arguments. The changes that a line makes are in the next entry.
    """
    gave: str = ""
    """The `repr` of the value that the line returned or yielded; empty if it did neither."""
    raised: str = ""
    """The exception that the line or a call in it raised; empty if there was none."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The execution of one Example, in order. A long trace keeps only its beginning and its end."""

    first: tuple[Executed, ...] = ()
    last: tuple[Executed, ...] = ()
    """The entries after the omitted ones; empty if nothing was omitted."""
    left_out: int = 0
    """Number of omitted entries between `first` and `last`."""
    ended: bool = False
    """True if the trace reaches the end of the Example. A trace stops earlier if the Example runs too long or ends its
    process, sets a tracer of its own, or reaches the recursion limit.
    """

    code: tuple[SourceLine, ...] = ()
    """The lines of the target's code."""

    @property
    def executed(self) -> tuple[Executed, ...]:
        """The entries that were kept, in order."""
        return self.first + self.last

    @property
    def is_complete(self) -> bool:
        """True if the trace has all entries up to the end of the Example."""
        return self.ended and not self.left_out
