"""Our own strategy: the AdaCoder loop. If the loop stalls, the kind of failure decides the next step.

The budget is the same as AdaCoder's. The loop stalls if the same failure occurs twice in a row, or if no further
example passes in two rounds. After a wrong value, a trace is recorded. After any other failure, strategies are listed.
If a docstring has only one example, a program that passes is also checked with designed tests.
"""

from __future__ import annotations

from adacoder.agents.advisor import by_plan, told
from adacoder.agents.attempt_traces import observed, shown
from adacoder.agents.budget import Budget
from adacoder.agents.failures import described, reported
from adacoder.agents.probes import Probes
from adacoder.agents.programming_assistant import WRITER, WRITER_BY_PLAN
from adacoder.agents.prompt_engineer import PLANNER
from adacoder.agents.request import Request
from adacoder.domain import Attempt, FailureKind
from adacoder.strategies.agentcoder import DESIGNER
from adacoder.strategies.codetree import SOLVER, THINKER
from adacoder.strategies.revising import JUDGE, REWRITER
from adacoder.strategies.strategy import Strategy

_STALLED = 2
"""After this many rounds without a newly passed example, the loop stalls."""


def _stalls(attempts: list[Attempt]) -> bool:
    """Return whether the last two failures are the same, or no further example passed in the last two rounds."""
    if len(attempts) < 2:
        return False
    *_, before, last = attempts
    if before.verdict.failure == last.verdict.failure:
        return True
    reached = [attempt.verdict.examples_passed for attempt in attempts]
    return len(reached) > _STALLED and max(reached[-_STALLED:]) <= max(reached[:-_STALLED])


async def _run(request: Request) -> None:
    """Write, evaluate and repair as AdaCoder does. If the loop stalls, choose the next step by the kind of failure."""
    attempts: list[Attempt] = []
    others: list[str] | None = None
    for number in request.rounds():
        if number == 1:
            candidate = await request.first(WRITER)
        elif not _stalls(attempts):
            plan = await request.ask(PLANNER, error=described(attempts[-1].verdict))
            candidate = await request.ask(WRITER_BY_PLAN, plan=plan)
        elif _is_by_value(attempts[-1]):
            about, trace = told(attempts[-1]), await observed(request, attempts[-1])
            advice = await request.ask(JUDGE, about, trace=shown(trace, in_blocks=True))
            candidate = await request.ask(REWRITER, about, advice=advice)
        else:
            others = [*await request.ask(THINKER)] if others is None else others
            candidate = await by_plan(request, SOLVER, others.pop(0) if others else "")
        attempts.append(await request.repaired(await request.evaluate(candidate)))
    await _probed(request)


async def _probed(request: Request) -> None:
    """Run designed tests if the best program passed only a single example. If a test fails, rewrite once."""
    best = request.best
    if best is None or not best.verdict.passed or best.verdict.total(request.target) != 1:
        return
    if best.candidate == request.start:
        return  # the initial code passes, and the user did not ask to question it
    tests = await request.ask(DESIGNER)
    probes = Probes(request)
    feedback = await probes.run(best, tests)
    if feedback.failure is not None:
        candidate = await request.ask(REWRITER, told(best, reported(feedback.failure)), advice="")
        await probes.run(await request.evaluate(candidate))


def _is_by_value(attempt: Attempt) -> bool:
    failure = attempt.verdict.failure
    return failure is not None and failure.kind is FailureKind.WRONG_OUTPUT


AUTO = Strategy(
    name="auto",
    summary="begins as adacoder; where that stalls, goes on by traces or other strategies",
    paper="ours",
    roles=(WRITER, WRITER_BY_PLAN, PLANNER, JUDGE, REWRITER, THINKER, SOLVER, DESIGNER),
    budget=lambda t: Budget(rounds=1 + t, calls=1 + 2 * t),
    run=_run,
    feedback="the error; once it stalls, a trace",
    tests="designed, as probes, where there is one example",
    selection="the furthest, then by probes passed",
)
