"""The papers' algorithms, each one file that reads like its pseudocode.

Strategies do no I/O and read no clock: they await Agents and return an Outcome.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from adacoder.agents import Team
from adacoder.domain import Candidate, Outcome, Target
from adacoder.strategies.adacoder import adacoder
from adacoder.strategies.direct import direct

Strategy = Callable[[Team, Target, Candidate | None, int], Awaitable[Outcome]]
"""Takes the Team, the Target, a Candidate to start from (None: write one) and the most rounds after the first."""

STRATEGIES: Mapping[str, Strategy] = {"adacoder": adacoder, "direct": direct}
