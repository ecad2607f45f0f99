"""The Debug Specialist's rules. Each fixes its own error, and none changes correct code."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import toolz
from hypothesis import given
from hypothesis import strategies as st

from adacoder.agents import repairs
from adacoder.agents.repairs import RULES, repaired_by_rules, with_imports
from adacoder.domain import Candidate, Target
from adacoder.pytext import dedent, error_line
from adacoder.source.importing.standard_library import standard_import
from adacoder.source.imports import undefined_names
from adacoder.source.locate import functions, locate
from adacoder.source.splice import splice

if TYPE_CHECKING:
    from collections.abc import Callable

WORKSPACE = Path("/workspace")
STUB = 'def f(x):\n    """Doc."""\n'


def target_in(text: str = STUB, qualname: str = "f") -> Target:
    return locate(text, WORKSPACE / "mod.py", WORKSPACE, qualname=qualname)


def undefined_in(target: Target) -> Callable[[Candidate], tuple[str, ...]]:
    def undefined(candidate: Candidate) -> tuple[str, ...]:
        placed = splice(target, candidate)
        return undefined_names(placed.text, [placed.function, *placed.added])

    return undefined


def repaired(candidate: Candidate, target: Target | None = None) -> tuple[Candidate, tuple[str, ...]]:
    target = target or target_in()
    return repaired_by_rules(candidate, target, undefined_in(target), standard_import)


MENDED = (
    ("truncated", "def f(x):\n    a = x\n    return a +", "def f(x):\n    a = x"),
    (
        "realigned",
        "def f(x):\n    for a in x:\n    print(a)\n     return 1",
        "def f(x):\n    for a in x:\n        print(a)\n    return 1",
    ),
)
"""For each rule, an error in a function and its repair. None means that any function that parses is right."""
MENDED_AROUND = (
    ("truncated", Candidate("def f(x):\n    a = x\n    if a", cut=True), Candidate("def f(x):\n    a = x")),
)
"""Return the result of the rules for a reply that broke off."""


@pytest.mark.parametrize(("rule", "broken", "expected"), MENDED)
def test_each_rule_mends_its_error(rule: str, broken: str, expected: str | None) -> None:
    candidate = Candidate(broken)
    result = getattr(repairs, rule)(candidate, target_in())
    ast.parse(result.function)
    assert expected is None or result == Candidate(expected)
    assert repaired(candidate)[0].function != broken


@pytest.mark.parametrize(("rule", "broken", "expected"), MENDED_AROUND)
def test_each_rule_mends_what_stands_around(rule: str, broken: Candidate, expected: Candidate) -> None:
    assert getattr(repairs, rule)(broken, target_in()) == expected


def test_every_rule_has_its_table() -> None:
    told = {rule for rule, *_ in (*MENDED, *MENDED_AROUND)}
    assert told == {rule.__name__ for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize(
    "function",
    [
        "def f(x):\n    return x",
        "@deco\nasync def f(x):\n  '''D\n oc.'''\n  if x:\n     return [\n 1]\n  return x",
        "def f(x):\n\tif x:\n\t\treturn 1\n\treturn 2",
    ],
)
def test_no_rule_touches_what_is_fine(rule: repairs.Rule, function: str) -> None:
    candidate = Candidate(function, ("import os",), ("Y = 1",))
    assert rule(candidate, target_in()) is candidate
    result, kept = repaired(candidate)
    assert result is candidate
    assert kept == ()


def test_no_rule_touches_real_code() -> None:
    package = Path(inspect.getfile(toolz)).parent
    count = 0
    for path in sorted(package.glob("*.py")):
        text = path.read_text("utf-8")
        for target in (one.target for one in functions(text, path, package.parent)):
            candidate = Candidate(dedent(target.source))
            assert all(rule(candidate, target) is candidate for rule in RULES), target.qualname
            assert repaired(candidate, target) == (candidate, ())
            count += 1
    assert count > 50


class TestTruncation:
    def test_a_cut_reply_is_mended_at_its_end(self) -> None:
        cut = Candidate("def f(x):\n    a = x\n    for b in a:\n        if b:\n            c = b.", cut=True)
        assert repaired(cut) == (Candidate("def f(x):\n    a = x"), ("truncated",))

    def test_open_brackets_are_closed_before_lines_go(self) -> None:
        cut = Candidate("def f(x):\n    return max(\n        x,\n        key=lambda y:", cut=True)
        assert repaired(cut)[0] == Candidate("def f(x):\n    return max(\n        x,)")

    @pytest.mark.parametrize("function", ["def f(x):\n    '''Do", "def f(x):\n    if x", "def f("])
    def test_what_leaves_no_statement_is_not_mended(self, function: str) -> None:
        cut = Candidate(function, cut=True)
        assert repaired(cut) == (cut, ())
        more = Candidate("def f(x):\n    x += 1\n    if x", cut=True)
        assert repaired(more)[0] == Candidate("def f(x):\n    x += 1")

    def test_a_cut_that_nothing_mends_stays_cut(self) -> None:
        cut = Candidate("def f(x):\n    a = 1", cut=True)
        assert repaired(cut) == (cut, ())

    def test_what_was_left_out_stays_left_out(self) -> None:
        lazy = Candidate("def f(x):\n    a = x\n    # ... rest of the code\n\nprint(f(", cut=True)
        assert repaired(lazy) == (lazy, ())
        written = replace(lazy, function=lazy.function.replace("# ... rest of the code", "return a"))
        assert not repaired(written)[0].cut

    def test_the_middle_of_a_reply_that_is_not_cut_stays(self) -> None:
        broken = Candidate("def f(x):\n    a = = 1\n    b = 2\n    return b")
        assert repaired(broken) == (broken, ())


class TestImports:
    def test_all_missing_names_are_imported_at_once(self) -> None:
        candidate = Candidate("def f(x):\n    return sqrt(x) + np.pi + unknown", ("import os",))
        result, kept = repaired(candidate)
        assert result.imports == ("import os", "from math import sqrt", "import numpy as np")
        assert kept == ("imports_added",)

    def test_unknown_names_are_left(self) -> None:
        candidate = Candidate("def f(x):\n    return unknown")
        assert with_imports(candidate, ("unknown",), standard_import) is candidate
        assert repaired(candidate) == (candidate, ())

    def test_after_other_repairs(self) -> None:
        candidate = Candidate("def f(x):\n    for a in x:\n    b = sqrt(a)\n    return max(b,\n        sqrt(", cut=True)
        result, kept = repaired(candidate)
        function = "def f(x):\n    for a in x:\n        b = sqrt(a)\n    return max(b,\n        sqrt())"
        assert result == Candidate(function, ("from math import sqrt",))
        assert kept == ("realigned", "truncated", "imports_added")


DICTIONARY = (
    "def f(x):\n    '''Doc.\n\n    >>> f(1)\n    '''\n    total = {}\n    for a, b in x:\n        if a:\n"
    "            total[a] = [\n                b,\n                f'{b}',\n            ]\n        else:\n"
    "            continue\n    return total"
)
HANDLER = 'def f(x):\n\ttry:\n\t\treturn g(x)\n\texcept (ValueError, TypeError):\n\t\treturn "no"\n\nprint(f(1))'


@given(
    st.sampled_from([DICTIONARY, HANDLER]),
    st.integers(0, 400),
    st.integers(0, 400),
    st.text("\n\t ([{'\":#\\x", max_size=4),
    st.booleans(),
)
def test_whatever_is_broken_ends_well(source: str, start: int, length: int, noise: str, cut: bool) -> None:
    candidate = Candidate(source[:start] + noise + source[start + length % 20 :], cut=cut)
    target = target_in()
    result, kept = repaired(candidate, target)
    assert (result is candidate) is (kept == ())
    if kept:
        assert error_line(result.function) is None
        assert error_line(splice(target, result).text) is None
    again, more = repaired(replace(result), target)
    assert (again, more) == (result, ())
