"""Lists and sections in replies, with any bullets and headings."""

from __future__ import annotations

import pytest

from adacoder.replies.listing import items, sections


@pytest.mark.parametrize(
    "text",
    [
        "1. Sort it.\n2. Count it.",
        "Here are two:\n\n1. Sort it.\n2. Count it.\n\nI hope that helps.",
        "1) **Sort it.**\n2) **Count it.**",
        "- Sort it.\n- Count it.",
        "* Sort it.\n* Count it.",
        "Strategy 1: Sort it.\nStrategy 2: Count it.",
        "### 1. Sort it.\n### 2. Count it.",
        "Sort it.\nCount it.",
        "Strategies:\nSort it.\nCount it.",
        '["Sort it.", "Count it."]',
        '```json\n["Sort it.", "Count it."]\n```',
        "<think>1. Guess.</think>\n1. Sort it.\n2. Count it.",
        "1. Sort it.\n1. Sort it.\n2. Count it.",
    ],
)
def test_items_are_read_whatever_marks_them(text: str) -> None:
    assert items(text, 10) == ("Sort it.", "Count it.")


def test_items_keep_what_belongs_to_them_and_no_more_than_asked_for() -> None:
    text = "1. Sort it.\n   - by length\n2. Count it.\n3. Guess."
    assert items(text, 2) == ("Sort it.\n   - by length", "Count it.")
    assert items("", 2) == ()


@pytest.mark.parametrize(
    "text",
    [
        "<problem>One.</problem>\n<problem>Two.</problem>",
        "<problem>\nOne.\n<problem>\nTwo.",
        "<root>\n<problem>One.</problem><problem>Two.",
        '<problem id="1">One.</problem>\n<PROBLEM id="2">Two.</PROBLEM>',
        "Problem 1:\nOne.\n\nProblem 2:\nTwo.",
        "## Problem 1: sums\nOne.\n\n## Problem 2: products\nTwo.",
    ],
)
def test_sections_are_read_whether_tags_close_or_not(text: str) -> None:
    assert sections(text, "problem") == ("One.", "Two.")


def test_a_text_without_sections_has_none() -> None:
    assert sections("No problem here.", "problem") == ()
