"""Outputs in questions and reports about differences."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from adacoder.domain import Difference
from adacoder.report.differences import answers, asking, buttons, outputs

LINES = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=60) | st.integers(0, 60).map("ab".__mul__)


def test_short_outputs_are_shown_whole() -> None:
    assert asking(Difference("f(1)", "1", "2")) == "Which is right? f(1) gives 1, and a second program gives 2."


def test_long_outputs_are_shown_where_they_begin_to_differ() -> None:
    here, there = (str([*range(60), last]) for last in (60, 7))
    assert outputs(Difference("f(60)", here, there), 16) == ("…58, 59, 60]", "…58, 59, 7]")


@given(LINES, LINES, st.integers(2, 40))
def test_different_outputs_look_different(here: str, there: str, longest: int) -> None:
    if here == there:
        return
    found = Difference("f()", here, there)
    shown = outputs(found, longest)
    assert shown[0] != shown[1]
    assert max(map(len, shown)) <= longest + 2
    assert len({*answers(found).values()}) == len({*buttons(found).values()}) == 4
