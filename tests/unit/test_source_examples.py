"""The examples of a docstring, as doctest reads them, and which of them run the target."""

from __future__ import annotations

import doctest

import pytest

from adacoder.domain import Example, TargetError
from adacoder.source.examples import examples, suggested


def found(docstring: str, name: str = "f", owner: str | None = None) -> tuple[Example, ...]:
    return examples(f'"""{docstring}"""', 10, name, owner)


def test_source_want_line_flags_and_exception() -> None:
    first, second, third, fourth = found(
        """Doc.

    >>> f(1)
    2
    >>> for x in f(2):  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE
    ...     x
    1...
    <BLANKLINE>
    >>> f(-1)
    Traceback (most recent call last):
      File "x.py", line 1, in f
    ValueError: no
    >>> f(3)  # doctest: +SKIP
    9
    """
    )
    assert (first.source, first.want, first.line, first.flags) == ("f(1)\n", "2\n", 12, 0)
    assert second.source == "for x in f(2):  # doctest: +ELLIPSIS, +NORMALIZE_WHITESPACE\n    x\n"
    assert (second.line, second.flags) == (14, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert third.exception == "ValueError: no\n"
    assert [example.decides for example in (first, second, third, fourth)] == [True, True, True, False]


@pytest.mark.parametrize("literal", ['"""\r\n>>> f(1)\r\n2\r\n"""', '"""\r>>> f(1)\r2\r"""', "'''\n>>> f(1)\n2\n'''"])
def test_line_endings_do_not_matter(literal: str) -> None:
    (example,) = examples(literal, 0, "f")
    assert (example.source, example.want, example.line) == ("f(1)\n", "2\n", 1)


def test_escapes_are_python_s() -> None:
    (raw,) = examples('r"""\n>>> f("a\\n")\n\'a\'\n"""', 0, "f")
    (plain,) = examples('"""\n>>> f("a\\\\n")\n\'a\'\n"""', 0, "f")
    assert raw.source == plain.source == 'f("a\\n")\n'


@pytest.mark.parametrize(
    ("docstring", "decide"),
    [
        (">>> f(1)\n1", [True]),
        (">>> g(1)\n1", [False]),
        (">>> x = f(1)\n>>> x\n1", [False, True]),
        (">>> x = g(1)\n>>> x\n1", [False, False]),
        (">>> x = f(1)\n>>> x = 2\n>>> x\n2", [False, False, False]),
        (">>> s.f(3)\n>>> s.items\n[3]", [False, True]),
        (">>> f(items)\n>>> items\n[3]", [False, True]),
        (">>> for i in f(): print(i)\n1", [True]),
        (">>> @f\n... def g(): pass\n>>> g()\n1", [False, True]),
        (">>> [y for x in f() if (y := x)]\n[1]\n>>> y\n1", [True, True]),
        (">>> f(1)  # doctest: +SKIP\n1\n>>> f(2)\n2", [False, True]),
        (">>> f(1)", [False]),
        (">>> import f\n>>> 1\n1", [False, False]),
    ],
)
def test_an_example_decides_if_it_shows_what_the_target_did(docstring: str, decide: list[bool]) -> None:
    assert [example.decides for example in found(docstring)] == decide


def test_a_special_method_is_run_by_its_class() -> None:
    docstring = ">>> Point(1) + Point(2)\nPoint(3)"
    assert found(docstring, "__add__", "Point")[0].decides
    assert not found(docstring, "add", "Point")[0].decides


def test_what_only_another_python_parses_is_searched_for_the_name() -> None:
    assert found(">>> print f(1)\n1")[0].decides
    assert not found(">>> print g(1)\n1")[0].decides


def test_an_example_that_doctest_cannot_read_names_its_line() -> None:
    with pytest.raises(TargetError, match=r"line 13 .*lacks blank after >>>"):
        found("Doc.\n\n>>>f(1)\n1")


def test_suggestions_are_read_out_of_prose_and_fences() -> None:
    reply = "Here you are:\n\n```python\n>>> f(1)\n2\n>>> f(0)\n0\n```\n\nThese show it.\n\n>>>broken\n"
    assert [(example.source, example.want) for example in suggested(reply, "f")] == [("f(1)\n", "2\n"), ("f(0)\n", "0\n")]
