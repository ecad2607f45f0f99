"""The Debug Specialist's rules. Each fixes one kind of error, and none changes correct code."""

from __future__ import annotations

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
from support.cases import before_and_after, tables

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


CASES = [
    pytest.param(rule, end == "cut", diff, id=name)
    for rule, ends in tables(__file__).items()
    for end, diffs in ends.items()
    for name, diff in diffs.items()
]


@pytest.mark.parametrize(("rule", "cut", "diff"), CASES)
def test_each_rule_mends_its_error(rule: str, cut: bool, diff: str) -> None:
    before, after = before_and_after(diff)
    candidate = Candidate(before, cut=cut)
    if rule == "unchanged":
        assert before == after
        assert repaired(candidate) == (candidate, ())
    else:
        assert getattr(repairs, rule)(candidate, target_in()) == Candidate(after)
        assert repaired(candidate) == (Candidate(after), (rule,))


def test_every_rule_has_its_cases() -> None:
    assert {*tables(__file__)} - {"unchanged"} == {rule.__name__ for rule in RULES}


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
