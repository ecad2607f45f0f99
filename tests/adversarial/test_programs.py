"""No program of a project runs outside isolation, whatever PATH says. The project has fake programs with likely
names.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from adacoder.domain import Level
from support.levels import needs_full
from support.standins.ollama import StandIn

MODULE = 'def double(x):\n    """\n    >>> double(2)\n    4\n    """\n    return 2 * x\n'
STUB = MODULE.replace("    return 2 * x\n", "")
NAMES = (
    *(
        "bwrap",
        "python",
        "python3",
        Path(sys.executable).name,
        "sh",
        "env",
        "uname",
        "getconf",
        "ldconfig",
        "gcc",
        "cc",
    ),
    *("lsb_release", "git", "nvidia-smi", "rocm-smi", "ollama", "sysctl", "sandbox-exec", "unshare", "prlimit", "ip"),
    *("ldd", "objdump", "stty", "tput", "less", "more", "man", "ifconfig", "arp", "which", "file", "id", "xdg-open"),
)
"""Names of programs that a program like AdaCoder may start."""
TRAP = """#!/bin/sh
echo "$0" >> "{mark}"
PATH=/usr/bin:/bin exec {name} "$@"
"""
"""A fake program. It does the real program's work, so that it is accepted, and records that it ran."""


class Project:
    """A project with fake programs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self.mark = folder / "mark"
        (self.folder / "pyproject.toml").touch()
        (self.folder / "m.py").write_text(MODULE, encoding="utf-8")
        (self.folder / "stub.py").write_text(STUB, encoding="utf-8")

    def lay_traps(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            path = folder / name
            path.write_text(TRAP.format(mark=self.mark, name=name), encoding="utf-8")
            path.chmod(0o755)

    def run(self, path: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "adacoder", *arguments],
            cwd=self.folder,
            env={**os.environ, "OLLAMA_HOST": "127.0.0.1:1", **environment, "PATH": path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    @property
    def sprung(self) -> set[str]:
        """Return the fake programs that ran."""
        return set(self.mark.read_text(encoding="utf-8").split()) if self.mark.exists() else set()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def in_home() -> Iterator[Path]:
    """Return a folder in the home folder. If the user is root, as in a container, only root can change it."""
    try:
        folder = tempfile.mkdtemp(prefix="adacoder-test-", dir=Path.home())
    except OSError:
        pytest.skip("this user has no home folder to write to")
    yield Path(folder)
    shutil.rmtree(folder)


REST = f"{os.pathsep}/usr/bin{os.pathsep}/bin"
WAYS: dict[str, tuple[str, str]] = {
    "an activated environment": (".venv/bin", "{project}/.venv/bin"),
    "the programs of node": ("node_modules/.bin", "{project}/node_modules/.bin"),
    "the folder itself": (".", "{project}"),
    "a dot": (".", "."),
    "an empty entry": (".", ""),
    "a relative folder": ("bin", "bin"),
    "a relative way back": (".", "../project"),
    "a way that begins in the system": ("bin", "/usr/bin/../..{project}/bin"),
    "a link to the folder": (".", "{project}/../link"),
    "a folder for all": ("../shared", "{project}/../shared"),
}
"""Folders of fake programs, relative to the project, and their form in PATH."""


@needs_full
@pytest.mark.parametrize("where", WAYS.values(), ids=WAYS.keys())
def test_no_program_of_the_project_runs_where_path_names_it_first(where: tuple[str, str], project: Project) -> None:
    place, entry = where
    project.lay_traps(project.folder / place)
    (project.folder.parent / "link").symlink_to(project.folder)
    if place == "../shared":
        (project.folder / place).chmod(0o1777)
    path = entry.format(project=project.folder) + REST
    checked = project.run(path, "check", "m.py", "--json", "--isolation", "full")
    examined = project.run(path, "doctor", "--no-probe", "--json")
    assert checked.returncode == 0, checked.stderr
    assert json.loads(checked.stdout)["isolation"]["level"] == "full"
    assert json.loads(examined.stdout)["findings"][2]["text"].startswith("full (bubblewrap")
    assert project.sprung == set()
    # control: the test notices a fake program that runs
    subprocess.run([project.folder / place / "uname"], check=True, stdout=subprocess.DEVNULL)
    assert len(project.sprung) == 1


@needs_full
def test_not_even_where_all_is_roots_as_in_a_container(in_home: Path) -> None:
    project = Project(in_home)
    project.lay_traps(project.folder / "bin")
    checked = project.run(f"{project.folder}/bin{REST}", "check", "m.py", "--json")
    assert json.loads(checked.stdout)["isolation"]["level"] == "full"
    assert project.sprung == set()


@pytest.mark.isolation
def test_none_runs_either_while_a_model_writes(project: Project) -> None:
    project.lay_traps(project.folder / ".venv" / "bin")
    reply = f"```python\n{MODULE}```"
    with StandIn([reply]).in_thread() as server:
        path = f"{project.folder}/.venv/bin{REST}"
        ran = project.run(path, "generate", "stub.py", "--json", OLLAMA_HOST=server.host)
        examined = project.run(path, "doctor", "--json", OLLAMA_HOST=server.host)
    assert json.loads(ran.stdout)["status"] == "verified", ran.stdout
    assert '"Speed"' in examined.stdout
    assert project.sprung == set()


@needs_full  # the test copies bubblewrap
@pytest.mark.isolation(Level.LSM)
def test_a_bubblewrap_that_is_not_the_systems_is_not_used_and_it_is_said(project: Project, in_home: Path) -> None:
    own = in_home / ".local" / "bin" / "bwrap"
    own.parent.mkdir(parents=True)
    shutil.copy2(shutil.which("bwrap") or "", own)
    examined = project.run(str(own.parent), "doctor", "--no-probe", "--json")
    (found,) = [each for each in json.loads(examined.stdout)["findings"] if each["name"] == "Isolation"]
    assert found["text"].startswith("lsm (")
    assert f"{own} is not the system's own, so it is not used" in found["text"]
    assert "nstall bubblewrap (`sudo apt install bubblewrap`" in found["advice"]
    refused = project.run(str(own.parent), "check", "m.py", "--isolation", "full")
    assert refused.returncode == 2
    assert f"{own} is not the system's" in refused.stderr


WATCHING = """
import os, sys
seen = sys.argv.pop(1)
def watch(event, arguments):
    if event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system"):
        with open(seen, "a") as file:
            program = arguments[0] or arguments[1][0]
            file.write(f"{os.fsdecode(program)}\\n")
