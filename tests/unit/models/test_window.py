"""Estimates of the size of texts in tokens."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adacoder.domain import Message
from adacoder.models.window import Calibration, Window, estimate, estimate_chat, lower_estimate
from support.kinds_of_text import KINDS

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
        ("     12", 4),
        ("\t\tx\r\n", 5),
        ("MAXIMUM", 4),
        ("forEach", 3),
        ("x12, 0xbeef", 8),
        ("漢字", 6),
        ("naïve", 5),
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
    assert lower_estimate(messages) <= estimate_chat(messages)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("two words", 2),
        ("x = f(y, z)", 4),
        ("is_prime", 2),
        ("a1b", 2),
        (">>>", 0),
        ("naïve", 1),
        ("漢字", 1),
        ("l’été", 1),
        ("】,【", 0),
        ("x = $ || 3", 2),
        ("+ - 12", 1),
    ],
)
def test_what_no_tokenizer_joins(text: str, tokens: int) -> None:
    assert lower_estimate((Message("user", text),)) == tokens


WORDS = (Message("user", "word " * 1022),)
WORDY = (Message("user", "internationalisation " * 600),)
"""A text that is estimated at 3,000 tokens. A model with its words in the vocabulary counts only 600."""


@pytest.mark.parametrize(
    ("messages", "counted", "window", "cut"),
    [
        # Ollama up to 0.24 cuts a prompt to the whole window, and from 0.30 on to half of it
        (WORDS, 1024, 1024, True),
        (WORDS, 1030, 1024, True),
        (WORDS, 514, 1024, True),
        (WORDS, 1023, 1024, False),
        (WORDY, 2048, 2048, True),
        (WORDY, 2047, 2048, False),
        (WORDY, 1026, 2048, True),
        (WORDY, 1080, 2048, False),
        # a model that counts fewer tokens than there are words
        (WORDS, 600, 1024, True),
        (WORDS, 600, 2048, True),
        (WORDS, 1022, 2048, False),
        (WORDS, 1026, 2048, False),
        # the server uses another window than requested
        (WORDY, 1026, 8192, True),
        (WORDY, 1080, 8192, False),
        (WORDY, 1015, 8192, False),
        (WORDY * 4, 4096, 32768, True),
        (WORDY * 4, 4080, 32768, False),
        # half of the estimate, as for a vocabulary with many long words
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
    # no model counts fewer tokens
    assert calibration.was_cut(WORDY, 599, 8192)


@given(st.integers(1, 60_000), st.floats(0.4, 1.3), st.sampled_from([2048, 4096, 8192, 16384, 32768]))
def test_nobody_is_accused_where_what_was_read_is_what_was_expected(size: int, ratio: float, window: int) -> None:
    """A model may count tokens in its own way, as long as the prompt fits by the estimate."""
    messages = (Message("user", "word" * size),)
    counted = math.ceil(estimate_chat(messages) * ratio)
    assume(estimate_chat(messages) <= window and not window <= counted)
    assert not Calibration().was_cut(messages, counted, window)


def test_the_ratio_is_that_of_the_worst_and_of_the_last() -> None:
    calibration = Calibration()
    assert calibration.ratio == 1.0
    calibration.learn(WORDS, 721)  # 0.7 of the estimate
    assert calibration.ratio == pytest.approx(0.75)
    calibration.learn(WORDS, 824)  # 0.8 of the estimate
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


def cached(calibration: Calibration, text: str, seconds: float | None, *, by_server: bool = True) -> int:
    """Return the number of cached tokens in a prompt of 500, if the server read the rest in `seconds`."""
    return calibration.cached(prompt(text), 500, seconds, by_server=by_server)


FIRST, SECOND, THIRD = ("a " * 400 + f"{last} " * 100 for last in "abc")
"""Prompts that have four fifths of their text in common."""


@pytest.mark.parametrize("by_server", [True, False], ids=["the server's clock", "ours"])
def test_what_a_server_had_read_before_shows_in_the_time_it_took(by_server: bool) -> None:
    calibration = Calibration()
    assert cached(calibration, FIRST, 5.0, by_server=by_server) == 0  # this prompt measures the server's speed
    assert cached(calibration, SECOND, 1.0, by_server=by_server) == 400
    assert cached(calibration, THIRD, 3.0, by_server=by_server) == 200
    assert cached(calibration, FIRST, 5.0, by_server=by_server) == 0
    assert cached(calibration, SECOND, 9.0, by_server=by_server) == 0


@pytest.mark.parametrize(
    ("first", "by_server", "had_read"),
    [
        (None, True, 400),
        (None, False, 400),
        # the prompt was cached before this process started, so the server is not slower than this
        (0.01, True, 400),
        (0.01, False, 0),  # times on our clock may include waits, so nothing is certain
        (5.0, False, 400),
    ],
)
def test_the_pace_shows_in_what_a_prompt_has_of_its_own(first: float | None, by_server: bool, had_read: int) -> None:
    calibration = Calibration()
    assert cached(calibration, FIRST, first, by_server=by_server) == 0
    assert cached(calibration, SECOND, 1.0, by_server=by_server) == pytest.approx(had_read, abs=4)
    assert cached(calibration, THIRD, 1.0, by_server=by_server) == pytest.approx(had_read, abs=4)


def test_a_server_that_keeps_nothing_is_not_said_to() -> None:
    calibration = Calibration()
    for text, seconds in ((FIRST, 5.0), (SECOND, 5.3), (THIRD, 4.9), (FIRST, 5.1), (SECOND, 4.8)):
        assert cached(calibration, text, seconds) <= 50  # a difference that the clock's error explains


def test_after_the_model_was_loaded_nothing_had_been_read() -> None:
    calibration = Calibration()
    cached(calibration, FIRST, 5.0)
    assert cached(calibration, SECOND, None) == 0
    assert cached(calibration, THIRD, 1.0) == 400


def test_a_wait_for_others_does_not_make_a_server_slow() -> None:
    calibration = Calibration()
    cached(calibration, FIRST, 5.0)
    cached(calibration, "d " * 500, 60.0, by_server=False)
    assert cached(calibration, FIRST, 5.0) == 0


def test_only_what_two_prompts_have_in_common_can_have_been_read_before() -> None:
    calibration = Calibration()
    cached(calibration, FIRST, 50.0)  # other work delayed the machine
    assert cached(calibration, "a " * 100 + "b " * 400, 5.0) == 100
    assert cached(calibration, "c " * 500, 0.1) == 0


def test_a_short_prompt_says_nothing_of_a_servers_speed() -> None:
    calibration = Calibration()
    calibration.cached(prompt("b"), 10, 1.0, by_server=True)
    assert calibration.seconds_a_token == 0.0
    cached(calibration, FIRST, 5.0)
    assert calibration.seconds_a_token == pytest.approx(0.01)


def test_what_is_expected_of_a_prompt_is_what_the_last_one_took() -> None:
    calibration = Calibration()
    upper = estimate_chat(WORDS)
    assert calibration.expected(WORDS) == pytest.approx(0.7 * upper, abs=1)
    calibration.learn(WORDS, round(0.9 * upper))
    assert calibration.expected(WORDS) == pytest.approx(0.9 * upper, abs=1)
    assert calibration.expected(WORDS * 3) == pytest.approx(2.7 * upper, abs=2)


COUNTS: Mapping[str, Mapping[str, int]] = json.loads(
    Path(__file__).with_name("token_counts.json").read_text(encoding="utf-8")
)
"""Tokens that llama.cpp counts in `KINDS` for published vocabularies, written by `tests/real/count.py`.

