"""Describe the user's interpreter and the files that it needs to start, without running it.

An environment may be part of a hostile repository. So this module reads only regular files of limited size. Links,
`.pth` files and `pyvenv.cfg` may name any path, but running code sees only paths that `real_paths` allows.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from adacoder.project import home, is_wide
from adacoder.sandbox.environment.choice import choose
from adacoder.sandbox.environment.real_paths import (
    OF_THE_SYSTEM,
    Followed,
    beginning,
    entries,
    follow,
    is_environment,
    is_installation,
    libraries,
    parts,
    project_of,
    real,
    shown_for,
)
from adacoder.sandbox.isolation.paths import is_within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_AGAIN_SECONDS = 10.0
_MOST_BYTES = 1 << 16
_MOST_LINES = 1000
_MOST_ENTRIES = 50_000
"""Maximum numbers of bytes in a file, lines in all `.pth` files, and entries in a folder. Real environments have far
fewer.
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python on this machine."""

    path: Path
    """The absolute path of the executable, with its symbolic links, by which Python recognises an environment."""
    folders: tuple[Path, ...]
    """Real paths that the interpreter needs: the environment, its base installation, linked packages, and folders that
    `.pth` files name.
    """
    links: tuple[tuple[Path, str], ...]
    """Symbolic links to the executable and to `folders`, with their targets."""
    added: tuple[Path, ...] = ()
    """Folders of projects that are installed in editable mode. These folders may contain secrets, which must be hidden.
    """
    parts: tuple[Path, ...] = ()
    """Folders of the environment and of its base installation."""
    packages: tuple[Path, ...] = ()
    """Folders of installed packages, including linked packages."""

    @property
    def installed(self) -> tuple[Path, ...]:
        """The folders of Python's own library and of the installed packages."""
        return tuple(folder for folder in self.folders if folder not in self.added)


def find(setting: Path | None, near: Path, workspace: Path) -> Interpreter:
    """Choose and describe the interpreter for files in the folder `near` of `workspace`.

    Raises:
        SandboxError: the path in the setting or the project's environment has no Python.
    """
    return described(choose(setting, near, workspace).path)


def described(path: Path) -> Interpreter:
    """Return a description of the interpreter at `path`. The cached description is renewed after an installation, and
    from time to time.
    """
    prefix = path.parent.parent
    places = (path, prefix / "pyvenv.cfg", *_packages(prefix))
    return _described_once(path, tuple(map(_changed, places)), int(time.monotonic() / _AGAIN_SECONDS))


@lru_cache(maxsize=32)
def _described_once(path: Path, changed: tuple[int, ...], moment: int) -> Interpreter:
    del changed, moment  # Both arguments are needed only as part of the cache's key.
    return describe(path)


def _changed(place: Path) -> int:
    try:
        return place.lstat().st_ctime_ns
    except OSError:
        return 0


def describe(path: Path) -> Interpreter:
    """Describe the interpreter at `path` without running it."""
    own = real(path.parent.parent)
    settings = _configuration(own)
    beneath = settings.get("home", "")
    ways = list(_ways(path, Path(beneath) if beneath.startswith("/") else None))
    prefixes = _prefixes(own, ways)
    shown = _InterpreterPaths([part for prefix in prefixes for part in _parts(prefix)])
    shown.folders |= dict.fromkeys(_apart(ways[0].real) if ways else ())
    for way in ways:
        shown.keep_links(way)
    used = prefixes if settings.get("include-system-site-packages", "true").lower() == "true" else prefixes[:1]
    found = dict.fromkeys(folder for prefix in used for folder in _packages(prefix))
    packages = [folder for folder in found if is_within(folder, shown.folders)]
    own_parts = tuple(shown.folders)
    named = list(_named(packages))
    for target in _targets(_around_packages(prefixes), packages):
        shown.show(follow(target))
    packages += [folder for folder in shown.folders if folder not in own_parts]
    for place in named:
        shown.add(follow(place))
    return Interpreter(path, tuple(shown.folders), tuple(shown.links), tuple(shown.added), own_parts, tuple(packages))


class _InterpreterPaths:
    """Collects the paths of an interpreter that running code may see."""

    def __init__(self, parts: Sequence[Path]) -> None:
        self._parts = parts
        self.folders: dict[Path, None] = {}
        self.links: dict[tuple[Path, str], None] = {}
        self.added: dict[Path, None] = {}
        for part in parts:
            self.show(follow(part))

    def show(self, way: Followed | None) -> bool:
        """Add the target of a path if `real_paths` allows it. Return True if the target was added."""
        place = shown_for(way.real, self._parts) if way is not None else None
        if way is None or place is None:
            return False
        if not is_within(place, self.folders):
            self.folders[place] = None
        self.keep_links(way)
        return True

    def add(self, way: Followed | None) -> None:
        """Add the target of a path if `real_paths` allows the target, or if the target belongs to another project."""
        if self.show(way) or way is None or project_of(way.real) is None:
            return
        self.folders[way.real] = self.added[way.real] = None
        self.keep_links(way)

    def keep_links(self, way: Followed) -> None:
        """If the target of a path is visible, keep the path's links, so that the path works inside the sandbox."""
        if is_within(way.real, (*self.folders, *OF_THE_SYSTEM)):
            self.links |= dict.fromkeys(way.links)


