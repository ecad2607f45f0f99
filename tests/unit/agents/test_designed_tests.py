"""Tests that a model designed, in every form in which models write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from adacoder.agents.designed_tests import LONGEST_TEST, MOST_TESTS, designed_tests
from adacoder.domain import Target
from adacoder.source.locate import locate

MODULE = '''
def twice(number):
    """Twice the number."""
    pass


class Counter:
    def add(self, number):
        """Add."""
        pass
'''


def target(tmp_path: Path, qualname: str = "twice") -> Target:
    return locate(MODULE, tmp_path / "m.py", tmp_path, qualname=qualname)


@pytest.mark.parametrize(
    "text",
    [
        "```python\nassert twice(2) == 4\nassert twice(-1) == -2\n```",
        "assert twice(2) == 4\nassert twice(-1) == -2, 'negative'",
        "Basic:\n- `assert twice(2) == 4`\nEdge:\n- `assert twice(-1) == -2`",
        "```python\n>>> twice(2)\n4\n>>> twice(-1)\n-2\n```",
        "```python\ndef test_twice():\n    assert twice(2) == 4\n    assert twice(-1) == -2\n```",
        "class T(TestCase):\n  def t(self):\n    self.assertEqual(twice(2), 4)\n    self.assertEqual(twice(-1), -2)",
        "| input | output |\n|---|---|\n| 2 | 4 |\n| -1 | -2 |",
        "| call | result |\n|---|---|\n| `twice(2)` | `4` |\n| `twice(-1)` | `-2` |",
        "| # | input | sum |\n|---|---|---|\n| 1 | 2 | 4 |\n| 2 | -1 | -2 |",
        "| input | sum | why |\n|---|---|---|\n| 2 | 4 | even |\n| -1 | -2 | negative |",
        "assert 4 == twice(2)\nassert -2 == twice(-1)",
        "twice(2) == 4\ntwice(-1) == -2",
        "twice(2) should return 4.\ntwice(-1) should return -2.",
        "<think>twice(9) == 9</think>assert twice(2) == 4\nassert twice(-1) == -2",
        "```python\nassert twice(2) == 4\nassert twice(-1) == -2\nassert twice(",
    ],
)
def test_tests_are_read_in_any_form(text: str, tmp_path: Path) -> None:
    found = designed_tests(text, target(tmp_path))
    assert [(test.source, test.want) for test in found] == [("twice(2)\n", "4\n"), ("twice(-1)\n", "-2\n")]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("assert twice(0.1) < 1", "bool(twice(0.1) < 1)\n"),
        ("assert not twice(0)", "bool(not twice(0))\n"),
        ("self.assertTrue(twice(1))", "bool(twice(1))\n"),
        ("assert sorted([twice(2), twice(1)]) == list((2, 4))", "bool(sorted([twice(2), twice(1)]) == list((2, 4)))\n"),
    ],
)
def test_what_compares_with_no_literal_is_to_be_true(text: str, source: str, tmp_path: Path) -> None:
    found = designed_tests(f"```python\n{text}\n```", target(tmp_path))
    assert [(test.source, test.want) for test in found] == [(source, "True\n")]


def test_a_table_may_have_a_column_for_each_argument(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    both = locate('def add(a, b):\n    """Add."""\n', path, tmp_path, qualname="add")
    found = designed_tests("| a | b | result |\n|---|---|---|\n| 2 | 4 | 6 |", both)
    assert [(test.source, test.want) for test in found] == [("add(2, 4)\n", "6\n")]


def test_no_table_of_arguments_tells_how_to_get_an_instance(tmp_path: Path) -> None:
    method = target(tmp_path, "Counter.add")
    assert designed_tests("| input | output |\n|---|---|\n| 2 | 4 |", method) == ()
    assert designed_tests("| call | output |\n|---|---|\n| Counter().add(2) | 4 |", method), "the control"


def test_a_method_is_tested_on_an_instance(tmp_path: Path) -> None:
    found = designed_tests("assert Counter().add(1) == 1", target(tmp_path, "Counter.add"))
    assert [test.source for test in found] == ["Counter().add(1)\n"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No tests.",
        "assert other(2) == 4",
        "assert twice(x) == 4",
        "assert twice(open('f')) == unknown",
        f"assert twice({'1' * LONGEST_TEST}) == 2",
    ],
)
def test_what_needs_more_than_the_function_is_left_out(text: str, tmp_path: Path) -> None:
    assert designed_tests(text, target(tmp_path)) == ()
    assert designed_tests(f"{text}\nassert twice(1) == 2", target(tmp_path)), "the control"


def test_no_more_tests_are_kept_than_can_be_run(tmp_path: Path) -> None:
    text = "\n".join(f"assert twice({n}) == {2 * n}" for n in range(100))
    assert len(designed_tests(text, target(tmp_path))) == MOST_TESTS
