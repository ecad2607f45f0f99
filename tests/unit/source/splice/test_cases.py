"""Candidates in place, case by case: `cases.toml` contains the resulting module of each one."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from support.splicing import STUB, put

CASES = tomllib.loads(Path(__file__).with_name("cases.toml").read_text("utf-8"))


def before_and_after(diff: str) -> tuple[str, str]:
    before, after = ("".join(f"{line[2:]}\n" for line in diff.splitlines() if line[:1] != sign) for sign in "+-")
    return before, after


def parts(candidate: str, name: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return a candidate's function, its imports, and its other definitions."""
    lines = candidate.splitlines()
    function, imports, definitions = "", list[str](), list[str]()
    for node in ast.parse(candidate).body:
        first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
        text = "\n".join(lines[first - 1 : node.end_lineno])
        if isinstance(node, ast.FunctionDef) and node.name == name:
            function = text
        else:
            (imports if isinstance(node, ast.Import | ast.ImportFrom) else definitions).append(text)
    return function, tuple(imports), tuple(definitions)


def test_a_diff_is_two_texts() -> None:
    assert before_and_after("  a\n- b\n+ c\n+\n\n  d") == ("a\nb\n\nd\n", "a\nc\n\n\nd\n")


@pytest.mark.parametrize("case", CASES["splice"], ids=lambda case: case["about"])
def test_splice(case: dict[str, str]) -> None:
    before, after = before_and_after(case["module"])
    qualname = case.get("function", "f")
    function, imports, definitions = parts(case["candidate"], qualname.rpartition(".")[2])
    assert put(before, function, imports=imports, definitions=definitions, qualname=qualname) == after


@pytest.mark.parametrize("case", CASES["imports"], ids=lambda case: case["new"])
def test_imports(case: dict[str, str]) -> None:
    before, after = (f"{text}\n\n" if text else "" for text in before_and_after(case["module"]))
    imports = tuple(case["new"].splitlines())
    uses = case.get("uses") or ", ".join(name.split()[-1] for each in imports for name in each.split(","))
    result = put(before + STUB, f"def f(numbers, k=1):\n    return {uses}", imports=imports)
    assert result == f"{after}{STUB}    return {uses}\n"
