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
    """A workflow over Agents. It does no I/O and reads no clock, and acts only through its Request."""

    name: str
    """The name that users give, such as `adacoder`."""
    summary: str
    """One-line description for users."""
    paper: str
    roles: tuple[Role[Any], ...]
    """All Roles of the workflow. Every prompt contains the `system` texts of all of them."""
    budget: Callable[[int], Budget]
    """Returns the limits of the workflow for an iteration limit t."""
    run: Callable[[Request], Awaitable[None]]
    iterations: int | None = 5
    """The paper's iteration limit t, which the setting `maxIterations` replaces; None if the workflow does not
    iterate.
    """
    best_calls: int = 1
    """Number of model calls in the best case."""
    feedback: str = "none"
    """The feedback that a new attempt gets, as a phrase."""
    tests: str = "docstring"
    """The tests that the workflow runs, as a phrase. A test that a model designed never verifies a candidate."""
    selection: str = "the furthest"
    """The choice of the attempt to return if none passes, as a phrase."""

    def spends(self, max_iterations: int | None) -> Budget:
        """Return the limits for the user's `max_iterations`. None means the paper's limit."""
        if self.iterations is None:
            return self.budget(0)
        return self.budget(self.iterations if max_iterations is None else max_iterations)
