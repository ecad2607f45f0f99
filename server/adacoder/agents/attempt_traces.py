"""Trace the failing example of an attempt, and compute SEMAG's similarity and complexity (equations 10 and 11).

Hostile code could forge a trace. This is harmless, because a trace is only shown to the model.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
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
    """Return the example that an attempt failed, or None.

    A candidate that cannot be imported has failed no example.
    """
    failure = attempt.verdict.failure
    return failure.example if failure is not None and attempt.verdict.imports else None


async def observed(request: Request, attempt: Attempt, example: Example | None = None) -> Trace:
    """Trace `example`, or by default the example that the attempt failed. If no code ran, the trace is empty.

    Raises:
        SandboxError: nothing can run.
    """
    example = example or failing(attempt)
    if example is None or not attempt.verdict.imports:
        return Trace()
    return await request.trace(attempt.candidate, example)


def shown(trace: Trace, *, in_blocks: bool = False) -> Field:
    """Return a trace as text for a prompt."""
    if not trace.executed:
        return "Nothing could be traced."
    return partial(traced_in_blocks if in_blocks else traced, trace)


async def likeness(one: Trace, other: Trace) -> float:
    """Return the similarity of two traces, from 0 to 1 (SEMAG, eq. 10).

    The similarity is 1 - d / n, where d is the edit distance of the traces and n is the length of the longer trace.
    """
    return await aside(_likeness, one, other)


async def complexity(attempt: Attempt) -> float:
    """Return a program's complexity (SEMAG, eq. 11).

    The paper does not define complexity. AdaCoder adds 0.1 for each branch or loop.
    """
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
    """Return the entries of a trace without their line numbers, which differ between programs."""
    return [(each.call, each.values, each.gave, each.raised) for each in trace.executed]


def _distance(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the edit distance of two sequences."""
    above = list(range(len(other) + 1))
    for number, entry in enumerate(one, 1):
        row = [number]
        for place, against in enumerate(other):
            row.append(min(above[place + 1] + 1, row[-1] + 1, above[place] + (entry != against)))
        above = row
    return above[-1]
