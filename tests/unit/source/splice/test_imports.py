"""A candidate's imports: missing ones are added to the other imports of the module."""

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
from support.splicing import STUB, put, target_in

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


def added(before: str, *imports: str, use: str, text: str = STUB) -> str:
    """Splice a candidate that needs `imports` into a module. Return the text above the function, which was `before`."""
    result = put(before + text, f"def f(numbers, k=1):\n    return {use}", imports=imports)
    return result.removesuffix(f"{text}    return {use}\n")


class TestAmongTheNames:
    """A name is added to an existing `from` import."""

    def test_line_endings_are_the_files(self) -> None:
        before = "from x import (\r\n    a,\r\n    c,\r\n)\r\n\r\n\r\n"
        stub = STUB.replace("\n", "\r\n")
        result = put(before + stub, "def f(numbers, k=1):\n    return b", imports=("from x import b",))
        assert result == before.replace("    c", "    b,\r\n    c") + stub + "    return b\r\n"


class TestAmongTheStatements:
    """A new import statement goes to its place in the order of the existing ones."""

    def test_a_package_of_its_own_is_no_other(self) -> None:
        target = target_in(f"import numpy\n\n\n{STUB}")
        target = replace(target, module=replace(target.module, name="pkg.mod"))
        candidate = Candidate("def f(numbers, k=1):\n    return g()", ("from pkg.other import g",))
        assert splice(target, candidate).text.startswith("import numpy\n\nfrom pkg.other import g\n\n\ndef f")


class TestTheProjectsStyle:
    """Imports are laid out as pyproject.toml says."""

    WIDE = "from package.module import alpha_beta_gamma, delta_epsilon_zeta, eta_theta_iota\n"
    """A line of 79 columns."""

    def added(self, folder: Path, options: str | None, before: str, wanted: str) -> str:
        """Return the beginning of a module that imports the given names, in a project with these options."""
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
    @pytest.mark.parametrize("module", sorted(NAMES))
    def test_what_a_star_is_taken_to_give_it_gives(self, module: str) -> None:
        there = importlib.import_module(module)
        given = getattr(there, "__all__", None) or [name for name in vars(there) if not name.startswith("_")]
        module_with_star = module_names(target_in(f"from {module} import *\n\n\n{STUB}"))
        taken = [name for name in NAMES[module] if module_with_star.has_from_star(f"{module}.{name}")]
        # names that only a newer Python has, in every form of import
        assert {name for name in taken if hasattr(there, name)} <= set(given)
        assert taken
