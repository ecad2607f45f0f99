"""The text from which a module is loaded, and visible packages, tested without a sandbox."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from importlib._bootstrap_external import SourceLoader
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING, Any

import pytest

from adacoder.sandbox.child import finders
from adacoder.sandbox.environment.imports_ahead import ImportsAhead
from support.evaluating import Workspace, program

if TYPE_CHECKING:
    from pathlib import Path

MODULE = "def f(x):\n    return x\n"


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SourceLoader, "get_code", SourceLoader.get_code)
    monkeypatch.setattr(finders, "compiled", {})
    monkeypatch.setattr(finders, "ahead", {})


def value_of(path: Path) -> object:
    spec = spec_from_file_location("anything", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.VALUE


def test_the_nearest_folder_tells_what_is_installed(tmp_path: Path) -> None:
    project, packages = tmp_path / "usr/src/app", tmp_path / "usr/src/app/.venv/lib"
    packages.mkdir(parents=True)
    (project / "link").symlink_to(packages)
    (packages / "link").symlink_to(project)
    installed = finders.InstalledFiles([str(tmp_path / "usr"), str(packages)], [str(project)])
    for place in ("usr/lib/re.py", "usr/src/app/.venv/lib/x.py", "usr/src/app/link/x.py", "usr/src/apple.py"):
        assert installed.holds(str(tmp_path / place)), place
    for place in ("usr/src/app/x.py", "usr/src/app", "usr/src/app/.venv/lib/link/x.py", "usrx/x.py", "x.py"):
        assert not installed.holds(str(tmp_path / place)), place
    assert not installed.holds("a\0b")
    assert finders.InstalledFiles([], []).holds(os.__file__)


@pytest.mark.usefixtures("sources")
def test_what_was_compiled_ahead_is_used_while_the_text_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "mod.py"
    path.write_text("VALUE = 1\n", encoding="utf-8")
    finders.compile_ahead(str(path))
    ((_, code),) = finders.ahead.values()
    finders.read_sources(lambda _: False, finders.Unsaved({}))
    assert SourceFileLoader("anything", str(path)).get_code("anything") is code
    state = path.stat()
    path.write_text("VALUE = 2\n", encoding="utf-8")
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert value_of(path) == 2
    finders.read_sources(lambda _: False, finders.Unsaved({str(path): "# coding: latin-1\nVALUE = 'ä'\n"}))
    assert value_of(path) == "ä"


@pytest.mark.usefixtures("sources")
def test_only_what_can_be_compiled_is(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "waits.py")
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "device.py").symlink_to("/dev/zero")
    (tmp_path / "large.py").write_text("#" * (1 << 20), encoding="utf-8")
    (tmp_path / "broken.py").write_text("x = (", encoding="utf-8")
    (tmp_path / "deep.py").write_text("x = " + "(" * 5000 + ")" * 5000, encoding="utf-8")
    (tmp_path / "null.py").write_text("\0", encoding="utf-8")
    for path in sorted(tmp_path.iterdir()):
        finders.compile_ahead(str(path))
    finders.compile_ahead(str(tmp_path / "none.py"))
    assert finders.ahead == {}


def test_finders_that_ask_all_the_others_find_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Asks:
        def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
            others: Iterator[Any] = (each for each in sys.meta_path if each != self and hasattr(each, "find_spec"))
            return next((found for each in others if (found := each.find_spec(fullname, path, target))), None)

    class Old:
        """An import finder with the interface from before Python 3.4."""

    finder = finders.TextFinder("mod", finders.TextLoader("mod", "/x/mod.py", ""), finders.Unsaved({}))
    monkeypatch.setattr(sys, "meta_path", [finder, Old(), Asks(), *sys.meta_path])
    found = finder.find_spec("textwrap")
    assert found is not None
    assert found.origin is not None
    assert finder.find_spec("no_such_module") is None


def test_the_files_that_run_with_a_module_may_be_compiled_ahead(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.write({"pkg/__init__.py": "from . import one", "pkg/one.py": "import two", "two.py": "", "three.py": ""})
    what = program(tmp_path / "mod.py", tmp_path, f"import pkg, textwrap\n{MODULE}", "f")
    ahead = asyncio.run(ImportsAhead(tmp_path).of(what))
    assert set(ahead.files) == {tmp_path / "pkg/__init__.py", tmp_path / "pkg/one.py", tmp_path / "two.py"}
    assert "import textwrap" in ahead.statements
