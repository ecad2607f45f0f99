"""Choose the project's Python without running any program.

A `python3` may be a wrapper script, for example from pyenv. AdaCoder then finds the Python behind the script, or skips
the script.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.messages import Named, Text
from adacoder.sandbox.environment.real_paths import beginning, is_environment, is_file, is_folder, is_installation, real
from adacoder.sandbox.unavailable import SandboxError

if TYPE_CHECKING:
    from collections.abc import Iterator

_SETTING = Named("interpreter")
_ENVIRONMENTS = (".venv", "venv")
_VERSION = re.compile(r"(?!\.)[\w.+-]+")
"""Matches the name of a pyenv version, but no path. A hostile project could name a path in its `.python-version`."""
_MOST_BYTES = 1 << 12
_OWN = (
    "it is AdaCoder's own, because the project has no .venv, no environment is activated, and PATH has no other python3"
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A Python, and the reason for choosing it."""

    path: Path
    """The absolute path of the executable, with its symbolic links, by which Python recognises an environment."""
    why: str
    """Reason for the choice, as a clause without a full stop."""
    passed_over: tuple[str, ...] = ()
    """Messages about preferred Pythons that cannot be used."""


def choose(setting: Path | None, near: Path, workspace: Path) -> Choice:
    """Choose the Python for files in the folder `near` of `workspace`.

    The order of preference is: `setting`; the nearest `.venv` (or `venv`) between `near` and `workspace`; the activated
    environment; the `python3` on PATH; the Python that runs AdaCoder.

    Raises:
        SandboxError: the path in the setting or the project's environment has no Python.
    """
    if setting is not None:
        return Choice(look_up(str(setting), workspace), "it was chosen by name")
    for environment in _of_project(near, workspace):
        path = environment / "bin" / "python"
        _must_be_interpreter(path, str(path), f"recreate the virtual environment {environment}")
        return Choice(path, f"it belongs to the project's {environment.name}")
    passed_over: list[str] = []
    found = _activated(passed_over) or _on_path(near, passed_over)
    if found is None:
        found = Path(sys.executable), _OWN
    return Choice(*found, tuple(passed_over))


def look_up(name: str, folder: Path) -> Path:
    """Return the absolute path of the interpreter that a user named.

    `name` is a command on PATH, or a path relative to `folder`.

    Raises:
        SandboxError: there is no such interpreter.
    """
    remedy = Text("correct ", _SETTING)
    command = shutil.which(name) if os.sep not in name else None
    path = Path(os.path.abspath(folder / (command or name)))  # noqa: PTH100  # resolve() would follow the links
    if os.sep not in name and not is_file(path):
        raise SandboxError(f"There is no Python interpreter '{name}' on PATH: ", remedy, ".")
    _must_be_interpreter(path, name if name == str(path) else f"{name} ({path})", remedy)
    return path


def _must_be_interpreter(path: Path, shown: str, remedy: str) -> None:
    if not _is_program(path):
        raise SandboxError(f"There is no Python interpreter at {shown}: ", remedy, ".")
    if _is_script(path):
        raise SandboxError(f"{shown} is a script that chooses an interpreter, not an interpreter: ", remedy, ".")


def _of_project(near: Path, workspace: Path) -> Iterator[Path]:
    inside = near.is_relative_to(workspace)
    folders = [f for f in (near, *near.parents) if f.is_relative_to(workspace)] if inside else [near, workspace]
    for folder in folders:
        for name in _ENVIRONMENTS:
            if is_environment(folder / name):
                yield folder / name


def _activated(passed_over: list[str]) -> tuple[Path, str] | None:
    """Return the Python of the activated environment and the reason for the choice, or None.

    Conda's base environment does not count, because it is always active.
    """
    for variable, is_one in (("VIRTUAL_ENV", is_environment), ("CONDA_PREFIX", _is_of_conda)):
        named = os.environ.get(variable)
        prefix = Path(named or ".")
        if not named or (variable == "CONDA_PREFIX" and _is_base(prefix)):
            continue
        path = prefix / "bin" / "python"
        if prefix.is_absolute() and is_one(prefix) and _is_interpreter(path):
            return path, f"it belongs to the activated environment, {variable}"
        passed_over.append(f"{variable} names {named}, which is not an environment: activate another, or unset it.")
    return None


def _is_of_conda(prefix: Path) -> bool:
    return is_folder(prefix / "conda-meta")


def _is_base(prefix: Path) -> bool:
    is_named_so = os.environ.get("CONDA_DEFAULT_ENV") == "base"
    return is_named_so or (_is_of_conda(prefix) and is_folder(prefix / "envs"))


def _on_path(near: Path, passed_over: list[str]) -> tuple[Path, str] | None:
    """Return the first `python3` on PATH that is an interpreter, and the reason for the choice.

    Return None if PATH has no interpreter, or if the interpreter is AdaCoder's own. Relative folders in PATH are
    skipped, because their meaning depends on the current folder.
    """
    folders = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    for path in (Path(folder, "python3") for folder in folders):
        if not _is_program(path):
            continue
        if _is_interpreter(path):
            return None if _is_own(path) else (path, "it is the python3 on PATH")
        root = path.parent.parent
        if path.parent.name == "shims" and is_folder(root / "versions"):
            version, said_by = _version_of_pyenv(root, near)
            if version == "system":
                continue
            found = _in_pyenv(root, version)
            if found is not None:
                return None if _is_own(found) else (found, f"pyenv uses it for python3, as set in {said_by}")
        what = f"{path} chooses a Python only when it runs, and AdaCoder does not run it: name the Python with "
        passed_over.append(Text(what, _SETTING, "."))
    return None


def _version_of_pyenv(root: Path, near: Path) -> tuple[str, str]:
    """Return the version that pyenv chooses for files in `near`, and the variable or file that names the version."""
    if said := os.environ.get("PYENV_VERSION", ""):
        return said.partition(":")[0], "PYENV_VERSION"
    files = [*(folder / ".python-version" for folder in (near, *near.parents)), root / "version"]
    for file in files:
        for line in beginning(file, _MOST_BYTES).decode(errors="replace").split("\n"):
            if version := line.partition("#")[0].strip():
                return version, str(file)
    return "system", "default"


def _in_pyenv(root: Path, version: str) -> Path | None:
    """Return the Python of a pyenv version, or None. A version such as 3.12 means the newest 3.12.x."""
    if not _VERSION.fullmatch(version):
        return None
    folders = sorted((root / "versions").glob(f"{version}.*"), key=_numbers, reverse=True)
    paths = (folder / "bin" / "python3" for folder in (root / "versions" / version, *folders))
    return next(filter(_is_interpreter, paths), None)


def _numbers(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", folder.name)]


def _is_interpreter(path: Path) -> bool:
    if not _is_program(path) or _is_script(path):
        return False
    return is_environment(path.parent.parent) or is_installation(real(path).parent.parent)


def _is_own(path: Path) -> bool:
    """Return whether `path` is the Python that runs AdaCoder, or is in the same environment."""
    prefix = path.parent.parent
    of = prefix if is_environment(prefix) else real(path).parent.parent
    return real(of) == real(Path(sys.prefix))


def _is_program(path: Path) -> bool:
    return is_file(path) and os.access(path, os.X_OK)


def _is_script(path: Path) -> bool:
    return beginning(path, 2) == b"#!"
