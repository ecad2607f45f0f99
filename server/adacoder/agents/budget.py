"""Limits of a request, set by its strategy and by the user. The first that is reached ends the request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from adacoder.domain import Tokens
from adacoder.journal import Asked, Evaluated
from adacoder.messages import Named, Text

if TYPE_CHECKING:
    from adacoder.journal import Journal
    from adacoder.settings import Settings


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a strategy for one request, on one model."""

    rounds: int
    calls: int
    """Maximum number of model calls. A second call does not count if a server ended the first reply too early."""
    programs: int | None = None
    """Maximum number of candidates that are evaluated on the docstring's Examples; None for no limit of their own."""

    def of_start(self, max_iterations: int | None) -> Budget:
        """Return the budget of a request that starts from a candidate. If `max_iterations` is 0, no model is asked."""
        return replace(self, calls=0) if max_iterations == 0 else self


class BudgetSpent(Exception):
    """A strategy needs more than its Budget or a user's limit allows. The request ends with its best attempt."""

    def __init__(self, limit: Text | None = None) -> None:
        """`limit` describes the user's limit, if it was reached."""
        super().__init__(limit)
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Ceiling:
    """Limits that a user sets for a whole request, with all models of its ladder. None means no limit."""

    calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    programs: int | None = None

    @classmethod
    def of(cls, settings: Settings) -> Ceiling:
        """Return the limits in the settings."""
        return cls(settings.budget_calls, settings.budget_tokens, settings.budget_seconds, settings.budget_programs)

    def most_calls(self, calls: int, journal: Journal) -> int:
        """Return how many of `calls` the user's limit still allows."""
        return calls if self.calls is None else min(calls, max(self.calls - _calls(journal), 0))

    def reached(self, journal: Journal, *, by_program: bool = False) -> Text | None:
        """Describe the first limit that the Journal shows to be reached; None if there is none.

        With `by_program`, the limit of programs is checked. Otherwise, the limits of calls, tokens and seconds are
        checked.
        """
        steps = journal.steps
        tokens = sum((step.tokens for step in steps), Tokens())
        programs = {
            step.details.code for step in steps if step.action == "evaluate" and isinstance(step.details, Evaluated)
        }
        spent = {
            "Calls": (_calls(journal), self.calls, not by_program),
            "Tokens": (tokens.prompt + tokens.completion, self.tokens, not by_program),
            "Seconds": (journal.seconds, self.seconds, not by_program),
            "Programs": (len(programs), self.programs, by_program),
        }
        for name, (count, most, counts) in spent.items():
            if counts and most is not None and count >= most:
                limit = Named(f"budget{name}")
                return Text(f"The request ended at its limit of {most:g} {name.lower()}: raise ", limit, " for more.")
        return None


def _calls(journal: Journal) -> int:
    return sum(isinstance(step.details, Asked) for step in journal.steps)


NO_CEILING = Ceiling()
