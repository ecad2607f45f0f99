"""Outputs are compared by value. A hostile output does no harm."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.sandbox.literal_values import same_but_for_order, same_but_for_sets, same_value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("15\n", "15.0\n"),
        ("0.001\n", "1e-03\n"),
        ("-1\n", "-1.0\n"),
        ("{'a', 'b'}\n", "{'b', 'a'}\n"),
        ("{'a': 1, 'b': [2]}\n", "{'b': [2.0], 'a': 1}\n"),
        ("[1,2]\n", "[1,\n 2]\n"),
        ('"it"\n', "'it'\n"),
        ("'a-b * c'\n", '"a-b * c"\n'),
        ("(1,)\n", "( 1, )\n"),
        ("set()\n", "set()\n"),
        ("None\n", "None"),
        (f"{'[' * 40}{']' * 40}", f"{'[' * 40} {']' * 40}"),
    ],
)
def test_the_same(one: str, other: str) -> None:
    assert same_value(one, other)
    assert same_value(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("True", "1"),
        ("[False]", "[0]"),
        ("{1: True}", "{1: 1}"),
        ("{1, 2}", "{True, 2}"),
        ("[1, 2]", "(1, 2)"),
        ("{}", "set()"),
        ("'1'", "1"),
        ("'a'", "b'a'"),
        ("3.14", "3.1400000001"),
        ("None", "0"),
        ("''", ""),
        ("[1, 2]", "[2, 1]"),
        ("[1]", "[1, 1]"),
        # outputs that are not literals
        ("3", "1 + 2"),
        ("1", "--1"),
        ("Decimal('1')", "Decimal('1')"),
        ("nan", "nan"),
        ("f'{1}'", "1"),
        ("1 2", "1 2"),
        ("...", "..."),
    ],
)
def test_not_the_same(one: str, other: str) -> None:
    assert not same_value(one, other)
    assert not same_value(other, one)


@pytest.mark.parametrize(
    "hostile",
    [
        "(" * 100_000,
        "[" * 200 + "]" * 200,
        "[[1]," * 10_000,
        "-" * 40_000 + "1",
        "1" + "+1" * 20_000,
        "not " * 10_000 + "1",
        "9" * 49_000,
        "'" + "\\'" * 24_000,
        "1" + " " * 49_000 + "x",
        "{" + ",".join(str((2**61 - 1) * n) for n in range(2_000)) + "}",
        "'\\N{nothing}'",
        "'\\ud800'",
        "\0",
        "1if 1else 2",
    ],
)
def test_a_hostile_output_is_only_compared(hostile: str) -> None:
    assert not same_value("1", hostile)


@given(st.text(max_size=40), st.text(max_size=40))
def test_nothing_raises(one: str, other: str) -> None:
    assert same_value(one, other) == same_value(other, one)


LITERALS = st.recursive(
    st.integers()
    | st.booleans()
    | st.none()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.binary(),
    lambda inner: st.frozensets(inner) | st.lists(inner).map(tuple),
    max_leaves=8,
)


def agree(one: str, other: str) -> bool:
    return one == other


def written(value: object, order: random.Random) -> str:
    """Write `value` as a literal, with sets in any order."""
    match value:
        case frozenset():
            items = [written(each, order) for each in value]
            order.shuffle(items)
            return f"frozenset({{{', '.join(items)}}})" if items else "frozenset()"
        case tuple():
            items = [written(each, order) for each in value]
            return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
    return repr(value)


def typed(value: object) -> object:
    """Return `value` in a form that differs if values or types differ."""
    match value:
        case frozenset():
            return frozenset, frozenset(map(typed, value))
        case tuple():
            return tuple, tuple(map(typed, value))
    return type(value), repr(value)


@given(LITERALS, LITERALS, st.randoms(use_true_random=False))
def test_sets_are_the_same_in_any_order_and_only_if_their_elements_are(
    one: object, other: object, order: random.Random
) -> None:
    first, second = written(one, order), written(one, order)
    assert first == second or same_but_for_sets(first + "\n", second + "\n", agree)
    if typed(one) != typed(other):
        assert not same_but_for_sets(first + "\n", written(other, order) + "\n", agree)


@given(st.text(alphabet="{}[](),'\"\\:.ab1 \n", max_size=80), st.text(alphabet="{}[],'1ab ", max_size=80))
def test_no_output_stops_a_comparison(want: str, got: str) -> None:
    assert same_but_for_sets(want, got, agree) in (True, False)
    assert not same_but_for_order(want, want)
    assert same_but_for_order(want, got) == same_but_for_order(got, want) or "{" not in want + got


@pytest.mark.parametrize(
    "hostile",
    [
        "{" * 19_999,
        "{1, " * 5_000,
        "(" * 19_999,
        "{" + "1" * 19_990 + "}",
        "{" + "-" * 19_990 + "1}",
        "not " * 4_999 + "{1}",
        "{" + "x." * 9_000 + "x}",
        "{1}" + "[0]" * 6_000,
        "{" + "lambda:" * 2_800 + "1}",
        "{'" * 9_000,
        "{0x" + "f" * 19_000 + "}",
    ],
    ids=lambda text: str(text[:8]),
)
def test_what_is_hostile_is_no_set(hostile: str) -> None:
    began = time.process_time()
    assert not same_but_for_sets(hostile + "\n", "{1}\n", agree)
    assert not same_but_for_order(hostile, "{1}")
    assert time.process_time() - began < 2
