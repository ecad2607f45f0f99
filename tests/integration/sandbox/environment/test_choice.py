"""The choice of the project's Python: possible places are searched in order, and no Python is run for this."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from adacoder.doctor import Finding, interpreter
from adacoder.settings import Settings
from support import layouts
from support.commandline import Desk

MARK = "ran"


@dataclass(frozen=True)
class House:
    """A machine with a project and Pythons. Environment variables that could name a Python are set only by the test."""

    folder: Path
    set: Callable[[str, str], None]

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def environment(self, name: str) -> Path:
        """Make a virtual environment, unless it exists. Return its `bin/python`."""
        if not (self.folder / name).exists():
            layouts.environment(self.folder / name)
        return self.folder / name / "bin/python"

    def installation(self, name: str) -> Path:
        """Make files that look like an installed Python. Return the executable."""
        prefix = self.folder / name
        (prefix / "lib/python3.11").mkdir(parents=True)
        (prefix / "lib/python3.11/os.py").touch()
        self.program(f"{name}/bin/python3.11")
        for link in ("python3", "python"):
            (prefix / "bin" / link).symlink_to("python3.11")
        return prefix / "bin/python3"

    def program(self, name: str, content: str = "\x7fELF") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        path.chmod(0o755)
        return path

    def wrapper(self, name: str) -> Path:
        """Write a script that leaves a file behind when it runs."""
        return self.program(name, f"#!/bin/sh\ntouch {self.folder / MARK}\n")

    def path(self, *folders: str) -> None:
        """Set PATH to `folders`."""
        self.set("PATH", os.pathsep.join(str(self.folder / folder) for folder in folders))

    def found(self, setting: Path | None = None, near: str = "") -> Finding:
        finding = interpreter(Settings(interpreter=setting), self.project / near, self.project)
        assert not (self.folder / MARK).exists(), "a wrapper was run"
        return finding


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_VERSION", "PYENV_ROOT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    (tmp_path / "project").mkdir()
    return House(tmp_path, monkeypatch.setenv)


def test_the_order(house: House) -> None:
    """The Pythons are added from the last choice to the first. Each is preferred to those before it."""
    own = house.found()
    assert own.text == (
        f"{sys.executable}: it is AdaCoder's own, because the project has no .venv, no environment is activated, and"
        " PATH has no other python3"
    )
    on_path = house.installation("opt")
    house.path("opt/bin")
    assert house.found().text == f"{on_path}: it is the python3 on PATH"
    conda = house.installation("conda/envs/work").with_name("python")
    (house.folder / "conda/envs/work/conda-meta").mkdir()
    house.set("CONDA_PREFIX", str(house.folder / "conda/envs/work"))
    assert house.found().text == f"{conda}: it belongs to the activated environment, CONDA_PREFIX"
    activated = house.environment("activated")
    house.set("VIRTUAL_ENV", str(house.folder / "activated"))
    assert house.found().text == f"{activated}: it belongs to the activated environment, VIRTUAL_ENV"
    of_project = house.environment("project/.venv")
    assert house.found().text == f"{of_project}: it belongs to the project's .venv"
    nearer = house.environment("project/part/venv")
    assert house.found(near="part").text == f"{nearer}: it belongs to the project's venv"
    assert house.found(setting=on_path).text == f"{on_path}: it was chosen by name"
    assert house.found().advice == ""


@pytest.mark.parametrize("shape", ["gone", "no environment", "without Python", "relative", "a script"])
def test_an_activated_environment_that_is_none_is_passed_over_with_a_word(house: House, shape: str) -> None:
    prefix = house.folder / "activated"
    if shape != "gone":
        house.environment("activated")
    named = str(prefix)
    if shape == "no environment":
        (prefix / "pyvenv.cfg").unlink()
    elif shape == "without Python":
        (prefix / "bin/python").unlink()
    elif shape == "relative":
        named = os.path.relpath(prefix)
    elif shape == "a script":
        (prefix / "bin/python").unlink()
        house.wrapper("activated/bin/python")
    house.set("VIRTUAL_ENV", named)
    found = house.found()
    assert found.text.startswith(f"{sys.executable}: it is AdaCoder's own")
    assert found.advice == f"VIRTUAL_ENV names {named}, which is not an environment: activate another, or unset it."


@pytest.mark.parametrize(("named", "folder"), [("base", False), ("work", True), ("", True)])
def test_condas_base_is_not_activated_by_anybody(house: House, named: str, folder: bool) -> None:
    conda = house.installation("conda").with_name("python")
    (house.folder / "conda/conda-meta").mkdir()
    house.set("CONDA_PREFIX", str(house.folder / "conda"))
    house.set("CONDA_DEFAULT_ENV", "work")
    assert house.found().text.startswith(f"{conda}: "), "the control: another one is"
    house.set("CONDA_DEFAULT_ENV", named)
    if folder:
        (house.folder / "conda/envs").mkdir()
    assert house.found().text.startswith(f"{sys.executable}: it is AdaCoder's own")
    assert house.found().advice == ""


def test_the_python3_on_path_that_is_adacoders_own_ends_the_search(house: House) -> None:
    other = house.installation("opt")
    (house.folder / "links").mkdir()
    own = Path(sys.executable)
    house.set("PATH", f"{own.parent}{os.pathsep}{house.folder / 'opt/bin'}")
    if (own.parent / "python3").exists():
        assert house.found().text.startswith(f"{sys.executable}: it is AdaCoder's own")
    house.set("PATH", f"{house.folder / 'opt/bin'}{os.pathsep}{own.parent}")
    assert house.found().text == f"{other}: it is the python3 on PATH"


def test_the_environment_that_adacoder_is_in_is_the_projects_once_activated(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = house.environment("ours")
    monkeypatch.setattr(sys, "prefix", str(house.folder / "ours"))
    monkeypatch.setattr(sys, "executable", str(environment))
    house.path("ours/bin")
    assert "AdaCoder's own" in house.found().text
    house.set("VIRTUAL_ENV", str(house.folder / "ours"))
    assert house.found().text == f"{environment}: it belongs to the activated environment, VIRTUAL_ENV"


def test_what_lies_on_path_and_is_no_python_is_passed_over(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(house.project)
    house.installation("project")
    monkeypatch.setenv("PATH", f"bin{os.pathsep}.{os.pathsep}")
    assert "AdaCoder's own" in house.found().text, "a relative folder is the project's wherever one stands"
    wrapper, stub = house.wrapper("wrappers/python3"), house.program("stubs/python3")
    (house.folder / "folders/python3").mkdir(parents=True)
    house.path("folders", "wrappers", "stubs")
    found = house.found()
    assert "AdaCoder's own" in found.text
    for path in (wrapper, stub):
        what = f"{path} chooses a Python only when it runs, and AdaCoder does not run it: name the Python"
        assert f"{what} with --interpreter." in found.advice
    after = house.installation("opt")
    house.path("folders", "wrappers", "stubs", "opt/bin")
    assert house.found().text == f"{after}: it is the python3 on PATH"


PYENV: Mapping[str, tuple[dict[str, str], str | None]] = {
    "the global version": ({"pyenv/version": "3.12.1\n"}, "3.12.1"),
    "the project's": ({"pyenv/version": "3.12.1\n", "project/.python-version": "# ours\n3.11.7\n3.12.1\n"}, "3.11.7"),
    "a folder's": ({"project/.python-version": "3.11.7\n", "project/part/.python-version": "3.12.1"}, "3.12.1"),
    "the newest of a series": ({"project/.python-version": "3.12\n"}, "3.12.10"),
    "one that is not installed": ({"project/.python-version": "3.99\n"}, None),
    "a path": ({"project/.python-version": "../../project/evil\n"}, None),
    "an absolute path": ({"project/.python-version": "{folder}/project/evil\n"}, None),
    "a dot": ({"project/.python-version": "..\n"}, None),
    "a pattern": ({"project/.python-version": "*\n"}, None),
    "no text": ({"project/.python-version": "\udcff\udcfe\n"}, None),
}


@pytest.mark.parametrize("case", PYENV)
def test_pyenv_is_looked_through_and_a_project_chooses_only_among_what_is_installed(house: House, case: str) -> None:
    files, version = PYENV[case]
    shim = house.wrapper("pyenv/shims/python3")
    for name in ("3.11.7", "3.12.1", "3.12.9", "3.12.10"):
        house.installation(f"pyenv/versions/{name}")
    house.installation("project/evil")
    (house.project / "part").mkdir()
    for name, content in files.items():
        text = content.replace("{folder}", str(house.folder))
        (house.folder / name).write_bytes(text.encode(errors="surrogateescape"))
    house.path("pyenv/shims")
    found = house.found(near="part")
    if version is None:
        assert "AdaCoder's own" in found.text
        assert f"{shim} chooses a Python only" in found.advice
    else:
        assert found.text.startswith(f"{house.folder / 'pyenv/versions' / version / 'bin/python3'}: pyenv uses it for")
        assert found.advice == ""
    house.set("PYENV_VERSION", "3.12.9:3.11.7")
    assert house.found(near="part").text.endswith(
        "versions/3.12.9/bin/python3: pyenv uses it for python3, as set in PYENV_VERSION"
    )


def test_where_pyenv_takes_the_systems_python_the_rest_of_path_decides(house: House) -> None:
    house.wrapper("pyenv/shims/python3")
    system = house.installation("opt")
    house.installation("pyenv/versions/3.12.1")
    house.path("pyenv/shims", "opt/bin")
    assert house.found().text == f"{system}: it is the python3 on PATH", "no file names a version"
    (house.folder / "pyenv/version").write_text("system\n", encoding="utf-8")
    assert house.found().text == f"{system}: it is the python3 on PATH"
    (house.folder / "pyenv/version").write_text("3.12.1\n", encoding="utf-8")
    assert "pyenv uses it" in house.found().text


def test_of_a_workspace_that_is_not_trusted_nothing_is_said(house: House) -> None:
    house.environment("project/.venv")
    found = interpreter(Settings(trusted=False), house.project, house.project)
    assert (found.ok, found.advice) == (None, "")
    assert ".venv" not in found.text


WHERE = '''def where():
    """Where Python is.

    >>> where()
    ''
    """
    import sys

    return sys.prefix
'''


def of_doctor(desk: Desk) -> dict[str, Any]:
    (told,) = desk.run("doctor", "--json", "--no-probe").objects
    (found,) = [each for each in told["findings"] if each["name"] == "Interpreter"]
    return dict(found)


@pytest.mark.isolation
def test_doctor_tells_what_check_runs(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ws").mkdir()
    monkeypatch.chdir(tmp_path / "ws")
    file = desk.write(WHERE, "ws/where.py")
    desk.write("", "ws/pyproject.toml")
    for name, variables in {
        "activated": {"VIRTUAL_ENV": str(tmp_path / "activated")},
        "ws/.venv": {"VIRTUAL_ENV": str(tmp_path / "activated")},
    }.items():
        layouts.environment(tmp_path / name)
        for variable, value in variables.items():
            monkeypatch.setenv(variable, value)
        assert of_doctor(desk)["text"].startswith(f"{tmp_path / name}/bin/python: it belongs to the ")
        (ran,) = desk.run("check", f"{file}::where", "--json").objects
        assert ran["failure"]["got"] == f"'{tmp_path / name}'\n"


@pytest.mark.isolation
def test_doctor_says_what_it_passed_over(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_doctor(desk)["advice"] == ""
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "gone"))
    ran = desk.run("doctor", "--no-probe")
    assert (
        f"→ VIRTUAL_ENV names {tmp_path / 'gone'}, which is not an environment: activate another, or unset it."
        in ran.out
    )
    assert of_doctor(desk)["ok"] is True
