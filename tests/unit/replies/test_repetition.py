"""Replies that only repeat themselves."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from adacoder.replies.repetition import is_repetition

LINE = "    # Hint: use a list of all that is open at a level.\n"
BLOCK = "".join(f"    if value == {number}:\n        return {number}\n" for number in range(8))


@pytest.mark.parametrize("passage", [LINE, BLOCK, "#", "ab ", "\n", "語", "x" * 400])
def test_one_passage_over_and_over(passage: str) -> None:
    text = "def f():\n" + passage * (1500 // len(passage) + 20)
    assert is_repetition(text)
    assert is_repetition(text + passage[: len(passage) // 2])
    assert not is_repetition(f"{text}    return 1\n")


ROW = "    [0, 0, 0, 0, 0, 0, 0, 0, 0],\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        LINE * 19,
        ROW * 9,
        f"def f():\n    board = [\n{ROW * 40}",
        "".join(f"    if value == {number}:\n        return {number}\n" for number in range(200)),
        "x" * 1499,
        "x" * 401 * 2,
        ("x" * 400 + "y") * 30,
    ],
)
def test_what_only_repeats_itself_a_little_or_changes(text: str) -> None:
    assert not is_repetition(text)


SENTENCES = ("Look at the first value.", "Keep what is not there yet.", "Go on with what is left of it.")
STEPS = "".join(f"{number}. {SENTENCES[number % 3]}\n" for number in range(1, 80))
COUNTED = "".join(f"Step {number} of many, " for number in range(200))
NUMBERS = "".join(f"{number}, " for number in range(800))


@pytest.mark.parametrize("text", [STEPS, f"Here is a plan:\n\n{STEPS}", COUNTED, STEPS.replace("\n", "\n\n")])
def test_steps_without_end(text: str) -> None:
    assert is_repetition(text)
    assert not is_repetition(text[:800])


@pytest.mark.parametrize(
    "text",
    [
        f'def plan():\n    return """\n{STEPS}',
        f"```\n{STEPS}",
        f"    text = '{COUNTED}",
        f"STEPS = '{COUNTED}",
        f"NUMBERS = [{NUMBERS}",
        f"NUMBERS: list[int] = [{NUMBERS}",
        f"import math\n\n# {COUNTED}",
        "".join(f"{number % 8 + 1}. Take {'abcdefghijk'[number % 11] * (number % 17 + 1)}.\n" for number in range(90)),
    ],
)
def test_where_code_has_begun_or_nothing_counts_on_much_of_the_same_is_right(text: str) -> None:
    assert not is_repetition(text)


FOLDER = os.environ.get("ADACODER_DATA")


@pytest.mark.skipif(FOLDER is None, reason="ADACODER_DATA names no folder with recorded replies")
def test_no_recorded_reply_that_is_right_is_repetition() -> None:
    with gzip.open(Path(FOLDER or "") / "model_replies.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = list(map(json.loads, lines))
    found = [
        row for row in rows if any(is_repetition(row["reply"][:end]) for end in range(1500, len(row["reply"]), 64))
    ]
    assert found
    assert {row["hidden_tests"] for row in found} == {"fail"}
