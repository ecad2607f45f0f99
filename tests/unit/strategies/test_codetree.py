"""CodeTree: which nodes it expands, and which program it returns."""

from __future__ import annotations

import pytest

from adacoder.domain import FailureKind, Reply, Status
from adacoder.strategies import codetree as roles
from support.team import BROKEN, MEMORISED, PASSED, TARGET, UNPROVED, Says, Team, matching, written

ONE, TWO, THREE = ("sort",), ("sort", "count"), ("sort", "count", "search")
MENDED = ("mend it",)


async def test_a_child_that_is_worth_less_is_given_up_for_the_next_strategy() -> None:
    says: Says = {"list": [TWO], "reflect": [MENDED], "score": [(3.0, ""), (1.0, "")]}
    team = Team([matching(1), matching(1), PASSED], says)
    outcome = await team.run("codetree")
    assert (outcome.status, outcome.candidate) == (Status.VERIFIED, written(3))
    assert [each.branch for each in team.asked if each.action == "write"] == [
        ("strategy 1",),
        ("strategy 1", "reflection 1"),
        ("strategy 2",),
    ]
    control = Team([matching(1), matching(1), PASSED], says)
    await control.run("codetree:no-abort")
    assert control.asked[-1].branch == ("strategy 1", "reflection 1", "reflection 1")


@pytest.mark.parametrize(("mark", "goes_on"), [(1.0, False), (2.0, True)])
async def test_a_child_of_equal_worth_is_followed_where_its_mark_is_not_below_its_depth(
    mark: float, goes_on: bool
) -> None:
    says: Says = {"list": [ONE], "reflect": [MENDED], "score": [(mark, "")]}
    team = Team([matching(1), matching(1)], says)
    await team.run("codetree")
    assert (team.actions.count("write") == 3) is goes_on


async def test_a_strategy_whose_first_program_is_worth_nothing_is_given_up() -> None:
    says: Says = {"list": [tuple(f"way {n}" for n in range(5))], "reflect": [("one", "two", "three")]}
    team, control = Team([], {**says, "score": [(0.0, "")]}), Team([], {**says, "score": [(3.0, "")]})
    await team.run("codetree")
    await control.run("codetree")
    assert (len(team.asked), team.actions.count("write")) == (11, 5)
    assert control.actions.count("write") == 20


async def test_without_scoring_a_branch_is_given_up_by_the_examples_alone() -> None:
    """Without a critic, a branch continues if its share of passed examples is equal, but not if it is smaller."""
    says: Says = {"list": [ONE], "reflect": [MENDED]}
    equal, less = Team([matching(1)] * 3, says), Team([matching(1), matching()], says)
    await equal.run("codetree:no-scoring")
    await less.run("codetree:no-scoring")
    assert (equal.actions.count("write"), less.actions.count("write")) == (3, 2)


async def test_the_best_valued_program_is_returned_and_not_the_last() -> None:
    says: Says = {"list": [THREE], "reflect": [()], "score": [(1.0, ""), (4.0, ""), (2.0, "")]}
    team = Team([matching(1), matching(1), matching(1)], says)
    outcome = await team.run("codetree")
    assert (outcome.status, outcome.candidate) == (Status.PARTIAL, written(2))
    assert outcome.rounds == 3, "a tree that is exhausted takes no round more"


async def test_a_critic_verifies_only_what_no_example_proves() -> None:
    says: Says = {"list": [TWO], "reflect": [()], "verify": [(False, "No."), (True, "Yes.")]}
    proved, unproved = Team([PASSED], says), Team([UNPROVED, UNPROVED], says)
    assert (await proved.run("codetree")).candidate == written(1)
    assert proved.actions == ["list", "write"]
    outcome = await unproved.run("codetree")
    assert (outcome.status, outcome.candidate) == (Status.UNVERIFIED, written(2))
    assert unproved.actions == ["list", "write", "verify", "reflect", "write", "verify"]


async def test_a_program_that_passed_and_was_refused_is_better_than_one_that_fails() -> None:
    says: Says = {"list": [TWO], "reflect": [()], "verify": [(False, "No.")], "score": [(5.0, "")]}
    outcome = await Team([UNPROVED, matching()], says).run("codetree")
    assert (outcome.status, outcome.candidate) == (Status.UNVERIFIED, written(1))


