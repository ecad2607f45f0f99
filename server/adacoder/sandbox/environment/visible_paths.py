"""Find the files that a confined interpreter may see. All mechanisms of isolation show the same files."""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.machinery import SourceFileLoader
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.privacy.private_names import NO_WISHES, Wishes
from adacoder.privacy.tree import TooLargeError, hidden
from adacoder.project import is_wide
from adacoder.sandbox.environment.real_paths import OF_THE_SYSTEM, libraries, parts, project_of, real
from adacoder.sandbox.isolation.paths import is_within
from adacoder.sandbox.unavailable import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from adacoder.domain import Module
    from adacoder.sandbox.environment.interpreter import Interpreter

_CHILD = Path(__file__).parents[1] / "child"
LAUNCHER, TEMPLATE = _CHILD / "launcher.py", _CHILD / "template.py"
_RUN = """
import sys, _frozen_importlib_external as machinery
del sys.argv[0]
program = {"__name__": "program", "__file__": sys.argv[0]}
exec(machinery.SourceFileLoader("program", sys.argv[0]).get_code("program"), program)
program["main"]()
"""
RUN = ("-c", _RUN)
"""Arguments that make Python run a file in `child/`. The path of the file follows.

The arguments load the file as a module and call `main`, because Python would not cache the compiled code of a script.
"""
OUR_PYTHON = Path(sys.executable).resolve()
"""The Python that runs the launcher. It is outside of any virtual environment."""


@cache
def tools() -> tuple[Path, ...]:
    """Return AdaCoder's own files that must be visible inside the sandbox."""
    _compile_child()  # Compile first, because only existing files are returned.
    return tuple(dict.fromkeys(place for place in _tools() if place.exists()))


def _tools() -> Iterator[Path]:
    for prefix in map(real, map(Path, (sys.base_prefix, sys.base_exec_prefix))):
        yield from libraries(prefix) if is_wide(prefix) else parts(prefix)
    yield OUR_PYTHON
    for path in (*sorted(_CHILD.glob("*.py")), _CHILD / "__pycache__"):
        yield from (path, path.resolve())


def _compile_child() -> None:
    """Compile AdaCoder's files in `child/` in advance, because compiling takes a third of the start-up time."""
    if sys.dont_write_bytecode or not os.access(_CHILD, os.W_OK):
        return
    for path in _CHILD.glob("*.py"):
        compiled = Path(cache_from_source(path))
        if not compiled.exists() or compiled.stat().st_mtime < path.stat().st_mtime:
            SourceFileLoader(path.stem, str(path)).get_code(path.stem)  # Write the compiled file, as an import does.


RECHECK_SECONDS = 0.5
"""Seconds for which the result of a cheap search may be reused, unless the root folder changes.

This is safe, because the search is repeated after the evaluation. If the evaluation could see a private file, its
results are discarded.
"""
_CHEAP_SECONDS = 0.002
"""A search is cheap if it takes fewer seconds of processor time than this."""
_PATIENCE, _PATIENCE_FOR_INSTALLED = 20, 200
"""The result of an expensive search is reused for this many times the duration of the search. The second number is for
installed files, which change rarely.
"""
_SHORT_SECONDS = 0.0001
"""A shorter search counts as if it took this many seconds."""
_LEVELS, _LEVELS_OF_PACKAGES = 20, 2
"""Maximum depth of a search in the interpreter's own folders, and in folders of packages, which can have 50,000 files.
"""
_MOST_LINKED = 5000
"""Maximum number of folder entries that are searched for other hard links to a module's file."""
_KEPT = 32


@dataclass(frozen=True, slots=True)
class VisiblePaths:
    """The files that a confined process may read, but not write."""

    interpreter: Interpreter
    shown: tuple[Path, ...]
    """The project's visible folders and files, as absolute paths."""
    hidden: tuple[Path, ...]
    """Paths in `shown` that stay hidden: secrets, sockets, and folders that are too large to search."""

    def without(self, places: Iterable[Path]) -> VisiblePaths:
        """Return a copy in which `places` are hidden as well."""
        folders = [*self.shown, *self.interpreter.folders]
        return replace(self, hidden=tuple(sorted({*self.hidden, *_as_shown(places, folders)})))


