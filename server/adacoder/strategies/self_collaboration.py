"""Self-collaboration Code Generation via ChatGPT (Dong et al., 2024): analyst, coder and tester."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace

from adacoder.agents.advisor import advisor, by_plan, code_of, coder, told
from adacoder.agents.budget import Budget
from adacoder.agents.failures import reported
from adacoder.agents.probes import Probes
from adacoder.agents.request import Request
from adacoder.domain import Attempt, Example
from adacoder.models.base import Sampling
from adacoder.strategies.agentcoder import DESIGNER
from adacoder.strategies.strategy import Strategy

ANALYST = advisor("analyst", "plan", "analysing the task", "self_collaboration_analyse")
"""The Role that decomposes the task and plans."""
CODER = coder("coder", "writing the function by the plan", "write_by_plan")
"""The Role that writes the function by the analyst's `plan`."""
CODER_AGAIN = coder("coder", "revising the function by the report", "revise_by_plan")
"""The Role that revises `code` by the `plan` and the `error`, which includes the tester's report."""
TESTER = replace(DESIGNER, agent="tester", doing="testing the code", prompt="self_collaboration_test")
"""The Role that designs tests for `code`. As in the authors' code, the tests have no assertions, so they only find
crashes.
"""
ROUNDS = 1
"""Number of revisions, as in the authors' script. The paper finds no gain from more (section 4.4)."""


async def _run(request: Request) -> None:
    """Let the analyst plan and the coder write. Then revise the code by its examples and the tester's tests."""
    plan = ""
    candidate = request.start
    if candidate is None:
        plan = await request.ask(ANALYST)
        candidate = await by_plan(request, CODER, plan)

    def design(attempt: Attempt, sampling: Sampling | None) -> Awaitable[tuple[Example, ...]]:
        return request.ask(TESTER, code=code_of(attempt.candidate), sampling=sampling)

    probes = Probes(request, design)
    for _ in request.rounds(until_proved=True):
        attempt = await request.evaluate(candidate)
        failure = await probes.failure(attempt)
        if attempt.verdict.passed and failure is None:
            return
        if request.goes_on_until_proved:
            candidate = await by_plan(request, CODER_AGAIN, plan, told(attempt, reported(failure)))


SELF_COLLABORATION = Strategy(
    name="self-collaboration",
    summary="an analyst plans, a coder writes, and a tester reports",
    paper="Self-collaboration Code Generation via ChatGPT (Dong et al., TOSEM 2024)",
    roles=(ANALYST, CODER, CODER_AGAIN, TESTER),
    iterations=ROUNDS,
    best_calls=2,
    budget=lambda t: Budget(rounds=1 + t, calls=2 + 3 * t),
    run=_run,
    feedback="the error, of designed tests too",
    tests="designed, as probes",
    selection="the furthest, then by probes passed",
)
