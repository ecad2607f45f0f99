"""`adacoder strategies`: print the registered strategies as a table or as JSON objects."""

from __future__ import annotations

import json

from adacoder.report import VERSION
from adacoder.strategies import rows

_SHOWN = ("name", "calls", "feedback", "tests", "selection", "agents", "paper")
"""Columns of the table, with the widest one last. JSON objects also have the member `t`."""


def show_strategies(*, as_json: bool, has_ablations: bool) -> int:
    """Print one row per strategy. Return the exit code."""
    found = rows(has_ablations=has_ablations)
    if as_json:
        for row in found:
            print(json.dumps({"version": VERSION, **row}))
        return 0
    shown = [dict(zip(_SHOWN, _SHOWN, strict=True)), *found]
    widths = {column: max(len(row[column]) for row in shown) for column in _SHOWN}
    for row in shown:
        print("  ".join(row[column].ljust(widths[column]) for column in _SHOWN).rstrip())
    return 0
