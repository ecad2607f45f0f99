"""A candidate is imported as part of the user's project, by the user's interpreter."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import FailureKind, Level
from adacoder.sandbox.environment.interpreter import describe, find
from support.evaluating import Workspace, other_pythons, workspace
from support.levels import LSM, NONE

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.isolation

STUB = """\
def f(x):
    \"\"\"
    >>> f(1)
    2
    \"\"\"
"""
GOOD = STUB + "    return x + 1\n"


async def test_the_text_counts_and_not_the_file(ws: Workspace) -> None:
    ws.write({"mod.py": STUB + "    return 'old'\n"})
    assert (await ws.evaluate(GOOD)).passed
    assert (ws.folder / "mod.py").read_text(encoding="utf-8").endswith("'old'\n")


async def test_a_file_that_was_never_saved(ws: Workspace) -> None:
    assert (await ws.evaluate(GOOD, file="new.py")).passed


async def test_relative_imports_and_sibling_helpers(ws: Workspace) -> None:
    ws.write(
        {
            "pkg/__init__.py": "",
            "pkg/sub/__init__.py": "from ..base import ONE",
            "pkg/sub/mod.py": STUB,
            "pkg/sub/sibling.py": "def add(x, y): return x + y",
            "pkg/base.py": "ONE = 1",
        }
    )
    text = f"from . import ONE\nfrom .sibling import add\n\n{STUB}    return add(x, ONE)\n"
    assert (await ws.evaluate(text, file="pkg/sub/mod.py")).passed
    assert not (await ws.evaluate(text.replace("ONE)", "2)"), file="pkg/sub/mod.py")).passed


async def test_a_package_that_re_exports_the_function_gives_the_candidate(ws: Workspace) -> None:
    ws.write(
        {
            "pkg/__init__.py": "from .mod import f\nfrom . import other",
            "pkg/mod.py": STUB + "    return 'old'\n",
            "pkg/other/__init__.py": "import pkg.mod\ng = pkg.mod.f",
        }
    )
    text = GOOD.replace(">>> f(1)\n", ">>> from pkg.other import g as f\n    >>> f(1)\n")
    assert (await ws.evaluate(text, file="pkg/mod.py")).passed


async def test_a_packages_own_file_and_a_namespace_package(ws: Workspace) -> None:
    ws.write({"pkg/__init__.py": STUB, "pkg/part.py": "ONE = 1", "space/mod.py": STUB})
    text = STUB + "    from .part import ONE\n    return x + ONE\n"
    assert (await ws.evaluate(text, file="pkg/__init__.py")).passed
    assert (await ws.evaluate(GOOD, file="space/mod.py")).passed


async def test_a_root_below_the_workspace(ws: Workspace) -> None:
    ws.write({"src/pkg/__init__.py": "", "src/pkg/mod.py": STUB, "top.py": "ONE = 1"})
    text = "import top\n" + STUB + "    return x + top.ONE\n"
    assert (await ws.evaluate(text, file="src/pkg/mod.py", root="src")).passed


async def test_unsaved_texts_of_other_files_are_used(ws: Workspace) -> None:
    ws.write({"pkg/__init__.py": "", "pkg/mod.py": STUB, "pkg/helper.py": "ONE = 'old'"})
    text = "from .helper import ONE\nfrom .new import TWO\n" + STUB + "    return x + TWO - ONE\n"
    overlays = {"pkg/helper.py": "ONE = 1", "pkg/new/__init__.py": "TWO = 2", "unrelated.py": "1 +"}
    assert (await ws.evaluate(text, file="pkg/mod.py", overlays=overlays)).passed
    without = (await ws.evaluate(text, file="pkg/mod.py")).failure
    assert without is not None
    assert without.kind is FailureKind.IMPORT_ERROR


async def test_a_module_named_like_one_of_the_standard_library(ws: Workspace) -> None:
    assert (await ws.evaluate(GOOD, file="traceback.py")).passed


async def test_the_functions_source_can_be_inspected(ws: Workspace) -> None:
    ws.write({"mod.py": "# something else altogether\n" * 30})
    text = STUB + "    import inspect\n    assert 'REALLY' in inspect.getsource(f)\n    return x + 1  # REALLY\n"
    assert (await ws.evaluate(text)).passed


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
async def test_other_line_endings_and_a_byte_order_mark(ending: str, ws: Workspace) -> None:
    text = "\ufeff" + ("A = 1\n" + STUB + "    return x / 0\n").replace("\n", ending)
    verdict = await ws.evaluate(text)
    assert verdict.failure is not None
    assert (verdict.failure.kind, verdict.failure.line) == (FailureKind.EXCEPTION, 6)


async def test_a_syntax_error_of_the_candidate(ws: Workspace) -> None:
    verdict = await ws.evaluate("A = 1\n" + STUB + "    y = \n    return y\n")
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.SYNTAX_ERROR
    assert verdict.failure.line == 6
    assert verdict.failure.error == "SyntaxError: invalid syntax"
    assert (verdict.parses, verdict.defines, verdict.imports) == (False, False, False)


@pytest.mark.parametrize("body", ["    return (x\n", "    return '''x\n", "  return x\n", "    x\n\treturn x\n"])
async def test_a_syntax_error_that_shows_elsewhere_is_still_the_candidates(body: str, ws: Workspace) -> None:
    verdict = await ws.evaluate("A = 1\n\n\n" + STUB + body + "\n\nB = 2\nC = [B]\n")
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.SYNTAX_ERROR
    assert verdict.failure.line is not None
    assert 1 <= verdict.failure.line <= 7


BROKEN = {
    "expression": "y = 1 +",
    "bracket": "y = [1,\n    2",
    "string": "y = '''\n'foo'",
    "function": "def g(:\n    pass",
    "block": "for i in range(3):\nprint(3)",
    "decorated": "@g(\ndef h():\n    return 1",
    "else": "else:\n    y = 1",
    "print": "print 'hello'",
}


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("case", BROKEN)
async def test_a_syntax_error_elsewhere_is_left_out(case: str, where: str, ws: Workspace) -> None:
    rest = 'import os\n\nTEXT = """\nx = (\n"""\n\n\ndef one():\n    return (\n1\n    )\n\n\n'
    good = STUB + "    return x + one() + len(TEXT) - 7\n"
    parts = [rest, BROKEN[case] + "\n\n\n", good] if where == "before" else [rest, good, BROKEN[case] + "\n"]
    text = "".join(parts)
    verdict = await ws.evaluate(text)
    assert verdict.failure is None
    assert verdict.examples_passed == 1
    assert len(verdict.notes) >= 1
    assert "syntax error; that statement was left out of the run." in verdict.notes[0]
    failing = (await ws.evaluate(text.replace("return x +", "return x -"))).failure
    assert failing is not None
    assert failing.kind is FailureKind.WRONG_OUTPUT


async def test_a_syntax_error_elsewhere_is_named_by_its_line(ws: Workspace) -> None:
    verdict = await ws.evaluate("A = 1\nB = = 2\n" + GOOD)
    assert verdict.notes == ("Line 2 of the file is a syntax error; that statement was left out of the run.",)


async def test_a_syntax_error_beside_the_candidate_in_its_class_is_the_modules(ws: Workspace) -> None:
    text = "class C:\n    def g(self:\n        pass\n\n    def f(self):\n        return 1\n"
    verdict = await ws.evaluate(text, of="C.f")
    assert verdict.failure is not None
    assert verdict.failure.kind is FailureKind.BROKEN_MODULE
    assert "line 2" in verdict.failure.message
    candidate = await ws.evaluate(text.replace("self:", "self):").replace("return 1", "return ="), of="C.f")
    assert candidate.failure is not None
    assert (candidate.failure.kind, candidate.failure.line) == (FailureKind.SYNTAX_ERROR, 2)


@pytest.mark.parametrize("text", ["X = '\0'\n" + GOOD, "X = " + "(" * 5000 + ")" * 5000 + "\n" + GOOD])
async def test_texts_that_no_compiler_takes(text: str, ws: Workspace) -> None:
    assert (await ws.evaluate(text)).passed


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a workspace with a virtual environment.

    It has an installed package, and another one through a `.pth` file.
    """
    folder = tmp_path_factory.mktemp("project")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    (packages,) = (folder / ".venv/lib").glob("python3*/site-packages")
    (packages / "installed.py").write_text("ONE = 1\n", encoding="utf-8")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "editable.py").write_text("TWO = 2\n", encoding="utf-8")
    (packages / "editable.pth").write_text(f"# a comment\n{elsewhere}\n", encoding="utf-8")
    return folder


