"""Finding the user's interpreter, and what must be visible for it to start. Nothing here runs it.

Everything that is read here may be hostile: an environment comes with a repository. So a file is read only if it is
one, no further than what is needed, and a `.pth` file can show nothing but other Python projects.
"""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.sandbox.errors import SandboxError
from adacoder.sandbox.space import home, is_wide, real

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SETTING = "setting 'adacoder.interpreter'"
_ENVIRONMENTS = (".venv", "venv")
_OF_AN_ENVIRONMENT = ("bin", "lib", "lib64", "include", "share", "etc", "pyvenv.cfg")
"""What belongs to a virtual environment; the folder that it was made in may hold all of a project beside it."""
_SYSTEM = ("/boot", "/dev", "/etc", "/proc", "/root", "/run", "/sys", "/var")
"""Where a system keeps its state, its secrets and its sockets, and where no package is installed to."""
_MOST_LINKS = 40
"""As many as the kernel follows."""
_MOST_BYTES = 1 << 16
_MOST_LINES = 1000
_MOST_ENTRIES = 1000
"""How much is read of a file, of all `.pth` files, and of a folder; what matters is far shorter."""


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
    added: tuple[Path, ...] = ()
    """Those of `folders` that only `.pth` files name: other projects, which have secrets of their own."""

    @property
    def installed(self) -> tuple[Path, ...]:
        """Where its own library is, and what is installed in it for good."""
        return tuple(folder for folder in self.folders if folder not in self.added)


def find(setting: Path | None, near: Path, workspace: Path) -> Interpreter:
    """The interpreter for files in folder `near` of `workspace`.

    The setting; else the nearest `.venv` (or `venv`) from `near` up to `workspace`; else the one that runs
    AdaCoder.

    Raises:
        SandboxError: there is none where the setting or an environment says there is one.
    """
    if setting is not None:
        return describe(look_up(str(setting), workspace, SETTING))
    for environment in _environments(near, workspace):
        path = environment / "bin" / "python"
        _must_be_interpreter(path, str(path), f"create the virtual environment {environment} anew")
        return describe(path)
    return describe(Path(sys.executable))


def look_up(name: str, folder: Path, said_by: str) -> Path:
    """The absolute path of the interpreter that a user named: a command in PATH, or a path as seen from `folder`.

    `said_by`: where it was named, for the message.

    Raises:
        SandboxError: there is none.
    """
    remedy = f"correct the {said_by}"
    command = shutil.which(name) if os.sep not in name else None
    path = Path(os.path.abspath(folder / (command or name)))  # noqa: PTH100  # resolve() would follow the links
    if os.sep not in name and not _is_file(path):
        raise SandboxError(f"There is no Python interpreter '{name}' in PATH: {remedy}.")
    _must_be_interpreter(path, name if name == str(path) else f"{name} ({path})", remedy)
    return path


def describe(path: Path) -> Interpreter:
    """What is known of the interpreter at `path` without running it."""
    links = tuple(_links(path))
    executables = [path, *(_target(link, target) for link, target in links)]
    prefixes = _unique(prefix for place in executables if (prefix := _prefix(place)) is not None)
    bases = [base for prefix in prefixes if (base := _base(prefix, path.name)) is not None]
    prefixes = _unique([*prefixes, *bases])
    needed = _unique([*(part for prefix in prefixes for part in _parts(prefix)), *_apart(executables[-1])])
    added = _unique(folder for prefix in prefixes for folder in _added(prefix))
    foreign = [folder for folder in added if not any(folder.is_relative_to(part) for part in needed)]
    return Interpreter(path, (*needed, *foreign), links, tuple(foreign))


def _must_be_interpreter(path: Path, shown: str, remedy: str) -> None:
    if not _is_file(path) or not os.access(path, os.X_OK):
        raise SandboxError(f"There is no Python interpreter at {shown}: {remedy}.")
    if _beginning(path, 2) == b"#!":
        raise SandboxError(f"{shown} is a script that chooses an interpreter, not an interpreter: {remedy}.")


def _environments(near: Path, workspace: Path) -> Iterator[Path]:
    """The virtual environments from `near` up to `workspace`, the nearest first."""
    inside = near.is_relative_to(workspace)
    folders = [f for f in (near, *near.parents) if f.is_relative_to(workspace)] if inside else [near, workspace]
    for folder in folders:
        for name in _ENVIRONMENTS:
            if _is_file(folder / name / "pyvenv.cfg"):
                yield folder / name


