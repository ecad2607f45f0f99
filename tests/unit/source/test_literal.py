"""A docstring's literal has the same value as in Python, and every line of the value has a position."""

from __future__ import annotations

import ast
import warnings

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adacoder.source.literal import read_literal

CONTENT = st.text(alphabet=st.sampled_from("\\\\\\nxuUN01789abf{} \n\t'é😀"), max_size=24)


@given(st.sampled_from(["", "r", "u", "R"]), CONTENT, st.sampled_from(["\n", "\r\n", "\r"]))
def test_the_value_is_the_one_python_gives(prefix: str, content: str, ending: str) -> None:
    literal = f'{prefix}"""{content}"""'
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = ast.literal_eval(literal)
        except SyntaxError:
            assume(False)
    found = read_literal(literal.replace("\n", ending))
    assert found.value == value
    assert len(found.lines) == value.count("\n") + 1
    assert list(found.lines) == sorted(found.lines)
    assert found.lines[-1] <= content.count("\n")


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r"'\a\b\f\v\t\'\"\\'", "\a\b\f\v\t'\"\\"),
        (r"'\x41\u0042\U00000043\104\N{BULLET}'", "ABCD•"),
        (r"'\d\xzz\N{no such thing}\U99999999'", r"\d\xzz\N{no such thing}\U99999999"),
        ("'a\\\nb'", "ab"),
        ("'''it's'''", "it's"),
        ('""', ""),
    ],
)
def test_escapes(literal: str, value: str) -> None:
    assert read_literal(literal).value == value


def test_lines_continue_and_break_as_the_escapes_say() -> None:
    assert read_literal('"""\\\nfirst\\nsecond \\\nstill second\nthird"""').lines == (1, 1, 3)


@pytest.mark.parametrize(
    ("literal", "value", "lines"),
    [
        ("('a')", "a", (0,)),
        ("'a' \"b\" r'\\n'", "ab\\n", (0,)),
        ("(\n'a\\n'  # one\n'b'\n'c\\n' '\\n'\n)", "a\nbc\n\n", (1, 2, 3, 3)),
        ("((\r\n'''a\r\nb\r\n'''\r\nr'''c\r\nd'''))", "a\nb\nc\nd", (1, 2, 4, 5)),
        ("'a' \\\n  'b'", "ab", (0,)),
        ("'' ('b\\n')", "b\n", (0, 0)),
    ],
)
def test_literals_in_a_row_are_one_value(literal: str, value: str, lines: tuple[int, ...]) -> None:
    found = read_literal(literal)
    assert (found.value, found.lines) == (value, lines)


@pytest.mark.parametrize("text", ["f'x'", "b'x'", "x", "1", "'", "", "()", "'a' + 'b'", "'a' f'b'", "'a' 1"])
def test_what_is_no_literal_of_a_str_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a string literal"):
        read_literal(text)
