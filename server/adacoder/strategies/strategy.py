"""A strategy: a published workflow, as an entry of the registry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from adacoder.agents.budget import Budget
from adacoder.agents.request import Request
from adacoder.agents.role import Role


@dataclass(frozen=True, slots=True)
class Strategy:
    """A workflow over Agents. It does no I/O and reads no clock: it awaits what its Request offers."""

    name: str
    """As users name it: `adacoder`."""
    summary: str
    """One line for people."""
    paper: str
    """The publication."""
    roles: tuple[Role[Any], ...]
    """All its Roles; their lines make up the system text of its prompts."""
    budget: Callable[[int], Budget]
    """Its limits, by its bound t."""
    run: Callable[[Request], Awaitable[None]]
    iterations: int | None = 5
    """Its paper's bound t, which the setting `maxIterations` replaces; None: it has none, and runs once."""
    best_calls: int = 1
    """Calls of a model where all goes well."""
    feedback: str = "none"
    """What it learns of a failed attempt."""
    tests: str = "docstring"
    """The tests that it runs besides; they can never verify."""
    selection: str = "the furthest"
    """Which attempt it returns where none passes."""

    def spends(self, max_iterations: int | None) -> Budget:
        """What it may spend where the user asks for `max_iterations`; None: what its paper has."""
        if self.iterations is None:
            return self.budget(0)
        return self.budget(self.iterations if max_iterations is None else max_iterations)