async def test_packages_of_the_projects_environment(environment: Path) -> None:
    imports = "import sys\nfrom installed import ONE\nfrom editable import TWO\n"
    text = imports + STUB + "    assert sys.prefix.endswith('.venv')\n    return x + TWO - ONE\n"
    (environment / "src").mkdir(exist_ok=True)
    interpreter = find(None, environment / "src", environment)
    async with workspace(environment, interpreter=interpreter) as ws:
        assert (await ws.evaluate(text, file="src/mod.py", root="src")).passed
    async with workspace(environment, interpreter=describe(Path(sys.executable))) as ws:
        failure = (await ws.evaluate(text, file="src/mod.py", root="src")).failure
        assert failure is not None
        assert failure.kind is FailureKind.IMPORT_ERROR


async def test_an_environment_outside_the_workspace(environment: Path, tmp_path: Path) -> None:
    interpreter = find(environment / ".venv/bin/python", tmp_path, tmp_path)
    async with workspace(tmp_path, interpreter=interpreter) as ws:
        assert (await ws.evaluate("import installed\n" + GOOD)).passed


@pytest.mark.parametrize("path", other_pythons(), ids=lambda path: path.name)
async def test_other_versions_of_python(path: Path, tmp_path: Path) -> None:
    text = (
        "import sys, asyncio\nfrom pkg.helper import ONE\nX = 1 +\nVERSION = '%d.%d' % sys.version_info[:2]\n"
        'def f(x):\n    """\n    >>> f(1)\n    2\n    >>> print(VERSION, f(1))\n    '
        f"{path.name.removeprefix('python')} 2\n"
        "    >>> f('')\n    Traceback (most recent call last):\n    TypeError: can only concatenate str"
        ' (not "int") to str\n'
        '    """\n    return x + ONE\n'
    )
    async with workspace(tmp_path, interpreter=describe(path)) as ws:
        ws.write({"pkg/__init__.py": ""})
        verdict = await ws.evaluate(text, file="pkg/mod.py", overlays={"pkg/helper.py": "ONE = 1"})
        assert verdict.failure is None
        assert (verdict.examples_passed, len(verdict.notes)) == (3, 1)
        hostile = "import builtins, sys, os, json\n" + STUB + "    builtins.len = sys.stdout = os.write = None\n"
        assert not (await ws.evaluate(hostile, file="pkg/mod.py")).passed
        assert (await ws.evaluate(GOOD, file="pkg/mod.py")).passed


@pytest.mark.parametrize("best", [LSM, NONE])
async def test_with_less_isolation_it_is_the_same(best: Level, tmp_path: Path) -> None:
    async with workspace(tmp_path, Level.NONE, best=best) as ws:
        ws.write({"pkg/__init__.py": "", "pkg/helper.py": "ONE = 1"})
        text = "from .helper import ONE\n" + STUB + "    return x + ONE\n"
        verdict = await ws.evaluate(text, file="pkg/mod.py")
        assert verdict.passed
        assert verdict.isolation is not None
        assert verdict.isolation.level is best
