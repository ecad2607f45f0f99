"""Teaching Large Language Models to Self-Debug (Chen et al., 2024): explain the code, then revise it by the error."""

from __future__ import annotations

from adacoder.agents.advisor import advisor, coder, told
from adacoder.agents.budget import Budget
from adacoder.agents.programming_assistant import WRITER
from adacoder.agents.request import Request
from adacoder.strategies.strategy import Strategy

EXPLAINER = advisor("self_debugger", "explain", "explaining the code", "self_debugging_explain")
"""Explains `code` line by line, and against the `error`."""
REVISER = coder("self_debugger", "revising the function", "revise")
"""Revises `code` by its `error` and an `advice`."""
TURNS = 10
"""Maximum number of turns (section 4, "Maximum number of debugging turns")."""


async def _run(request: Request) -> None:
    """Write. While examples fail, explain the code and revise it."""
    candidate = await request.first(WRITER)
    for _ in request.rounds():
        attempt = await request.evaluate(candidate)
        if request.goes_on:
            about = told(attempt)
            advice = await request.ask(EXPLAINER, about)
            candidate = await request.ask(REVISER, about, advice=advice)


SELF_DEBUGGING = Strategy(
    name="self-debugging",
    summary="explains its code line by line after a failure, and revises it",
    paper="Teaching Large Language Models to Self-Debug (Chen et al., ICLR 2024)",
    roles=(WRITER, EXPLAINER, REVISER),
    iterations=TURNS,
    budget=lambda t: Budget(rounds=1 + t, calls=1 + 2 * t),
    run=_run,
    feedback="the error, and an explanation",
)
