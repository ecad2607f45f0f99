"""Finding the user's interpreter, and what must be visible for it to start. Nothing here runs it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.sandbox.errors import SandboxError
from adacoder.sandbox.space import is_wide

if TYPE_CHECKING:
    from collections.abc import Iterator

_ENVIRONMENTS = (".venv", "venv")
_MOST_LINKS = 40
"""As many as the kernel follows."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python on this machine."""

    path: Path
    """Absolute; links are kept, since a virtual environment is recognised by the link inside it."""
    folders: tuple[Path, ...]
    """What must be visible for it to run: its environment, the installation beneath, and what `.pth` files
    add to its path."""
    links: tuple[tuple[Path, str], ...]
    """The symbolic links from `path` to the executable, each with its target."""


def find(setting: Path | None, near: Path, workspace: Path) -> Interpreter:
    """The interpreter for files in folder `near` of `workspace`.

    The setting; else the nearest `.venv` (or `venv`) from `near` up to `workspace`; else the one that runs
    AdaCoder.

    Raises:
        SandboxError: there is none where the setting or an environment says there is one.
    """
    if setting is not None:
        path = setting if setting.is_absolute() else workspace / setting
        return _at(path, "Correct the setting 'adacoder.interpreter'")
    for environment in _environments(near, workspace):
        return _at(environment / "bin" / "python", f"Create the virtual environment {environment} anew")
    return describe(Path(sys.executable))


def describe(path: Path) -> Interpreter:
    """What is known of the interpreter at `path` without running it."""
    links = tuple(_links(path))
    places = [path, *(_target(link, target) for link, target in links)]
    prefixes = _unique(prefix for place in places if (prefix := _prefix(place)) is not None)
    bases = [base for prefix in prefixes if (base := _base(prefix, path.name)) is not None]
    prefixes = _unique([*prefixes, *bases])
    added = [folder for prefix in prefixes for folder in _added(prefix)]
    return Interpreter(path, tuple(_unique([*prefixes, *added])), links)


def _at(path: Path, remedy: str) -> Interpreter:
    if not path.is_file() or not os.access(path, os.X_OK):
        raise SandboxError(f"There is no Python interpreter at {path}. {remedy}.")
    with path.open("rb") as file:
        is_script = file.read(2) == b"#!"
    if is_script:
        raise SandboxError(f"{path} is a script that chooses an interpreter, not an interpreter. {remedy}.")
    return describe(path)


def _environments(near: Path, workspace: Path) -> Iterator[Path]:
    """The virtual environments from `near` up to `workspace`, the nearest first."""
    inside = near.is_relative_to(workspace)
    folders = [f for f in (near, *near.parents) if f.is_relative_to(workspace)] if inside else [near, workspace]
    for folder in folders:
        for name in _ENVIRONMENTS:
            if (folder / name / "pyvenv.cfg").is_file():
                yield folder / name


def _links(path: Path) -> Iterator[tuple[Path, str]]:
    for _ in range(_MOST_LINKS):
        if not path.is_symlink():
            return
        target = str(path.readlink())
        yield path, target
        path = _target(path, target)


def _target(link: Path, target: str) -> Path:
    # Only the folder's real path makes `..` mean what the kernel takes it for.
    return Path(os.path.normpath(link.parent.resolve() / target)) if ".." in target else link.parent / target


def _prefix(executable: Path) -> Path | None:
    """The environment or installation that an executable belongs to, if its folder looks like one."""
    prefix = executable.parent.parent
    looks_right = (prefix / "pyvenv.cfg").is_file() or any(prefix.glob("lib*/python3*"))
    return prefix if looks_right and not is_wide(prefix) else None


def _base(prefix: Path, executable: str) -> Path | None:
    """The installation that a virtual environment names in its `pyvenv.cfg`."""
    home = _configuration(prefix).get("home")
    return _prefix(Path(home) / executable) if home and Path(home).is_absolute() else None


def _configuration(prefix: Path) -> dict[str, str]:
    try:
        lines = (prefix / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    pairs = (line.partition("=") for line in lines)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _added(prefix: Path) -> Iterator[Path]:
    """Folders that the `.pth` files of an installation add to its path."""
    for pth in sorted(prefix.glob("lib*/python3*/*-packages/*.pth")):
        try:
            lines = pth.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            if not line.strip() or line.startswith(("#", "import ", "import\t")):
                continue
            folder = Path(os.path.normpath(pth.parent / line.rstrip()))
            if folder.is_dir() and not is_wide(folder) and not _is_private(folder) and not _is_the_systems(folder):
                yield folder


def _is_the_systems(folder: Path) -> bool:
    """Whether a folder lies where a system keeps its state and its sockets, which no package is installed to."""
    return any(folder.resolve().is_relative_to(place) for place in ("/run", "/var", "/proc", "/sys", "/dev", "/etc"))


def _is_private(folder: Path) -> bool:
    """Whether a folder lies under a hidden one of the home folder, such as `.ssh`, where no project does."""
    home = Path.home().resolve()
    folder = folder.resolve()
    return folder.is_relative_to(home) and folder.relative_to(home).parts[0].startswith(".")


def _unique(paths: Iterator[Path] | list[Path]) -> list[Path]:
    """Each path once, and beside one that leads through links the folder it leads to."""
    return list(dict.fromkeys(place for path in paths for place in (path, path.resolve())))
