"""Table of the registered strategies, for the command line and the docs."""

from __future__ import annotations

from adacoder.strategies import STRATEGIES

COLUMNS = ("name", "paper", "agents", "calls", "t", "feedback", "tests", "selection")
"""`calls`: model calls in the best and the worst case, with the paper's t."""


def rows() -> list[dict[str, str]]:
    """One row per strategy, keyed by column."""
    return [
        {
            "name": each.name,
            "paper": each.paper,
            "agents": ", ".join(dict.fromkeys(role.agent.replace("_", " ") for role in each.roles)),
            "calls": f"{each.best_calls} to {each.spends(None).calls}",
            "t": "–" if each.iterations is None else str(each.iterations),
            "feedback": each.feedback,
            "tests": each.tests,
            "selection": each.selection,
        }
        for each in STRATEGIES.values()
    ]
