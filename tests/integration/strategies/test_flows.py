"""The best and worst case of each strategy. In the worst case, the number of calls is the budget."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adacoder.domain import Candidate, Outcome, Status, Step
from adacoder.journal import Evaluated, Journal, OpenStep, Waiting
from adacoder.models.scripted import ScriptedModel
from adacoder.project import Project
from adacoder.strategies import FAMILIES, STRATEGIES
from adacoder.task import Mode, Task
from support.acting import Actor
from support.sampling import sampled
from support.scripted import STUB, Desk

pytestmark = [pytest.mark.isolation, pytest.mark.asyncio(loop_scope="module")]

RIGHT = "def hypotenuse(a, b):\n    return (a * a + b * b) ** 0.5"


TESTS = "```python\nassert hypotenuse(6, 8) == 10.0\n```"


FOLDER = os.environ.get("ADACODER_DATA")
SEARCHED = {"codetree": 48, "codetree:no-abort": 48, "codetree:no-verification": 48, "codetree:no-scoring": 28} | {
    "codetree:bfs": 33,
    "codetree:dfs": 28,
    "codetree:bfs-d2-w4": 25,
    "codetree:bfs-d2-w5": 26,
    "codetree:dfs-d4-w2": 31,
    "codetree:dfs-d5-w2": 32,
    "auto": 8,
}
"""Numbers of calls of the tree searches in their worst cases, and of `auto` if examples fail and no tests run.

