"""The files that a candidate can see, including AdaCoder's own files that the sandbox runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from importlib.util import cache_from_source
from pathlib import Path

import pytest

import adacoder
from support.evaluating import workspace


@pytest.mark.isolation
async def test_a_candidate_sees_its_project_and_none_of_the_secrets(tmp_path: Path) -> None:
    for name in ("data.txt", "sub/.env", "sub/.git/config", "sub/open.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    text = '''
        from pathlib import Path

        def f(name):
            """
            >>> [f("data.txt"), f("sub/open.txt")]
            ['x', 'x']
            >>> [f("sub/.env"), f("sub/.git/config"), f("pipe")]
            ['denied', 'denied', 'denied']
            """
            try:
                return (Path(__file__).parent / name).read_text() or "denied"
            except OSError:
                return "denied"
        '''
    async with workspace(tmp_path) as opened:
        verdict = await opened.evaluate(text)
    assert verdict.failure is None


def copied_package(folder: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(Path(adacoder.__file__).parent, folder / "adacoder", ignore=ignored)


def tools_of(package: Path, forbidden: str = "") -> str:
    """Return the output of a process that lists AdaCoder's files in a copy of the package."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": forbidden}
    start = "import adacoder.sandbox.environment.visible_paths as paths; print(paths.tools())"
    command = [sys.executable, "-c", start]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(("forbidden", "are_compiled"), [("", True), ("1", False)])
def test_the_first_start_compiles_unless_python_may_not(tmp_path: Path, forbidden: str, are_compiled: bool) -> None:
    child = copied_package(tmp_path) / "sandbox" / "child"
    shown = tools_of(tmp_path / "adacoder", forbidden)
    names = {file.stem for file in child.glob("*.py")}
    compiled = {file.name.partition(".")[0] for file in child.glob("__pycache__/*.pyc")}
    assert len(names) > 5
    assert compiled == (names if are_compiled else set())
    assert (str(child / "__pycache__") in shown) is are_compiled


def test_what_changed_is_compiled_again(tmp_path: Path) -> None:
    source = copied_package(tmp_path) / "sandbox" / "child" / "worker.py"
    tools_of(tmp_path / "adacoder")
    source.write_text(f"{source.read_text('utf-8')}CHANGED = 1\n", encoding="utf-8")
    os.utime(source, (later := time.time() + 2, later))
    tools_of(tmp_path / "adacoder")
    assert b"CHANGED" in Path(cache_from_source(source)).read_bytes()
