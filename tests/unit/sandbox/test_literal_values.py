"""Outputs are compared by their values, and a hostile one does no harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.sandbox.literal_values import same_value


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
        # no literals
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
