"""The interface for strategies allows many kinds of workflows, but none that can declare a result `verified`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adacoder import report
from adacoder.agents.attempt_traces import shown
from adacoder.agents.budget import Budget
from adacoder.agents.code_evaluator import CodeEvaluator
from adacoder.agents.example_designer import DESIGNER
from adacoder.agents.programming_assistant import WRITER, WRITER_BY_PLAN
from adacoder.agents.request import Request
from adacoder.agents.role import Limits, Role
from adacoder.domain import (
    Attempt,
    BehaviourDiff,
    Candidate,
    Example,
    Failure,
    FailureKind,
    Outcome,
    Reply,
    SourceLine,
    Status,
    Target,
    Verdict,
)
from adacoder.journal import Journal, Noted
from adacoder.models.scripted import ScriptedModel
from adacoder.project import Project
from adacoder.report.as_json import step_json
from adacoder.strategies import STRATEGIES, most_rounds
from adacoder.strategies.strategy import Strategy
from adacoder.task import Mode, Task, current
from adacoder.traces import Executed, Trace
from support.evaluating import workspace
from support.scripted import STUB, Desk

pytestmark = pytest.mark.isolation

RIGHT = Candidate("def hypotenuse(a, b):\n    return (a * a + b * b) ** 0.5")
RIGHT_TOO = Candidate("def hypotenuse(a, b):\n    return abs(complex(a, b))")
HALF = Candidate("def hypotenuse(a, b):\n    return 5.0")
SUM = Candidate("def hypotenuse(a, b):\n    return float(a + b)")
SUM_TOO = Candidate("def hypotenuse(a, b):\n    return float(b + a)")
TABLE = Candidate("def hypotenuse(a, b):\n    return {(3, 4): 5.0, (5, 12): 13.0}[a, b]")
UNFINISHED = Candidate("def hypotenuse(a, b):\n    return (a * a +")
UNIMPORTED = Candidate("def hypotenuse(a, b):\n    return math.hypot(a, b)")
NOTHING = Candidate("")
CANDIDATES = (RIGHT, RIGHT_TOO, HALF, SUM, TABLE, UNFINISHED, UNIMPORTED, NOTHING)
EASY = (Example("hypotenuse(0, 0) is not 1\n", "True\n", 0),)
BY_HEART = (Example("hypotenuse(3, 4)\n", "5.0\n", 0),)


def strategy(run: Callable[[Request], Awaitable[None]], *roles: Role[Any], **budget: int) -> Strategy:
    spends = Budget(**{"rounds": 3, "calls": 20, **budget})
    return Strategy("tried", "is tried out", "none", roles or (WRITER,), lambda t: spends, run)


@asynccontextmanager
async def at_a_desk(tried: Strategy, folder: Path) -> AsyncIterator[Desk]:
    """Open a workspace whose requests run the strategy `tried`."""
    desk = Desk(folder)
    with carried_out_by(tried, desk):
        yield desk
    await desk.service.close()


@contextmanager
def carried_out_by(tried: Strategy, desk: Desk) -> Iterator[None]:
    """Make all requests of `desk` run the strategy `tried`."""
    desk.settings = replace(desk.settings, strategy=tried.name)
    with pytest.MonkeyPatch.context() as patching:
        patching.setitem(STRATEGIES, tried.name, tried)
        yield


async def outcome_of(tried: Strategy, folder: Path, *replies: str) -> tuple[Outcome, ScriptedModel]:
    async with at_a_desk(tried, folder) as desk:
        return await desk.run(desk.target(), *replies)


def fenced(candidate: Candidate) -> str:
    return f"```python\n{candidate.function}\n```"


Move = Callable[[Request], Awaitable[object]]


def _evaluate(candidate: Candidate) -> Move:
    return lambda request: request.evaluate(candidate)


def _probe(candidate: Candidate, tests: Sequence[Example]) -> Move:
    return lambda request: request.probe(candidate, tests)


def _cross_check(one: Candidate, other: Candidate) -> Move:
    return lambda request: request.cross_check(one, other)


def _prefer(candidate: Candidate, value: float) -> Move:
    async def move(request: Request) -> None:
        request.prefer(Attempt(candidate, Verdict(None)), value)

    return move


def _repair(candidate: Candidate, verdict: Verdict) -> Move:
    return lambda request: request.repaired(Attempt(candidate, verdict))


def _round(inner: Move) -> Move:
    async def move(request: Request) -> None:
        for number in request.rounds():
            with request.branch(f"branch {number}"):
                await inner(request)
            break

    return move


candidates = st.sampled_from(CANDIDATES)
WRONG = Failure(FailureKind.WRONG_OUTPUT, "It is wrong.")
forged = st.sampled_from([Verdict(None), Verdict(None, parses=True, defines=True, imports=True), Verdict(WRONG)])
moves = st.one_of(
    candidates.map(_evaluate),
    st.builds(_probe, candidates, st.sampled_from([EASY, BY_HEART, ()])),
    st.builds(_cross_check, candidates, candidates),
    st.builds(_prefer, candidates, st.floats()),
    st.builds(_repair, candidates, forged),
    st.builds(_round, candidates.map(_evaluate)),
)
TRUTHS = {RIGHT, RIGHT_TOO, replace(UNIMPORTED, imports=("import math",))}


@pytest.mark.asyncio(loop_scope="module")
@settings(max_examples=25)
@given(made=st.lists(moves, max_size=8))
async def test_no_strategy_ends_verified_unless_the_docstrings_examples_passed_on_that_candidate(
    one_desk: Desk, made: list[Move]
) -> None:
    evaluated: list[Candidate] = []

    async def run(request: Request) -> None:
        evaluate = request.evaluate

        async def noted(candidate: Candidate) -> Attempt:
            evaluated.append(candidate)
            return await evaluate(candidate)

        with patch.object(request, "evaluate", noted):
            for move in made:
                await move(request)

    one_desk.clear()
    with carried_out_by(strategy(run), one_desk):
        outcome, _ = await one_desk.run(one_desk.target())
    was_right = not TRUTHS.isdisjoint(evaluated)
    assert (outcome.status is Status.VERIFIED) is was_right
    if was_right:
        assert outcome.candidate in TRUTHS
        assert outcome.verdict is not None
        assert all(result.matched for result in outcome.verdict.results if result.entered)


async def test_a_candidate_that_passed_designed_tests_is_judged_anew_by_the_docstrings(tmp_path: Path) -> None:
    async with workspace(tmp_path) as opened:
        path = opened.folder / "shapes.py"
        path.write_text(STUB, encoding="utf-8")
        target = Desk(opened.folder).target()
        evaluator = CodeEvaluator(opened.host(), Journal(), overlays={}, timeout=10)
        easy = replace(target, examples=EASY)
        assert (await evaluator.evaluate(easy, SUM)).passed
        assert not (await evaluator.evaluate(target, SUM)).passed
        assert (await evaluator.evaluate(target, RIGHT)).passed, "the positive control"


async def test_a_strategy_that_evaluates_nothing_fails(tmp_path: Path) -> None:
    async def run(request: Request) -> None:
        await request.probe(RIGHT, EASY)

    outcome, _ = await outcome_of(strategy(run), tmp_path)
    assert (outcome.status, outcome.edits) == (Status.FAILED, ())
    assert outcome.verdict is not None
    assert outcome.verdict.failure is not None
    assert outcome.verdict.failure.kind is FailureKind.NO_FUNCTION


async def majority(request: Request) -> None:
    """Write three programs, and prefer those whose results most others share."""
    attempts = [await request.evaluate(await request.ask(WRITER)) for _ in range(3)]
    for one in attempts:
        found = [await request.cross_check(one.candidate, other.candidate) for other in attempts if other is not one]
        request.prefer(one, sum(each is not None and not each.differs for each in found))


@pytest.mark.parametrize(("written", "chosen"), [((SUM, RIGHT, RIGHT_TOO), RIGHT), ((RIGHT, SUM, SUM_TOO), SUM)])
async def test_a_strategy_may_choose_by_majority_what_no_example_proves(
    written: tuple[Candidate, ...], chosen: Candidate, tmp_path: Path
) -> None:
    unshown = STUB.replace("    5.0\n", "").replace("    13.0\n", "")
    async with at_a_desk(strategy(majority), tmp_path) as desk:
        outcome, _ = await desk.run(desk.target(unshown), *map(fenced, written))
    assert (outcome.status, outcome.candidate) == (Status.UNVERIFIED, chosen)


async def test_what_cannot_be_compared_is_noted(tmp_path: Path) -> None:
    found: list[object] = []

    async def run(request: Request) -> None:
        found.extend([await request.cross_check(RIGHT, other) for other in (NOTHING, UNFINISHED, RIGHT_TOO, SUM)])

    outcome, _ = await outcome_of(strategy(run), tmp_path)
    nothing, unfinished, same, other = found
    assert nothing is unfinished is None
    assert isinstance(same, BehaviourDiff)
    assert isinstance(other, BehaviourDiff)
    assert (bool(same.differs), bool(other.differs)) == (False, True)
    notes = [step.details.note for step in outcome.steps if isinstance(step.details, Noted)]
    assert notes[0] == "The reply holds no function 'hypotenuse'."
    assert notes[2].startswith("The two programs agree on ")


@pytest.mark.parametrize(("budget", "asked", "ran"), [({"calls": 2}, 2, 2), ({"programs": 3}, 4, 3), ({}, 6, 6)])
async def test_a_budget_ends_a_request_exactly_where_it_says(
    tmp_path: Path, budget: dict[str, int], asked: int, ran: int
) -> None:
    async def run(request: Request) -> None:
        for _ in range(6):
            await request.evaluate(await request.ask(WRITER))

    replies = [fenced(Candidate(SUM.function.replace("a + b", f"a + b + {n}"))) for n in range(6)]
    outcome, model = await outcome_of(strategy(run, **budget), tmp_path, *replies)
    assert len(model.asked) == asked
    assert sum(step.action == "evaluate" for step in outcome.steps) == ran
    assert outcome.status is Status.FAILED


async def test_the_rounds_that_are_announced_are_the_strategys(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    found = [
        most_rounds(Mode.GENERATE, replace(desk.settings, strategy=name)) for name in ("adacoder", "direct", "none")
    ]
    assert found == [6, 1, 1]
    outcome, _ = await desk.run(desk.target(), fenced(SUM), *["1. Do it."] * 0)
    await desk.service.close()
    assert outcome.rounds == 1


async def test_designed_tests_send_a_candidate_back_and_replace_none_that_passed(tmp_path: Path) -> None:
    """Like AgentCoder: designed tests find errors that the docstring's examples miss."""

    async def run(request: Request) -> None:
        tests = await request.ask(DESIGNER)
        plan = None
        while True:
            candidate = await (request.first(WRITER) if plan is None else request.ask(WRITER_BY_PLAN, plan=plan))
            attempt = await request.evaluate(candidate)
            feedback = await request.probe(candidate, tests)
            request.prefer(attempt, feedback.passed)
            if attempt.verdict.passed and feedback.failure is None:
                return
            failure = attempt.verdict.failure or feedback.failure
            assert failure is not None
            plan = failure.message

    tests = "```python\n>>> hypotenuse(-3, 4)\n5.0\n>>> hypotenuse(0, -2)\n2.0\n```"
    short = Candidate("def hypotenuse(a, b):\n    return (a * abs(a) + b * abs(b)) ** 0.5")
    tried = strategy(run, DESIGNER, WRITER, WRITER_BY_PLAN)
    outcome, _ = await outcome_of(tried, tmp_path, tests, fenced(short), fenced(RIGHT))
    assert (outcome.status, outcome.candidate) == (Status.VERIFIED, short)
    assert [step.action for step in outcome.steps] == [
        *("suggest", "write", "evaluate", "probe"),
        *("write", "evaluate", "probe"),
    ]
    # both programs pass the docstring's examples, so the first is returned
    outcome, _ = await outcome_of(tried, tmp_path, tests.replace("-3", "3"), fenced(SUM), fenced(HALF))
    assert outcome.status is not Status.VERIFIED


