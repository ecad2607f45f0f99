"""Inputs that differ from a docstring's examples in one literal or argument."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adacoder.domain import Module, Target
from adacoder.source.inputs import Input, smaller, varied, written
from adacoder.source.locate import locate

LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers(0) | st.floats(0, 1e9) | st.text(max_size=9) | st.binary(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.sets(st.integers(0), max_size=4)
    ),
    max_leaves=8,
)


MODULE = Module(Path("/w/m.py"), "m", Path("/w"))


def target(*examples: str) -> Target:
    lines = "".join(f"    >>> {line}\n" for line in examples)
    text = f'def gap(numbers, k=2):\n    r"""Gap.\n\n{lines}    """\n    return 0\n'
    return locate(text, Path("/w/m.py"), Path("/w"), qualname="gap")


def texts(inputs: tuple[Input, ...]) -> list[str]:
    return [one.text for one in inputs]


def test_examples_that_need_each_other_are_one_input() -> None:
    found = written(target("import math", "s = [1]", "gap([4])", "s.append(2)", "gap(s, int(math.pi))"))
    assert texts(found) == ["import math; s = [1]; s.append(2); gap(s, int(math.pi))", "gap([4])"]


def test_statements_on_one_line_are_inputs_too() -> None:
    assert texts(written(target("s = [1]; gap(s)", "gap([2]); gap([3])"))) == [
        "s = [1]; gap(s)",
        "gap([2])",
        "gap([3])",
    ]


def test_skipped_and_unreadable_examples_are_left_out() -> None:
    assert texts(written(target("gap([1])  # doctest: +SKIP", "gap(1", "gap([2])"))) == ["gap([2])"]


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ("gap([1, 5])", {"gap([])", "gap([1])", "gap([5, 1])", "gap([1, 6])", "gap([0, 5])"}),
        ("gap('ab')", {"gap('')", "gap('a')", "gap('ba')", "gap('AB')", "gap('abab')"}),
        ("gap('a b')", {'gap("a\' b")', "gap('a1 b')", "gap('a  b')", "gap('a b a b')"}),
        ("gap(b'ab')", {"gap(b'')", "gap(b'ba')"}),
        ("gap({'a': 1})", {"gap({})", "gap({'a': 2})"}),
        ("gap({1})", {"gap(set())", "gap({2})"}),
        ("gap(True)", {"gap(False)"}),
        ("gap(3, k=1)", {"gap(4, k=1)", "gap(3, k=0)"}),
        ("gap((1, 2))", {"gap((2, 2))"}),
        ("x = gap(2.5)", {"x = gap(0.0)", "x = gap(3.0)"}),
    ],
)
def test_one_literal_is_another_of_its_type(example: str, expected: set[str]) -> None:
    assert expected <= {*texts(varied(target(example), 100))}


def test_a_set_up_is_varied_too() -> None:
    found = texts(varied(target("s = [1]", "gap(s)"), 100))
    assert "s = []; gap(s)" in found
    assert all(text.endswith("gap(s)") for text in found)


def test_arguments_are_exchanged_between_calls_of_the_same_form() -> None:
    assert {"gap([1], 4)", "gap([3], 2)"} <= {*texts(varied(target("gap([1], 2)", "gap([3], 4)"), 100))}


def test_two_arguments_of_one_type_are_exchanged() -> None:
    found = {*texts(varied(target("gap(1, 'é', 2, [3])"), 200))}
    assert "gap(2, 'é', 1, [3])" in found
    assert not any(text.startswith(("gap('é'", "gap([3]")) for text in found)


def test_a_number_or_text_is_repeated_in_place_of_another() -> None:
    found = {*texts(varied(target("gap([1, 7, 4], 9)"), 200))}
    assert {"gap([1, 7, 4], 7)", "gap([1, 7, 7], 9)", "gap([9, 7, 4], 9)"} <= found


def test_the_elements_of_a_set_are_in_order() -> None:
    texts = {each.text for each in varied(target("f({'b', 'a', 'c'}, [{'e', 'd'}])"), 200)}
    assert "f({'b', 'a', 'c'}, [{'d', 'e'}, {'d', 'e'}])" in texts
    assert "f({'b', 'c'}, [{'e', 'd'}])" in texts
    assert not any("{'c', 'b'}" in text for text in texts)


def test_numbers_are_negative_only_if_an_example_has_such_a_number() -> None:
    assert not any("-" in text for text in texts(varied(target("gap([1], 2)"), 100)))
    assert any("-" in text for text in texts(varied(target("gap([-1], 2)"), 100)))


def test_what_has_no_literal_in_a_call_stays() -> None:
    assert varied(target("gap"), 100) == ()
    assert all(text.endswith("[0]") for text in texts(varied(target("[gap(1)][0]"), 100)))


@given(st.lists(LITERALS, min_size=1, max_size=3))
def test_every_input_is_new_and_can_be_read_and_the_same_seed_gives_the_same(values: list[object]) -> None:
    assume('"""' not in repr(values))
    of = target(*(f"gap({value!r})" for value in values))
    found = varied(of, 40)
    assert found == varied(of, 40)
    assert len({*found}) == len(found) <= 40
    assert not {*found} & {*written(of)}
    for one in found:
        ast.parse("\n".join(one.statements))


@given(LITERALS)
def test_smaller_inputs_are_shorter_and_end(value: object) -> None:
    one = Input((f"gap({value!r})",))
    steps = 0
    while found := smaller(one, MODULE):
        assert len(found[0].text) < len(one.text)
        one, steps = found[0], steps + 1
    assert steps <= len(repr(value))


@pytest.mark.parametrize(
    "examples",
    [
        [f"gap({number}, [{number}, {number + 1}], 'x{number}')" for number in range(500)],
        ["values = []", *(f"values.append({number})" for number in range(500))],
        [f"gap({'-' * 400}1)", f"gap({'[' * 90}1{']' * 90})", f"gap({', '.join(map(str, range(250)))})"],
        ["gap('ä', 'ö')", "gap(f'{1}', 1j, ..., None, *[1], **{'k': 2})", "gap(1)(2)[3].x"],
    ],
    ids=["many", "long sequence", "deep", "odd"],
)
def test_odd_docstrings_are_read_in_limited_time_and_space(examples: list[str]) -> None:
    """Hypothesis limits the time. Without AdaCoder's limits, this would take minutes."""
    of = target(*examples)
    assert len(written(of)) <= 40
    assert len(varied(of, 60)) <= 60