sys.addaudithook(watch)
"""
ENTERING = "from adacoder.__main__ import main\nsys.exit(main())\n"
OTHERWISE = "import subprocess\nsubprocess.run(['env', '--version'], stdout=subprocess.DEVNULL)\n"


def started(project: Project, tmp_path: Path, script: str, *arguments: str, **environment: str) -> set[str]:
    """Return the programs that a script starts, by their names in the script."""
    seen = tmp_path / "seen"
    ended = subprocess.run(
        [sys.executable, "-c", WATCHING + script, str(seen), *arguments],
        cwd=project.folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return set(seen.read_text(encoding="utf-8").splitlines()) if seen.exists() else set()


@needs_full
def test_all_that_is_started_is_our_python_or_the_systems_bubblewrap(project: Project, tmp_path: Path) -> None:
    ours = {str(Path(sys.executable).resolve()), os.path.realpath("/usr/bin/bwrap")}
    with StandIn([f"```python\n{MODULE}```", "1, 2, 3"]).in_thread() as server:
        # AdaCoder has not tested the isolation yet
        host = {"OLLAMA_HOST": server.host, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        assert started(project, tmp_path, ENTERING, "generate", "stub.py", **host) == ours
        assert started(project, tmp_path, ENTERING, "doctor", **host) == ours
    assert "env" in started(project, tmp_path, OTHERWISE), "it would have been seen"
