"""The strategies with scripted agents: which agent is asked, in which order, and with which result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from adacoder.agents.budget import Ceiling
from adacoder.agents.request import Request
from adacoder.agents.role import Field, Role
from adacoder.cli.registry import show_strategies
from adacoder.conclusion import conclude
from adacoder.domain import (
    Candidate,
    Example,
    ExampleResult,
    Failure,
    FailureKind,
    Module,
    Outcome,
    Span,
    Status,
    Target,
    Verdict,
)
from adacoder.journal import Journal
from adacoder.models.base import Sampling
from adacoder.strategies import COLUMNS, FAMILIES, STRATEGIES, rows
from support.team import Team, matching

EXAMPLES = tuple(Example(f"area({n})\n", f"{n * n}\n", n) for n in (1, 2, 3))
SPAN = Span(0, 0)
TARGET = Target(Module(Path("/w/m.py"), "m", Path("/w")), "", "area", SPAN, SPAN, SPAN, "", SPAN, "", EXAMPLES, True)


def written(number: int) -> Candidate:
    return Candidate(f"def area(n): return {number}")


def mended(candidate: Candidate) -> Candidate:
    return Candidate(candidate.function, imports=("import math",))


def passing(count: int) -> Verdict:
    """Return a verdict in which `count` of the three examples passed."""
    results = tuple(ExampleResult(example, index < count, entered=True) for index, example in enumerate(EXAMPLES))
    failure = None if count == 3 else Failure(FailureKind.WRONG_OUTPUT, "wrong", EXAMPLES[count], got="0")
    return Verdict(failure, parses=True, defines=True, imports=True, results=results)


UNREADABLE = Verdict(Failure(FailureKind.SYNTAX_ERROR, "It does not parse."))
BROKEN = Verdict(Failure(FailureKind.BROKEN_EXAMPLE, "The example is broken."), parses=True)


@dataclass
class Scripted:
    """Scripted Agents of a Request.

    They write numbered candidates, give scripted verdicts, and repair any candidate.
    """

    verdicts: dict[Candidate, Verdict] = field(default_factory=dict)
    mends: bool = False
    calls: list[str] = field(default_factory=list)
    sampled: list[Sampling | None] = field(default_factory=list)

    async def ask(self, role: Role[Any], fields: Mapping[str, Field], sampling: Sampling | None) -> object:
        self.sampled.append(sampling)
        if role.action == "plan":
            assert callable(fields["error"])
            self.calls.append("plan")
            return f"after {fields['error'](1500).splitlines()[0]}"
        self.calls.append(f"write by {fields['plan']}" if fields else "write")
        return written(sum(call.startswith("write") for call in self.calls))

    async def evaluate(self, target: Target, candidate: Candidate) -> Verdict:
        self.calls.append("evaluate")
        return self.verdicts.get(candidate, UNREADABLE)

    async def repair(
        self, target: Target, candidate: Candidate, verdict: Verdict, *, as_printed: bool = False
    ) -> Candidate:
        self.calls.append("repair")
        return mended(candidate) if self.mends else candidate

    @property
    def model_calls(self) -> int:
        return sum(call == "plan" or call.startswith("write") for call in self.calls)

    async def run(self, name: str, start: Candidate | None, iterations: int) -> Outcome:
        strategy, agents = STRATEGIES[name], cast(Any, self)
        budget = strategy.spends(iterations)
        journal = Journal()
        request = Request(
            TARGET,
            start,
            budget if start is None else budget.of_start(iterations),
            conversation=agents,
            evaluator=agents,
            specialist=agents,
            journal=journal,
        )
        await strategy.run(request)
        assert request.best is not None
        return conclude(TARGET, request.best, journal.round)


async def test_a_first_candidate_that_passes_costs_one_call() -> None:
    team = Scripted({written(1): passing(3)})
    outcome = await team.run("adacoder", None, 5)
    assert team.calls == ["write", "evaluate"]
    assert (outcome.status, outcome.rounds, outcome.candidate) == (Status.VERIFIED, 1, written(1))


async def test_a_superficial_error_is_mended_without_another_call() -> None:
    team = Scripted({mended(written(1)): passing(3)}, mends=True)
    outcome = await team.run("adacoder", None, 5)
    assert team.calls == ["write", "evaluate", "repair", "evaluate"]
    assert (outcome.status, outcome.candidate) == (Status.VERIFIED, mended(written(1)))


async def test_the_plan_comes_from_the_error_of_what_got_further() -> None:
    team = Scripted({mended(written(1)): passing(2), written(2): passing(3)}, mends=True)
    outcome = await team.run("adacoder", None, 5)
    assert team.calls == ["write", "evaluate", "repair", "evaluate", "plan", "write by after >>> area(3)", "evaluate"]
    assert (outcome.status, outcome.rounds) == (Status.VERIFIED, 2)


async def test_a_repair_that_gets_no_further_is_dropped() -> None:
    team = Scripted({written(1): passing(2), mended(written(1)): passing(1)}, mends=True)
    outcome = await team.run("adacoder", None, 0)
    assert (outcome.status, outcome.candidate) == (Status.PARTIAL, written(1))


@pytest.mark.parametrize("iterations", [0, 1, 5])
async def test_at_worst_one_call_and_two_for_each_iteration(iterations: int) -> None:
    team = Scripted()
    outcome = await team.run("adacoder", None, iterations)
    assert team.model_calls == 1 + 2 * iterations
    assert (outcome.status, outcome.rounds) == (Status.FAILED, iterations + 1)


async def test_the_candidate_that_got_furthest_is_returned_not_the_last() -> None:
    team = Scripted({written(1): passing(1), written(2): passing(2), written(3): passing(0)})
    outcome = await team.run("adacoder", None, 2)
    assert (outcome.status, outcome.candidate) == (Status.PARTIAL, written(2))


async def test_a_start_takes_the_place_of_the_first_writing() -> None:
    team = Scripted({written(7): passing(1), written(1): passing(3)})
    outcome = await team.run("adacoder", written(7), 5)
    assert team.calls == ["evaluate", "repair", "plan", "write by after >>> area(2)", "evaluate"]
    assert (outcome.status, outcome.rounds) == (Status.VERIFIED, 2)


async def test_with_a_start_and_no_iterations_no_model_is_called() -> None:
    team = Scripted(mends=True)
    outcome = await team.run("adacoder", written(7), 0)
    assert team.model_calls == 0
    assert outcome.status is Status.FAILED


async def test_a_failure_outside_the_candidate_ends_the_loop() -> None:
    team = Scripted({written(1): BROKEN})
    outcome = await team.run("adacoder", None, 5)
    assert team.model_calls == 1
    assert (outcome.status, outcome.reason) == (Status.FAILED, "The example is broken.")


@pytest.mark.parametrize(("count", "status"), [(3, Status.VERIFIED), (1, Status.PARTIAL), (0, Status.FAILED)])
async def test_direct_asks_once_and_evaluates_once(count: int, status: Status) -> None:
    team = Scripted({written(1): passing(count)}, mends=True)
    outcome = await team.run("direct", None, 5)
    assert team.calls == ["write", "evaluate"]
    assert outcome.status is status


@pytest.mark.parametrize("name", ["adacoder:no-planner", "adacoder:neither"])
async def test_an_ablation_is_sampled_as_the_whole(name: str) -> None:
    """Only the missing agent differs between an ablation and the whole strategy."""
    whole, ablation = Scripted(), Scripted()
    await whole.run("adacoder", None, 2)
    await ablation.run(name, None, 2)
    assert {*whole.sampled} == {*ablation.sampled} == {None}
    chance = Scripted()
    await chance.run("resample", None, 2)
    assert chance.sampled == [Sampling(temperature=1.0)] * 3, "the control"


async def test_where_the_plan_is_empty_the_function_is_written_without_one() -> None:
    for plan, fields in (("", {}), ("1. Add.", {"plan": "1. Add."})):
        team = Team([matching(1)], {"plan": [plan]})
        await team.run("adacoder", 1)
        assert team.asked[2].words == fields


def test_a_reply_that_was_waited_for_is_still_evaluated() -> None:
    journal = Journal()
    assert Ceiling(seconds=0).reached(journal, by_program=True) is None
    assert Ceiling(seconds=0).reached(journal) is not None, "the positive control"


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize(("has_ablations", "names"), [(False, FAMILIES), (True, tuple(STRATEGIES))])
def test_the_table_shows_every_strategy(
    as_json: bool, has_ablations: bool, names: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert show_strategies(as_json=as_json, has_ablations=has_ablations) == 0
    shown = capsys.readouterr().out.splitlines()[not as_json :]
    assert tuple(row["name"] for row in rows(has_ablations=has_ablations)) == names
    for line, row in zip(shown, rows(has_ablations=has_ablations), strict=True):
        columns = [column for column in (row if as_json else COLUMNS) if column != "t"]
        assert all((json.dumps(row[column]) if as_json else row[column]) in line for column in columns)
