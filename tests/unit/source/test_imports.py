"""The module that defines a name: the user's files first, then the standard library."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adacoder.source.importing.standard_library import standard_import
from adacoder.source.importing.standard_names import NAMES
from adacoder.source.imports import ImportIndex
from adacoder.source.locate import locate
from support.cases import tables

if TYPE_CHECKING:
    from adacoder.domain import Target

FUNCTION = 'def f(x):\n    """Doc."""\n    return '

CASES = tables(__file__)


def said(case: dict[str, str]) -> str:
    return case.get("code") or case["name"]


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


@pytest.mark.parametrize("case", CASES["standard_library"], ids=said)
def test_the_standard_library(case: dict[str, str]) -> None:
    codes = [case["code"]] if "code" in case else ["", "nothing of it", "broken ("]
    assert {standard_import(case["name"], used_in=code) for code in codes} == {case.get("gives")}


def test_no_name_stands_under_two_modules() -> None:
    names = [name for names in NAMES.values() for name in names]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("case", CASES["project"], ids=said)
def test_what_the_project_imports_and_defines(tmp_path: Path, case: dict[str, Any]) -> None:
    index = ImportIndex(project(tmp_path, **{"pkg/__init__.py": ""}, **case["files"]), tmp_path)
    assert index.import_for(case["name"], used_in=case.get("code", "")) == case.get("gives")


def test_the_projects_own_is_imported_relatively_where_the_module_does_so(tmp_path: Path) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/sub/__init__.py": "",
        "pkg/sub/other.py": "from pkg.tools import saw\nfrom pkg.sub.near import axe\n",
        "pkg/sub/others.py": "import pkg.tools\nfrom far import hoe\n",
        "pkg/tools.py": "",
        "pkg/sub/near.py": "",
    }
    index = ImportIndex(project(tmp_path, "from ..base import b\n", "pkg/sub/mod.py", **files), tmp_path)
    assert index.import_for("saw") == "from ..tools import saw"
    assert index.import_for("axe") == "from .near import axe"
    assert index.import_for("pkg") == "import pkg.tools"
    assert index.import_for("hoe") == "from far import hoe"
    assert ImportIndex(project(tmp_path, "", "pkg/sub/mod.py", **files), tmp_path).import_for("saw") == (
        "from pkg.tools import saw"
    )


def test_the_files_way_is_taken_where_it_is_the_codes(tmp_path: Path) -> None:
    files = {"a.py": "import datetime, string\n", "b.py": "from json import dumps\nfrom mine import mul, time\n"}
    index = ImportIndex(project(tmp_path, **files), tmp_path)
    assert index.import_for("datetime", used_in="datetime.date.today()") == "import datetime"
    assert index.import_for("datetime", used_in="datetime.now()") == "from datetime import datetime"
    assert index.import_for("time", used_in="time.time()") == "from mine import time"
    assert index.import_for("mul", used_in="mul(1, 2)") == "from mine import mul"
    assert index.import_for("dumps", used_in="dumps(x)") == "from json import dumps"
    assert index.import_for("string", used_in="string.digits") == "import string"


def environment(folder: Path, **files: str) -> list[Path]:
    """Make a virtual environment with `files` installed. Return its interpreter's folders."""
    packages = folder / "env/lib/python3.12/site-packages"
    for name, text in {"../../../pyvenv.cfg": "home = /nowhere\n", **files}.items():
        file = packages / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return [folder / "env/lib", folder / "env/pyvenv.cfg"]


INSTALLED = {
    "numpy/__init__.py": "from ._core import *\n",
    "numpy/_core.py": "__all__ = [\n    'array',\n]\ndef ndarray(): ...\n",
    "pandas/__init__.py": "from pandas.core import DataFrame, Timestamp\n",
    "pandas/core.py": "raise SystemExit\n",
    "matplotlib/__init__.py": "",
    "matplotlib/pyplot.py": "def plot(): ...\n",
    "tqdm/__init__.py": "from .std import tqdm, trange\n",
    "yaml.py": "def safe_load(x): ...\n",
    "fast.cpython-312-x86_64-linux-gnu.so": "",
    "lazy/__init__.py": "def __getattr__(name): ...\n",
    "sympy/__init__.py": "def symbols(): ...\n",
    "edited-1.0.dist-info/top_level.txt": "edited\n",
    "not-a-module.py": "",
    "__pycache__/x.py": "",
}


@pytest.mark.parametrize("case", CASES["installed"], ids=said)
def test_what_is_installed(tmp_path: Path, case: dict[str, str]) -> None:
    index = ImportIndex(project(tmp_path / "own"), tmp_path / "own", environment(tmp_path, **INSTALLED))
    assert index.import_for(case["name"], used_in=case["code"]) == case.get("gives")


def test_without_code_what_is_installed_is_imported_by_its_name(tmp_path: Path) -> None:
    index = ImportIndex(project(tmp_path / "own"), tmp_path / "own", environment(tmp_path, **INSTALLED))
    assert index.import_for("yaml") == "import yaml"
    assert index.import_for("np") == "import numpy as np"
    assert index.import_for("sp") == "import sympy as sp"
    assert index.import_for("requests") is None
    assert ImportIndex(project(tmp_path / "own"), tmp_path / "own").import_for("yaml") is None


def test_a_class_of_a_library_that_the_project_uses(tmp_path: Path) -> None:
    folders = environment(tmp_path, **INSTALLED)
    target = project(tmp_path / "own", **{"a.py": "import pandas as pd\nimport numpy as np\n"})
    index = ImportIndex(target, tmp_path / "own", folders)
    assert index.import_for("Timestamp", used_in="Timestamp(1)") == "from pandas import Timestamp"
    assert index.import_for("Nonsense", used_in="Nonsense(1)") is None
    assert index.import_for("array", used_in="array([1])") is None


def test_what_two_customary_modules_could_be(tmp_path: Path) -> None:
    folders = environment(tmp_path, **INSTALLED, **{"scipy/__init__.py": "def fft(): ...\n"})
    index = ImportIndex(project(tmp_path / "own"), tmp_path / "own", folders)
    assert index.import_for("sp", used_in="sp.symbols()") == "import sympy as sp"
    assert index.import_for("sp", used_in="sp.fft()") == "import scipy as sp"
    assert index.import_for("sp") is None


@pytest.mark.parametrize(("shares", "statement"), [("true", "import beneath"), ("false", None)])
def test_an_environment_may_share_what_is_beneath_it(tmp_path: Path, shares: str, statement: str | None) -> None:
    folders = [*environment(tmp_path, **INSTALLED), tmp_path / "base"]
    (tmp_path / "env/pyvenv.cfg").write_text(f"include-system-site-packages = {shares}\n", encoding="utf-8")
    beneath = tmp_path / "base/lib/python3.12/site-packages/beneath.py"
    beneath.parent.mkdir(parents=True)
    beneath.write_text("", encoding="utf-8")
    index = ImportIndex(project(tmp_path / "own"), tmp_path / "own", folders)
    assert index.import_for("beneath") == statement
    assert index.import_for("yaml") == "import yaml"


def test_a_project_that_is_added_to_the_path(tmp_path: Path) -> None:
    (tmp_path / "lib2/beside").mkdir(parents=True)
    (tmp_path / "lib2/beside/__init__.py").write_text("", encoding="utf-8")
    folders = [*environment(tmp_path, **INSTALLED), tmp_path / "lib2", tmp_path / "nowhere"]
    assert ImportIndex(project(tmp_path / "own"), tmp_path / "own", folders).import_for("beside") == "import beside"
