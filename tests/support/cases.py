"""Read test cases from TOML files. `NAME.toml` has the cases of `test_NAME.py`."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any


def tables(test: str) -> dict[str, Any]:
    """Return the tables of the TOML file next to the test module `test`."""
    path = Path(test)
    return tomllib.loads(path.with_name(f"{path.stem.removeprefix('test_')}.toml").read_text("utf-8"))


def before_and_after(diff: str) -> tuple[str, str]:
    """Return the texts before and after a diff, whose lines begin with a space, `-` or `+`, and a space."""
    before, after = ("\n".join(line[2:] for line in diff.split("\n") if line[:1] != sign) for sign in "+-")
    return before, after


def with_margin(text: str) -> list[tuple[str, str]]:
    """Split each line of `text` at the first `|` into a note and the rest of the line."""
    halves = (line.partition("|") for line in text.split("\n"))
    return [(margin.strip(), line[1:]) for margin, _, line in halves]


def parts(candidate: str, name: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Split a candidate's code into the function `name`, the imports, and the other definitions."""
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
