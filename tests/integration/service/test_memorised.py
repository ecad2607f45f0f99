"""A candidate that memorised the examples is reported as memorised, and is never `verified`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adacoder import report
from adacoder.agents.code_evaluator import CodeEvaluator
from adacoder.domain import (
    Attempt,
    Candidate,
    Example,
    ExampleResult,
    Failure,
    FailureKind,
    Outcome,
    Status,
    Verdict,
    further,
)
from adacoder.journal import Journal
from adacoder.project import Project
from adacoder.service import Service, from_reply
from adacoder.settings import Settings
from adacoder.source.locate import documented, locate
from adacoder.source.text import apply_edits
from adacoder.task import Task
from support.evaluating import workspace
from support.memorising import cases
from support.scripted import STUB as MODULE
from support.scripted import Desk

STUB = MODULE[MODULE.index("def") :]
TABLE = "def hypotenuse(a, b):\n    return {(3, 4): 5.0, (5, 12): 13.0}[a, b]\n"
OTHER_TABLE = "def hypotenuse(a, b):\n    return 5.0 if a == 3 and b == 4 else 13.0\n"
GOOD = "def hypotenuse(a, b):\n    return (a * a + b * b) ** 0.5\n"
HALF_WRONG = "def hypotenuse(a, b):\n    return a + b / 2\n"
WRONG = "def hypotenuse(a, b):\n    return float(a + b)\n"
PLAN = "1. Take the root of the sum of the squares."

isolated = pytest.mark.isolation


async def generated(folder: Path, *replies: str) -> tuple[Outcome, list[str]]:
    """Return the Outcome of these replies, and the model's requests."""
    desk = Desk(folder)
    desk.settings = replace(desk.settings, max_iterations=len(replies) // 2)
    try:
        outcome, model = await desk.run(desk.target(STUB), *replies)
        return outcome, [ask.messages[-1].content for ask in model.asked]
    finally:
        await desk.service.close()


@isolated
async def test_the_loop_goes_on_and_the_plan_is_made_from_the_reason(tmp_path: Path) -> None:
    outcome, asked = await generated(tmp_path, TABLE, PLAN, GOOD)
    assert (outcome.status, outcome.rounds) == (Status.VERIFIED, 2)
    assert apply_edits(STUB, outcome.edits).endswith("return (a * a + b * b) ** 0.5\n")
    assert "2 of 2 examples are answered by constants under a test on their own input" in asked[1]
    assert "{(3, 4)" not in asked[1], "the planner is not shown how"


@isolated
async def test_if_nothing_better_comes_it_is_offered_unverified_with_the_reason(tmp_path: Path) -> None:
    outcome, _ = await generated(tmp_path, TABLE, PLAN, OTHER_TABLE)
    assert outcome.status is Status.UNVERIFIED
    assert outcome.reason is not None
    assert outcome.reason.endswith("they prove nothing about other inputs. Read it before you keep it.")
    assert "(5, 12): 13.0" in apply_edits(STUB, outcome.edits)
    assert report.exit_code([outcome]) == 1
    told = report.to_json(outcome, tmp_path)
    assert told["examples"] == {"passed": 2, "total": 2}
    assert isinstance(told["failure"], dict)
    assert told["failure"]["kind"] == "memorised"
    assert report.summary(outcome).startswith("Unverified 'hypotenuse': 2 of 2 examples are answered by constants")


@isolated
@pytest.mark.parametrize("replies", [(TABLE, PLAN, HALF_WRONG), (HALF_WRONG, PLAN, TABLE)])
async def test_what_computes_some_examples_got_further_and_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replies: tuple[str, ...]
) -> None:
    outcome, _ = await generated(tmp_path, *replies)
    assert (outcome.status, outcome.edits) == (Status.PARTIAL, ())
    assert outcome.candidate is not None
    assert outcome.candidate.function == HALF_WRONG.rstrip()


@isolated
@pytest.mark.parametrize("replies", [(TABLE, PLAN, WRONG), (WRONG, PLAN, TABLE)])
async def test_what_computes_none_did_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replies: tuple[str, ...]
) -> None:
    outcome, _ = await generated(tmp_path, *replies)
    assert outcome.status is Status.UNVERIFIED


@isolated
@pytest.mark.parametrize(
    ("written", "status"), [(TABLE, Status.UNVERIFIED), (GOOD, Status.VERIFIED), (WRONG, Status.FAILED)]
)
async def test_check_says_the_same_of_a_function_as_it_stands(tmp_path: Path, written: str, status: Status) -> None:
    text = STUB.replace("    pass\n", written.partition("\n")[2])
    path = tmp_path / "shapes.py"
    path.write_text(text, encoding="utf-8")
    (one,) = documented(text, path, tmp_path)
    service = Service()
    try:
        outcome = await service.check(Task(one.target, Settings(), Project(tmp_path)), one.unreadable)
    finally:
        await service.close()
    assert outcome.status is status
    kind = outcome.verdict and outcome.verdict.failure and outcome.verdict.failure.kind
    assert (kind is FailureKind.MEMORISED) is (status is Status.UNVERIFIED)


@isolated
async def test_the_corpus_passes_its_examples_and_is_told_by_what_it_was_seen_to_reach(tmp_path: Path) -> None:
    path, told = tmp_path / "m.py", dict[str, bool]()
    async with workspace(tmp_path) as opened:
        evaluator = CodeEvaluator(opened.host(), Journal(), overlays={}, timeout=10)
        for case in cases():
            text = f"import base64\nimport bisect\nimport json\nimport operator\nimport re\n\n\n{case.text}"
            path.write_text(text, encoding="utf-8")
            function = locate(text, path, tmp_path, qualname="f")
            verdict = await evaluator.evaluate(function, from_reply(case.code, function))
            assert verdict.examples_passed == verdict.total(function) > 0, f"{case.name}: {verdict.failure}"
            told[case.name] = verdict.is_memorised
    assert told == {case.name: case.found for case in cases()}
    assert sum(told.values()) >= 40


def test_of_all_that_is_imported_memory_got_further_only_than_what_passes_nothing() -> None:
    example = Example("f(1)\n", "2\n", 3)
    passed, failed = (ExampleResult(example, matched, entered=True) for matched in (True, False))

    def attempt(failure: FailureKind | None, *results: ExampleResult) -> Attempt:
        told = None if failure is None else Failure(failure, "So it is.")
        return Attempt(Candidate(""), Verdict(told, parses=True, defines=True, imports=True, results=results))

    by_heart = attempt(FailureKind.MEMORISED, passed, passed)
    lesser = [attempt(FailureKind.WRONG_OUTPUT, failed, failed)]
    greater = [attempt(FailureKind.WRONG_OUTPUT, passed, failed), attempt(None, passed, passed)]
    assert all(further(one, by_heart) is further(by_heart, one) is by_heart for one in lesser)
    assert all(further(one, by_heart) is further(by_heart, one) is one for one in greater)
