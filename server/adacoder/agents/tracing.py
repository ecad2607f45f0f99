"""Trace of an attempt's failing example, observed in the sandbox; and the measures of SEMAG's equations 10 and 11.

No model is asked to add prints. What hostile code may have told is text like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING

from adacoder.agents.failures import traced, traced_in_blocks
from adacoder.aside import aside
from adacoder.pytext import parsed
from adacoder.traces import Trace

if TYPE_CHECKING:
    from adacoder.agents.request import Request
    from adacoder.agents.role import Field
    from adacoder.domain import Attempt, Example


def failing(attempt: Attempt) -> Example | None:
    """The example that an attempt fails, if its code ran so far."""
    failure = attempt.verdict.failure
    return failure.example if failure is not None and attempt.verdict.imports else None


async def observed(request: Request, attempt: Attempt, example: Example | None = None) -> Trace:
    """Trace `example`, or else the failing one, on an attempt; an empty trace where its code did not run.

    Raises:
        SandboxError: nothing could be run.
    """
    example = example or failing(attempt)
    if example is None or not attempt.verdict.imports:
        return Trace()
    return await request.trace(attempt.candidate, example)


def shown(trace: Trace, *, in_blocks: bool = False) -> Field:
    """Word a trace for a prompt; an empty one as such."""
    if not trace.executed:
        return "Nothing could be traced."
    return traced_in_blocks(trace) if in_blocks else traced(trace)


async def likeness(one: Trace, other: Trace) -> float:
    """Compare two traces (SEMAG, eq. 10): 1 less their edit distance over the longer one's length; 1 for two empty."""
    return await aside(_likeness, one, other)


async def complexity(attempt: Attempt) -> float:
    """Measure a program for eq. 11, which does not say how: a tenth for each place where it branches or loops, so that
    δ of a program with ten of them falls as eq. 11 has it for 1."""
    return await aside(_complexity, attempt.candidate.text)


def _likeness(one: Trace, other: Trace) -> float:
    before, after = _entries(one), _entries(other)
    longest = max(len(before), len(after))
    return 1 - _distance(before, after) / longest if longest else 1.0


def _complexity(text: str) -> float:
    tree = parsed(text)
    branching = (ast.If, ast.IfExp, ast.For, ast.While, ast.BoolOp, ast.comprehension, ast.ExceptHandler)
    return 0.0 if tree is None else sum(isinstance(node, branching) for node in ast.walk(tree)) / 10


def _entries(trace: Trace) -> list[tuple[object, ...]]:
    """What each entry did to values. Line numbers tell nothing: another program has others."""
    return [(each.call, each.values, each.gave, each.raised) for each in trace.executed]


def _distance(one: Sequence[object], other: Sequence[object]) -> int:
    """Edit distance: the fewest entries to insert, delete or replace."""
    above = list(range(len(other) + 1))
    for number, entry in enumerate(one, 1):
        row = [number]
        for place, against in enumerate(other):
            row.append(min(above[place + 1] + 1, row[-1] + 1, above[place] + (entry != against)))
        above = row
    return above[-1]
