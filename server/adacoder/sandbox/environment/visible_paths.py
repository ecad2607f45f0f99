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
"""Arguments of Python that call `main` of the file in the next argument, and use the file's compiled code if there is
any. If the file were a script, Python would compile it each time.
"""
OUR_PYTHON = Path(sys.executable).resolve()
"""The Python that runs the launcher. If AdaCoder is installed in a virtual environment, this path is outside it."""


@cache
def tools() -> tuple[Path, ...]:
    """Return the files that AdaCoder itself needs inside the sandbox."""
    _compile_child()  # before the search, which finds only what exists
    return tuple(dict.fromkeys(place for place in _tools() if place.exists()))


def _tools() -> Iterator[Path]:
    for prefix in map(real, map(Path, (sys.base_prefix, sys.base_exec_prefix))):
        yield from libraries(prefix) if is_wide(prefix) else parts(prefix)
    yield OUR_PYTHON
    for path in (*sorted(_CHILD.glob("*.py")), _CHILD / "__pycache__"):
        yield from (path, path.resolve())


def _compile_child() -> None:
    """Write the compiled code of our files in the sandbox, if Python may. Compiling would take a third of a start."""
    if sys.dont_write_bytecode or not os.access(_CHILD, os.W_OK):
        return
    for path in _CHILD.glob("*.py"):
        compiled = Path(cache_from_source(path))
        if not compiled.exists() or compiled.stat().st_mtime < path.stat().st_mtime:
            SourceFileLoader(path.stem, str(path)).get_code(path.stem)  # writes the compiled file, as an import


RECHECK_SECONDS = 0.5
"""Before an evaluation, the result of a cheap search may be this many seconds old. A change of the root folder itself
makes the result invalid at once.

This is safe, because the search is repeated after the evaluation. If the evaluation may have seen too much, its results
are discarded.
"""
_CHEAP_SECONDS = 0.002
"""A search that takes less processor time than this is cheap."""
_PATIENCE, _PATIENCE_FOR_INSTALLED = 20, 200
"""The result of an expensive search is used for this multiple of the search's duration. The second number is for
installed files, because users rarely change them.
"""
_SHORT_SECONDS = 0.0001
"""Minimum duration of a search when a multiple of the duration is computed."""
_LEVELS, _LEVELS_OF_PACKAGES = 20, 2
"""Maximum depth of a search in the interpreter's own folders and in packages. Packages can have 50,000 files."""
_MOST_LINKED = 5000
"""Maximum number of entries that are searched for hard links to a module's file."""
_KEPT = 32


@dataclass(frozen=True, slots=True)
class VisiblePaths:
    """The user's files that a confined process may read. The process may not write to any of them."""

    interpreter: Interpreter
    shown: tuple[Path, ...]
    """Absolute paths of the project's folders and files."""
    hidden: tuple[Path, ...]
    """Paths within `shown` that stay hidden: secrets, sockets, and folders that are too large to search."""

    def without(self, places: Iterable[Path]) -> VisiblePaths:
        """Return a copy that also hides everything at `places`."""
        folders = [*self.shown, *self.interpreter.folders]
        return replace(self, hidden=tuple(sorted({*self.hidden, *_as_shown(places, folders)})))


def find_visible(
    interpreter: Interpreter, workspace: Path, module: Module, wishes: Wishes = NO_WISHES, age: float = RECHECK_SECONDS
) -> VisiblePaths:
    """Return the files that `module` of `workspace` may see when `interpreter` runs it.

    As long as nothing changed, the results are equal, so a process that was started with an earlier result can be used.
    The result of a cheap search may be `age` seconds old. After a run, call this again with an `age` of 0. If the new
    result differs, the run may have seen too much, so its results must be discarded.

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
    """Return the real paths of existing files that hold a module's source in any form.

    They are the file itself, its compiled files, its backups, and its copies that are built in the workspace or
    installed in `packages`.
    """
    paths = {module.path, real(module.path)}
    with suppress(ValueError):  # The module is in another folder.
        own = module.path.relative_to(module.root)
        built = (folder for base in {module.root, workspace} for folder in _built(base))
        paths |= {folder / own for folder in (*built, *packages)}
    places = [place for path in paths for place in _with_copies(path) if place.is_file()]
    places += _other_names(places, module.root)
    return list(dict.fromkeys(map(real, places)))


def _with_copies(path: Path) -> Iterator[Path]:
    """Yield a file, its backups, and its compiled files in the same folder or in the folder's `__pycache__`."""
    name, compiled = re.escape(path.name), f"{path.stem}."
    beside = re.compile(rf"{name}(?:[ci~]|\..*)?|\.{name}\..*|#{name}#", re.DOTALL)
    with suppress(OSError, ValueError):
        yield from (place for place in path.parent.iterdir() if beside.fullmatch(place.name))
    with suppress(OSError, ValueError):
        yield from (place for place in (path.parent / "__pycache__").iterdir() if place.name.startswith(compiled))


def _built(base: Path) -> Iterator[Path]:
    """Yield the folders in which setuptools builds modules."""
    with suppress(OSError):
        yield from (base / "build").glob("lib*")


