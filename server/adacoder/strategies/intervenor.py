"""INTERVENOR: Prompting the Coding Ability of Large Language Models with the Interactive Chain of Repair (2024)."""

from __future__ import annotations

from adacoder.agents.advisor import advisor, coder, told
from adacoder.agents.budget import Budget
from adacoder.agents.request import Request
from adacoder.strategies.strategy import Strategy

LEARNER = coder("learner", "writing the function", "write")
"""Writes the function."""
LEARNER_AGAIN = coder("learner", "repairing the function by the method", "revise")
"""Repairs `code` by the teacher's method, passed as `advice`."""
TEACHER = advisor("teacher", "teach", "finding a method to repair the function", "intervenor_teach")
"""Describes a method to repair `code` after its `error`, but writes no code."""
TURNS = 5
"""Number of the teacher's turns. The paper states none, so it is the same as AdaCoder's, for comparison.
The released scripts are run by hand."""


async def _run(request: Request) -> None:
    """The learner writes. While examples fail, the teacher describes a method and the learner repairs by it."""
    candidate = await request.first(LEARNER)
    for _ in request.rounds():
        attempt = await request.evaluate(candidate)
        if request.goes_on:
            about = told(attempt)
            method = await request.ask(TEACHER, about)
            candidate = await request.ask(LEARNER_AGAIN, about, advice=method)


INTERVENOR = Strategy(
    name="intervenor",
    summary="a learner writes, and a teacher explains how to repair the failure",
    paper="INTERVENOR: Prompting the Coding Ability of LLMs with the Interactive Chain of Repair (Wang et al., 2024)",
    roles=(LEARNER, LEARNER_AGAIN, TEACHER),
    iterations=TURNS,
    budget=lambda t: Budget(rounds=1 + t, calls=1 + 2 * t),
    run=_run,
    feedback="the error, and a method",
)
