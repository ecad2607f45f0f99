"""SEMAG: its equations, the order of its levels, and its agents' requests."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from adacoder.agents.attempt_traces import complexity, likeness
from adacoder.domain import Attempt, Candidate, Example, Reply, Status
from adacoder.strategies import STRATEGIES
from adacoder.strategies import semag as roles
from adacoder.strategies.semag import Semag, weightiest
from adacoder.traces import Trace
from support.team import BROKEN, EXAMPLES, PASSED, TARGET, UNREADABLE, Says, Team, matching, steps_of, written

SAYS: Says = {
    "plan": ["1. Do it."],
    "verify": [("1. Do it well.", "All outputs come out.")],
    "weigh": [{1: 20.0, 2: 90.0}],
}
LEVELS_1_AND_2 = ["write", "plan", "verify", "write"]
DEBUGGED = ["explain", "suggest", "write"]
DISCUSSED = ["propose"] * 3 + ["weigh", "write"]


def unlike(number: int, example: Example) -> Trace:
    """Return traces in which no two programs behave alike."""
    return steps_of(number)


def alike(number: int, example: Example) -> Trace:
    """Return traces in which all programs behave alike."""
    return steps_of(1, 2, 3)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((1, 2, 3, 4), (1, 2, 3, 4), 1.0),
        ((1, 2, 3, 4), (1, 2, 4), 0.75),
        ((1, 2), (3, 4), 0.0),
        ((), (), 1.0),
        ((), (1,), 0.0),
    ],
)
async def test_likeness_is_one_less_the_edit_distance_over_the_longer_trace(
    one: tuple[int, ...], other: tuple[int, ...], expected: float
) -> None:
    assert await likeness(steps_of(*one), steps_of(*other)) == expected


async def test_the_threshold_falls_with_the_tries_and_with_complexity() -> None:
    semag = Semag()
    assert semag.threshold(4, 0.0) == 0.85
    assert semag.threshold(4, 1.0) == pytest.approx(0.85 * math.exp(-0.5))
    assert semag.threshold(1, 1.0) > semag.threshold(2, 1.0) > semag.threshold(2, 2.0)
    plain = Attempt(Candidate("def area(n):\n    return n"), PASSED)
    branching = Attempt(
        Candidate("def area(n):\n    if n and n > 1:\n        return 1\n    return [m for m in n]"), PASSED
    )
    assert await complexity(plain) == 0.0
    assert await complexity(branching) == pytest.approx(0.3)
    assert await complexity(Attempt(Candidate("def area(n:"), PASSED)) == 0.0


def test_the_decision_weighs_marks_by_what_earlier_proposals_gained() -> None:
    assert weightiest({1: 20, 2: 90, 3: 10}, [0, 0, 0], 1.0) == 2
    assert weightiest({1: 90, 2: 90, 3: 10}, [0, 0, 0], 1.0) == 2, "of equal ones the later"
    assert weightiest({1: 80, 2: 90}, [0.5, 0], 1.0) == 1
    assert weightiest({1: 80, 2: 90}, [-0.5, 0], 1.0) == 2
    assert weightiest({}, [0, 0, 0], 1.0) == 3, "where no mark could be read"


async def test_traces_that_stay_alike_lead_to_a_discussion_and_others_to_more_debugging() -> None:
    stuck = Team([], SAYS, alike)
    await stuck.run("semag", 1)
    assert stuck.actions == [*LEVELS_1_AND_2, *DEBUGGED, *DISCUSSED]
    moving = Team([], SAYS, unlike)
    await moving.run("semag", 1)
    assert moving.actions == [*LEVELS_1_AND_2, *(DEBUGGED * 4), *DISCUSSED]
    assert [each.branch for each in moving.asked][-1] == ("pass 1", "level 4")


async def test_what_cannot_be_traced_twice_leads_to_a_discussion() -> None:
    team = Team([UNREADABLE] * 9, SAYS)
    await team.run("semag", 1)
    assert team.actions == [*LEVELS_1_AND_2, *DEBUGGED, *DISCUSSED]
    assert team.traced == []


async def test_traces_of_the_same_example_are_compared() -> None:
    """The second program fails the first example, and the third one the second.

    Both are compared on the first example.
    """
    first, second = EXAMPLES[:2]

    def by_example(number: int, example: Example) -> Trace:
        return steps_of(number) if example == first else steps_of(2)

    team = Team([matching(), matching(), matching(1), PASSED], SAYS, by_example)
    assert (await team.run("semag", 1)).status is Status.VERIFIED
    assert team.traced == [(2, first), (3, first), (3, second)]
    assert team.actions == [*LEVELS_1_AND_2, *(DEBUGGED * 2)], "it went on with level 3"


@pytest.mark.parametrize("passes", [0, 1, 7])
@pytest.mark.parametrize("traces", [alike, unlike])
async def test_iterations_are_passes_however_short_they_are(
    passes: int, traces: Callable[[int, Example], Trace]
) -> None:
    team = Team([], SAYS, traces)
    await team.run("semag", passes)
    assert team.actions.count("weigh") == passes


async def test_a_failure_outside_the_program_is_not_debugged() -> None:
    team = Team([matching(), BROKEN], SAYS)
    await team.run("semag")
    assert (team.actions, team.traced) == (LEVELS_1_AND_2, [])
    later = Team([matching(), matching(), BROKEN], SAYS)
    await later.run("semag")
    assert later.actions == [*LEVELS_1_AND_2, *DEBUGGED]
    assert len(later.traced) == 1


async def test_all_levels_are_sampled_as_the_settings_say() -> None:
    """The temperature can therefore be an axis of a table (Figure 5)."""
    team = Team([], SAYS, alike)
    await team.run("semag", 1)
    assert {each.sampling for each in team.asked} == {None}


async def test_who_suggests_is_told_of_trace_verification_and_explanation() -> None:
    team = Team([], SAYS, alike)
    await team.run("semag", 1)
    suggested = next(each for each in team.asked if each.action == "suggest")
    assert "# n = 1" in suggested.words["trace"]
    assert (suggested.words["verification"], suggested.words["explanation"]) == ("All outputs come out.", "explain 1")
    coded = [each for each in team.asked if each.action == "write"][1]
    assert coded.words["plan"] == "1. Do it well."


async def test_debaters_hear_each_other_and_the_weightiest_is_followed() -> None:
    team = Team([], SAYS, alike)
    await team.run("semag", 1)
    proposed = [each.words["proposals"] for each in team.asked if each.action == "propose"]
    assert proposed == ["None yet.", "1. propose 1", "1. propose 1\n\n2. propose 2"]
    assert team.asked[-1].words["advice"] == "propose 2"


@pytest.mark.parametrize(("verifies", "suggests", "discusses"), [*product((True, False), repeat=3)])
async def test_each_switch_leaves_out_its_agents(verifies: bool, suggests: bool, discusses: bool) -> None:
    off = [
        name
        for name, is_on in (("verification", verifies), ("suggestion", suggests), ("discussion", discusses))
        if not is_on
    ]
    team = Team([], SAYS, alike)
    await team.run(f"semag:{'-'.join(f'no-{name}' for name in off)}" if off else "semag", 1)
    assert team.actions == ["write", *LEVELS_1_AND_2[1:] * verifies, *DEBUGGED * suggests, *DISCUSSED * discusses]


async def test_a_plan_is_verified_until_nothing_is_mended() -> None:
    says: Says = {**SAYS, "verify": [("1. Do it well.", "a"), ("1. Do it well.", "b"), ("1. No.", "c")]}
    team = Team([matching(), PASSED], says)
    strategy = replace(STRATEGIES["semag"], run=Semag(verifications=5).run)
    with pytest.MonkeyPatch.context() as patching:
        patching.setitem(STRATEGIES, "semag", strategy)
        assert (await team.run("semag")).candidate == written(2)
    assert team.actions == ["write", "plan", "verify", "verify", "write"]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("1. 20\n2. 90\n3. 10", {1: 20, 2: 90, 3: 10}),
        ("1. 90\n2. 90\n3. 10", {1: 90, 2: 90, 3: 10}),
        ("Proposal 2: 90%\nProposal 1: 20%", {1: 20, 2: 90}),
        ("| proposal | mark |\n|---|---|\n| 1 | 20 |\n| 2 | 90 |", {1: 20, 2: 90}),
        ("[20, 90, 10]", {1: 20, 2: 90, 3: 10}),
        ("20, 90, 10", {1: 20, 2: 90, 3: 10}),
        ("20\n90\n90", {1: 20, 2: 90, 3: 90}),
        ('{\n  "1": 20,\n  "2": 90\n}', {1: 20, 2: 90}),
        ("I cannot tell.", {}),
    ],
)
def test_marks_are_read_however_they_are_listed(text: str, marks: dict[int, float]) -> None:
    assert roles.DISCRIMINATOR.read(Reply(text), TARGET) == marks


def test_a_plan_is_read_below_its_line_and_all_of_the_reply_is_the_log() -> None:
    text = "1. 123 comes to 6.\n2. It must be 4.\n3. So 2 is wrong.\n\n**Plan:**\n1. Add.\n2. Negate.\n3. Return it."
    assert roles.PLAN_VERIFIER.read(Reply(text), TARGET) == ("1. Add.\n2. Negate.\n3. Return it.", text)
    plan = "1. Add.\n2. Negate.\n3. Return it."
    assert roles.PLAN_VERIFIER.read(Reply(plan), TARGET) == (plan, plan)
    assert roles.PLAN_VERIFIER.read(Reply("Fine.\nPlan:"), TARGET) == ("", "Fine.\nPlan:")
    assert roles.PLAN_VERIFIER.read(Reply(" "), TARGET) is None