def _score(reply: Reply, target: Target) -> float:
    return float(reply.text)


CRITIC = Role("critic", "score", "scoring the attempt", "write", _score, Limits(one_in=8, most=16))
"""An agent that scores attempts. Its prompt does not matter."""


async def test_a_tree_search_shows_as_a_tree_and_returns_its_best_node(tmp_path: Path) -> None:
    """Like CodeTree: several programs for each node, scored by a critic."""

    async def run(request: Request) -> None:
        for name in ("by sorting", "by counting"):
            with request.branch(name):
                for depth in ("first", "second"):
                    with request.branch(depth):
                        attempt = await request.evaluate(await request.ask(WRITER))
                        request.prefer(attempt, await request.ask(CRITIC))

    halves = [Candidate(f"def hypotenuse(a, b):\n    return 5.0 + {number} * (a != 3)") for number in range(4)]
    replies = [text for number, each in enumerate(halves) for text in (fenced(each), str([1, 4, 2, 3][number]))]
    tried = strategy(run, WRITER, CRITIC)
    outcome, _ = await outcome_of(tried, tmp_path, *replies)
    assert (outcome.status, outcome.candidate) == (Status.PARTIAL, halves[1])
    assert [step.branch for step in outcome.steps if step.action == "score"] == [
        ("by sorting", "first"),
        ("by sorting", "second"),
        ("by counting", "first"),
        ("by counting", "second"),
    ]
    last = outcome.steps[-1]
    assert step_json(last)["branch"] == ["by counting", "second"]
    assert "by counting · second · scoring the attempt" in report.progress(last, 3)


