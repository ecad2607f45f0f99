"""What an Example executed of the target, step by step: text for a model or a person to read, which decides nothing.

It is what the code's own process told, so that hostile code may have told anything; only its form and size are sure.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Executed:
    """A line of the target just before it ran; or how that line ended or interrupted its call."""

    call: int
    """Which call of the target's code it belongs to, from 1 on in the order in which they began; a nested function,
    a comprehension or a step of a recursion has its own. A generator that goes on is still the same call."""
    line: int
    """1-based line of the module's text with the candidate in place, as in `Reached`."""
    values: tuple[tuple[str, str], ...] = ()
    """The locals that are new or other than in the entry before of the same call, each with what shows its value. The
    first entry of a call has its arguments; what a line changed stands in the entry after it."""
    gave: str = ""
    """What shows the value that the line returned or yielded; empty for an entry that tells of neither."""
    raised: str = ""
    """The exception that the line raised, or that came out of what it called; also empty."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What one Example executed, in order; of what ran long the first and the last."""

    first: tuple[Executed, ...] = ()
    last: tuple[Executed, ...] = ()
    """What came after the entries that were left out; empty if none were."""
    left_out: int = 0
    """How many entries stood between them."""
    ended: bool = False
    """Whether it was followed to the Example's end. It was not if it ran too long, if the process ended, or if the
    code has tracers of its own or came to the limit of recursion."""

    @property
    def executed(self) -> tuple[Executed, ...]:
        """All that is kept."""
        return self.first + self.last

    @property
    def is_complete(self) -> bool:
        """Whether there was nothing else."""
        return self.ended and not self.left_out
