"""The status `verified`, the order of candidates by progress, and the Journal's record."""

from __future__ import annotations

import doctest
import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from adacoder.conclusion import conclude
from adacoder.domain import (
    Attempt,
    Candidate,
    Example,
    ExampleResult,
    Failure,
    FailureKind,
    Module,
    Span,
    Status,
    Step,
    Target,
    Tokens,
    Verdict,
    further,
)
from adacoder.journal import Journal, OpenStep, Waiting

SPAN = Span(0, 0)
EXAMPLE = Example("f(1)\n", "2\n", 3)
CANDIDATE = Candidate("def f(x): return 2")
RAN = ExampleResult(EXAMPLE, True, entered=True)
"""A passed example that ran the target's code."""
ELSE = ExampleResult(EXAMPLE, True, counts=False)
"""A passed example that ran only other code."""
PASSED = Verdict(None, parses=True, defines=True, imports=True, results=(RAN,))
WRONG = Failure(FailureKind.WRONG_OUTPUT, "It gave 3 instead of 2.", EXAMPLE, got="3\n")


def target(*examples: Example) -> Target:
    return Target(Module(Path("/w/m.py"), "m", Path("/w")), "", "f", SPAN, SPAN, SPAN, "", SPAN, "", examples, True)


def status(verdict: Verdict, *examples: Example) -> Status:
    return conclude(target(*examples), Attempt(CANDIDATE, verdict), 1).status


def test_verified_needs_an_example_that_ran_the_target() -> None:
    assert status(PASSED, EXAMPLE) is Status.VERIFIED
    assert status(replace(PASSED, results=(ELSE,)), EXAMPLE) is Status.UNVERIFIED
    assert status(replace(PASSED, results=(ELSE, RAN)), EXAMPLE, EXAMPLE) is Status.VERIFIED


@pytest.mark.parametrize(
    ("results", "says"),
    [
        ((), "no >>> examples"),
        ((ExampleResult(replace(EXAMPLE, flags=doctest.SKIP), False),), "skipped"),
        ((ExampleResult(replace(EXAMPLE, want=""), True, entered=True),), "No example of 'f' shows an output"),
        ((ELSE,), "No example that shows an output ran 'f', so nothing could be verified."),
        ((replace(ELSE, ran="`b.f` is `a.c.f`"),) * 2, "could be verified: `b.f` is `a.c.f`."),
        ((replace(ELSE, ran="`f` is a `C`"),), "was seen to run 'f', so nothing could be verified: `f` is a `C`."),
    ],
)
def test_it_is_said_why_nothing_is_verified(results: tuple[ExampleResult, ...], says: str) -> None:
    examples = [result.example for result in results]
    outcome = conclude(target(*examples), Attempt(CANDIDATE, replace(PASSED, results=results)), 1)
    assert outcome.status is Status.UNVERIFIED
    assert outcome.reason is not None
    assert says in outcome.reason


@pytest.mark.parametrize("is_function", [True, False])
def test_verified_needs_a_result_of_every_example_that_was_asked(is_function: bool) -> None:
    other = replace(EXAMPLE, source="f(2)\n", line=5)
    skipped = replace(EXAMPLE, flags=doctest.SKIP, line=7)
    asked = replace(target(EXAMPLE, skipped, other), is_function=is_function)
    whole = replace(PASSED, results=(RAN, replace(RAN, example=other)))
    assert conclude(asked, Attempt(CANDIDATE, whole), 1).status is Status.VERIFIED
    outcome = conclude(asked, Attempt(CANDIDATE, PASSED), 1)
    assert outcome.status is Status.UNVERIFIED
    assert outcome.reason == "Not all examples of 'f' ran, so nothing could be verified."


def test_of_a_class_all_examples_count() -> None:
    every = replace(PASSED, results=(replace(ELSE, counts=True),))
    for is_function, expected in ((True, Status.UNVERIFIED), (False, Status.VERIFIED)):
        outcome = conclude(replace(target(EXAMPLE), is_function=is_function), Attempt(CANDIDATE, every), 1)
        assert (outcome.status, outcome.passed, outcome.total) == (expected, 1, 1)


def test_what_ran_something_else_is_not_counted_and_what_never_ran_is() -> None:
    missed = ExampleResult(EXAMPLE, False, entered=True)
    for results, counts in {
        (): (0, 3),
        (RAN,): (1, 3),
        (RAN, ELSE): (1, 2),
        (RAN, ELSE, missed): (1, 2),
        (RAN, RAN, missed): (2, 3),
        (ELSE, ELSE, ELSE): (0, 0),
    }.items():
        outcome = conclude(target(EXAMPLE, EXAMPLE, EXAMPLE), Attempt(CANDIDATE, replace(PASSED, results=results)), 1)
        assert (outcome.passed, outcome.total) == counts


def test_some_examples_passed_is_partial_and_none_is_failed() -> None:
    other = replace(EXAMPLE, line=9)
    some = replace(
        PASSED, failure=WRONG, results=(replace(RAN, example=other), ExampleResult(EXAMPLE, False, entered=True))
    )
    none = replace(PASSED, failure=WRONG, results=(ExampleResult(EXAMPLE, False, entered=True),))
    assert status(some, other, EXAMPLE) is Status.PARTIAL
    assert status(none, other, EXAMPLE) is Status.FAILED


def test_how_far_a_candidate_got_is_judged_in_the_designs_order() -> None:
    failed = Verdict(WRONG)
    ladder = [
        failed,
        replace(failed, parses=True),
        replace(failed, parses=True, defines=True, undefined=("a", "b")),
        replace(failed, parses=True, defines=True, undefined=("a",)),
        replace(failed, parses=True, defines=True),
        replace(failed, parses=True, defines=True, imports=True),
        replace(failed, parses=True, defines=True, imports=True, results=(RAN,)),
        replace(PASSED, results=(RAN,)),
    ]
    attempts = [Attempt(CANDIDATE, verdict) for verdict in ladder]
    for lower, higher in itertools.pairwise(attempts):
        assert further(lower, higher) is higher
        assert further(higher, lower) is higher
    assert further(attempts[3], Attempt(replace(CANDIDATE, cut=True), ladder[3])) is attempts[3]


def test_the_candidates_text_is_one_small_module() -> None:
    candidate = Candidate("def f(): ...", ("import a", "import b"), ("X = 1",))
    assert candidate.text == "import a\nimport b\n\nX = 1\n\ndef f(): ...\n"


def test_the_journal_records_steps_in_order_also_those_that_fail() -> None:
    heard: list[OpenStep | Step | Waiting] = []
    journal = Journal(heard.append)
    journal.waiting("waiting for the model, 1 ahead")
    journal.begin_round()
    with journal.step("programming_assistant", "write", "writing") as step:
        step.moved("def f(): ...")
        step.tokens = Tokens(100, 20)
    journal.begin_round()
    with pytest.raises(ValueError, match="no"), journal.step("code_evaluator", "evaluate", "running"):
        raise ValueError("no")
    assert [(step.agent, step.round) for step in journal.steps] == [("programming_assistant", 1), ("code_evaluator", 2)]
    assert [step.error for step in journal.steps] == [None, "no"]
    assert journal.steps[0].tokens == Tokens(100, 20)
    assert [type(event) for event in heard] == [Waiting, OpenStep, OpenStep, Step, OpenStep, Step]
