"""Where names come from: the user's files first, then the standard library."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from adacoder.source.importing.standard_library import standard_import
from adacoder.source.importing.standard_names import NAMES, NEWER, OF_DATETIME, TWINS, WITH_ATTRIBUTES
from adacoder.source.imports import ImportIndex
from adacoder.source.locate import locate

if TYPE_CHECKING:
    from pathlib import Path

    from adacoder.domain import Target


FUNCTION = 'def f(x):\n    """Doc."""\n    return '


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
        ("hq", "import heapq as hq"),
        ("path", None),
        ("dumps", None),
        ("this", None),
        ("_thread", None),
        ("result", None),
    ],
)
def test_the_standard_library(name: str, statement: str | None) -> None:
    assert standard_import(name) == statement
    assert standard_import(name, used_in="nothing of it") == statement
    assert standard_import(name, used_in="broken (") == statement


@pytest.mark.parametrize(
    ("name", "code", "statement"),
    [
        ("datetime", "datetime.datetime.now()", "import datetime"),
        ("datetime", "datetime.date(2020,1,1) + datetime.timedelta(1)", "import datetime"),
        ("datetime", "datetime.now()", "from datetime import datetime"),
        ("datetime", "datetime(2020, 1, 1) - datetime.strptime(a, b)", "from datetime import datetime"),
        ("datetime", "def g(x: datetime) -> None: ...", "from datetime import datetime"),
        ("time", "time.time()", "import time"),
        ("time", "start = time()", "from time import time"),
        ("random", "random.choice(x)", "import random"),
        ("random", "random() * 2", "from random import random"),
        ("copy", "copy.deepcopy(x)", "import copy"),
        ("copy", "copy(x)", "from copy import copy"),
        ("bisect", "bisect.bisect_left(a, x)", "import bisect"),
        ("bisect", "bisect(a, x)", "from bisect import bisect"),
    ],
)
def test_a_module_is_told_from_what_it_has_under_its_own_name(name: str, code: str, statement: str) -> None:
    assert standard_import(name, used_in=code) == statement


@pytest.mark.parametrize(
    ("name", "code", "statement"),
    [
        ("string", "string.ascii_lowercase", "import string"),
        ("string", "for c in string: pass", None),
        ("string", "len(string)", None),
        ("json", "json.dumps(x)", "import json"),
        ("json", "json['a']", None),
        ("operator", "operator == '+'", None),
        ("np", "np.array(x)", "import numpy as np"),
        ("np", "np + 1", None),
        ("dt", "dt.datetime.now()", "import datetime as dt"),
        ("urllib", "urllib.parse.quote(x)", "import urllib.parse"),
        ("urllib", "urllib.parse.quote(urllib.request.x)", "import urllib.parse, urllib.request"),
        ("collections", "collections.Counter(x)", "import collections"),
        ("collections", "collections.abc.Mapping", "import collections.abc"),
        ("log", "log(x, 2)", "from math import log"),
        ("log", "log.info('x')", None),
        ("field", "field(default_factory=list)", "from dataclasses import field"),
        ("field", "field.strip()", None),
        ("chain", "chain.from_iterable(x)", "from itertools import chain"),
        ("date", "date.today()", "from datetime import date"),
        ("stdin", "stdin.readline()", "from sys import stdin"),
        ("Counter", "Counter(x).most_common()", "from collections import Counter"),
        ("path", "path.join(a, b)", None),
        ("dumps", "dumps(x)", None),
        ("count", "count(1)", None),
        ("this", "this.x", None),
    ],
)
def test_a_module_is_imported_where_something_is_taken_from_it(name: str, code: str, statement: str | None) -> None:
    assert standard_import(name, used_in=code) == statement


def test_no_name_stands_under_two_modules() -> None:
    names = [name for names in NAMES.values() for name in names]
    assert sorted(set(names)) == sorted(names)


def test_every_name_is_where_the_table_says() -> None:
    """Asked of a Python of its own, so that nothing is imported here; of what a newer Python brought, only there."""
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

    there = {
        module: tuple(name for name in names if NEWER.get(name, (3, 11)) <= sys.version_info[:2])
        for module, names in NAMES.items()
    }
    assert missing(there) == []
    assert missing({"cmath": ("sqrt", "gcd")}) == ["cmath.gcd"]
    assert missing({name: (name,) for name in TWINS}) == []
    assert len(missing({"datetime": tuple(OF_DATETIME - {"datetime"})})) == len(OF_DATETIME)


def test_what_the_tables_add_is_in_the_table() -> None:
    names = {name for names in NAMES.values() for name in names}
    assert NEWER.keys() <= names
    assert names >= WITH_ATTRIBUTES


@pytest.mark.parametrize(
    ("files", "statement"),
    [
        ({"a.py": "import x.y as thing\n"}, "import x.y as thing"),
        ({"a.py": "import thing.sub\n"}, "import thing.sub"),
        ({"pkg/a.py": "from . import thing\n", "pkg/thing.py": ""}, "from pkg import thing"),
        ({"pkg/a.py": "from .tools import x as thing\n", "pkg/tools.py": ""}, "from pkg.tools import x as thing"),
        ({"a.py": "if TYPE_CHECKING:\n    from typed import thing\n"}, "from typed import thing"),
        (
            {
                "a.py": "if TYPE_CHECKING:\n    x = 1\n    from typed import thing\n",
                "b.py": "if t.TYPE_CHECKING:\n    from typed import thing\n",
                "c.py": "if x:\n    from run import thing\n",
            },
            "from run import thing",
        ),
        ({"a.py": "if TYPE_CHECKING:\n    from _typeshed import thing\n"}, None),
        ({"a.py": "if TYPE_CHECKING:\n    pass\nelse:\n    from run import thing\n"}, "from run import thing"),
        ({"a.py": "from .thing import thing\n"}, "from thing import thing"),
        ({"pkg/a.py": "from .... import thing\n"}, None),
    ],
)
def test_how_other_files_import(tmp_path: Path, files: dict[str, str], statement: str | None) -> None:
    index = ImportIndex(project(tmp_path, **{"pkg/__init__.py": ""}, **files), tmp_path)
    assert index.import_for("thing") == statement


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


@pytest.mark.parametrize(
    ("code", "files", "statement"),
    [
        ("Order(1)", {"pkg/models.py": "class Order:\n    pass\n"}, "from pkg.models import Order"),
        ("x: Order", {"pkg/sub/models.py": "class Order:\n    pass\n"}, "from pkg.sub.models import Order"),
        ("Order(1)", {"pkg/a.py": "class Order: ...\n", "pkg/b.py": "class Order: ...\n"}, None),
        ("Order(1)", {"pkg/models.py": "'''\nclass Order:\n'''\n"}, None),
        ("Order(1)", {"pkg/models.py": "if x:\n    class Order: ...\n"}, None),
        ("Order(1)", {"other/models.py": "class Order: ...\n"}, None),
        ("Order(1)", {"pkg/tests/models.py": "class Order: ...\n"}, None),
        ("Order(1)", {"pkg/test_models.py": "class Order: ...\n"}, None),
        ("Order(1)", {"pkg/models.py": "class Order: ...\nmain()\n"}, None),
        ("_Order(1)", {"pkg/models.py": "class _Order: ...\n"}, None),
        ("is_prime(1)", {"pkg/a.py": "def is_prime(n, /): ...\n"}, "from pkg.a import is_prime"),
        ("is_prime(1)", {"pkg/a.py": "async def is_prime(n, *, x=1): ...\n"}, "from pkg.a import is_prime"),
        ("x + LIMIT", {"pkg/a.py": "LIMIT: int = 3\n"}, "from pkg.a import LIMIT"),
        ("x + limit", {"pkg/a.py": "limit = 3\n"}, None),
        ("gcd(1, 2)", {"pkg/a.py": "def gcd(a, b): ...\n"}, "from math import gcd"),
    ],
)
def test_what_the_project_defines(tmp_path: Path, code: str, files: dict[str, str], statement: str | None) -> None:
    name = re.findall(r"[A-Za-z_]{3,}", code)[0]
    index = ImportIndex(project(tmp_path, **{"pkg/__init__.py": ""}, **files), tmp_path)
    assert index.import_for(name, used_in=code) == statement


def environment(folder: Path, **files: str) -> list[Path]:
    """A virtual environment that has `files` installed; the folders that its interpreter is known by."""
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


@pytest.mark.parametrize(
    ("code", "statement"),
    [
        ("np.array(x)", "import numpy as np"),
        ("np.nonsense(x)", None),
        ("pd.DataFrame(x)", "import pandas as pd"),
        ("plt.plot(x)", "import matplotlib.pyplot as plt"),
        ("tf.constant(x)", None),
        ("sp.symbols('x')", "import sympy as sp"),
        ("numpy.array(x)", "import numpy"),
        ("numpy[0]", None),
        ("tqdm(x)", "from tqdm import tqdm"),
        ("tqdm.trange(x)", "import tqdm"),
        ("yaml.safe_load(x)", "import yaml"),
        ("yaml.split()", None),
        ("yaml()", None),
        ("matplotlib.pyplot.plot(x)", "import matplotlib.pyplot"),
        ("fast.run(x)", "import fast"),
        ("lazy.anything(x)", "import lazy"),
        ("edited.thing(x)", "import edited"),
        ("requests.get(x)", None),
        ("DataFrame(x)", "from pandas import DataFrame"),
        ("Timestamp(x)", None),
        ("math.sqrt(x)", "import math"),
    ],
)
def test_what_is_installed(tmp_path: Path, code: str, statement: str | None) -> None:
    folders = environment(tmp_path, **INSTALLED)
    name = re.findall(r"\w+", code)[0]
    assert ImportIndex(project(tmp_path / "own"), tmp_path / "own", folders).import_for(name, code) == statement


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