def _links(path: Path) -> Iterator[tuple[Path, str]]:
    for _ in range(_MOST_LINKS):
        try:
            target = str(path.readlink())
        except OSError:
            return
        yield path, target
        path = _target(path, target)


def _target(link: Path, target: str) -> Path:
    # Only the folder's real path makes `..` mean what the kernel takes it for.
    return Path(os.path.normpath(real(link.parent) / target)) if ".." in target else link.parent / target


def _prefix(executable: Path) -> Path | None:
    """The environment or installation that an executable belongs to, if its folder looks like one."""
    prefix = executable.parent.parent
    looks_right = _is_environment(prefix) or bool(_libraries(prefix))
    return prefix if looks_right and not is_wide(prefix) else None


def _is_environment(prefix: Path) -> bool:
    return _is_file(prefix / "pyvenv.cfg")


def _libraries(prefix: Path) -> list[Path]:
    return _glob(prefix, "lib*/python3*")


def _parts(prefix: Path) -> list[Path]:
    """What must be visible of an environment or installation."""
    if not _is_environment(prefix):
        return [prefix]
    parts = [prefix / name for name in _OF_AN_ENVIRONMENT]
    return [part for part in parts if os.path.exists(part)]  # noqa: PTH110  # Path.exists() may raise


def _apart(executable: Path) -> list[Path]:
    """What must be visible of a Python that was installed right into the home folder, or its `.local`."""
    prefix = executable.parent.parent
    libraries = _libraries(prefix)
    return [executable, *libraries] if libraries and is_wide(prefix) and prefix.is_relative_to(home()) else []


def _base(prefix: Path, executable: str) -> Path | None:
    """The installation that a virtual environment names in its `pyvenv.cfg`."""
    place = _configuration(prefix).get("home")
    return _prefix(Path(place) / executable) if place and Path(place).is_absolute() else None


def _configuration(prefix: Path) -> dict[str, str]:
    pairs = (line.partition("=") for line in _lines(prefix / "pyvenv.cfg"))
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _added(prefix: Path) -> Iterator[Path]:
    """Other Python projects that the `.pth` files of an installation add to its path."""
    files = [file for library in _libraries(prefix) for file in _glob(library, "*-packages/*.pth")]
    lines = ((file.parent, line.rstrip()) for file in files for line in _lines(file))
    for folder, line in itertools.islice(lines, _MOST_LINES):
        if line and not line.startswith(("#", "import ", "import\t")):
            added = Path(os.path.normpath(folder / line))
            if _is_project(added) and (added.is_relative_to(prefix) or _is_open(real(added))):
                yield added


def _is_open(folder: Path) -> bool:
    """Whether a folder, named without links, lies neither where a system or a user keeps what is private, nor is
    more than a project."""
    if is_wide(folder):
        return False
    if folder.is_relative_to(home()):
        return not folder.relative_to(home()).parts[0].startswith(".")
    hidden = any(part.startswith(".") for part in folder.parts)
    return not hidden and not any(folder.is_relative_to(place) for place in _SYSTEM)


def _is_project(folder: Path) -> bool:
    """Whether a folder holds modules or packages, or is the `src` of a project."""
    if folder.name == "src" and _is_file(folder.parent / "pyproject.toml"):
        return os.path.isdir(folder)  # noqa: PTH112  # Path.is_dir() may raise
    try:
        with os.scandir(folder) as entries:
            return any(
                _is_file(Path(entry.path, "__init__.py")) or (entry.name.endswith(".py") and entry.is_file())
                for entry in itertools.islice(entries, _MOST_ENTRIES)
            )
    except OSError:
        return False


def _unique(paths: Iterable[Path]) -> list[Path]:
    """Each path once, and beside one that leads through links the folder it leads to."""
    return list(dict.fromkeys(place for path in paths for place in (path, real(path))))


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113  # Path.is_file() may raise


def _glob(folder: Path, pattern: str) -> list[Path]:
    with suppress(OSError):
        return sorted(folder.glob(pattern))
    return []


def _lines(path: Path) -> list[str]:
    return _beginning(path, _MOST_BYTES).replace(b"\0", b"").decode(errors="replace").splitlines()


def _beginning(path: Path, size: int) -> bytes:
    """The first bytes of a regular file; none of what cannot be read, or would make the reader wait."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:  # noqa: PTH123  # it is open
            if stat.S_ISREG(os.fstat(handle).st_mode):
                return file.read(size)
    return b""
