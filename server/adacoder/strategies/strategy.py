"""What a strategy is: a published workflow, as an entry of the registry."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from adacoder.agents.request import Budget, Request
from adacoder.agents.role import Role


@dataclass(frozen=True, slots=True)
class Strategy:
    """A workflow over Agents. It does no I/O and reads no clock: it awaits what its Request offers."""

    name: str
    """As users name it: `adacoder`."""
    summary: str
    """One line for people."""
    paper: str
    """Where it is published."""
    roles: tuple[Role[Any], ...]
    """All that it asks; their lines make up the system text of its prompts."""
    budget: Callable[[int], Budget]
    """What it may spend, by the user's `max_iterations` (the paper's t)."""
    run: Callable[[Request], Awaitable[None]]
