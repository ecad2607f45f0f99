"""The actual output of an example is compared with the expected output, under the example's options."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.directives import directives
from adacoder.domain import Example
from adacoder.sandbox.comparison import hint, matches
from adacoder.sandbox.wire import Answer, Raised


def example(want: str, options: str = "", exception: str | None = None) -> Example:
    """Return an example with options such as `+NUMBER -ELLIPSIS`."""
    source = f"f()  # doctest: {options}\n" if options else "f()\n"
    found = directives(source)
    return Example(source, want, 0, found.on, exception, off=found.off)


def matched(want: str, got: str, options: str = "", always: int = 0) -> bool:
    return matches(example(want + "\n", options), got + "\n", Answer(shown=got + "\n"), always)


@pytest.mark.parametrize(
    ("options", "want", "right", "wrong"),
    [
        ("+NUMBER", "0.333", "0.33333", "0.335"),
        ("+NUMBER", "[1.0, 2]", "[1.04, 2]", "[1.04, 3]"),
        ("+NUMBER", "1.5e3", "1549.9", "1700.0"),
        ("+NUMBER", "-1.25", "-1.254", "1.25"),
        ("+NUMBER", "a 1.5 b", "a 1.52 b", "a 1.52 c"),
        ("+FLOAT_CMP", "0.333333333", "0.33333334", "0.3334"),
        ("+FLOAT_CMP", "('a', [1, {2: 0.1}])", "('a', [1, {2: 0.10000000000000003}])", "('b', [1, {2: 0.1}])"),
        ("+FLOAT_CMP", "[0.12345678]", "[0.1234567 ]", "[0.1234567 0]"),
        (
            "+FLOAT_CMP",
            "array([[1.,  2.],\n       [3.,  4.]])",
            "array([[1., 2.], [3.0000001, 4.]])",
            "array([[1.], [2.]])",
        ),
        ("+FLOAT_CMP", "nan inf", "nan inf", "inf nan"),
        ("+ELLIPSIS, +NUMBER", "['head', 0.33, ...]", "['head', 0.3333333, 'tail']", "['head', 0.36, 'tail']"),
        ("+ELLIPSIS, +FLOAT_CMP", "0.33... 2.5", "0.3333 2.50000001", "0.34 2.5"),
        ("+ELLIPSIS, +NUMBER", "... 0.5 ... 0.25", "a 0.5 0.51 b 0.7 0.251", "a 0.5 0.51 b 0.7 0.28"),
        ("+ALLOW_UNICODE", "u'a'", "'a'", "'u'"),
        ("+ALLOW_BYTES", "b'a'", "'a'", "'b'"),
        ("+ALLOW_BYTES", "b'a' 'b'", "'a' 'b'", "'a' ''"),
        ("+NUMBER +ELLIPSIS +NORMALIZE_WHITESPACE", "[1 2 ... 5]", "[1 2 3 5]", "[1 299 3 4 5]"),
        ("+NUMBER +NORMALIZE_WHITESPACE", "[ 1.,  0.25]", "[1. , 0.25]", "[1., 0.75]"),
        ("+NUMBER +NORMALIZE_WHITESPACE", "0.5 [True,  False]", "0.5 [True, False]", "0.5 [True,False]"),
        ("+NUMBER +NORMALIZE_WHITESPACE", "0.5 'a, b'", "0.51 'a,\nb'", "0.5 'a,b'"),
        ("+FLOAT_CMP", "1e999", "1e999", "5"),
        ("+NORMALIZE_WHITESPACE", "a b", "a   b", "ab"),
    ],
)
def test_options(options: str, want: str, right: str, wrong: str) -> None:
    assert matched(want, right, options)
    assert not matched(want, wrong, options)
    assert want == right or not matched(want, right)


def test_an_option_for_all_examples_can_be_switched_off_for_one() -> None:
    assert matched("a ... c", "a b c", always=doctest.ELLIPSIS)
    assert not matched("a ... c", "a b c", "-ELLIPSIS", always=doctest.ELLIPSIS)


def test_every_output_matches_if_it_is_ignored_but_no_exception_does() -> None:
    assert matched("1", "2", "+IGNORE_OUTPUT")
    raised = Raised("ValueError: no\n", frozenset({"ValueError"}), None, "")
    assert not matches(example("1\n", "+IGNORE_OUTPUT"), "", Answer(raised=raised))


def test_numbers_in_the_message_of_an_exception_are_compared_as_well() -> None:
    expected = example("Traceback (most recent call last):\nValueError: 0.333\n", "+NUMBER", "ValueError: 0.333\n")
    raised = Raised("ValueError: 0.33333\n", frozenset({"ValueError"}), None, "")
    assert matches(expected, "", Answer(raised=raised))


@given(
    st.lists(st.floats(allow_nan=False), min_size=1), st.sampled_from(["+NUMBER", "+FLOAT_CMP", "+NUMBER, +ELLIPSIS"])
)
def test_an_output_matches_itself(values: list[float], options: str) -> None:
    assert matched(repr(values), repr(values), options)


@given(st.text(max_size=40), st.text(max_size=40), st.sampled_from(["", "+ELLIPSIS", "+NORMALIZE_WHITESPACE"]))
def test_an_option_for_numbers_accepts_what_doctest_accepts(want: str, got: str, options: str) -> None:
    if matched(want, got, options):
        assert matched(want, got, f"{options} +NUMBER")
        assert matched(want, got, f"{options} +FLOAT_CMP")


@given(st.from_regex(r"[-0-9.eE+ a]{0,30}", fullmatch=True), st.from_regex(r"[-0-9.eE+ a]{0,30}", fullmatch=True))
def test_no_number_is_too_long_or_too_large(want: str, got: str) -> None:
    for options in ("+NUMBER", "+FLOAT_CMP", "+NUMBER +FLOAT_CMP +ELLIPSIS"):
        assert matched(want, got, options) in (True, False)


@pytest.mark.parametrize(
    ("source", "want", "got", "told"),
    [
        ("f()", "a ... c", "a b c", "+ELLIPSIS"),
        ("f()", "a b", "a  b", "+NORMALIZE_WHITESPACE"),
        ("f()", "a b ... d", "a  b c d", "+ELLIPSIS, +NORMALIZE_WHITESPACE"),
        ("f()", "2.5", "2.5000000001", "+FLOAT_CMP"),
        ("f()", "2.5", "np.float64(2.5)", "NumPy 2"),
        ("f()", "<A at 0x7f00>", "<A at 0x7f10>", "address"),
        ("f()  # DOCTEST +SKIP", "1", "2", "write `# doctest: +SKIP`"),
        ("f()  # doctests are nice", "1", "2", ""),
        ("f()", "1", "2", ""),
        ("f()", "10000001", "10000002", ""),
        ("f()", "order 1234567", "order 1234568", ""),
    ],
)
def test_a_hint_says_which_option_would_accept_the_output(source: str, want: str, got: str, told: str) -> None:
    found = hint(Example(f"{source}\n", f"{want}\n", 0), f"{got}\n", Answer(shown=f"{got}\n"))
    assert told in found
    assert bool(found) == bool(told)


def test_many_gaps_and_numbers_take_little_time() -> None:
    """The number of steps is limited. Without the limit, this comparison takes minutes."""
    want, got = "x ... " + "1 " * 4000 + "2", "x " + "1 " * 9000
    assert not matched(want, got, "+ELLIPSIS, +NUMBER")


def test_a_long_comment_takes_little_time() -> None:
    source = f"f()  # doctest {'a' * 30_000}1\n"
    assert hint(Example(source, "1\n", 0), "2\n", Answer(shown="2\n")) == ""
    assert directives(f"1  # doctest:{' ' * 30_000}'\n").problem == ""