def test_a_trace_in_a_prompt_is_bounded() -> None:
    step = Executed(1, 2, (("x", "1" * 200),))
    code = (SourceLine(2, "    return x"),)
    few, many = Trace((step,), code=code), Trace((step,) * 100, (step,) * 100, left_out=7, code=code)
    words = shown(few), shown(many)
    assert not any(isinstance(each, str) for each in words)
    short, long = (each(100) for each in words if not isinstance(each, str))
    assert short == f"    # x = {'1' * 50}\n[… 100 characters …]\n{'1' * 50}\n    return x"
    assert len(long) < 20 * 100 + 50
    assert "characters …]" in long
    whole = next(each for each in words[1:] if not isinstance(each, str))(5000)
    assert "[… 7 steps …]" in whole


async def test_a_trace_tells_what_a_failing_example_executed_and_decides_nothing(tmp_path: Path) -> None:
    """Like LDB: the planner sees the values of local variables line by line."""
    traces: list[Trace] = []

    async def run(request: Request) -> None:
        attempt = await request.evaluate(await request.first(WRITER))
        failure = attempt.verdict.failure
        assert failure is not None
        assert failure.example is not None
        traces.append(await request.trace(attempt.candidate, failure.example))
        await request.evaluate(await request.ask(WRITER_BY_PLAN, plan=shown(traces[0])))

    key = f"ghp_{'a1B2' * 9}"
    steps = Candidate(
        f"def hypotenuse(a, b):\n    given = ['{key}', 'plain']\n    total = a + b\n    return float(total)"
    )
    outcome, model = await outcome_of(strategy(run, WRITER, WRITER_BY_PLAN), tmp_path, fenced(steps), fenced(RIGHT))
    assert (outcome.status, outcome.candidate) == (Status.VERIFIED, RIGHT)
    assert "    # a = 3, b = 4\n    given = [" in model.asked[1].messages[-1].content
    assert (
        "    total = a + b\n    # total = 7\n    return float(total)\n    # returned 7.0\n"
        in model.asked[1].messages[-1].content
    )
    assert key in repr(traces[0])
    assert key not in model.asked[1].messages[-1].content
    assert "'plain']\n    total" in model.asked[1].messages[-1].content
    assert traces[0].is_complete
    assert traces[0].executed[-1].gave == "7.0"
    assert [step.action for step in outcome.steps] == ["write", "evaluate", "trace", "write", "evaluate"]
    step = step_json(outcome.steps[2])
    assert (step["lines"], step["complete"]) == (len(traces[0].executed), True)


