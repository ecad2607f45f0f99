"""Resolve links, and decide which real paths confined code may see.

A hostile repository may contain an environment with links to any path. So the target of a link is shown only if the
target looks like part of an interpreter or package. Names that the repository chose are not trusted.
"""

from __future__ import annotations

import itertools
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.project import BUILD_FILES, home, is_wide
from adacoder.sandbox.isolation.paths import SYSTEM, is_within

if TYPE_CHECKING:
    from collections.abc import Iterable

_OF_AN_INSTALLATION = ("bin", "lib", "lib64", "libexec", "include", "share", "ssl", "Python", "Resources")
_OF_AN_ENVIRONMENT = ("bin", "lib", "lib64", "include", "share", "etc", "pyvenv.cfg")
"""Entries that Python reads in an installation and in an environment. Other entries stay hidden, because they may be
private.
"""
_PRIVATE = ("/boot", "/dev", "/etc", "/proc", "/root", "/run", "/sys", "/var")
"""Folders with the system's state, secrets and sockets. They contain no packages."""
OF_THE_SYSTEM = tuple(map(Path, SYSTEM))
_OF_THE_KERNEL = tuple(map(Path, ("/dev", "/proc", "/sys")))
_MOST_LINKS = 40
"""The kernel's limit for links in a path."""
_MOST_MODULES = 1000
_ARCHIVE = re.compile(r"archive-v\d+")
_STORED = re.compile(r"[0-9a-z]+-.+")


@dataclass(frozen=True, slots=True)
class Followed:
    """A path whose links were followed."""

    real: Path
    """The path without links."""
    links: tuple[tuple[Path, str], ...]
    """The links that were followed, each as its real path and its target."""


def follow(path: Path) -> Followed | None:
    """Follow the links in an absolute path as the kernel does. Return None if nothing exists at its end."""
    done = Path("/")
    links: list[tuple[Path, str]] = []
    waiting = list(reversed(path.parts[1:]))
    while waiting:
        part = waiting.pop()
        if part == "..":
            done = done.parent
            continue
        place = done / part
        try:
            target = os.readlink(place)  # noqa: PTH115  # The text of the link is needed unchanged.
        except (OSError, ValueError):
            done = place
            continue
        links.append((place, target))
        if len(links) > _MOST_LINKS:
            return None
        if target.startswith("/"):
            done = Path("/")
        waiting += reversed([each for each in target.split("/") if each not in ("", ".")])
    return Followed(done, tuple(links)) if os.path.exists(done) else None  # noqa: PTH110  # Path.exists() may raise


def real(path: Path) -> Path:
    """Return `path` without links, or unchanged if its links form a circle."""
    return Path(os.path.realpath(path))


def unmoved(places: Iterable[Path]) -> list[Path]:
    """Return `places` without paths that have been replaced by links."""
    return [place for place in places if real(place) == place]


def shown_for(place: Path, parts: Iterable[Path]) -> Path | None:
    """Return the path to show so that code can read the real path `place`, or None if `place` must stay hidden.

    Paths in `parts`, the interpreter's folders, may be shown. Some tools, such as uv, link packages from a cache. For a
    path in such a package, return the package's folder.
    """
    if is_within(place, (*parts, *OF_THE_SYSTEM)):
        return place
    if is_within(place, _OF_THE_KERNEL):
        return None
    return next((folder for folder in (place, *place.parents) if _is_unpacked(folder)), None)


def _is_unpacked(folder: Path) -> bool:
    """Return whether a folder is a package in the cache or store of a tool that links packages from there."""
    parent = folder.parent
    if _ARCHIVE.fullmatch(parent.name):  # the cache of uv
        return parent.parent.name == "uv" or is_file(parent.parent / "CACHEDIR.TAG")
    if parent.name == "pkgs":  # the cache of conda
        return is_folder(folder / "info") and is_folder(parent.parent / "conda-meta")
    if parent.name == "store" and _STORED.fullmatch(folder.name):  # the store of Nix or Guix
        return any(is_folder(folder / name) for name in ("bin", "lib"))
    if parent.name in ("CopyPipInstall", "SymlinkPipInstall"):  # the cache of virtualenv
        return True
    return folder.name.endswith(".whl.cache")  # the cache of PDM


def project_of(folder: Path) -> Path | None:
    """Return the root of the Python project that contains the real path `folder`, or None.

    A project has a build file, such as `pyproject.toml`, or consists only of modules and packages. Folders in which
    systems and users keep private files are never projects.
    """
    if not is_folder(folder):
        return None
    for root in (folder, folder.parent):
        if any(is_file(root / name) for name in BUILD_FILES) and _is_open(root):
            return root
    return folder if _is_open(folder) and _is_all_python(folder) else None


def _is_all_python(folder: Path) -> bool:
    found = [entry for entry in entries(folder, _MOST_MODULES) if entry.name != "__pycache__"]
    return 0 < len(found) < _MOST_MODULES - 1 and all(
        is_file(Path(entry.path, "__init__.py")) if entry.is_dir() else entry.name.endswith((".py", ".pyi", ".so"))
        for entry in found
    )


def _is_open(folder: Path) -> bool:
    if is_wide(folder):
        return False
    if folder.is_relative_to(home()):
        parts = folder.relative_to(home()).parts
        return not parts[0].startswith(".") or _is_in_environment(folder)
    if is_within(folder, map(Path, _PRIVATE)):
        return False
    return not any(part.startswith(".") for part in folder.parts) or _is_in_environment(folder)


def _is_in_environment(folder: Path) -> bool:
    """Return whether a folder is in the `src` folder of an environment, into which pip clones repositories."""
    return any(folder.parent == above / "src" and is_file(above / "pyvenv.cfg") for above in folder.parents)


def libraries(prefix: Path) -> list[Path]:
    """Return the folders of an environment or installation that contain the standard library and the packages."""
    with suppress(OSError):
        return sorted(prefix.glob("lib*/python3*"))
    return []


def is_installation(prefix: Path) -> bool:
    """Return whether Python itself is installed in the real path `prefix`. The file system's root does not count."""
    return any(
        is_file(library / "os.py") and shown_for(real(library / "os.py"), parts(prefix)) is not None
        for library in libraries(prefix)
    )


def is_environment(prefix: Path) -> bool:
    """Return whether `prefix` is a virtual environment."""
    return is_file(prefix / "pyvenv.cfg")


def parts(prefix: Path) -> list[Path]:
    """Return the paths that Python reads in the environment or installation `prefix`. Some may not exist."""
    return [prefix / name for name in (_OF_AN_ENVIRONMENT if is_environment(prefix) else _OF_AN_INSTALLATION)]


def is_file(path: Path) -> bool:
    """Return whether a path is a file. Unlike `Path.is_file`, never raise."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder. Unlike `Path.is_dir`, never raise."""
    return os.path.isdir(path)  # noqa: PTH112


def entries(folder: Path, most: int) -> list[os.DirEntry[str]]:
    """Return up to `most` entries of a folder, or none if it cannot be listed."""
    with suppress(OSError), os.scandir(folder) as found:
        return list(itertools.islice(found, most))
    return []


def beginning(path: Path, size: int) -> bytes:
    """Return the first `size` bytes of a regular file, or no bytes if it cannot be read."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(handle, "rb") as file:  # noqa: PTH123  # the file is already open
            if stat.S_ISREG(os.fstat(handle).st_mode):
                return file.read(size)
    return b""
