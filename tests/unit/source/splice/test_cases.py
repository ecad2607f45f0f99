"""Candidates in place, case by case. `cases.toml` has the resulting modules."""

from __future__ import annotations

import pytest

from support.cases import before_and_after, parts, tables
from support.splicing import STUB, put

CASES = tables(__file__)


def test_a_diff_is_two_texts() -> None:
    assert before_and_after("  a\n- b\n+ c\n+\n\n  d") == ("a\nb\n\nd", "a\nc\n\n\nd")


@pytest.mark.parametrize("case", CASES["splice"], ids=lambda case: case["about"])
def test_splice(case: dict[str, str]) -> None:
    before, after = (f"{text}\n" for text in before_and_after(case["module"]))
    qualname = case.get("function", "f")
    function, imports, definitions = parts(case["candidate"], qualname.rpartition(".")[2])
    assert put(before, function, imports=imports, definitions=definitions, qualname=qualname) == after


@pytest.mark.parametrize("case", CASES["imports"], ids=lambda case: case["new"])
def test_imports(case: dict[str, str]) -> None:
    before, after = (f"{text}\n\n\n" if text else "" for text in before_and_after(case["module"]))
    imports = tuple(case["new"].splitlines())
    uses = case.get("uses") or ", ".join(name.split()[-1] for each in imports for name in each.split(","))
    result = put(before + STUB, f"def f(numbers, k=1):\n    return {uses}", imports=imports)
    assert result == f"{after}{STUB}    return {uses}\n"