async def test_a_listener_shows_a_step_that_it_does_not_know_by_what_is_being_done(tmp_path: Path) -> None:
    async def run(request: Request) -> None:
        await request.evaluate(await request.ask(WRITER))
        await request.ask(CRITIC)

    shown: list[str] = []
    async with at_a_desk(strategy(run, WRITER, CRITIC), tmp_path) as desk:
        desk.model = ScriptedModel(fenced(RIGHT), "4")
        journal = Journal(lambda event: shown.append(report.progress(event, 3)))
        outcome = await desk.service.run(Task(desk.target(), desk.settings, Project(desk.folder), journal))
    assert outcome.status is Status.VERIFIED
    assert any("scoring the attempt" in line for line in shown)


@pytest.mark.parametrize("is_started", [True, False])
async def test_a_start_takes_the_place_of_the_first_writing_for_any_strategy(tmp_path: Path, is_started: bool) -> None:
    async def run(request: Request) -> None:
        await request.evaluate(await request.first(WRITER))

    async with at_a_desk(strategy(run), tmp_path) as desk:
        target = desk.target(STUB.replace("pass\n", "return (a * a + b * b) ** 0.5\n"))
        outcome, model = await desk.run(target, fenced(RIGHT), start=current(target) if is_started else None)
    assert outcome.status is Status.VERIFIED
    assert len(model.asked) == (not is_started)
