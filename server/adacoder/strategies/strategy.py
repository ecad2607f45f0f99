"""A strategy: a published workflow as an entry of the registry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from adacoder.agents.budget import Budget
from adacoder.agents.request import Request
from adacoder.agents.role import Role


@dataclass(frozen=True, slots=True)
class Strategy:
    """A workflow over Agents. It does no I/O and reads no clock; it only awaits its Request's methods."""

    name: str
    """Name that users give, such as `adacoder`."""
    summary: str
    """One-line description for users."""
    paper: str
    """The publication."""
    roles: tuple[Role[Any], ...]
    """All its Roles. Their `system` parts make up the system text of its prompts."""
    budget: Callable[[int], Budget]
    """Its limits, as a function of the bound t."""
    run: Callable[[Request], Awaitable[None]]
    iterations: int | None = 5
    """The paper's bound t, which the setting `maxIterations` replaces. None: it has no bound and runs once."""
    best_calls: int = 1
    """Number of model calls in the best case."""
    feedback: str = "none"
    """Feedback that it gets on a failed attempt."""
    tests: str = "docstring"
    """Tests that it runs. Designed tests never verify."""
    selection: str = "the furthest"
    """Rule for the attempt that it returns if none passes."""

    def spends(self, max_iterations: int | None) -> Budget:
        """Budget for the user's `max_iterations`; None: with the paper's bound."""
        if self.iterations is None:
            return self.budget(0)
        return self.budget(self.iterations if max_iterations is None else max_iterations)
