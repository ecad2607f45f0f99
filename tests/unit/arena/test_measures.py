"""Compare estimators with brute force and with published values, and check figures of handmade rows."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.arena import measures
from adacoder.arena.compare import at_equal_tokens, change, first_samples, mcnemar, overlap, paired
from adacoder.arena.measures import Estimate, pass_at_k, wilson
from adacoder.arena.rows import Row
from adacoder.domain import Tokens
from support.arena_rows import attempt, column, designed, row


@st.composite
def _samples(draw: st.DrawFn) -> tuple[int, int, int]:
    samples = draw(st.integers(1, 9))
    return samples, draw(st.integers(0, samples)), draw(st.integers(1, samples))


@given(_samples())
def test_pass_at_k_is_the_share_of_all_choices_with_a_right_sample(drawn: tuple[int, int, int]) -> None:
    samples, right, k = drawn
    choices = list(itertools.combinations([True] * right + [False] * (samples - right), k))
    assert pass_at_k(samples, right, k) == pytest.approx(sum(map(any, choices)) / len(choices))


@given(st.integers(1, 400).flatmap(lambda of: st.tuples(st.integers(0, of), st.just(of))))
def test_wilsons_bounds_are_where_the_score_test_turns(drawn: tuple[int, int]) -> None:
    hits, of = drawn
    low, high = wilson(hits, of)
    assert 0 <= low <= hits / of <= high <= 1
    for bound in (low, high):
        if 0 < bound < 1:
            # the shares p0 that a score test does not reject: |p - p0| = z * sqrt(p0 q0 / n)
            assert abs(hits / of - bound) == pytest.approx(1.959964 * math.sqrt(bound * (1 - bound) / of), rel=1e-4)


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    # values from R 4.3, prop.test(hits, of, correct = FALSE), and Newcombe (1998), Table I
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilsons_interval_as_published(hits: int, of: int, low: float, high: float) -> None:
    assert wilson(hits, of) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(0, 12), st.integers(0, 12))
def test_mcnemar_counts_every_outcome_of_fair_coins(one: int, other: int) -> None:
    differ = one + other
    extreme = sum(
        math.comb(differ, heads) for heads in range(differ + 1) if abs(2 * heads - differ) >= abs(one - other)
    )
    assert mcnemar(one, other) == pytest.approx(float(Fraction(extreme, 2**differ)))
    assert mcnemar(one, other) == mcnemar(other, one)


def test_mcnemar_of_many_pairs_is_no_overflow() -> None:
    assert 0 < mcnemar(700, 900) < 1e-5
    assert mcnemar(5000, 5000) == 1.0


def test_pass_at_1_is_over_tasks_however_many_samples_they_have() -> None:
    rows = [row(0, right=True, sample=0), row(0, right=False, sample=1), row(1, right=False)]
    found = measures.pass_at_1(rows)
    assert found is not None
    assert (found.value, found.of) == (0.25, 2)
    assert (found.low, found.high) == wilson(0.5, 2)
    assert measures.pass_at(2)(rows) == Estimate(1.0, 1, *wilson(1, 1))
    assert measures.pass_at(3)(rows) is None


def test_what_a_server_spoiled_does_not_count_and_what_a_model_left_out_does() -> None:
    rows = column("direct", "+-?")
    nothing_written = row(3, right=None, status="failed", candidate=None, failure_of="model")
    not_judged = row(4, right=None, status="verified")
    cancelled = row(5, right=None, status="cancelled", candidate=None)
    found = measures.pass_at_1([*rows, nothing_written, not_judged, cancelled])
    assert found is not None
    assert (found.value, found.of) == (pytest.approx(1 / 3), 3)
    assert measures.left_out([*rows, nothing_written, not_judged, cancelled]) == Estimate(3, 6)


def test_verified_but_wrong_is_a_share_of_what_was_verified() -> None:
    rows = column("direct", "+++!-?")
    wrong, verified = measures.verified_but_wrong(rows), measures.verified(rows)
    assert wrong is not None
    assert verified is not None
    assert (wrong.value, wrong.of) == (0.25, 4)
    assert (verified.value, verified.of) == (0.8, 5)
    assert measures.verified_but_wrong(column("direct", "--")) is None


def test_the_curve_over_rounds_is_what_the_first_rounds_gave() -> None:
    attempts = (attempt(1), attempt(2, examples=(1, 2)), attempt(3, failure=None, right=True))
    rows = [row(0, attempts=attempts, rounds=3), row(1, right=False, attempts=(attempt(1),))]
    curve = [measures.by_round(most)(rows) for most in range(4)]
    assert [each.value for each in curve if each] == [0.0, 0.0, 0.5, 0.5]


def test_the_curve_takes_the_attempt_that_got_furthest() -> None:
    right_by_chance = attempt(1, right=True)
    further = attempt(2, right=False, examples=(1, 2))
    rows = [row(0, right=False, attempts=(right_by_chance, further, attempt(3)))]
    assert [(each := measures.by_round(most)(rows)) and each.value for most in (0, 1, 2)] == [1.0, 0.0, 0.0]


def test_the_curve_is_not_told_where_attempts_were_not_judged() -> None:
    rows = [row(0, attempts=(attempt(1, right=None), attempt(2, failure=None, right=None)))]
    assert measures.by_round(0)(rows) is None
    assert measures.by_round(1)(rows) is not None  # the row's last program, whose verdict is known


def test_a_repair_is_no_program_of_its_own() -> None:
    attempts = (attempt(1), attempt(1, failure=None, right=True, repaired=True), attempt(2))
    rows = [row(0, right=False, attempts=attempts)]
    assert [(each := measures.by_program(most)(rows)) and each.value for most in (1, 2)] == [1.0, 0.0]


def test_the_same_program_again_is_no_other_program() -> None:
    attempts = (attempt(1, code="a"), attempt(2, code="a"), attempt(3, code="b", failure=None, right=True))
    rows = [row(0, attempts=attempts)]
    assert [(each := measures.by_program(most)(rows)) and each.value for most in (1, 2)] == [0.0, 1.0]


def test_failures_before_and_after_the_debug_specialist() -> None:
    rows = [
        row(0, attempts=(attempt(1, failure="syntax_error"), attempt(1, failure=None, repaired=True))),
        row(1, attempts=(attempt(1), attempt(2, failure="undefined_name"), attempt(2, repaired=True))),
        # the code that `fix` started with was repaired
        row(2, attempts=(attempt(1, failure="killed", repaired=True),)),
    ]
    assert measures.failures_before(rows) == {"syntax_error": 1, "wrong_output": 1, "undefined_name": 1, "killed": 1}
    assert measures.failures_after(rows) == {"passed": 1, "wrong_output": 2, "killed": 1}


def test_refinements_are_told_apart_in_the_papers_order() -> None:
    def pair(code: str, message: str, failure: str = "wrong_output", *, empty: bool = False) -> Counter[str]:
        first = attempt(1, code="a", message="m")
        second = attempt(2, code=code, message=message, failure=failure, is_empty=empty)
        return measures.refinements([row(0, right=False, attempts=(first, second))])

    types = [
        attempt(n, code=str(n), failure="exception", error=error) for n, error in enumerate(("TypeError", "IndexError"))
    ]
    assert measures.refinements([row(0, right=False, attempts=tuple(types))]) == {measures.OTHER: 1}
    assert pair("a", "m") == {measures.INVARIANCE: 1}
    assert pair("b", "m") == {measures.SAME_MESSAGE: 1}
    assert pair("b", "n", empty=True) == {measures.SAME_TYPE: 1}
    assert pair("b", "n", "exception", empty=True) == {measures.EMPTIED: 1}
    assert pair("b", "n", "exception") == {measures.OTHER: 1}
    solved = row(0, attempts=(attempt(1, code="a"), attempt(2, code="b", failure=None)))
    assert not measures.refinements([solved])


def test_designed_tests_and_levels() -> None:
    rows = [row(0, tests=designed(5, 4, 0.5), level=1), row(1, tests=designed(3, 0, 1.0, 0.25), level=4), row(2)]
    assert measures.right_tests(rows) == Estimate(0.5, 8)
    assert measures.covered_by_tests(rows) == Estimate(0.75, 2)
    assert measures.covered_by_first_tests(rows) == Estimate(0.25, 1)
    assert measures.levels(rows) == {"Level 1": 1, "Level 4": 1}
    assert measures.right_tests([row(0)]) is None


def test_a_pair_is_the_first_samples_of_a_task_that_both_have() -> None:
    one = [*column("a", "++-+"), row(2, strategy="a", sample=1)]
    other = column("b", "+-+?-")
    found = paired(first_samples(one), first_samples(other))
    assert (found.both, found.only_first, found.only_second, found.neither) == (1, 1, 1, 0)
    assert found.p == 1.0


def _resampled(task: int, *words: str) -> Row:
    """Return a row of `resample` with a program of 100 tokens for each character, `+` or `-`."""
    attempts = [
        attempt(number, right=word == "+", failure=None if word == "+" else "exception", code=str(number))
        for number, word in enumerate(words, 1)
    ]
    told = tuple(replace(each, written=100 * each.round) for each in attempts)
    return row(task, right=words[-1] == "+", attempts=told, tokens=Tokens(0, 100 * len(words)), strategy="resample")


@pytest.mark.parametrize(("tokens", "cost", "right"), [(1, 100, 0), (101, 200, 1), (201, 250, 1), (9999, 300, 2)])
def test_a_baseline_is_cut_to_the_programs_for_the_same_tokens(tokens: int, cost: int, right: int) -> None:
    theirs = first_samples([_resampled(0, "-", "+"), _resampled(1, "-", "-", "-", "+")])
    mine = first_samples([row(task, tokens=Tokens(0, tokens)) for task in range(2)])
    cut = at_equal_tokens(mine, theirs)
    assert cut is not None
    assert sum(each.tokens.completion for each in cut.values()) == 2 * cost
    assert sum(bool(each.right) for each in cut.values()) == right


def test_a_baseline_without_the_tokens_of_each_program_cannot_be_cut() -> None:
    theirs = first_samples([_resampled(0, "-", "+")])
    old = {
        task: replace(each, attempts=tuple(replace(one, written=None) for one in each.attempts))
        for task, each in theirs.items()
    }
    mine = first_samples([row(0, tokens=Tokens(0, 1))])
    assert at_equal_tokens(mine, old) is None
    assert at_equal_tokens(mine, theirs) is not None


def test_the_overlap_has_each_common_task_once() -> None:
    found = overlap({"a": column("a", "++--"), "b": column("b", "+-+-+")})
    assert found == {frozenset("ab"): 1, frozenset("a"): 1, frozenset("b"): 1, frozenset[str](): 1}
    assert not overlap({})


def test_a_change_against_nothing_is_none() -> None:
    assert change(0.5, 0.4) == pytest.approx(0.25)
    assert change(0.5, 0.0) is None
