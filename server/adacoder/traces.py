"""Define traces: the lines of a function that an example executed.

Traces are shown to models and people. No verdict uses a trace, because the traced code could forge it.
"""

from __future__ import annotations

from dataclasses import dataclass

from adacoder.domain import SourceLine


@dataclass(frozen=True, slots=True)
class Executed:
    """An entry of a trace: a line that is about to run, or a line that returned, yielded or raised an exception."""

    call: int
    """1-based number of the call, in the order in which the calls began.

    Calls of nested functions, comprehensions and recursive calls have their own numbers. A generator keeps its number
    when it resumes.
    """
    line: int
    """1-based line in the module with the candidate inserted."""
    values: tuple[tuple[str, str], ...] = ()
    """Name and `repr` of each local variable that changed since the previous entry of the same call.

    The first entry has the arguments. The effect of a line is in the following entry.
    """
    gave: str = ""
    """The `repr` of the value that the line returned or yielded, or an empty string."""
    raised: str = ""
    """The exception that the line raised, directly or in a call. Empty if the line raised none."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The execution of one example, in order. A long trace has only its beginning and its end."""

    first: tuple[Executed, ...] = ()
    last: tuple[Executed, ...] = ()
    """The last entries. Empty if no entry was omitted."""
    left_out: int = 0
    """Number of omitted entries between `first` and `last`."""
    ended: bool = False
    """True if the trace reaches the end of the example.

    A trace breaks off if the example takes too long, ends its process, sets its own trace function, or reaches the
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
