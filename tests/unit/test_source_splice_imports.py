"""The imports that a candidate brings: only those that are missing, where the module's own would stand."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import Candidate
from adacoder.source.importing.standard_names import NAMES
from adacoder.source.locate import locate
from adacoder.source.splice import splice
from adacoder.source.splicing.module_names import module_names
from splicing import STUB, put, target_in

if TYPE_CHECKING:
    from pathlib import Path


class TestImports:
    def imported(self, text: str, *imports: str, body: str = "os.sep, re.I, List, sqrt") -> str:
        return put(text, f"def f(numbers, k=1):\n    return {body}", imports=imports)

    def body(self, body: str = "os.sep, re.I, List, sqrt") -> str:
        return f"{STUB}    return {body}\n"

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("", "import os\n\n\n"),
            ("\n\n", "import os\n\n\n"),
            ('"""Module."""\n\n', '"""Module."""\n\nimport os\n\n\n'),
            ('"""Module."""\n\nX = 1\n\n\n', '"""Module."""\n\nimport os\n\nX = 1\n\n\n'),
            ("import abc\n\n\n", "import abc\nimport os\n\n\n"),
            (
                "import abc  # c\nX = 1\nfrom a import (\n    b,\n)\nY = 2\n",
                "import abc  # c\nimport os\nX = 1\nfrom a import (\n    b,\n)\nY = 2\n",
            ),
            (
                "from __future__ import annotations\n\n\n",
                "from __future__ import annotations\n\nimport os\n\n\n",
            ),
            (
                "#!/bin/env python\n# coding: utf-8\n\n",
                "#!/bin/env python\n# coding: utf-8\n\nimport os\n\n\n",
            ),
            ("# Licence\n\n# About f\n", "# Licence\n\nimport os\n\n\n# About f\n"),
            ("# About f\n", "import os\n\n\n# About f\n"),
            ("\ufeffX = 1\n\n\n", "\ufeffimport os\n\nX = 1\n\n\n"),
            ("def g(): pass\nimport abc\n", "import os\n\n\ndef g(): pass\nimport abc\n"),
        ],
    )
    def test_where_they_go(self, before: str, after: str) -> None:
        assert self.imported(before + STUB, "import os", body="os.sep") == after + self.body("os.sep")

    def test_only_what_is_needed_and_not_there(self) -> None:
        result = self.imported(
            "import re\nfrom math import sqrt\n\n\n" + STUB,
            "import os, sys, re",
            "from typing import (\n    Dict,\n    List,\n)",
            "from math import sqrt, floor",
            "from os import *",
            "import broken as",
            "import os",
        )
        imports = "import os\nimport re\nfrom math import sqrt\nfrom typing import List\n\n\n"
        assert result == imports + self.body()

    def test_what_only_type_checkers_see_is_not_there(self) -> None:
        text = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import os\n\n\n" + STUB
        assert self.imported(text, "import os", body="os.sep").count("import os") == 2

    def test_what_only_type_checkers_see_is_there_for_them(self) -> None:
        text = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from a import B\n\n\n" + STUB
        function, imports = "def f(numbers, k=1):\n    x: 'B' = k\n    return x", ("from a import B",)
        assert put(text, function, imports=imports) == text + "    x: 'B' = k\n    return x\n"
        assert put(text, function.replace("'B'", "B"), imports=imports).count("from a import B") == 2

    @pytest.mark.parametrize("there", ["try:\n    import os\nexcept ImportError:\n    os = None", "import os.path"])
    def test_what_is_there_in_another_way_is_there(self, there: str) -> None:
        assert self.imported(f"{there}\n\n\n{STUB}", "import os", body="os.sep").count("import os") == 1

    def test_a_submodule_is_imported_beside_its_package(self) -> None:
        result = self.imported("import xml\n\n\n" + STUB, "import xml.dom", body="xml.dom")
        assert result.startswith("import xml\nimport xml.dom\n")

    def test_a_name_that_means_something_else_is_imported_inside(self) -> None:
        text = "def time(): ...\n\n\n" + STUB
        result = self.imported(text, "import time", body="time.time()")
        assert result == text + "    import time\n    return time.time()\n"

    def test_a_builtin_that_the_module_uses_is_not_shadowed(self) -> None:
        text = "X = pow(2, 3)\n\n\n" + STUB
        assert self.imported(text, "from math import pow", body="pow(2, 3)").startswith(text)
        unused = self.imported(STUB, "from math import pow", body="pow(2, 3)")
        assert unused.startswith("from math import pow\n")

    def test_helpers_import_inside_too(self) -> None:
        text = "def time(): ...\n\n\n" + STUB
        result = put(
            text,
            "def f(numbers, k=1):\n    return now()",
            imports=("import time",),
            definitions=('def now():\n    """Now."""\n    return time.time()',),
        )
        assert '    """Now."""\n    import time\n    return time.time()\n' in result
        assert result.endswith("    return now()\n")

    def test_future_imports_come_first_and_only_for_annotations(self) -> None:
        future = "from __future__ import annotations"
        assert self.imported("import os\n\n\n" + STUB, future, body="os.sep") == (
            "import os\n\n\n" + self.body("os.sep")
        )
        function = "def f(numbers, k=1):\n    def g(x: int | None): ...\n    return g, re"
        result = put("import os\n\n\n" + STUB, function, imports=("import re", future))
        assert result.startswith(f"{future}\n\nimport os\nimport re\n\n\ndef f")
        result = put(STUB, function, imports=("import re", future))
        assert result.startswith(f"{future}\n\nimport re\n\n\ndef f")

    @pytest.mark.parametrize(
        ("helper", "needed"),
        [
            ("def g(x: int | None): ...", True),
            ("def g(x) -> list[int]: ...", True),
            ("def g(x) -> g: ...", True),
            ("class g:\n    x: g", True),
            ("class g:\n    def m(self, *args: g): ...", True),
            ("def g(x: int, y: 'g') -> List[str]: ...", False),
            ("def g(x):\n    y: int | None = x", False),
            ("def g(x): return x | 1", False),
        ],
    )
    def test_future_annotations_come_only_where_they_may_be_needed(self, helper: str, needed: bool) -> None:
        imports = ("from __future__ import annotations", "from typing import List")
        result = put(STUB, "def f(numbers, k=1):\n    return g", imports=imports, definitions=(helper,))
        assert ("__future__" in result) is needed

    def test_the_module_does_not_import_itself(self) -> None:
        text = "def g(): ...\n\n\n" + STUB
        body = "f, g, mod, pkg"
        result = put(
            text,
            f"def f(numbers, k=1):\n    return {body}",
            imports=(
                "from mod import f, g",
                "import mod",
                "from . import mod",
                "from your.mod import g",
                "from x import f",
            ),
        )
        assert result == text + f"    return {body}\n"

    def test_a_star_stands_for_the_names_that_are_missing(self) -> None:
        star = "from math import *"
        assert self.imported(STUB, star, body="sqrt(k) + pi") == (
            "from math import pi, sqrt\n\n\n" + self.body("sqrt(k) + pi")
        )
        assert self.imported(STUB, star, body="len(numbers)") == self.body("len(numbers)")
        assert self.imported(STUB, "from x import *", body="y").startswith("from x import y\n")
        # What people hardly ever take of a module is its own too; what it has not, it is not asked for.
        assert self.imported(STUB, star, body="erfc(k), y").startswith("from math import erfc\n\n\ndef")

    def test_imports_inside_the_candidates_body_stay_there(self) -> None:
        function = "def f(numbers, k=1):\n    import os\n    return os.sep"
        assert put(STUB, function, imports=("import os",)) == STUB + "    import os\n    return os.sep\n"


def added(before: str, *imports: str, use: str, text: str = STUB) -> str:
    """What a module that begins with `before` begins with when its function uses names that `imports` give."""
    result = put(before + text, f"def f(numbers, k=1):\n    return {use}", imports=imports)
    return result.removesuffix(f"{text}    return {use}\n")


class TestAmongTheNames:
    """A `from` import that is there takes one more name."""

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("from x import a, c", "from x import a, b, c"),
            ("from x import a", "from x import a, b"),
            ("from x import c", "from x import b, c"),
            ("from x import C, a, z", "from x import C, a, b, z"),
            ("from x import a, B, c", "from x import a, B, c, b"),
            ("from x import z, a", "from x import z, a, b"),
            ("from x import a, c  # noqa: F401", "from x import a, b, c  # noqa: F401"),
            ("from x import (a, c)", "from x import (a, b, c)"),
            ("from x import (a,)", "from x import (a, b,)"),
            ("from x import a as d, c", "from x import a as d, b, c"),
            ("from x import (\n    a,\n    c,\n)", "from x import (\n    a,\n    b,\n    c,\n)"),
            ("from x import (\n  a,\n)", "from x import (\n  a,\n  b,\n)"),
            ("from x import (\n    a\n)", "from x import (\n    a,\n    b\n)"),
            ("from x import (\n    a)", "from x import (\n    a,\n    b)"),
            (
                "from x import (  # these\n    a,  # one\n    # the last\n    c,  # three\n)",
                "from x import (  # these\n    a,  # one\n    b,\n    # the last\n    c,  # three\n)",
            ),
            ("from x import (\n    a  # one, two\n)", "from x import (\n    a,  # one, two\n    b\n)"),
            ("from x import (\n\tz,\n\ta,  # (\n)", "from x import (\n\tz,\n\ta,  # (\n\tb,\n)"),
            ("from x import (A,\n               c)", "from x import (A,\n               b, c)"),
            ("from x import (\n    A, a,\n    c)", "from x import (\n    A, a,\n    b, c)"),
            ("from x import a; import os", "from x import a; import os\nfrom x import b"),
            ("from x import \\\n    a", "from x import \\\n    a\nfrom x import b"),
            ("from x import *", "from x import *\nfrom x import b"),
            ("from .x import b", "from x import b\n\nfrom .x import b"),
            ("try:\n    from x import a\nexcept ImportError:\n    pass", None),
            ("if True:\n    from x import a", None),
        ],
    )
    def test_where_it_goes(self, before: str, after: str | None) -> None:
        expected = f"from x import b\n\n{before}" if after is None else after
        if "from .x" in before:
            assert put(f"{before}\n\n\n{STUB}", "def f(numbers, k=1):\n    return b()").startswith(before)
            return
        assert added(f"{before}\n\n\n", "from x import b", use="b()") == f"{expected}\n\n\n"

    @pytest.mark.parametrize(
        ("before", "wanted", "after"),
        [
            ("from x import a, z", "b as c", "from x import a, z\nfrom x import b as c"),
            ("from x import a, d as e", "b as c", "from x import a, d as e\nfrom x import b as c"),
            ("from x import b as d", "c", "from x import b as d\nfrom x import c"),
            ("from x import a, b as d", "c", "from x import a, b as d, c"),
        ],
    )
    def test_what_gets_another_name_stands_alone(self, before: str, wanted: str, after: str) -> None:
        assert added(f"{before}\n\n\n", f"from x import {wanted}", use=wanted.split()[-1]) == f"{after}\n\n\n"

    def test_several_at_once(self) -> None:
        before = "from typing import Any, List\n\n\n"
        result = added(before, "from typing import *", "from typing import Sequence", use="Optional[Dict], Sequence")
        assert result == "from typing import Any, Dict, List, Optional, Sequence\n\n\n"

    def test_line_endings_are_the_files(self) -> None:
        before = "from x import (\r\n    a,\r\n    c,\r\n)\r\n\r\n\r\n"
        stub = STUB.replace("\n", "\r\n")
        result = put(before + stub, "def f(numbers, k=1):\n    return b", imports=("from x import b",))
        assert result == before.replace("    c", "    b,\r\n    c") + stub + "    return b\r\n"

    def test_a_long_line_is_put_into_parentheses(self) -> None:
        before = "from package.module import alpha_beta_gamma, delta_epsilon_zeta, eta_theta_iota\n\n\n"
        assert added(before, "from package.module import beta", use="beta") == (
            "from package.module import (\n    alpha_beta_gamma,\n    beta,\n    delta_epsilon_zeta,\n"
            "    eta_theta_iota,\n)\n\n\n"
        )

    def test_a_long_line_with_a_comment_stays(self) -> None:
        before = "from package.module import alpha_beta_gamma, delta_epsilon_zeta, eta_theta  # noqa\n"
        assert added(before + "\n\n", "from package.module import zeta_eta", use="zeta_eta") == (
            f"{before}from package.module import zeta_eta\n\n\n"
        )

    def test_a_full_line_of_a_grid_is_spread_anew(self) -> None:
        before = (
            "from package.module import (alpha_beta_gamma, delta_epsilon_zeta, eta_theta_io,\n"
            "                            kappa_lambda)\n\n\n"
        )
        assert added(before, "from package.module import beta", use="beta") == (
            "from package.module import (alpha_beta_gamma, beta, delta_epsilon_zeta,\n"
            "                            eta_theta_io, kappa_lambda)\n\n\n"
        )


class TestAmongTheStatements:
    """A new statement goes where the order of those that are there wants it."""

    @pytest.mark.parametrize(
        ("before", "new", "after"),
        [
            ("import abc\nimport re\n", "import os", "import abc\nimport os\nimport re\n"),
            ("import re\nimport abc\n", "import os", "import re\nimport abc\nimport os\n"),
            ("import abc\nfrom re import sub\n", "import os", "import abc\nimport os\nfrom re import sub\n"),
            (
                "import abc\nfrom re import sub\nimport sys\n",
                "import os",
                "import abc\nfrom re import sub\nimport sys\nimport os\n",
            ),
            ("from re import sub\nimport abc\n", "import os", "from re import sub\nimport abc\nimport os\n"),
            ("import abc, re\n", "import os", "import abc, re\nimport os\n"),
            ("import abc\n# about re\nimport re\n", "import os", "import abc\nimport os\n# about re\nimport re\n"),
            ("# the standard library\nimport re\n", "import os", "# the standard library\nimport os\nimport re\n"),
            ("import re  # c\nX = 1\n", "import os", "import os\nimport re  # c\nX = 1\n"),
            ("import numpy as np\n", "import os", "import os\n\nimport numpy as np\n"),
            ("from .a import b\n", "import os", "import os\n\nfrom .a import b\n"),
            ("import sys\n\nimport numpy\n", "import os", "import os\nimport sys\n\nimport numpy\n"),
            ("import sys\n\nimport numpy\n", "import os as os", "import os as os\nimport sys\n\nimport numpy\n"),
            ("import sys\n", "import pandas as os", "import sys\n\nimport pandas as os\n"),
            (
                "import sys\n\nfrom . import a\n",
                "import pandas as os",
                "import sys\n\nimport pandas as os\n\nfrom . import a\n",
            ),
            (
                "import sys\n\nfrom . import a\n",
                "from .b import os",
                "import sys\n\nfrom . import a\nfrom .b import os\n",
            ),
            (
                "import sys\n\nfrom .a import a\n",
                "from ..b import os",
                "import sys\n\nfrom ..b import os\nfrom .a import a\n",
            ),
            ("import sys\n\nimport numpy\n", "from .b import os", "import sys\n\nimport numpy\n\nfrom .b import os\n"),
            ("import numpy\nimport sys\n", "import os", "import numpy\nimport os\nimport sys\n"),
            ("import sys\nimport numpy\n", "import os", "import sys\nimport numpy\nimport os\n"),
            ("import sys\n\nimport abc\n", "import os", "import sys\n\nimport abc\nimport os\n"),
            (
                "from __future__ import annotations\nimport sys\n",
                "import os",
                "from __future__ import annotations\nimport os\nimport sys\n",
            ),
            ("# Licence\nimport numpy\n", "import os", "# Licence\n\nimport os\n\nimport numpy\n"),
            ("# Third-party\nimport numpy\n", "import os", "import os\n\n# Third-party\nimport numpy\n"),
            ('"""M."""\n\n# others\nimport numpy\n', "import os", '"""M."""\n\nimport os\n\n# others\nimport numpy\n'),
            ('"""M."""\nimport numpy\n', "import os", '"""M."""\n\nimport os\n\nimport numpy\n'),
            (
                "import sys\nsys.path.append('')\nimport numpy\n",
                "import os",
                "import os\nimport sys\nsys.path.append('')\nimport numpy\n",
            ),
        ],
    )
    def test_where_it_goes(self, before: str, new: str, after: str) -> None:
        assert added(f"{before}\n\n", new, use="os", text=STUB) == f"{after}\n\n"

    def test_each_to_its_own_group(self) -> None:
        before = "import abc\nimport sys\n\nimport numpy as np\n\nfrom .a import b\n\n\n"
        result = added(
            before,
            "import os, attr",
            "from .a import c",
            "from pandas import Series",
            use="os, attr, c, Series",
        )
        assert result == (
            "import abc\nimport os\nimport sys\n\nimport attr\nimport numpy as np\nfrom pandas import Series\n\n"
            "from .a import b, c\n\n\n"
        )

    def test_groups_of_a_module_that_imports_nothing(self) -> None:
        result = added("", "from .a import c", "import sys, numpy, os", use="c, sys, numpy, os")
        assert result == "import os\nimport sys\n\nimport numpy\n\nfrom .a import c\n\n\n"

    def test_a_package_of_its_own_is_no_other(self) -> None:
        target = target_in(f"import numpy\n\n\n{STUB}")
        target = replace(target, module=replace(target.module, name="pkg.mod"))
        candidate = Candidate("def f(numbers, k=1):\n    return g()", ("from pkg.other import g",))
        assert splice(target, candidate).text.startswith("import numpy\n\nfrom pkg.other import g\n\n\ndef f")

    def test_of_two_meanings_the_later_one(self) -> None:
        assert added("", "import time", "from time import time", use="time()") == "from time import time\n\n\n"
        result = added("", "import os.path", "import os", use="os.path")
        assert result == "import os\nimport os.path\n\n\n"


class TestTheProjectsStyle:
    """pyproject.toml says how imports are laid out."""

    WIDE = "from package.module import alpha_beta_gamma, delta_epsilon_zeta, eta_theta_iota\n"
    """79 columns."""

    def added(self, folder: Path, options: str | None, before: str, wanted: str) -> str:
        """What a module of a project with these options begins with once it imports what is wanted."""
        if options is not None:
            (folder / "pyproject.toml").write_text(options, encoding="utf-8")
        (folder / "src").mkdir()
        target = locate(f"{before}\n\n{STUB}", folder / "src/mod.py", folder, qualname="f")
        imports = tuple(f"{each}\n" for each in wanted.split("; "))
        names = ", ".join(each.split()[-1] for each in wanted.split("; "))
        text = splice(target, Candidate(f"def f(numbers, k=1):\n    return {names}", imports)).text
        return text.partition("\n\ndef f(")[0]

    @pytest.mark.parametrize(
        ("options", "is_spread"),
        [
            ("[tool.ruff]\nline-length = 100", False),
            ("[tool.ruff]", False),
            ("[tool.ruff]\nline-length = 84", True),
            ("[tool.isort]\nline_length = 100", False),
            ("[tool.isort]\nprofile = 'black'", False),
            ("[tool.isort]", True),
            ("[tool.black]\nline-length = 100", False),
            ("[tool.black]\nline-length = 80", True),
            ("[tool.ruff]\nline-length = 80\n[tool.black]\nline-length = 100", True),
            ("[tool.ruff]\nline-length = true", False),
            ("[tool.ruff]\nline-length = 100000", False),
            ("[tool.ruff\nline-length = 100", True),
            ("tool = 1", True),
            ("", True),
        ],
    )
    def test_how_long_a_line_may_be(self, tmp_path: Path, options: str, *, is_spread: bool) -> None:
        result = self.added(tmp_path, options, self.WIDE, "from package.module import beta")
        assert ("(\n" in result) is is_spread
        assert "beta,\n" in result if is_spread else "gamma, beta, delta" in result

    @pytest.mark.parametrize(
        ("option", "before", "wanted", "after"),
        [
            (
                "force-sort-within-sections",
                "import abc\nfrom re import sub\nimport sys\n",
                "import os",
                "import abc\nimport os\nfrom re import sub\nimport sys\n",
            ),
            (
                "from-first",
                "from re import sub\nimport abc\nimport sys\n",
                "import os",
                "from re import sub\nimport abc\nimport os\nimport sys\n",
            ),
            (
                "force-single-line",
                "from x import a\nfrom x import c\n",
                "from x import b",
                "from x import a\nfrom x import b\nfrom x import c\n",
            ),
            ("combine-as-imports", "from x import a, d as e\n", "from x import c", "from x import a, c, d as e\n"),
            ("combine-as-imports", "from x import a\n", "from x import b as c", "from x import a, b as c\n"),
            ("case-sensitive", "import Abc\nimport abc\n", "import Xyz", "import Abc\nimport Xyz\nimport abc\n"),
            ("no-sections", "import os\nimport zoo\n", "import sys", "import os\nimport sys\nimport zoo\n"),
        ],
    )
    def test_where_an_import_goes(self, tmp_path: Path, option: str, before: str, wanted: str, after: str) -> None:
        (tmp_path / "ruff").mkdir()
        (tmp_path / "isort").mkdir()
        (tmp_path / "none").mkdir()
        ruff = self.added(tmp_path / "ruff", f"[tool.ruff.lint.isort]\n{option} = true", before, wanted)
        isort = f"[tool.isort]\n{option.replace('-', '_')} = true"
        assert ruff == self.added(tmp_path / "isort", isort, before, wanted) == after
        assert self.added(tmp_path / "none", f"[tool.ruff.lint.isort]\n{option} = 'yes'", before, wanted) == (
            self.added_without(before, wanted)
        )

    def added_without(self, before: str, wanted: str) -> str:
        return added(f"{before}\n\n", wanted, use=wanted.split()[-1]).removesuffix("\n\n")

    def test_names_regardless_of_their_kind(self, tmp_path: Path) -> None:
        options, before = "[tool.ruff.lint.isort]\norder-by-type = false", "from x import alpha, Beta, gamma\n"
        result = self.added(tmp_path, options, before, "from x import Also")
        assert result == "from x import alpha, Also, Beta, gamma\n"

    def test_relative_imports_nearest_first(self, tmp_path: Path) -> None:
        options = "[tool.ruff.lint.isort]\nrelative-imports-order = 'closest-to-furthest'"
        before = "from .a import a\nfrom ...c import c\n"
        assert self.added(tmp_path, options, before, "from ..b import b") == (
            "from .a import a\nfrom ..b import b\nfrom ...c import c\n"
        )

    @pytest.mark.parametrize(
        "options", ["[tool.ruff.lint.isort]\nknown-first-party", "[tool.isort]\nknown_first_party"]
    )
    def test_the_projects_other_packages(self, tmp_path: Path, options: str) -> None:
        result = self.added(tmp_path, f"{options} = ['ours']", "import numpy\n", "import ours")
        assert result == "import numpy\n\nimport ours\n"
        assert self.added_without("import numpy\n", "import ours") == "import numpy\nimport ours\n"

    def test_nothing_is_read_above_the_workspace(self, tmp_path: Path) -> None:
        (tmp_path / "inner").mkdir()
        result = self.added(tmp_path, "[tool.ruff]\nline-length = 100", self.WIDE, "from package.module import beta")
        assert "(\n" not in result
        assert "(\n" in self.added(tmp_path / "inner", None, self.WIDE, "from package.module import beta")

    def test_a_profile_of_isort(self, tmp_path: Path) -> None:
        before = "import abc\nfrom re import sub\nimport sys\n"
        assert self.added(tmp_path, "[tool.isort]\nprofile = 'google'", before, "import os") == (
            "import abc\nimport os\nfrom re import sub\nimport sys\n"
        )


class TestWhatIsThere:
    @pytest.mark.parametrize(
        "there",
        [
            "from math import *",
            "try:\n    from math import sqrt\nexcept ImportError:\n    sqrt = None",
            "import sys\n\nif sys.version_info > (3,):\n    from math import sqrt\nelse:\n    from math import sqrt",
            "with open('x'):\n    from math import sqrt",
        ],
    )
    def test_it_is_not_imported_again(self, there: str) -> None:
        before = f"{there}\n\n\n"
        assert added(before, "from math import sqrt", use="sqrt(k)") == before

    @pytest.mark.parametrize(
        "there",
        [
            "from cmath import *",
            "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from math import sqrt",
            "import typing\n\nif typing.TYPE_CHECKING:\n    from math import sqrt",
            "def g():\n    from math import sqrt\n    return sqrt",
            "class A:\n    from math import sqrt",
        ],
    )
    def test_what_is_not_there_at_run_time_is_imported(self, there: str) -> None:
        result = put(
            f"{there}\n\n\n{STUB}", "def f(numbers, k=1):\n    return sqrt(k)", imports=("from math import sqrt",)
        )
        assert result.count("from math import sqrt") == there.count("from math import sqrt") + 1

    @pytest.mark.parametrize("module", sorted(NAMES))
    def test_what_a_star_is_taken_to_give_it_gives(self, module: str) -> None:
        there = importlib.import_module(module)
        given = getattr(there, "__all__", None) or [name for name in vars(there) if not name.startswith("_")]
        module_with_star = module_names(target_in(f"from {module} import *\n\n\n{STUB}"))
        taken = [name for name in NAMES[module] if module_with_star.has_from_star(f"{module}.{name}")]
        # What a newer Python added is missing here, whichever way it is imported.
        assert {name for name in taken if hasattr(there, name)} <= set(given)
        assert taken

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("from numpy import *", "import os\n\nfrom numpy import *"),
            ("from .tools import *", "import os\n\nfrom .tools import *"),
            ("from cmath import *", "import os\nfrom cmath import *"),
        ],
    )
    def test_what_a_star_might_hide_is_imported_inside(self, before: str, after: str) -> None:
        function = "def f(numbers, k=1):\n    return sqrt(os.sep)"
        result = put(f"{before}\n\n\n{STUB}", function, imports=("from math import sqrt", "import os"))
        assert result == f"{after}\n\n\n{STUB}    from math import sqrt\n    return sqrt(os.sep)\n"

    @pytest.mark.parametrize(
        ("star", "wanted", "after"),
        [
            ("from typing import *", "from math import sqrt", "from math import sqrt\nfrom typing import *"),
            ("from numpy import *", "from numpy import sqrt", "from numpy import *\nfrom numpy import sqrt"),
            ("from math import *", "from math import sqrt", "from math import *"),
        ],
    )
    def test_what_no_star_hides_is_imported_above(self, star: str, wanted: str, after: str) -> None:
        assert added(f"{star}\n\n\n", wanted, use="sqrt") == f"{after}\n\n\n"

    @pytest.mark.parametrize(
        ("there", "wanted", "use"),
        [
            ("import time\ntime = time.time", "import time", "time.time()"),
            ("import datetime\nfrom datetime import datetime", "import datetime", "datetime.datetime.now()"),
            ("from math import floor\n\n\ndef floor(x): ...", "from math import floor", "floor(1)"),
            ("import os\n\ndel os", "import os", "os.sep"),
        ],
    )
    def test_what_is_there_no_longer_is_imported_inside(self, there: str, wanted: str, use: str) -> None:
        text = f"{there}\n\n\n{STUB}"
        assert put(text, f"def f(numbers, k=1):\n    return {use}", imports=(wanted,)) == (
            f"{text}    {wanted}\n    return {use}\n"
        )

    def test_what_the_header_alone_needs_is_not_imported_inside(self) -> None:
        text = 'import re\n\n\n@re.x\ndef f(numbers: re.A, k=re.B) -> re.C:\n    """Doc."""\n\n\ndel re\n'
        function = "def f(numbers, k):\n    return 1"
        assert put(text, function, imports=("import re",)) == text.replace("\n\n\ndel", "\n    return 1\n\n\ndel")
        assert "    import re\n" in put(text, function.replace("1", "re.D"), imports=("import re",))

    def test_of_two_stars_it_is_not_known_which_has_it(self) -> None:
        before = "from math import *\nfrom cmath import *\n\n\n"
        assert "    from math import sqrt" in put(
            before + STUB, "def f(numbers, k=1):\n    return sqrt(k)", imports=("from math import sqrt",)
        )

    def test_another_name_for_the_same_is_not_there(self) -> None:
        assert added("import numpy\n\n\n", "import numpy as np", use="np.x") == "import numpy\nimport numpy as np\n\n\n"

    def test_an_import_of_the_future_joins_the_others(self) -> None:
        function = "def f(numbers, k=1):\n    def g(x: int | None): ...\n    return g"
        result = put(
            f"from __future__ import division\n\n\n{STUB}", function, imports=("from __future__ import annotations",)
        )
        assert result.startswith("from __future__ import annotations, division\n\n\ndef f")
