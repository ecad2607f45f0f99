"""Measures of texts in tokens."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adacoder.domain import Message
from adacoder.models.window import Calibration, Window, estimate, estimate_chat, least

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


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("two words", 2),
        ("x = f(y, z)", 5),
        ("is_prime", 2),
        ("a1b", 2),
        (">>>", 1),
        ("naïve", 1),
        ("漢字", 1),
        ("l’été", 1),
        ("+ - 12", 3),
    ],
)
def test_what_no_tokenizer_joins(text: str, tokens: int) -> None:
    assert least((Message("user", text),)) == tokens


WORDS = (Message("user", "word " * 1022),)
WORDY = (Message("user", "internationalisation " * 600),)
"""3,000 tokens by the estimate; a model that knows the word counts 600."""


@pytest.mark.parametrize(
    ("messages", "counted", "window", "cut"),
    [
        # Up to 0.24 the prompt fills the window, from 0.30 on half of it.
        (WORDS, 1024, 1024, True),
        (WORDS, 1030, 1024, True),
        (WORDS, 514, 1024, True),
        (WORDS, 1023, 1024, False),
        (WORDY, 2048, 2048, True),
        (WORDY, 2047, 2048, False),
        (WORDY, 1026, 2048, True),
        (WORDY, 1080, 2048, False),
        # Fewer tokens than words.
        (WORDS, 600, 1024, True),
        (WORDS, 600, 2048, True),
        (WORDS, 1022, 2048, False),
        (WORDS, 1026, 2048, False),
        # A server that has another window than it was asked for.
        (WORDY, 1026, 8192, True),
        (WORDY, 1080, 8192, False),
        (WORDY, 1015, 8192, False),
        (WORDY * 4, 4096, 32768, True),
        (WORDY * 4, 4080, 32768, False),
        # Half of what it is by the estimate, as models count it that know many long words.
        (WORDY[:1] + WORDS, 2050, 8192, False),
        (WORDY, 2500, 2048, False),
    ],
)
def test_when_a_server_certainly_cut_a_prompt(
    messages: tuple[Message, ...], counted: int, window: int, cut: bool
) -> None:
    assert Calibration().was_cut(messages, counted, window) is cut


def test_what_is_usual_of_a_model_is_no_sign_of_cutting() -> None:
    calibration = Calibration()
    assert calibration.was_cut(WORDY, 1026, 2048)
    assert calibration.was_cut(WORDY, 1026, 8192)
    calibration.learn(WORDY, 1000)
    assert not calibration.was_cut(WORDY, 1026, 2048)
    assert not calibration.was_cut(WORDY, 1026, 8192)
    # Still it cannot have been less than that.
    assert calibration.was_cut(WORDY, 599, 8192)


@given(st.integers(1, 60_000), st.floats(0.4, 1.3), st.sampled_from([2048, 4096, 8192, 16384, 32768]))
def test_nobody_is_accused_where_what_was_read_is_what_was_expected(size: int, ratio: float, window: int) -> None:
    """Whatever the model's tokens are, as long as the prompt fits into the window by the estimate."""
    messages = (Message("user", "word" * size),)
    counted = math.ceil(estimate_chat(messages) * ratio)
    assume(estimate_chat(messages) <= window and not window <= counted)
    assert not Calibration().was_cut(messages, counted, window)


def test_the_ratio_is_that_of_the_worst_and_of_the_last() -> None:
    calibration = Calibration()
    assert calibration.ratio == 1.0
    calibration.learn(WORDS, 721)  # 0.7 of the estimate
    assert calibration.ratio == pytest.approx(0.75)
    calibration.learn(WORDS, 824)  # 0.8
    assert calibration.ratio == pytest.approx(0.85)
    for _ in range(32):
        calibration.learn(WORDS, 721)
    assert calibration.ratio == pytest.approx(0.75)
    calibration.learn(WORDS, 100_000)
    assert calibration.ratio == 2.0


def test_a_window_measures_by_its_ratio() -> None:
    assert Window(1024).measure("is_prime(n)") == 7
    assert Window(1024, 0.5).measure("is_prime(n)") == 4
    assert Window(1024, 2.0).measure_chat(WORDS) == 2060


def prompt(*texts: str) -> tuple[Message, ...]:
    return tuple(Message("user", text) for text in texts)


def test_what_a_server_had_read_before_shows_in_the_time_it_took() -> None:
    calibration = Calibration()
    first, second = prompt("a " * 500), prompt("a " * 400 + "b " * 100)
    assert calibration.cached(first, 500, 5.0) == 0  # nothing is known of its speed
    calibration.learn_speed(500, 5.0)
    assert calibration.cached(second, 500, 1.0) == 400
    assert calibration.cached(second, 500, 5.0) == 0
    assert calibration.cached(second, 500, 9.0) == 0


def test_only_what_two_prompts_have_in_common_can_have_been_read_before() -> None:
    calibration = Calibration()
    calibration.learn_speed(500, 50.0)  # when the machine was busy with something else
    calibration.cached(prompt("a " * 500), 500, 50.0)
    assert calibration.cached(prompt("a " * 100 + "b " * 400), 500, 5.0) == 100
    assert calibration.cached(prompt("c " * 500), 500, 0.1) == 0


def test_a_short_prompt_says_nothing_of_a_servers_speed() -> None:
    calibration = Calibration()
    calibration.learn_speed(10, 1.0)
    calibration.cached(prompt("a " * 500), 500, 5.0)
    assert calibration.cached(prompt("a " * 500), 500, 0.1) == 0
    calibration.learn_speed(500, 5.0)
    assert calibration.cached(prompt("a " * 500), 500, 0.1) == 490
