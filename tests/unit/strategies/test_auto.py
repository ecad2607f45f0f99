"""The strategy `auto`: the order of its requests, and their temperatures."""

from __future__ import annotations

from dataclasses import replace

from adacoder.domain import Candidate, Failure, FailureKind, Status
from support.team import PASSED, Team, matching, written

TEMPERATURES = [None, 0.4, 0.6, 0.8]
"""Temperatures before the first plan. None means the temperature in the settings."""


def temperatures(team: Team) -> list[float | None]:
    """Return the temperature of each request without a plan."""
    return [
        asked.sampling.temperature if asked.sampling else None for asked in team.asked if not asked.words.get("plan")
    ]


async def test_auto_writes_ever_more_freely_and_then_plans_from_its_best_attempt() -> None:
    team = Team([matching(1), matching(1, 2)])
    outcome = await team.run("auto")
    assert (outcome.status, outcome.candidate) == (Status.PARTIAL, written(2))
    assert team.actions == [*["write"] * 4, "plan", "write", "plan", "write"]
    assert temperatures(team)[:4] == TEMPERATURES
    assert [">>> area(3)" in asked.words["error"] for asked in team.asked if asked.action == "plan"] == [True, True]


async def test_auto_plans_at_once_if_only_a_test_of_the_project_fails() -> None:
    refused = replace(PASSED, failure=Failure(FailureKind.TEST_FAILED, "A test fails."))
    team = Team([refused, PASSED])
    assert (await team.run("auto")).candidate == written(2)
    assert team.actions == ["write", "plan", "write"]
    assert "A test fails." in team.asked[1].words["error"]


async def test_auto_is_over_with_the_first_program_that_passes() -> None:
    team = Team([matching(), PASSED])
    assert (await team.run("auto")).candidate == written(2)
    assert team.actions == ["write", "write"]


async def test_auto_revises_the_users_code_once_and_then_writes() -> None:
    """Evaluating the user's code is the first of six rounds."""
    team = Team([])
    theirs = Candidate("def area(n): return 9")
    await team.run("auto", start=theirs)
    first, *others = team.asked
    assert theirs.function in first.words["code"]
    assert [asked.words.get("code") for asked in others] == [None] * 4
    assert temperatures(team) == [None, *TEMPERATURES]
    assert team.actions == ["write"] * 5


async def test_auto_leaves_code_that_passes() -> None:
    team = Team([PASSED])
    assert (await team.run("auto", start=written(1))).status is Status.VERIFIED
    assert team.asked == []
