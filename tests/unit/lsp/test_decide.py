"""The table that decides what happens to a job's result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adacoder.domain import Candidate, Edit, ExampleResult, Failure, FailureKind, Outcome, Status, Verdict
from adacoder.lsp.jobs.ending import Ending
from adacoder.lsp.jobs.job import Decision, decide
from adacoder.lsp.jobs.results import KeptResult
from adacoder.lsp.snapshot import Uri
from adacoder.settings import Settings, Unverified
from adacoder.source.locate import locate
from adacoder.task import Mode

FOLDER = Path("/project")
FILE = FOLDER / "demo.py"
URI = Uri(FILE.as_uri())
TEXT = 'def f(x):\n    """Twice.\n\n    >>> f(1)\n    2\n    >>> f(2)\n    4\n    """\n'
TARGET = locate(TEXT, FILE, FOLDER, qualname="f")
EDITS = (Edit(len(TEXT), len(TEXT), "    return 2 * x\n"),)
CANDIDATE = Candidate("def f(x):\n    return 2 * x")
EXAMPLES = Outcome(Status.UNVERIFIED, TARGET, "Read them.", edits=EDITS)
STATUSES = [Status.VERIFIED, Status.UNVERIFIED, Status.PARTIAL]


def outcome(status: Status, passed: int = 1) -> Outcome:
    """Return an Outcome with a candidate. For a partial one, `passed` is the number of passed examples."""
    if status is not Status.PARTIAL:
        return Outcome(status, TARGET, candidate=CANDIDATE, edits=EDITS)
    results = tuple(ExampleResult(each, matched=n < passed, got="2") for n, each in enumerate(TARGET.examples))
    verdict = Verdict(Failure(FailureKind.WRONG_OUTPUT, "wrong"), results=results, edits=EDITS)
    return Outcome(status, TARGET, candidate=CANDIDATE, verdict=verdict)


def result_of(found: Outcome) -> KeptResult:
    result = KeptResult.of(found, "job", URI)
    assert result is not None
    return result


def decided(
    found: Outcome, settings: Settings | None = None, work: Mode | KeptResult = Mode.GENERATE, **said: bool
) -> Decision:
    return decide(work, found, KeptResult.of(found, "job", URI), settings or Settings(), **said)


def effect(decision: Decision) -> str:
    if decision.inserts:
        assert decision.keeps, "it is kept until it is inserted"
        return "insert"
    if decision.drops:
        return "drop"
    return "keep" if decision.keeps else "refuse" if decision.ending.obstacle else "answer"


@pytest.mark.parametrize(
    ("unverified", "effects"),
    [
        (Unverified.KEEP, ["insert", "keep", "keep"]),
        (Unverified.INSERT, ["insert", "insert", "keep"]),
        (Unverified.DISCARD, ["insert", "refuse", "refuse"]),
    ],
)
def test_only_a_verified_result_is_inserted_unless_the_settings_say_so(
    unverified: Unverified, effects: list[str]
) -> None:
    settings = Settings(unverified=unverified)
    assert [effect(decided(outcome(status), settings)) for status in STATUSES] == effects


def test_with_a_preview_the_user_sees_each_result_first() -> None:
    settings = Settings(preview=True, unverified=Unverified.INSERT)
    decisions = [decided(outcome(status), settings) for status in STATUSES]
    assert [effect(each) for each in decisions] == ["keep"] * 3
    assert [each.ending.is_wanted for each in decisions] == [True, True, False]


def test_suggested_examples_are_always_read_first() -> None:
    for unverified in (Unverified.KEEP, Unverified.INSERT):
        decision = decided(EXAMPLES, Settings(unverified=unverified), Mode.SUGGEST_EXAMPLES)
        assert effect(decision) == "keep"
        assert decision.ending.obstacle == "review the suggested examples for 'f' first"


def test_another_candidate_is_compared_first() -> None:
    decision = decided(outcome(Status.VERIFIED), work=Mode.ANOTHER)
    assert (effect(decision), decision.ending.is_wanted) == ("keep", True)


def test_the_client_keeps_its_own_candidate_unless_it_is_verified() -> None:
    settings = Settings(unverified=Unverified.INSERT)
    effects = [effect(decided(outcome(status), settings, is_sent=True)) for status in STATUSES]
    assert effects == ["insert", "refuse", "refuse"]


@pytest.mark.parametrize("status", STATUSES)
def test_a_client_that_wants_no_edit_gets_only_the_answer(status: Status) -> None:
    assert effect(decided(outcome(status), applies=False)) == "answer"


def test_an_outcome_without_edits_leaves_nothing_to_do() -> None:
    assert effect(decided(Outcome(Status.FAILED, TARGET, candidate=CANDIDATE))) == "answer"


@pytest.mark.parametrize("status", STATUSES)
def test_a_kept_result_is_inserted_if_it_is_as_good_as_it_was_shown(status: Status) -> None:
    found = outcome(status)
    decision = decided(found, Settings(unverified=Unverified.DISCARD), result_of(found))
    assert effect(decision) == "insert"
    assert decision.ending.outcome.edits == EDITS, "also those of a partial result"


@pytest.mark.parametrize(
    ("shown", "now", "why"),
    [
        (Status.VERIFIED, Status.UNVERIFIED, "'f' is unverified"),
        (Status.VERIFIED, Status.PARTIAL, "'f' passes 1/2 examples in the current text"),
    ],
)
def test_a_kept_result_that_has_become_worse_stays_kept(shown: Status, now: Status, why: str) -> None:
    kept = replace(result_of(outcome(shown)), evaluated=("text",))
    decision = decided(outcome(now), work=kept)
    assert (effect(decision), decision.ending.obstacle, decision.ending.kept) == ("keep", why, True)
    assert decision.keeps is not None
    assert decision.keeps.evaluated == ("text",)


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_kept_result_that_passes_nothing_stays_only_if_it_is_still_kept(is_kept: bool) -> None:
    kept = result_of(outcome(Status.VERIFIED))
    decision = decided(Outcome(Status.FAILED, TARGET, candidate=CANDIDATE), work=kept, is_kept=is_kept)
    assert effect(decision) == ("keep" if is_kept else "refuse")
    assert decision.ending.kept is is_kept


def test_a_kept_result_that_is_in_the_text_already_is_dropped() -> None:
    there = Outcome(Status.VERIFIED, TARGET, candidate=CANDIDATE, verdict=Verdict(None))
    assert effect(decided(there, work=result_of(outcome(Status.VERIFIED)))) == "drop"


def test_a_kept_result_that_could_not_run_is_left_alone() -> None:
    decision = decided(Outcome(Status.ERROR, TARGET, "It could not run."), work=result_of(outcome(Status.VERIFIED)))
    assert (effect(decision), decision.ending.kept) == ("answer", True)


@pytest.mark.parametrize("is_kept", [True, False])
@pytest.mark.parametrize("status", [*STATUSES, Status.CANCELLED, Status.ERROR])
def test_a_message_about_a_kept_result_says_so_in_its_first_words(status: Status, is_kept: bool) -> None:
    name = "a_function_whose_name_alone_is_longer_than_the_line_of_a_small_editor"
    target = locate(TEXT.replace("f(", f"{name}("), FILE, FOLDER, qualname=name)
    obstacle = None if status in (Status.CANCELLED, Status.ERROR) else f"'{name}' was edited meanwhile"
    ending = Ending(Outcome(status, target, "It could not run."), obstacle=obstacle, kept=is_kept)
    assert ("its result is kept" in ending.message[:60]) is is_kept


def test_kept_examples_are_inserted() -> None:
    assert effect(decided(EXAMPLES, work=result_of(EXAMPLES))) == "insert"
