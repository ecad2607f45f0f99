"""A strategy: the registry's entry for a published workflow."""

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
    """Name that users give, such as `adacoder`."""
    summary: str
    """One-line description for users."""
    paper: str
    """The publication."""
    roles: tuple[Role[Any], ...]
    """All Roles of the workflow. Their `system` parts form the system text of its prompts."""
    budget: Callable[[int], Budget]
    """Returns the limits of the workflow for the bound t."""
    run: Callable[[Request], Awaitable[None]]
    iterations: int | None = 5
    """The paper's bound t, which the setting `maxIterations` replaces. None: no bound, and one run.
    """
    best_calls: int = 1
    """Number of model calls in the best case."""
    feedback: str = "none"
    """Feedback that the workflow gets on a failed attempt."""
    tests: str = "docstring"
    """Tests that the workflow runs. Designed tests never verify."""
    selection: str = "the furthest"
    """Rule that selects the attempt to return if none passes."""

    def spends(self, max_iterations: int | None) -> Budget:
        """Return the budget for the user's `max_iterations`; None: use the paper's bound."""
        if self.iterations is None:
            return self.budget(0)
        return self.budget(self.iterations if max_iterations is None else max_iterations)
