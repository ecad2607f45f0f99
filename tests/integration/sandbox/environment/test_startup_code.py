"""Notes name the workspace's start-up code, which runs before examples. They leave out code that every environment
has.
"""

from __future__ import annotations

import hashlib
import os
import sys
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from adacoder.doctor import interpreter
from adacoder.sandbox.environment.interpreter import Interpreter, describe, find
from adacoder.sandbox.environment.startup_code import _files, note
from adacoder.settings import Settings
from support.commandline import Desk
from support.layouts import BASE_PYTHON

VERSION = f"python3.{sys.version_info.minor}"


@pytest.fixture(autouse=True)
def anew() -> None:
    _files.cache_clear()


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Return the packages folder of the environment in a workspace."""
    base = BASE_PYTHON
    found = tmp_path / ".venv/lib" / VERSION / "site-packages"
    found.mkdir(parents=True)
    (tmp_path / ".venv/bin").mkdir()
    (tmp_path / ".venv/bin/python").symlink_to(base)
    (tmp_path / ".venv/pyvenv.cfg").write_text(f"home = {base.parent}\n", encoding="utf-8")
    return found


def told(workspace: Path, interpreter: Interpreter | None = None) -> str:
    _files.cache_clear()
    return note(interpreter or find(None, workspace, workspace), workspace)


def install(packages: Path, name: str, content: bytes, record: str | None = None) -> None:
    """Write a file into the packages folder, and list it in the package's RECORD."""
    (packages / name).write_bytes(content)
    digest = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    info = packages / "some-1.0.dist-info"
    info.mkdir(exist_ok=True)
    line = record or f"{name},sha256={digest},{len(content)}"
    (info / "RECORD").write_text(f"some/__init__.py,,\n{line}\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("sitecustomize.py", b""),
        ("sitecustomize.pyc", b""),
        ("sitecustomize.cpython-399-none.so", b""),
        ("sitecustomize/__init__.py", b""),
        ("hook.pth", b"import hook"),
        ("hook.pth", b"\xef\xbb\xbfimport hook"),
        ("hook.pth", b"# none\r\n../other\r\nimport\thook; hook.run()\r\n"),
        ("hook.pth", b"../other\rimport hook"),
        ("_virtualenv.pth", b"import hook, _virtualenv"),
        ("distutils-precedence.pth", b"import os; os.system('true')"),
        ("padded.pth", b"#" * 100_000 + b"\nimport hook\n"),
    ],
)
def test_what_runs_at_the_start_is_told(name: str, content: bytes, packages: Path, tmp_path: Path) -> None:
    assert told(tmp_path) == ""
    path = packages / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    assert name.partition("/")[0] in told(tmp_path)
    _files.cache_clear()
    assert name.partition("/")[0] in interpreter(Settings(), tmp_path, tmp_path).advice


def test_what_every_environment_has_is_not_told(packages: Path, tmp_path: Path) -> None:
    (packages / "easy-install.pth").write_text("# import this\n../other\n imported\n", encoding="utf-8")
    (packages / "_virtualenv.pth").write_text("import _virtualenv", encoding="utf-8")
    (packages / "usercustomize.py").write_text("", encoding="utf-8")
    (packages / "sitecustomized.py").write_text("", encoding="utf-8")
    (packages / "package").mkdir()
    (packages / "package/sitecustomize.py").write_text("", encoding="utf-8")
    install(packages, "distutils-precedence.pth", b"import os; __import__('_distutils_hack')\n")
    assert told(tmp_path) == ""
    assert interpreter(Settings(), tmp_path, tmp_path).advice == ""


@pytest.mark.parametrize("record", ["hook.pth,,", "hook.pth,sha256=AAAA,11", "other.pth,sha256=AAAA,11"])
def test_what_no_package_owns_as_it_is_is_told(record: str, packages: Path, tmp_path: Path) -> None:
    install(packages, "hook.pth", b"import hook")
    assert told(tmp_path) == ""
    install(packages, "hook.pth", b"import hook", record)
    assert "hook.pth" in told(tmp_path)
    install(packages, "hook.pth", b"import hook")
    (packages / "hook.pth").write_bytes(b"import evil")
    assert "hook.pth" in told(tmp_path)


def test_of_a_users_own_environment_only_what_the_workspace_adds(packages: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    own = describe(tmp_path / ".venv/bin/python")
    (packages / "sitecustomize.py").write_text("", encoding="utf-8")
    (packages / "hook.pth").write_text("import hook", encoding="utf-8")
    assert told(project, own) == ""
    added = Interpreter(own.path, (*own.folders, project), own.links, (project,))
    assert told(project, added) == ""
    (project / "sitecustomize.py").write_text("", encoding="utf-8")
    assert "sitecustomize.py" in told(project, added)


def test_nothing_hostile_holds_it_up(packages: Path, tmp_path: Path) -> None:
    os.mkfifo(packages / "waits.pth")
    (packages / "circle.pth").symlink_to("circle.pth")
    (packages / "endless.pth").symlink_to("/dev/zero")
    (packages / "folder.pth").mkdir()
    with (packages / "sparse.pth").open("wb") as file:
        file.truncate(1 << 40)
    info = packages / "some.dist-info"
    info.mkdir()
    with (info / "RECORD").open("wb") as file:
        file.truncate(1 << 40)
    (packages / "ho\nok\x1b[31m.pth").write_text("import hook", encoding="utf-8")
    said = told(tmp_path)
    assert said.isprintable()
    assert "sparse.pth" in said
    assert "hook[31m.pth" in said
    assert "endless.pth" not in said


@pytest.mark.isolation
def test_the_evidence_says_what_ran_before_it(packages: Path, desk: Desk) -> None:
    desk.write('def f(x):\n    """It.\n\n    >>> f(1)\n    2\n    """\n    return x + 1\n', "mod.py")
    (found,) = desk.run("check", "mod.py", "--json").objects
    assert (found["status"], found["notes"]) == ("verified", [])
    (packages / "sitecustomize.py").write_text("", encoding="utf-8")
    _files.cache_clear()
    (found,) = desk.run("check", "mod.py", "--json").objects
    assert found["status"] == "verified"
    assert "sitecustomize.py" in found["notes"][0]
    assert found["notes"][0] in found["summary"]
