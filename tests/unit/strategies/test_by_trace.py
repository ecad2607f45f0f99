"""LDB and LPW: contents and order of their agents' requests."""

from __future__ import annotations

from adacoder.agents.failures import traced_in_blocks
from adacoder.domain import SourceLine, Status
from adacoder.traces import Executed, Trace
from support.team import PASSED, UNREADABLE, Team, matching, written

CODE = ("def area(n):", "    total = 0", "    for each in range(n):", "        total += n", "    return total")


def loop(times: int, *, kept: int | None = None) -> Trace:
    """Return the trace of a loop with `times` iterations. `kept` is the number of steps to keep at each end."""
    entries = [Executed(1, 2, (("n", str(times)),)), Executed(1, 3, (("total", "0"),))]
    for number in range(times):
        entries += [Executed(1, 4, (("each", str(number)),)), Executed(1, 3, (("total", str(times * (number + 1))),))]
    entries += [Executed(1, 5), Executed(1, 5, gave=str(times * times))]
    code = tuple(SourceLine(number, text) for number, text in enumerate(CODE, 1))
    if kept is None:
        return Trace(tuple(entries), ended=True, code=code)
    return Trace(tuple(entries[:kept]), tuple(entries[-kept:]), len(entries) - 2 * kept, ended=True, code=code)


def worded(trace: Trace) -> str:
    return traced_in_blocks(trace, 1000)


def test_a_trace_is_told_in_blocks_that_end_where_the_code_branches_or_goes_back() -> None:
    assert worded(loop(1)).splitlines() == [
        *("Block 1:", "    # n = 1", "    total = 0", "    # total = 0", "    for each in range(n):"),
        *("Block 2:", "        # each = 0", "        total += n"),
        *("Block 3:", "    # total = 1", "    for each in range(n):"),
        *("Block 4:", "    return total", "    # returned 1"),
    ]


def test_calls_are_blocks_of_their_own() -> None:
    code = (SourceLine(1, "def area(n):"), SourceLine(2, "    return n and area(n - 1)"))
    entries = (Executed(1, 2), Executed(2, 2), Executed(2, 2, gave="0"), Executed(1, 2, gave="0"))
    words = worded(Trace(entries, ended=True, code=code))
    assert [line for line in words.splitlines() if line.startswith("Block")] == ["Block 1:", "Block 2:", "Block 3:"]


def test_of_many_blocks_the_first_and_last_five_are_told() -> None:
    headings = [line for line in worded(loop(9)).splitlines() if line.startswith(("Block", "["))]
    assert headings == [
        *(f"Block {n}:" for n in range(1, 6)),
        "[… 10 blocks …]",
        *(f"Block {n}:" for n in range(16, 21)),
    ]
    assert "returned" in worded(loop(60, kept=20))


async def test_ldb_judges_the_blocks_of_the_failing_example_and_rewrites_by_that() -> None:
    team = Team([matching(1), PASSED], traces=lambda number, example: loop(2))
    assert (await team.run("ldb")).candidate == written(2)
    assert team.actions == ["write", "judge blocks", "write"]
    assert team.asked[1].words["trace"].startswith("Block 1:\n    # n = 2")
    assert ">>> area(2)" in team.asked[1].words["error"]
    assert team.asked[2].words["advice"] == "judge blocks 1"


async def test_ldb_goes_on_where_nothing_could_be_traced() -> None:
    team = Team([UNREADABLE, PASSED])
    assert (await team.run("ldb")).status is Status.VERIFIED
    assert team.asked[1].words["trace"] == "Nothing could be traced."


async def test_lpw_plans_anew_by_the_plan_that_was_refused_and_its_verification() -> None:
    team = Team([PASSED], {"plan": ["1. Add.", "1. Negate."], "check": [False, True]})
    assert (await team.run("lpw")).status is Status.VERIFIED
    assert team.actions == ["plan", "verify", "check"] * 2 + ["write"]
    assert team.asked[0].words == {}
    assert team.asked[3].words == {"plan": "1. Add.", "verification": "verify 1"}
    assert team.asked[6].words == {"plan": "1. Negate.", "verification": "verify 2"}


async def test_lpw_writes_by_its_last_plan_where_all_are_refused() -> None:
    team = Team([matching(1), PASSED], {"check": [False]})
    assert (await team.run("lpw")).status is Status.VERIFIED
    assert team.actions == ["plan", "verify", "check"] * 12 + ["write", "compare", "write"]
    assert team.asked[36].words["plan"] == "plan 12"
    assert team.asked[37].words["verification"] == "verify 12"
