"""Measures of texts in tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.domain import Message
from adacoder.models.window import Calibration, estimate, estimate_chat, least

TEXTS = st.text(st.characters(codec=None) | st.sampled_from("ab1 \n\t(_"))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("def", 1),
        ("statement", 3),
        ("is_prime(n)", 7),
        ("[1, 2, 34]", 10),
        ("    return x\n", 5),
        ("漢字", 4),
        ("naïve", 3),
    ],
)
def test_what_is_counted(text: str, tokens: int) -> None:
    assert estimate(text) == tokens


@given(TEXTS, TEXTS)
def test_a_text_takes_no_less_for_growing_and_no_more_than_its_parts(one: str, other: str) -> None:
    assert estimate(one) <= estimate(one + other) <= estimate(one) + estimate(other) + 1


@given(TEXTS)
def test_the_least_is_no_more_than_the_estimate(text: str) -> None:
    messages = (Message("user", text),)
    assert least(messages) <= estimate_chat(messages)


WORDS = (Message("user", "word " * 1022),)


@pytest.mark.parametrize(
    ("counted", "window", "cut"),
    [
        (1024, 1024, True),
        (1030, 1024, True),
        (514, 1024, True),
        (600, 1024, True),
        (1023, 1024, False),
        (600, 2048, False),
        (1026, 2048, False),
    ],
)
def test_when_a_server_certainly_cut_a_prompt(counted: int, window: int, cut: bool) -> None:
    assert Calibration().was_cut(WORDS, counted, window) is cut