async def test_whoever_mends_is_told_the_critics_reason_and_the_strategy() -> None:
    says: Says = {"list": [ONE], "reflect": [MENDED], "verify": [(False, "Zero is left out."), (True, "")]}
    team = Team([UNPROVED, UNPROVED], says)
    await team.run("codetree")
    listed, solved, verified, reflected, mended, _ = team.asked
    assert (listed.action, solved.words["plan"], verified.action) == ("list", "sort", "verify")
    assert reflected.words["strategy"] == "sort"
    assert "A critic says: Zero is left out." in reflected.words["error"]
    assert mended.words["error"] == reflected.words["error"]
    assert (mended.words["advice"], mended.words["strategy"]) == ("mend it", "sort")

    failed = Team([matching(1), PASSED], {**says, "score": [(3.0, "Off by one.")]})
    await failed.run("codetree")
    scored, told = failed.asked[2], failed.asked[3]
    assert scored.words["strategy"] == "sort"
    assert ">>> area(2)" in told.words["error"]
    assert told.words["error"].endswith("A critic says: Off by one.")


async def test_a_failure_outside_the_program_ends_the_search_at_once() -> None:
    team = Team([BROKEN], {"list": [THREE]})
    outcome = await team.run("codetree")
    assert team.actions == ["list", "write"]
    assert outcome.reason == "The example is broken."


async def test_what_passed_from_memory_is_worth_no_example() -> None:
    """A program that passes one example honestly has a higher value than a memorised one, so its branch is followed."""
    says: Says = {"list": [ONE], "reflect": [MENDED], "score": [(2.0, "")]}
    team = Team([MEMORISED, matching(1), PASSED], says)
    outcome = await team.run("codetree")
    assert (outcome.status, outcome.candidate) == (Status.VERIFIED, written(3))
    assert MEMORISED.failure is not None
    assert MEMORISED.failure.kind is FailureKind.MEMORISED


@pytest.mark.parametrize(("name", "strategies"), [("codetree:bfs", 3), ("codetree:dfs", 3), ("codetree", 5)])
async def test_without_a_critic_the_root_has_no_more_children_than_other_nodes(name: str, strategies: int) -> None:
    team = Team([], {"list": [tuple(f"way {n}" for n in range(5))], "reflect": [()], "score": [(0.0, "")]})
    await team.run(name)
    assert team.actions.count("write") == strategies


async def test_breadth_comes_before_depth_and_the_other_way_round() -> None:
    for name, depths in (("codetree:bfs", [1, 1, 2, 2, 3, 3]), ("codetree:dfs", [1, 2, 3, 1, 2, 3])):
        team = Team([], {"list": [TWO], "reflect": [MENDED]})
        await team.run(name)
        assert [len(each.branch) for each in team.asked if each.action == "write"] == depths


async def test_where_no_strategy_can_be_read_the_function_is_written_without() -> None:
    team = Team([matching(1), PASSED], {"list": [("",)], "reflect": [("",)], "score": [(0.0, "")]})
    outcome = await team.run("codetree")
    assert outcome.status is Status.VERIFIED
    assert [each.words.get("plan") for each in team.asked if each.action == "write"] == [None, None]


@pytest.mark.parametrize(("mark", "is_revised"), [(None, True), (0.0, False)], ids=["no mark", "zero"])
async def test_only_a_mark_aborts_a_strategy(mark: float | None, is_revised: bool) -> None:
    team = Team([], {"list": [TWO], "reflect": [MENDED], "score": [(mark, "")]})
    await team.run("codetree")
    assert ("reflect" in team.actions) == is_revised


@pytest.mark.parametrize(
    ("text", "mark"), [("Near.\n4", 4.0), ("I give it a three.", 3.0), ("**2/5**", 2.0), ("Hm.", None), ("", None)]
)
def test_a_mark_is_read_with_its_reason(text: str, mark: float | None) -> None:
    found = roles.CRITIC.read(Reply(text), TARGET)
    assert found == (None if mark is None else (mark, text))
    assert roles.CRITIC.otherwise == (None, "")


@pytest.mark.parametrize(
    ("text", "accepts"), [("Bounds are right.\nTrue", True), ("No: zero.\nFalse", False), ("?", None)]
)
def test_a_verification_is_read_with_its_reason(text: str, accepts: bool | None) -> None:
    found = roles.VERIFIER.read(Reply(text), TARGET)
    assert found == (None if accepts is None else (accepts, text))