def _ways(path: Path, beneath: Path | None) -> Iterator[Followed]:
    """Follow the links in all paths to the executable. `beneath` is the `home` folder in `pyvenv.cfg`."""
    for place in (path, beneath, beneath / path.name if beneath is not None else None):
        if place is not None and (way := follow(place)) is not None:
            yield way


def _prefixes(own: Path, ways: Iterable[Followed]) -> list[Path]:
    """Return the root folders of the environment and of its base installations.

    Links to the executable may pass through other environments, which are left out because the interpreter does not
    read them.
    """
    places = [place for way in ways for place in (way.real, *(link for link, _ in way.links))]
    candidates = dict.fromkeys([own, *(folder for place in places for folder in (place.parent, place.parent.parent))])
    return [
        prefix
        for prefix in candidates
        if ((prefix == own and is_environment(own)) or is_installation(prefix)) and not is_wide(prefix)
    ]


def _parts(prefix: Path) -> list[Path]:
    """Return the visible paths of an environment or installation. A system folder is visible as a whole."""
    return [prefix] if is_within(prefix, OF_THE_SYSTEM) else parts(prefix)


def _apart(executable: Path) -> list[Path]:
    """Return the visible paths of a Python that is installed directly into the home folder or `.local`, else none.

    Such a folder also contains the user's files, so it must not be visible as a whole.
    """
    prefix = executable.parent.parent
    if not (is_wide(prefix) and prefix.is_relative_to(home()) and is_installation(prefix)):
        return []
    return [executable, *(library for library in libraries(prefix) if real(library) == library)]


def _configuration(prefix: Path) -> dict[str, str]:
    """Return the settings in `pyvenv.cfg`, or none if there is no such file."""
    pairs = (line.partition("=") for line in _lines(prefix / "pyvenv.cfg"))
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _packages(prefix: Path) -> Iterator[Path]:
    for library in libraries(prefix):
        yield from (real(Path(entry.path)) for entry in entries(library, _MOST_ENTRIES) if "-packages" in entry.name)


def _around_packages(prefixes: Iterable[Path]) -> Iterator[Path]:
    for prefix in prefixes:
        if not is_within(prefix, OF_THE_SYSTEM):
            yield from (prefix / "bin", prefix / "lib", *libraries(prefix))


def _targets(folders: Iterable[Path], packages: Iterable[Path]) -> Iterator[Path]:
    """Yield the targets of links in `folders`, in `packages`, and in each package.

    Yield only one target in each folder, because tools link all files of a package from the same folder.
    """
    seen: set[str] = set()
    for entry in itertools.islice(_entries(folders, packages), _MOST_ENTRIES):
        if entry.is_symlink():
            with suppress(OSError):
                target = os.path.join(os.path.dirname(entry.path), os.readlink(entry.path))  # noqa: PTH115, PTH118, PTH120
                if (place := os.path.dirname(target)) not in seen:  # noqa: PTH120
                    seen.add(place)
                    yield Path(target)


def _entries(folders: Iterable[Path], packages: Iterable[Path]) -> Iterator[os.DirEntry[str]]:
    for folder in folders:
        yield from entries(folder, _MOST_ENTRIES)
    for folder in packages:
        for entry in entries(folder, _MOST_ENTRIES):
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from entries(Path(entry.path), _MOST_ENTRIES)


def _named(packages: Iterable[Path]) -> Iterator[Path]:
    """Yield the folders of editable installations that `.pth` files and pip's `direct_url.json` name.

    A `direct_url.json` is ignored if a `.pth` file names a folder of the same project.
    """
    found = [(folder, entry) for folder in packages for entry in entries(folder, _MOST_ENTRIES)]
    lines = ((folder, line) for folder, each in found if each.name.endswith(".pth") for line in _lines(Path(each.path)))
    added = [
        Path(os.path.normpath(folder / line.rstrip()))
        for folder, line in itertools.islice(lines, _MOST_LINES)
        if line.strip() and not line.startswith(("#", "import ", "import\t"))
    ]
    yield from added
    for _, each in found:
        if each.name.endswith(".dist-info"):
            for project in _in_place(Path(each.path, "direct_url.json")):
                if not any(folder.is_relative_to(project) for folder in added):
                    yield project


def _in_place(file: Path) -> Iterator[Path]:
    """Yield the project folder if `file`, the `direct_url.json` of PEP 610, is of an editable installation."""
    with suppress(ValueError, RecursionError):
        match json.loads(beginning(file, _MOST_BYTES) or b"{}"):
            case {"url": str(url), "dir_info": {"editable": True}} if url.startswith("file:///"):
                yield Path(os.path.normpath(unquote(urlsplit(url).path)))


def _lines(path: Path) -> list[str]:
    return beginning(path, _MOST_BYTES).replace(b"\0", b"").decode(errors="replace").splitlines()