def _other_names(places: Iterable[Path], root: Path) -> Iterator[Path]:
    """Yield other hard links to the files at `places`. A large `root` is searched only in part."""
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
    """The result of a search of some folders."""

    shown: tuple[Path, ...] = ()
    """The paths to show. Empty if the folders contain too much to search."""
    hidden: tuple[Path, ...] = ()


class _Search:
    """A search for files to hide, repeated from time to time."""

    def __init__(
        self, look: Callable[[], _VisibleFolders], patience: int = _PATIENCE, watched: Path | None = None
    ) -> None:
        """Repeat the search `look` when its result is too old.

        The result is used for `patience` times the duration of the search. If the folder `watched` is given, a change
        of this folder makes the result invalid at once.
        """
        self._look = look
        self._patience = patience
        self._watched = watched
        self._state = 0
        self._known: _VisibleFolders | None = None
        self._looked = self._took = 0.0

    def found(self, moment: float | None = None) -> _VisibleFolders:
        """Return the last result, or search again if it is too old.

        The result of a cheap search may be `moment` seconds old.
        """
        if moment is None or self._took >= _CHEAP_SECONDS:
            moment = self._patience * max(self._took, _SHORT_SECONDS)
        began = time.monotonic()
        state = _changed(self._watched) if self._watched else 0
        known = self._known if began < self._looked + moment and state == self._state else None
        # A mechanism fails if it has to cover a path that no longer exists.
        if known is not None and all(map(os.path.lexists, known.hidden)):
            return known
        busy, before = time.thread_time(), self._known
        self._known, self._state = self._look(), state
        self._looked = began
        # The first search of new files takes longer than later ones.
        self._took = time.thread_time() - busy if self._known == before else 0.0
        return self._known


@lru_cache(maxsize=_KEPT)
def _visible_paths(interpreter: Interpreter, found: Sequence[_VisibleFolders]) -> VisiblePaths:
    """Combine the results of several searches. The first is for the interpreter, and the others are for a project."""
    shown = dict.fromkeys(place for each in found[1:] for place in each.shown)
    hidden = [place for each in found for place in each.hidden]
    return VisiblePaths(interpreter, tuple(shown), _as_shown(hidden, [*shown, *interpreter.folders]))


@lru_cache(maxsize=_KEPT)
def _project(root: Path, wishes: Wishes) -> _Search:
    """Return the search of a whole root folder."""
    wide = is_wide(root)

    def look() -> _VisibleFolders:
        with suppress(TooLargeError):
            return _VisibleFolders() if wide else _VisibleFolders((root,), tuple(hidden(root, wishes)))
        return _VisibleFolders()

    return _Search(look, watched=root)


@lru_cache(maxsize=_KEPT)
def _part(root: Path, package: str, wishes: Wishes) -> _Search:
    """Return the search of a part of a root that is too large: one package, or the modules directly in the root."""

    def look() -> _VisibleFolders:
        own = _own_parts(root, package)
        return _VisibleFolders(tuple(own), tuple(_secrets_of_parts(own, wishes)))

    return _Search(look, watched=root)


@lru_cache(maxsize=_KEPT)
def _installed(interpreter: Interpreter, wishes: Wishes) -> _Search:
    """Return the search of installed files."""

    def look() -> _VisibleFolders:
        secret: list[Path] = []
        for folder, levels in _looked_at(interpreter):
            with suppress(TooLargeError):  # A large folder is shown nevertheless, because Python needs installed files.
                secret += hidden(folder, levels=levels)
        for folder in interpreter.added:
            secret += _secrets_of_other(folder, wishes)
        return _VisibleFolders(hidden=tuple(secret))

    return _Search(look, _PATIENCE_FOR_INSTALLED)


def _looked_at(interpreter: Interpreter) -> Iterator[tuple[Path, int]]:
    """Yield the installed folders of an interpreter, each with the depth of its search."""
    yield from ((place, _LEVELS) for place in interpreter.parts if not is_within(place, OF_THE_SYSTEM))
    yield from ((place, _LEVELS_OF_PACKAGES) for place in interpreter.packages if not is_within(place, OF_THE_SYSTEM))


def _changed(folder: Path) -> int:
    """Return the time of the last change of a folder, by the file system's clock. 0 if there is no folder."""
    try:
        return os.stat(folder).st_ctime_ns  # noqa: PTH116  # called at every evaluation
    except OSError:
        return 0


def _own_parts(root: Path, package: str) -> list[Path]:
    """Return the paths of a module's package, or of the modules in its folder.

    Links are left out, because showing a link would show its target.
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
    """Return the paths to hide in a folder of another project. If the folder is private there, return the folder."""
    try:
        found = hidden(project_of(folder) or folder, wishes, only=folder)
    except TooLargeError:
        return [folder]
    return [folder] if is_within(folder, found) else found


def _as_shown(secret: Iterable[Path], folders: Iterable[Path]) -> tuple[Path, ...]:
    """Return the paths in `folders` through which a process can see the secrets. Other secrets are left out."""
    reals = [(folder, real(folder)) for folder in folders]
    found: dict[Path, None] = {}
    for path in secret:
        for folder, reached in reals:
            if path.is_relative_to(folder):
                found[path] = None
            elif path.is_relative_to(reached):  # The folder is a link, or is below one.
                found[folder / path.relative_to(reached)] = None
    return tuple(sorted(found))