llama.cpp's test vocabularies GPT-2 and Baichuan are left out, because they have no tokens for runs of blanks.
"""


def test_the_counts_are_of_these_texts() -> None:
    assert len(COUNTS) >= 13
    assert all(counts.keys() == KINDS.keys() for counts in COUNTS.values())


@pytest.mark.parametrize("name", KINDS)
def test_no_vocabulary_counts_more_than_the_upper_measure(name: str) -> None:
    chat = prompt(KINDS[name])
    assert max(counts[name] for counts in COUNTS.values()) <= Window(8192).measure_chat(chat)


@pytest.mark.parametrize("name", KINDS)
def test_no_vocabulary_counts_less_than_the_lower_measure(name: str) -> None:
    assert lower_estimate(prompt(KINDS[name])) <= min(counts[name] for counts in COUNTS.values())


@pytest.mark.parametrize("name", ["code", "tabs", "lines that end as on Windows", "prose", "doctests", "constants"])
def test_the_upper_measure_of_what_modules_are_made_of_is_not_far_off(name: str) -> None:
    """The upper limit must not be far too high, because prompts leave out texts that seem too long."""
    most = max(counts[name] for counts in COUNTS.values())
    assert estimate(KINDS[name]) <= 1.6 * most


@pytest.mark.parametrize("name", ["code", "tabs", "lines that end as on Windows", "prose", "doctests"])
@pytest.mark.parametrize("vocabulary", COUNTS)
def test_what_is_expected_of_a_model_that_nothing_is_known_of(vocabulary: str, name: str) -> None:
    assert Calibration().expected(prompt(KINDS[name])) == pytest.approx(COUNTS[vocabulary][name], rel=0.3)


@pytest.mark.parametrize("vocabulary", COUNTS)
def test_nobody_is_accused_for_the_words_that_a_vocabulary_has(vocabulary: str) -> None:
    """In any language, a prompt that was read completely is never reported as cut."""
    for name, counted in COUNTS[vocabulary].items():
        chat = prompt(KINDS[name])
        calibration = Calibration()
        assert not calibration.was_cut(chat, counted + 4, 8192), name
