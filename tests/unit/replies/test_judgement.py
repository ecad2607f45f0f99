"""Scores, confidence, and yes or no, in any wording."""

from __future__ import annotations

import pytest

from adacoder.replies.judgement import is_accepted, score


@pytest.mark.parametrize(
    ("text", "most", "found"),
    [
        ("4", 5, 4),
        ("It crashes on any input.\n0", 5, 0),
        ("Score: 4", 5, 4),
        ("**Score:** 3", 5, 3),
        ("I would give it a 3.", 5, 3),
        ("I give it a three", 5, 3),
        ("**4/5**", 5, 4),
        ("8/10", 5, 4),
        ("4 out of 5", 5, 4),
        ("On line 3 it adds 7 instead.\n\nScore: 2", 5, 2),
        ("0 crashes, 5 is right. This one: 3", 5, 3),
        ("<think>Maybe 5? No.</think>\n2", 5, 2),
        ("<confidence>85</confidence>", 100, 85),
        ("I am 85% sure.", 100, 85),
        ("Confidence: 90/100", 100, 90),
        ("It is right for 1/2 of the cases.\nConfidence: 90", 100, 90),
        ("I am 100% certain that step 3 is right", 100, 100),
        ("I am 85 percent sure", 100, 85),
        ("Score: 8/10", 5, 4),
        ("Confidence is high.", 100, None),
        ("", 5, None),
        ("The result is 17.", 5, None),
        ("-1", 5, None),
        ("v2 of it", 5, None),
    ],
)
def test_a_score_is_read_however_it_is_worded(text: str, most: int, found: float | None) -> None:
    assert score(text, most) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("True", True),
        ("False", False),
        ("It is general.\n**True**", True),
        ("It fails for negative numbers, which is wrong.\nFalse", False),
        ("True for small lists, but\nFalse", False),
        ("The solution is not correct.", False),
        ("No, it is wrong", False),
        ("Yes. It is correct.", True),
        ("It is correct.", True),
        ("I accept it.", True),
        ("Verdict: reject", False),
        ("The function is correct; there are no bugs.", True),
        ("True. No issue.", True),
        ("There is nothing wrong with it.", True),
        ("It cannot be accepted.", False),
        ("Answer: no", False),
        ("<think>False?</think>True", True),
        ("It returns a list.", None),
        ("", None),
    ],
)
def test_a_yes_or_a_no_is_read_however_it_is_worded(text: str, found: bool | None) -> None:
    assert is_accepted(text) is found