A search asks for one list, and for a function, a score and a reflection for each of 20 programs. Programs at the
greatest depth get no reflection.
"""


def writing(right_from: int | None) -> Callable[[int], str]:
    """Return a model that writes wrong programs. Its program number `right_from` and all later ones are right."""

    def written(number: int) -> str:
        is_right = right_from is not None and number >= right_from
        wrong = f"def hypotenuse(a, b):\n    wrong = a + {100 + number}\n    return float(wrong)"
        return f"```python\n{RIGHT if is_right else wrong}\n```"

    return written


@pytest.fixture
def desk(one_desk: Desk) -> Desk:
    """A workspace after a reset. Its processes are still warm from the previous test."""
    one_desk.clear()
    return one_desk


def _opened(actor: ScriptedModel, model_id: str | None) -> Any:
    return actor


async def outcome_of(name: str, actor: ScriptedModel, desk: Desk, **limits: Any) -> Outcome:
    desk.settings = replace(desk.settings, strategy=name, **limits)
    desk.opens = partial(_opened, actor)
    outcome, _ = await desk.run(desk.target())
    return outcome


@pytest.mark.parametrize("name", sampled(STRATEGIES, FAMILIES))
async def test_the_best_case_takes_as_many_calls_as_are_told(name: str, desk: Desk) -> None:
    actor = Actor(writing(1), tests=TESTS)
    outcome = await outcome_of(name, actor, desk)
    assert outcome.status is Status.VERIFIED
    assert len(actor.asked) == STRATEGIES[name].best_calls


@pytest.mark.parametrize("name", sampled(STRATEGIES, FAMILIES))
async def test_the_worst_case_stays_in_the_budget(name: str, desk: Desk) -> None:
    actor = Actor(writing(None), tests=TESTS, accepts=False)
    outcome = await outcome_of(name, actor, desk)
    assert outcome.status is Status.FAILED, outcome.reason
    budget = STRATEGIES[name].spends(None)
    assert len(actor.asked) == SEARCHED.get(name, budget.calls)
    assert len(actor.asked) <= budget.calls
    assert outcome.rounds == budget.rounds


@pytest.mark.parametrize("name", ["adacoder", "agentcoder", "mapcoder", "codetree", "semag", "resample"])
@pytest.mark.parametrize(
    ("limits", "calls", "programs", "said"),
    [
        ({"budget_calls": 5}, 5, None, "limit of 5 calls: raise --budget-calls"),
        ({"budget_tokens": 45}, 3, None, "limit of 45 tokens: raise --budget-tokens"),
        ({"budget_seconds": 0.0}, 0, 0, "limit of 0 seconds: raise --budget-seconds"),
        ({"budget_programs": 2}, None, 2, "limit of 2 programs: raise --budget-programs"),
    ],
)
async def test_a_users_limit_ends_a_request_exactly_there_and_is_told(
    name: str, limits: dict[str, Any], calls: int | None, programs: int | None, said: str, desk: Desk
) -> None:
    actor = Actor(writing(None), tests=TESTS)
    outcome = await outcome_of(name, actor, desk, **limits)
    assert outcome.status is Status.FAILED
    assert any(said in note for note in outcome.notes), outcome.notes
    evaluated = {step.details.code for step in outcome.steps if isinstance(step.details, Evaluated)}
    assert calls in (None, len(actor.asked))
    assert programs in (None, len(evaluated))


async def test_no_model_is_asked_for_a_program_that_may_not_run(desk: Desk) -> None:
    for most in (1, 2):
        actor = Actor(writing(None))
        outcome = await outcome_of("adacoder", actor, desk, budget_programs=most)
        assert len(actor.asked) == 2 * most - 1
        assert any("raise --budget-programs" in note for note in outcome.notes)


@pytest.mark.parametrize("name", sampled(STRATEGIES, FAMILIES))
async def test_what_lies_outside_the_candidate_costs_no_more_calls(name: str, desk: Desk) -> None:
    desk.settings = replace(desk.settings, strategy=name)
    actor = Actor(writing(1), tests=TESTS)
    desk.opens = partial(_opened, actor)
    outcome, _ = await desk.run(desk.target(f"import no_such_module\n{STUB}"))
    assert outcome.status is Status.FAILED
    assert 0 < len(actor.asked) <= STRATEGIES[name].best_calls


MISLED = "def hypotenuse(a, b):\n    return 9.0 if b == 8 else (a * a + b * b) ** 0.5"
"""A program that passes the examples and WRONG_TESTS, but is wrong."""
WRONG_TESTS = "```python\nassert hypotenuse(6, 8) == 9.0\nassert hypotenuse(8, 8) == 9.0\n```"
ONE_EXAMPLE = STUB.replace("    >>> hypotenuse(5, 12)\n    13.0\n", "")
NO_EXAMPLE = ONE_EXAMPLE.replace("    >>> hypotenuse(3, 4)\n    5.0\n", "")


async def revised(
    name: str, desk: Desk, first: str, then: str, stub: str = STUB, other_tests: str | None = None
) -> tuple[Outcome, Actor]:
    """Ask for a function. Designed tests and the critic reject the first version, and accept the others."""
    desk.settings = replace(desk.settings, strategy=name)
    actor = Actor(
        lambda n: f"```python\n{first if n == 1 else then}\n```",
        tests=WRONG_TESTS,
        other_tests=other_tests,
        accepts=False,
    )
    desk.opens = partial(_opened, actor)
    outcome, _ = await desk.run(desk.target(stub))
    return outcome, actor


@pytest.mark.parametrize("stub", [STUB, ONE_EXAMPLE], ids=["two examples", "one example"])
@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "agentcoder:designer"])  # it runs one program
async def test_no_opinion_of_a_model_replaces_what_passed_the_examples(name: str, stub: str, desk: Desk) -> None:
    outcome, actor = await revised(name, desk, RIGHT, MISLED, stub)
    assert (outcome.status, outcome.candidate) == (Status.VERIFIED, Candidate(RIGHT))
    assert actor.written == 1, "nothing could outrank it"


DESIGNING = ["self-collaboration", "agentcoder", "agentcoder:one-agent"]


@pytest.mark.parametrize("name", DESIGNING)
async def test_designed_tests_rank_what_fails_an_example(name: str, desk: Desk) -> None:
    first, then = (f"def hypotenuse(a, b):\n    return {value}" for value in ("5.0", "9.0 if b == 8 else 5.0"))
    outcome, _ = await revised(name, desk, first, then)
    assert (outcome.status, outcome.candidate) == (Status.PARTIAL, Candidate(then))


@pytest.mark.parametrize("name", [*DESIGNING, "agentcoder:designer"])
async def test_opinions_rank_what_no_example_proves(name: str, desk: Desk) -> None:
    outcome, _ = await revised(name, desk, RIGHT, MISLED, NO_EXAMPLE)
    assert (outcome.status, outcome.candidate) == (Status.UNVERIFIED, Candidate(MISLED))


async def test_a_critic_judges_what_no_example_proves(desk: Desk) -> None:
    outcome, actor = await revised("codetree", desk, RIGHT, MISLED, NO_EXAMPLE)
    assert (outcome.status, outcome.candidate) == (Status.UNVERIFIED, Candidate(RIGHT))
    assert actor.written > 1, "the critic rejects each program, so others are written"


@pytest.mark.parametrize("name", DESIGNING)
async def test_a_test_that_only_one_design_has_sends_nothing_back(name: str, desk: Desk) -> None:
    outcome, actor = await revised(name, desk, RIGHT, MISLED, NO_EXAMPLE, other_tests=TESTS)
    assert (outcome.status, outcome.candidate, actor.written) == (Status.UNVERIFIED, Candidate(RIGHT), 1)


async def test_no_designed_test_is_set_aside_by_the_programs_of_one_chain(desk: Desk) -> None:
    """Every program fails a right test in all designs. Only the last program is right."""
    wrong = "def hypotenuse(a, b):\n    return 5.0 + {}"
    desk.settings = replace(desk.settings, strategy="agentcoder")
    programs = [wrong.format(f"(a - 3) * {n}") for n in range(4)]
    actor = Actor(lambda n: f"```python\n{(programs + [RIGHT] * 2)[n - 1]}\n```", tests=TESTS)
    desk.opens = partial(_opened, actor)
    outcome, _ = await desk.run(desk.target(NO_EXAMPLE))
    assert (outcome.status, outcome.candidate, actor.written) == (Status.UNVERIFIED, Candidate(RIGHT), 5)
    assert not any(step.action == "set aside" for step in outcome.steps)
    assert [step.action for step in outcome.steps].count("design") == 5, (
        "the designer is asked again after each failure"
    )


@pytest.mark.parametrize("name", ["adacoder", "adacoder:no-debugger", "intervenor", "self-collaboration"])
async def test_a_repair_is_by_rule_whatever_the_strategy(name: str, desk: Desk) -> None:
    desk.settings = replace(desk.settings, strategy=name)
    start = Candidate("def hypotenuse(a, b):\n    return math.hypot(a, b)")
    task = Task(desk.target(), desk.settings, Project(desk.folder), Journal(), start)
    outcome = await desk.service.perform(Mode.REPAIR, task)
    assert outcome.status is Status.VERIFIED


@pytest.mark.parametrize("limit", [1, 2])
async def test_a_call_that_is_made_again_counts_for_a_users_limit(limit: int, desk: Desk) -> None:
    """The server had ended the first reply before the function was complete."""
    actor = Actor(lambda number: "```python\nimport math\n" if number == 1 else writing(1)(1))
    outcome = await outcome_of("direct", actor, desk, budget_calls=limit)
    assert outcome.status is (Status.VERIFIED if limit == 2 else Status.FAILED)
    assert len(actor.asked) == limit


async def test_a_limit_that_is_not_reached_is_not_told(desk: Desk) -> None:
    outcome = await outcome_of("adacoder", Actor(writing(1)), desk, budget_calls=1, budget_programs=1)
    assert outcome.status is Status.VERIFIED
    assert outcome.notes == ()


async def test_what_passed_stays_where_no_more_replies_come(desk: Desk) -> None:
    """The examples prove nothing, so CodeTree asks its critic even after they pass."""
    desk.settings = replace(desk.settings, strategy="codetree")
    said = ["1. Add squares.", writing(1)(1)]
    outcome, model = await desk.run(desk.target(NO_EXAMPLE), *said)
    assert (outcome.status, outcome.candidate) == (Status.UNVERIFIED, Candidate(RIGHT))
    assert str(outcome.reason).endswith("Then no more replies came: The script has no reply left.")
    assert len(model.asked) == len(said) + 1


@pytest.mark.parametrize(
    ("name", "limit", "most"),
    [("codetree", None, 61), ("codetree", 30, 30), ("codetree", 5, None), ("adacoder", None, None)],
)
async def test_a_costly_request_tells_before_it_starts(
    name: str, limit: int | None, most: int | None, desk: Desk
) -> None:
    desk.settings = replace(desk.settings, strategy=name, budget_calls=limit)
    told: list[str] = []

    def hear(event: OpenStep | Step | Waiting) -> None:
        if isinstance(event, Waiting):
            told.append(event.message)

    for _ in range(2):
        desk.opens = partial(_opened, Actor(writing(1)))
        await desk.service.run(Task(desk.target(), desk.settings, Project(desk.folder), Journal(hear)))
    assert any(each == f"codetree asks the model at most {most} times" for each in told) is (most is not None)
    assert any(f"at most {most} times; at" in each for each in told) is (most is not None)
    assert any("asks the model at most" in each for each in told) is (most is not None)


@pytest.mark.parametrize("name", sampled(STRATEGIES, FAMILIES))
async def test_no_strategy_asks_a_model_where_none_is_to_be_asked(name: str, desk: Desk) -> None:
    """Like `apply`: with an initial candidate and without iterations, only repair rules run."""
    desk.settings = replace(desk.settings, strategy=name, max_iterations=0)
    actor = Actor(writing(1))
    desk.opens = partial(_opened, actor)
    start = Candidate(RIGHT.replace("0.5", "1"))
    outcome = await desk.service.run(Task(desk.target(), desk.settings, Project(desk.folder), Journal(), start))
    assert (outcome.status, actor.asked) == (Status.FAILED, [])
    assert outcome.candidate == start


@pytest.mark.skipif(FOLDER is None, reason="ADACODER_DATA names no folder with recorded replies")
@pytest.mark.parametrize("name", sampled(STRATEGIES, FAMILIES))
async def test_whatever_a_model_says_nothing_wrong_is_verified(name: str, desk: Desk) -> None:
    """Every call gets a real reply that was recorded for another task."""
    with gzip.open(Path(FOLDER or "") / "model_replies.jsonl.gz", "rt", encoding="utf-8") as lines:
        replies = [json.loads(line)["reply"] for line in lines]
    said = random.Random(name).sample(replies, 500)
    outcome = await outcome_of(name, ScriptedModel(*said), desk, timeout=2.0)
    assert outcome.status is Status.FAILED, outcome.reason
    right = Actor(writing(1), tests=said[0], accepts=True)
    assert (await outcome_of(name, right, desk)).status is Status.VERIFIED, "the positive control"
