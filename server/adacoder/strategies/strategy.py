"""The registry's entry for a published workflow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from adacoder.agents.budget import Budget
from adacoder.agents.request import Request
from adacoder.agents.role import Role


@dataclass(frozen=True, slots=True)
class Strategy:
    """A workflow over Agents. It does no I/O and reads no clock. It only awaits the methods of its Request."""

    name: str
    """The name that users give, such as `adacoder`."""
    summary: str
    """One-line description for users."""
    paper: str
    roles: tuple[Role[Any], ...]
    """All Roles of the workflow. Their `system` parts form the system text of its prompts."""
    budget: Callable[[int], Budget]
    """Returns the limits of the workflow for a bound t."""
    run: Callable[[Request], Awaitable[None]]
    iterations: int | None = 5
    """The paper's bound t; None if the workflow has no bound and runs once. The setting `maxIterations` replaces it."""
    best_calls: int = 1
    """Number of model calls in the best case."""
    feedback: str = "none"
    """The feedback on a failed attempt, as a phrase."""
    tests: str = "docstring"
    """The tests that the workflow runs, as a phrase. Designed tests never verify a candidate."""
    selection: str = "the furthest"
    """The rule that selects an attempt if none passes, as a phrase."""

    def spends(self, max_iterations: int | None) -> Budget:
        """Return the budget for the user's `max_iterations`. If it is None, the paper's bound counts."""
        if self.iterations is None:
            return self.budget(0)
        return self.budget(self.iterations if max_iterations is None else max_iterations)
