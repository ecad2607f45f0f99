"""Define traces: the lines of a function that an example executed. Models and people read them.

The traced code runs in the process that reports the trace, so hostile code can forge it. Therefore no verdict uses
traces.
"""

from __future__ import annotations

from dataclasses import dataclass

from adacoder.domain import SourceLine


@dataclass(frozen=True, slots=True)
class Executed:
    """An entry of a trace: a line before it was executed, or a line that returned, yielded or raised."""

    call: int
    """1-based number of the call, in the order in which the calls began.

    Nested functions, comprehensions and recursive calls are calls of their own. A resumed generator keeps its number.
    """
    line: int
    """1-based line in the module with the candidate inserted."""
    values: tuple[tuple[str, str], ...] = ()
    """Name and `repr` of each local variable that changed since the last entry of the same call.

    The first entry has the arguments. The effect of a line is in the entry after it.
    """
    gave: str = ""
    """The `repr` of the value that the line returned or yielded. Empty if there is none."""
    raised: str = ""
    """The exception that the line raised, directly or in a call. Empty if there is none."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The execution of one example, in order. Of a long trace, only the beginning and the end are kept."""

    first: tuple[Executed, ...] = ()
    last: tuple[Executed, ...] = ()
    """The entries at the end. Empty if nothing was omitted."""
    left_out: int = 0
    """Number of omitted entries between `first` and `last`."""
    ended: bool = False
    """True if the trace includes the end of the example.

    A trace is incomplete if the example takes too long, ends its process, sets its own trace function, or reaches the
    recursion limit.
    """

    code: tuple[SourceLine, ...] = ()
    """The lines of the target's code."""

    @property
    def executed(self) -> tuple[Executed, ...]:
        """All entries that were kept."""
        return self.first + self.last

    @property
    def is_complete(self) -> bool:
        """True if no entry is missing."""
        return self.ended and not self.left_out
