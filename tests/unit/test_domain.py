"""What the words mean: `verified`, how far a candidate got, and the Journal's record."""

from __future__ import annotations

import doctest
import itertools
from dataclasses import replace
from pathlib import Path

import pytest

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
    conclude,
    further,
)
from adacoder.journal import Journal, OpenStep, Waiting

SPAN = Span(0, 0)
DECIDING = Example("f(1)\n", "2\n", 3, runs_target=True)
CANDIDATE = Candidate("def f(x): return 2")
PASSED = Verdict(None, parses=True, defines=True, imports=True)
WRONG = Failure(FailureKind.WRONG_OUTPUT, "It gave 3 instead of 2.", DECIDING, got="3\n")


def target(*examples: Example) -> Target:
    return Target(Module(Path("/w/m.py"), "m", Path("/w")), "", "f", SPAN, SPAN, SPAN, "", SPAN, "", examples, True)


def status(verdict: Verdict, *examples: Example) -> Status:
    return conclude(target(*examples), Attempt(CANDIDATE, verdict), 1).status


def test_verified_needs_a_deciding_example() -> None:
    assert status(PASSED, DECIDING) is Status.VERIFIED


@pytest.mark.parametrize(
    ("examples", "says"),
    [
        ((), "no >>> examples"),
        ((replace(DECIDING, flags=doctest.SKIP),), "skipped"),
        ((replace(DECIDING, want=""),), "both uses it and shows an output"),
        ((replace(DECIDING, runs_target=False),), "both uses it and shows an output"),
    ],
)
def test_without_a_deciding_example_it_is_unverified(examples: tuple[Example, ...], says: str) -> None:
    outcome = conclude(target(*examples), Attempt(CANDIDATE, PASSED), 1)
    assert outcome.status is Status.UNVERIFIED
    assert outcome.reason is not None
    assert says in outcome.reason


def test_some_examples_passed_is_partial_and_none_is_failed() -> None:
    other = replace(DECIDING, line=9)
    some = replace(PASSED, failure=WRONG, results=(ExampleResult(other, True), ExampleResult(DECIDING, False)))
    none = replace(PASSED, failure=WRONG, results=(ExampleResult(DECIDING, False),))
    assert status(some, other, DECIDING) is Status.PARTIAL
    assert status(none, other, DECIDING) is Status.FAILED


def test_how_far_a_candidate_got_is_judged_in_the_designs_order() -> None:
    failed = Verdict(WRONG)
    ladder = [
        failed,
        replace(failed, parses=True),
        replace(failed, parses=True, defines=True, undefined=("a", "b")),
        replace(failed, parses=True, defines=True, undefined=("a",)),
        replace(failed, parses=True, defines=True),
        replace(failed, parses=True, defines=True, imports=True),
        replace(failed, parses=True, defines=True, imports=True, results=(ExampleResult(DECIDING, True),)),
        replace(PASSED, results=(ExampleResult(DECIDING, True),)),
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
    with journal.step("programming_assistant", "write") as step:
        step.moved(7)
        step.tokens = Tokens(100, 20)
    journal.begin_round()
    with pytest.raises(ValueError, match="no"), journal.step("code_evaluator", "evaluate"):
        raise ValueError("no")
    assert [(step.agent, step.round) for step in journal.steps] == [("programming_assistant", 1), ("code_evaluator", 2)]
    assert journal.steps[1].details["error"] == "no"
    assert journal.steps[0].tokens == Tokens(100, 20)
    assert [type(event) for event in heard] == [Waiting, OpenStep, OpenStep, Step, OpenStep, Step]
