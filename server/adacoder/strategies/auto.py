"""AdaCoder's own strategy: write again at higher temperatures, and plan only if this does not help.

`docs/measured.md` has the measurements. With small models, a fresh attempt passes about as often as a plan that costs
as many tokens. A small model mostly repeats a failed program that it is shown, so only the user's code is revised.

If only a test of the project fails, the plan comes at once, because the model has not seen the tests.
"""

from __future__ import annotations

from adacoder.agents.advisor import told
from adacoder.agents.budget import Budget
from adacoder.agents.failures import described
from adacoder.agents.programming_assistant import WRITER, WRITER_BY_PLAN
from adacoder.agents.prompt_engineer import PLANNER
from adacoder.agents.request import Request
from adacoder.domain import Attempt, FailureKind, further
from adacoder.models.base import Sampling
from adacoder.strategies.revising import REWRITER
from adacoder.strategies.strategy import Strategy

SAMPLINGS = (None, *(Sampling(temperature=temperature) for temperature in (0.4, 0.6, 0.8)))
"""Temperatures of the programs before the first plan. The first program has the temperature of the settings."""


async def _run(request: Request) -> None:
    """Write the function, or revise the user's code. Then write afresh. Finally plan from the best attempt's error."""
    best: Attempt | None = None
    of_user = 0 if request.start is None else 2
    """Number of rounds for the user's code: one evaluates it unchanged, and one revises it."""
    for number in request.rounds():
        if best is None:
            candidate = await request.first(WRITER)
        elif number <= of_user:
            candidate = await request.ask(REWRITER, told(best), advice="")
        elif number - of_user <= len(SAMPLINGS) and not _is_refused_by_test(best):
            candidate = await request.ask(WRITER, sampling=SAMPLINGS[number - of_user - 1])
        else:
            plan = await request.ask(PLANNER, error=described(best.verdict))
            candidate = await request.ask(WRITER_BY_PLAN, plan=plan)
        attempt = await request.repaired(await request.evaluate(candidate))
        best = attempt if best is None else further(best, attempt)


def _is_refused_by_test(attempt: Attempt) -> bool:
    """Return whether the attempt passes the examples, but not a test of the project."""
    failure = attempt.verdict.failure
    return failure is not None and failure.kind is FailureKind.TEST_FAILED


AUTO = Strategy(
    name="auto",
    summary="writes again at temperatures up to 0.8, and plans from the error only after that",
    paper="ours",
    roles=(WRITER, REWRITER, PLANNER, WRITER_BY_PLAN),
    budget=lambda t: Budget(rounds=1 + t, calls=1 + 2 * t),
    run=_run,
    feedback="the error, after four programs",
)
