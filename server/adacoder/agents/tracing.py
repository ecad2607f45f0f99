"""Trace of an attempt's failing example, observed in the sandbox; and the measures of SEMAG's equations 10 and 11.

No model is asked to add prints. What hostile code may have told is text like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from adacoder.agents.failures import traced
from adacoder.pytext import parsed
from adacoder.traces import Trace

if TYPE_CHECKING:
    from adacoder.agents.request import Request
    from adacoder.agents.role import Field
    from adacoder.domain import Attempt

_MOST = 200
"""Entries of a trace that are compared: the first, where runs of the same example begin alike or not."""


async def observed(request: Request, attempt: Attempt) -> Trace:
    """Trace the failing example of an attempt; an empty trace where no example failed.

    Raises:
        SandboxError: nothing could be run.
    """
    failure = attempt.verdict.failure
    if failure is None or failure.example is None:
        return Trace()
    return await request.trace(attempt.candidate, failure.example)


def shown(trace: Trace) -> Field:
    """Word a trace for a prompt; an empty one as such."""
    return traced(trace) if trace.executed else "Nothing could be traced."


def likeness(one: Trace, other: Trace) -> float:
    """Compare two traces (SEMAG, eq. 10): 1 less their edit distance over the longer one's length; 1 for two empty."""
    before, after = _entries(one), _entries(other)
    longest = max(len(before), len(after))
    return 1 - _distance(before, after) / longest if longest else 1.0


def complexity(attempt: Attempt) -> float:
    """Measure a program for eq. 11, which does not say how: a tenth for each place where it branches or loops, so that
    δ of a program with ten of them falls as eq. 11 has it for 1."""
    tree = parsed(attempt.candidate.text)
    branching = (ast.If, ast.IfExp, ast.For, ast.While, ast.BoolOp, ast.comprehension, ast.ExceptHandler)
    return 0.0 if tree is None else sum(isinstance(node, branching) for node in ast.walk(tree)) / 10


def _entries(trace: Trace) -> list[tuple[object, ...]]:
    """What each entry did to values. Line numbers tell nothing: another program has others."""
    return [(each.call, each.values, each.gave, each.raised) for each in trace.executed[:_MOST]]


def _distance(one: Sequence[object], other: Sequence[object]) -> int:
    """Edit distance: the fewest entries to insert, delete or replace."""
    above = list(range(len(other) + 1))
    for number, entry in enumerate(one, 1):
        row = [number]
        for place, against in enumerate(other):
            row.append(min(above[place + 1] + 1, row[-1] + 1, above[place] + (entry != against)))
        above = row
    return above[-1]
