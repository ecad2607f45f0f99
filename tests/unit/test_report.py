"""The texts of progress and outcomes, the JSON object, and exit codes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adacoder import report
from adacoder.domain import (
    Candidate,
    Edit,
    ExampleResult,
    Failure,
    FailureKind,
    Isolation,
    Level,
    Outcome,
    Status,
    Step,
    Tokens,
    Verdict,
)
from adacoder.journal import Asked, Evaluated, OpenStep, Repaired, Waiting
from adacoder.source.locate import locate
from adacoder.source.text import PositionEncoding

TEXT = 'x = "😀"; y = 1\n\n\ndef f(x):\n    """Doc.\n\n    >>> f(1)\n    2\n    """\n'
FOLDER = Path("/w")
TARGET = locate(TEXT, FOLDER / "pkg" / "m.py", FOLDER, qualname="f")
STEPS = (
    Step("programming_assistant", "write", 1, 2.0, Tokens(800, 300), Asked("WRITE"), doing="writing the function"),
    Step("code_evaluator", "evaluate", 1, 0.1, details=Evaluated("", True, 0, 1, None)),
    Step(
        "prompt_engineer", "plan", 1, 1.0, Tokens(900, 940, cached=600), Asked("PLAN"), doing="planning from the error"
    ),
)
VERDICT = Verdict(
    None,
    results=(ExampleResult(TARGET.examples[0], matched=True),),
    isolation=Isolation(Level.FULL, ("bubblewrap",)),
)
VERIFIED = Outcome(
    Status.VERIFIED,
    TARGET,
    candidate=Candidate("def f(x): return x + 1"),
    verdict=VERDICT,
    rounds=2,
    edits=(Edit(15, 16, "z"), Edit(len(TEXT), len(TEXT), "    return x + 1\n")),
    model="ollama:m",
    strategy="adacoder",
    steps=STEPS,
    seconds=8.06,
)
FAILED = replace(
    VERIFIED,
    status=Status.FAILED,
    reason="It gave 1 instead of 2.",
    edits=(),
    verdict=replace(
        VERDICT,
        failure=Failure(FailureKind.WRONG_OUTPUT, "It gave 1 instead of 2.", TARGET.examples[0], got="1\n"),
        results=(ExampleResult(TARGET.examples[0], matched=False, got="1\n"),),
    ),
)


def test_the_json_object_is_that_of_the_contract() -> None:
    value = report.to_json(VERIFIED, FOLDER)
    assert list(value) == [
        *("version", "status", "reason", "summary", "target", "examples", "tests", "coverage"),
        *("behaviour", "crossCheck", "rounds", "modelCalls"),
        *("tokens", "seconds"),
        *("model", "strategy", "isolation", "notes", "positionEncoding", "edits", "failure", "journal"),
    ]
    assert (value["status"], value["reason"], value["target"]) == ("verified", None, "pkg/m.py::f")
    assert value["examples"] == {"passed": 1, "total": 1}
    assert (value["rounds"], value["modelCalls"], value["seconds"]) == (2, 2, 8.06)
    assert value["tokens"] == {"prompt": 1700, "cached": 600, "completion": 1240, "estimated": False}
    assert value["isolation"] == {"level": "full", "by": ["bubblewrap"]}
    assert value["failure"] is None


def test_the_json_object_of_a_failure_names_the_example_and_what_it_gave() -> None:
    failure = report.to_json(FAILED, FOLDER)["failure"]
    assert failure == {
        "kind": "wrong_output",
        "message": "It gave 1 instead of 2.",
        "example": "f(1)\n",
        "want": "2\n",
        "got": "1\n",
        "error": None,
        "line": None,
    }


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 16), ("utf-16", 14), ("utf-32", 13)])
def test_edits_are_counted_in_the_named_encoding(encoding: PositionEncoding, character: int) -> None:
    outcome = replace(VERIFIED, edits=(Edit(13, 14, "z"),))
    value = report.to_json(outcome, FOLDER, encoding)
    assert value["positionEncoding"] == encoding
    assert value["edits"] == [
        {
            "range": {"start": {"line": 0, "character": character}, "end": {"line": 0, "character": character + 1}},
            "newText": "z",
        }
    ]


@pytest.mark.parametrize(
    ("outcome", "text"),
    [
        (VERIFIED, "Verified 'f': 1/1 examples passed, 2 rounds, m, 1,240 tokens, 8.1 s, isolation full."),
        (FAILED, "No verified candidate for 'f': It gave 1 instead of 2. (0/1 examples passed, 2 rounds, m, 1,"),
        (replace(VERIFIED, model="openai:big"), "Verified 'f': 1/1 examples passed, 2 rounds, openai:big, 1,2"),
        (replace(VERIFIED, model="replay:/a/b"), "Verified 'f': 1/1 examples passed, 2 rounds, 1,240 tokens"),
        (replace(FAILED, strategy=None), "Not verified: 'f': It gave 1 instead of 2. (0/1"),
        (replace(FAILED, status=Status.UNVERIFIED, reason="No examples."), "Unverified 'f': No examples. ("),
        (
            replace(VERIFIED, verdict=replace(VERDICT, notes=("Line 40 was left out.",))),
            (
                "Verified 'f': 1/1 examples passed, 2 rounds, m, 1,240 tokens, 8.1 s, isolation full."
                " Line 40 was left out."
            ),
        ),
        (Outcome(Status.ERROR, TARGET, "Start it."), "Start it."),
        (Outcome(Status.CANCELLED, TARGET), "Cancelled 'f'; nothing was changed."),
    ],
)
def test_the_summary_carries_the_evidence(outcome: Outcome, text: str) -> None:
    assert report.summary(outcome).startswith(text)
    assert "\n" not in report.summary(outcome)


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (Waiting("waiting for the model, 1 ahead"), "waiting for the model, 1 ahead"),
        (OpenStep("programming_assistant", "write", 1, "writing the function"), "round 1/6 · writing the function"),
        (
            OpenStep("programming_assistant", "write", 2, "writing the function", written=1234),
            "round 2/6 · writing the function · 1,234 tokens",
        ),
        (STEPS[1], "round 1/6 · 0/1 examples passed"),
        (STEPS[2], "round 1/6 · planning from the error · 940 tokens"),
        (Step("debug_specialist", "repair", 1, 0.1, details=Repaired((), "")), "round 1/6 · no rule helps"),
        (
            Step("debug_specialist", "repair", 1, 0.1, details=Repaired(("imports_added", "realigned"), "")),
            "round 1/6 · fixed by rule: imports added, realigned",
        ),
        (
            Step("critic", "score", 2, 0.1, doing="scoring the attempt", branch=("by sorting", "by counting")),
            "round 2/6 · by sorting · by counting · scoring the attempt",
        ),
    ],
)
def test_progress_says_phase_round_examples_and_tokens(event: OpenStep | Step | Waiting, text: str) -> None:
    assert report.progress(event, 6) == text


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ([], 0),
        ([Status.VERIFIED], 0),
        ([Status.VERIFIED, Status.PARTIAL], 1),
        ([Status.FAILED], 1),
        ([Status.UNVERIFIED], 1),
        ([Status.UNVERIFIED, Status.ERROR, Status.VERIFIED], 2),
        ([Status.CANCELLED, Status.ERROR], 130),
    ],
)
def test_of_several_outcomes_the_worst_decides_the_exit_code(statuses: list[Status], code: int) -> None:
    assert report.exit_code([Outcome(status, TARGET) for status in statuses]) == code


def test_a_target_outside_the_folder_is_named_in_full() -> None:
    assert report.label(TARGET, Path("/elsewhere")) == "/w/pkg/m.py::f"