def find_visible(
    interpreter: Interpreter, workspace: Path, module: Module, wishes: Wishes = NO_WISHES, age: float = RECHECK_SECONDS
) -> VisiblePaths:
    """Return the files that are visible when `interpreter` runs `module` of `workspace`.

    While no file changes, the results of two calls are equal. So compare results to find out if a process still sees
    the right files. The result of a cheap search may be `age` seconds old.

    After a run, call this function again with an `age` of 0. If the visible files differ, discard the run's results.

    Raises:
        SandboxError: the module's own folders are too large to be searched for secrets.
    """
    found = [_installed(interpreter, wishes).found()]
    for root in dict.fromkeys((workspace, module.root)):
        whole = _project(root, wishes).found(age)
        own = (module.root, module.name.partition(".")[0], wishes)
        found.append(whole if whole.shown else _part(*own).found(age))
    return _visible_paths(interpreter, tuple(found))


def files_of(module: Module, workspace: Path, packages: Iterable[Path]) -> list[Path]:
    """Return the real paths of all existing files that contain a module's source or compiled code.

    There may be compiled files, backups, and copies in build folders and in `packages`.
    """
    paths = {module.path, real(module.path)}
    with suppress(ValueError):  # The module's file may be outside its root folder.
        own = module.path.relative_to(module.root)
        built = (folder for base in {module.root, workspace} for folder in _built(base))
        paths |= {folder / own for folder in (*built, *packages)}
    places = [place for path in paths for place in _with_copies(path) if place.is_file()]
    places += _other_names(places, module.root)
    return list(dict.fromkeys(map(real, places)))


def _with_copies(path: Path) -> Iterator[Path]:
    """Yield the paths of a file, its backups and its compiled files."""
    name, compiled = re.escape(path.name), f"{path.stem}."
    beside = re.compile(rf"{name}(?:[ci~]|\..*)?|\.{name}\..*|#{name}#", re.DOTALL)
    with suppress(OSError, ValueError):
        yield from (place for place in path.parent.iterdir() if beside.fullmatch(place.name))
    with suppress(OSError, ValueError):
        yield from (place for place in (path.parent / "__pycache__").iterdir() if place.name.startswith(compiled))


