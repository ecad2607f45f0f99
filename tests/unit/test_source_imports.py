"""Undefined names, and where names come from: the user's files first, then the standard library."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import Span
from adacoder.source.imports import ImportIndex, undefined_names
from adacoder.source.locate import locate
from adacoder.source.standard_library import NAMES, standard_import

if TYPE_CHECKING:
    from pathlib import Path

    from adacoder.domain import Target

FUNCTION = 'def f(x):\n    """Doc."""\n    return '


def undefined(before: str, body: str, after: str = "") -> tuple[str, ...]:
    text = before + FUNCTION + body + after
    return undefined_names(text, Span(len(before), len(before + FUNCTION + body)))


@pytest.mark.parametrize(
    ("before", "body", "expected"),
    [
        ("", "sqrt(x) + log(x) + sqrt(1)", ("sqrt", "log")),
        ("", "[y for y in x if z]", ("z",)),
        ("from math import sqrt\n", "sqrt(x)", ()),
        ("", "len(x), __file__, __path__, __spec__", ()),
        ("from os import *\n", "sep + y", ()),
        ("def g():\n    global y\n    y = 1\n", "y", ()),
        ("def g():\n    return y\n", "y, z", ("z",)),
        ("", "x +", ()),
        ("X = '\\d'\n", "y", ("y",)),
        ("\ufeff# Größe\n", "y", ("y",)),
    ],
)
def test_undefined_names(before: str, body: str, expected: tuple[str, ...]) -> None:
    assert undefined(before, body) == expected


def test_only_what_is_within_counts() -> None:
    text = FUNCTION + "a\n\n\ndef g():\n    return b\n"
    first, second = Span(0, len(FUNCTION) + 1), Span(text.index("def g"), len(text))
    assert undefined_names(text, first) == ("a",)
    assert undefined_names(text, second) == ("b",)
    assert undefined_names(text, [first, second]) == ("a", "b")


def project(folder: Path, own: str = "", name: str = "pkg/mod.py", **files: str) -> Target:
    for path, text in {**files, name: own + FUNCTION + "x\n"}.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return locate((folder / name).read_text(encoding="utf-8"), folder / name, folder, qualname="f")


def test_the_own_module_decides_first(tmp_path: Path) -> None:
    own = "import typing\n\nif typing.TYPE_CHECKING:\n    from own import sqrt\n\n"
    target = project(tmp_path, own, **{"other.py": "from numpy import sqrt\n"})
    assert ImportIndex(target, tmp_path).import_for("sqrt") == "from own import sqrt"


def test_then_how_most_of_the_project_does_it(tmp_path: Path) -> None:
    files = {
        "a.py": "from cmath import sqrt\n",
        "b.py": "def g():\n    from numpy import (\n        floor,\n        sqrt,\n    )\n",
        "c.py": "from numpy import sqrt as root, sqrt  # both\n",
        "d.py": "'''\nfrom cmath import sqrt\n'''\n# from cmath import sqrt\n",
        "e.py": "from cmath import sqrt broken\n",
    }
    index = ImportIndex(project(tmp_path, **files), tmp_path)
    assert index.import_for("sqrt") == "from numpy import sqrt"
    assert index.import_for("root") == "from numpy import sqrt as root"
    assert index.import_for("floor") == "from numpy import floor"
    assert index.import_for("ceil") == "from math import ceil"


def test_relative_imports_are_written_from_the_root(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "from .tools import saw\n",
        "pkg/sub/__init__.py": "",
        "pkg/sub/a.py": "from ..tools import axe\n",
    }
    index = ImportIndex(project(tmp_path, **files), tmp_path)
    assert index.import_for("saw") == "from pkg.tools import saw"
    assert index.import_for("axe") == "from pkg.tools import axe"


def test_nothing_is_imported_from_the_module_itself(tmp_path: Path) -> None:
    files = {"pkg/__init__.py": "from .mod import thing, sqrt\n"}
    index = ImportIndex(project(tmp_path, **files), tmp_path)
    assert index.import_for("thing") is None
    assert index.import_for("sqrt") == "from math import sqrt"


@pytest.mark.parametrize(
    "foreign", [".hidden/a.py", "node_modules/a.py", "lib/site-packages/a.py", ".venv/a.py", "data.txt"]
)
def test_what_is_not_the_projects_own_is_passed_over(tmp_path: Path, foreign: str) -> None:
    line = "from nowhere import thing\n"
    assert ImportIndex(project(tmp_path, **{foreign: line}), tmp_path).import_for("thing") is None
    found = ImportIndex(project(tmp_path, **{foreign: line, "own.py": line}), tmp_path).import_for("thing")
    assert found == "from nowhere import thing"


def test_environments_are_known_by_their_configuration(tmp_path: Path) -> None:
    target = project(tmp_path, **{"my_env/pyvenv.cfg": "", "my_env/a.py": "from nowhere import thing\n"})
    assert ImportIndex(target, tmp_path).import_for("thing") is None


def test_files_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    target = project(tmp_path, **{"z.py": "from here import thing\n", "big.py": "from big import thing\n" * 20_000})
    (tmp_path / "a.py").write_bytes(b"from latin import thing  # \xff\n")
    (tmp_path / "b.py").write_bytes(b"# coding: no-such\nfrom b import thing\n")
    (tmp_path / "c.py").symlink_to(tmp_path / "nowhere.py")
    assert ImportIndex(target, tmp_path).import_for("thing") == "from here import thing"


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("sqrt", "from math import sqrt"),
        ("gcd", "from math import gcd"),
        ("Dict", "from typing import Dict"),
        ("reduce", "from functools import reduce"),
        ("product", "from itertools import product"),
        ("Path", "from pathlib import Path"),
        ("deepcopy", "from copy import deepcopy"),
        ("copy", "import copy"),
        ("np", "import numpy as np"),
        ("plt", "import matplotlib.pyplot as plt"),
        ("os", "import os"),
        ("json", "import json"),
        ("path", None),
        ("dumps", None),
        ("this", None),
        ("_thread", None),
        ("result", None),
    ],
)
def test_the_standard_library(name: str, statement: str | None) -> None:
    assert standard_import(name) == statement


def test_no_name_stands_under_two_modules() -> None:
    names = [name for names in NAMES.values() for name in names]
    assert sorted(set(names)) == sorted(names)


def test_every_name_is_where_the_table_says() -> None:
    program = (
        "import importlib, json, sys\n"
        "table = json.load(sys.stdin)\n"
        "print(json.dumps([f'{m}.{n}' for m, names in table.items() for n in names"
        " if not hasattr(importlib.import_module(m), n)]))"
    )

    def missing(table: dict[str, tuple[str, ...]]) -> object:
        command = [sys.executable, "-I", "-c", program]
        return json.loads(
            subprocess.run(command, input=json.dumps(table), capture_output=True, text=True, check=True).stdout
        )

    assert missing(NAMES) == []
    assert missing({"cmath": ("sqrt", "gcd")}) == ["cmath.gcd"]