def _built(base: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from (base / "build").glob("lib*")


def _other_names(places: Iterable[Path], root: Path) -> Iterator[Path]:
    """Yield other hard links to the files at `places`. Stop early in a large `root`."""
    linked: set[int] = set()
    for place in places:
        with suppress(OSError):
            found = place.stat()
            linked |= {found.st_ino} if found.st_nlink > 1 else set()
    waiting, most = [str(root)], _MOST_LINKED if linked else 0
    while waiting and most:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                most = max(0, most - 1)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.inode() in linked:
                    yield Path(entry.path)


@dataclass(frozen=True, slots=True)
class _VisibleFolders:
    shown: tuple[Path, ...] = ()
    """Visible paths, or none if the folders are too large to search."""
    hidden: tuple[Path, ...] = ()


class _Search:
    """A search for files to hide, with a cached result."""

    def __init__(
        self, look: Callable[[], _VisibleFolders], patience: int = _PATIENCE, watched: Path | None = None
    ) -> None:
        """`look` is the search. A result is reused for `patience` times the duration of the search, but not after a
        change of the folder `watched`.
        """
        self._look = look
        self._patience = patience
        self._watched = watched
        self._state = 0
        self._known: _VisibleFolders | None = None
        self._looked = self._took = 0.0

    def found(self, moment: float | None = None) -> _VisibleFolders:
        """Return a recent result, or search again. The result of a cheap search may be up to `moment` seconds old."""
        if moment is None or self._took >= _CHEAP_SECONDS:
            moment = self._patience * max(self._took, _SHORT_SECONDS)
        began = time.monotonic()
        state = _changed(self._watched) if self._watched else 0
        known = self._known if began < self._looked + moment and state == self._state else None
        # If a hidden path no longer exists, search again, because a mount cannot cover a missing path.
        if known is not None and all(map(os.path.lexists, known.hidden)):
            return known
        busy, before = time.thread_time(), self._known
        self._known, self._state = self._look(), state
        self._looked = began
        # Ignore the duration of the first search of new files, which is unusually slow.
        self._took = time.thread_time() - busy if self._known == before else 0.0
        return self._known


@lru_cache(maxsize=_KEPT)
def _visible_paths(interpreter: Interpreter, found: Sequence[_VisibleFolders]) -> VisiblePaths:
    """Combine the results of several searches. The first is of the interpreter's folders, the others are of the
    project's folders.
    """
    shown = dict.fromkeys(place for each in found[1:] for place in each.shown)
    hidden = [place for each in found for place in each.hidden]
    return VisiblePaths(interpreter, tuple(shown), _as_shown(hidden, [*shown, *interpreter.folders]))


@lru_cache(maxsize=_KEPT)
def _project(root: Path, wishes: Wishes) -> _Search:
    """Return the search of the whole folder `root`."""
    wide = is_wide(root)

    def look() -> _VisibleFolders:
        with suppress(TooLargeError):
            return _VisibleFolders() if wide else _VisibleFolders((root,), tuple(hidden(root, wishes)))
        return _VisibleFolders()

    return _Search(look, watched=root)


@lru_cache(maxsize=_KEPT)
def _part(root: Path, package: str, wishes: Wishes) -> _Search:
    """Return the search of one package, or of the modules directly in `root`.

    This search is used if `root` as a whole is too large.
    """

    def look() -> _VisibleFolders:
        own = _own_parts(root, package)
        return _VisibleFolders(tuple(own), tuple(_secrets_of_parts(own, wishes)))

    return _Search(look, watched=root)


@lru_cache(maxsize=_KEPT)
def _installed(interpreter: Interpreter, wishes: Wishes) -> _Search:
    def look() -> _VisibleFolders:
        secret: list[Path] = []
        for folder, levels in _looked_at(interpreter):
            # Folders that are too large to search stay visible, because Python needs them.
            with suppress(TooLargeError):
                secret += hidden(folder, levels=levels)
        for folder in interpreter.added:
            secret += _secrets_of_other(folder, wishes)
        return _VisibleFolders(hidden=tuple(secret))

    return _Search(look, _PATIENCE_FOR_INSTALLED)


def _looked_at(interpreter: Interpreter) -> Iterator[tuple[Path, int]]:
    """Yield the installed folders to search, each with its maximum depth of search."""
    yield from ((place, _LEVELS) for place in interpreter.parts if not is_within(place, OF_THE_SYSTEM))
    yield from ((place, _LEVELS_OF_PACKAGES) for place in interpreter.packages if not is_within(place, OF_THE_SYSTEM))


def _changed(folder: Path) -> int:
    """Return the time at which a folder last changed, in nanoseconds; 0 if there is no folder."""
    try:
        return os.stat(folder).st_ctime_ns  # noqa: PTH116  # called at every evaluation
    except OSError:
        return 0


def _own_parts(root: Path, package: str) -> list[Path]:
    """Return the paths of a package, or of all modules in `root`. Links are left out, because a link could lead
    anywhere.
    """
    with suppress(OSError):
        if (root / package).is_dir() and not (root / package).is_symlink():
            return [root / package]
        return sorted(path for path in root.glob("[!.]*.py") if path.is_file() and not path.is_symlink())
    return []


def _secrets_of_parts(own: Iterable[Path], wishes: Wishes) -> Iterator[Path]:
    for part in own:
        try:
            yield from hidden(part, wishes) if part.suffix != ".py" else ()
        except TooLargeError:
            raise SandboxError(f"{part} is too large to search for private files: move its data elsewhere.") from None


def _secrets_of_other(folder: Path, wishes: Wishes) -> Iterable[Path]:
    """Return the paths to hide in a folder of another project.

    Return the whole folder if it is private, or if the project is too large to search.
    """
    try:
        found = hidden(project_of(folder) or folder, wishes, only=folder)
    except TooLargeError:
        return [folder]
    return [folder] if is_within(folder, found) else found


def _as_shown(secret: Iterable[Path], folders: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths by which code can reach `secret` files in `folders`. The paths of folders may contain links."""
    reals = [(folder, real(folder)) for folder in folders]
    found: dict[Path, None] = {}
    for path in secret:
        for folder, reached in reals:
            if path.is_relative_to(folder):
                found[path] = None
            elif path.is_relative_to(reached):  # The path of the folder contains a link.
                found[folder / path.relative_to(reached)] = None
    return tuple(sorted(found))
