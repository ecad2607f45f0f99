"""What of the file system a confined interpreter may see, independent of the mechanism that confines it."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.privacy.names import NO_WISHES, Wishes
from adacoder.privacy.tree import TooLargeError, hidden
from adacoder.sandbox.errors import SandboxError
from adacoder.sandbox.isolation import is_within
from adacoder.sandbox.places import OF_THE_SYSTEM, is_wide, libraries, parts, project_of, real

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from adacoder.domain import Module
    from adacoder.sandbox.interpreter import Interpreter

LAUNCHER = Path(__file__).with_name("launcher.py")
TEMPLATE = Path(__file__).with_name("template.py")
_LOADED = [Path(__file__).with_name(f"{name}.py") for name in ("worker", "standing", "finders", "names", "observing")]
"""What the template loads."""
OUR_PYTHON = Path(sys.executable).resolve()
"""Runs the launcher, which needs nothing of the virtual environment that AdaCoder may be installed in."""


def _tools() -> Iterator[Path]:
    for prefix in map(real, map(Path, (sys.base_prefix, sys.base_exec_prefix))):
        yield from libraries(prefix) if is_wide(prefix) else parts(prefix)
    yield from (
        OUR_PYTHON,
        *(place for path in (LAUNCHER, TEMPLATE, *_LOADED) for place in (path, path.resolve())),
    )


TOOLS = tuple(dict.fromkeys(place for place in _tools() if place.exists()))
"""What AdaCoder itself runs inside."""

RECHECK_SECONDS = 0.002
"""How long what was found in `_SHORT_SECONDS` is taken for granted below the uppermost folders; what takes longer to
find is so for longer, in proportion, so that no more than a twentieth of the time is spent on it."""
_SHORT_SECONDS = 0.0001
_CHEAP_SECONDS = 0.002
"""What takes no longer is looked for at the end of every evaluation too."""
_INSTALLED = 10
"""How much more rarely what is installed is looked at, in place too: it is not where anybody works at the moment."""
_LEVELS, _LEVELS_OF_PACKAGES = 20, 2
"""How deep it is looked at: packages may well have 50,000 files."""
_KEPT = 32


@dataclass(frozen=True, slots=True)
class Space:
    """What a confined process may read of the user's files. It may write none of them."""

    interpreter: Interpreter
    shown: tuple[Path, ...]
    """Folders and files of the project, absolute."""
    hidden: tuple[Path, ...]
    """What must not be seen of what is shown: secrets, sockets, folders too large to look for them."""

    def without(self, places: Iterable[Path]) -> Space:
        """This Space, where nothing at `places` is to be seen either."""
        return replace(self, hidden=tuple(sorted({*self.hidden, *_as_shown(places, self.shown)})))


def space(
    interpreter: Interpreter, workspace: Path, module: Module, wishes: Wishes = NO_WISHES, *, after: bool = False
) -> Space:
    """What `module`, which belongs to `workspace`, may see when `interpreter` runs it.

    Equal as long as nothing changed, so that a process which was started in it can serve. `after`: whether it has, and
    what it told is not to be believed if it may have seen too much.

    Raises:
        SandboxError: the module's own folders are too large to be searched for secrets.
    """
    return _view(interpreter, workspace, module.root, module.name.partition(".")[0], wishes).current(after=after)


def files_of(module: Module) -> list[Path]:
    """What a module is read from, as far as it is there: its file, and what Python compiled of it.

    Of a link it is what it leads to.
    """
    places: list[Path] = []
    for path in {module.path, real(module.path)}:
        places += (path, path.with_suffix(".pyc"))
        with suppress(OSError):
            places += (path.parent / "__pycache__").glob(f"{escape(path.stem)}.*")
    return [place for place in places if os.path.lexists(place) and not os.path.islink(place)]  # noqa: PTH114  # may raise


@lru_cache(maxsize=_KEPT)
def _view(interpreter: Interpreter, workspace: Path, root: Path, package: str, wishes: Wishes) -> _View:
    return _View(interpreter, workspace, root, package, wishes)


class _View:
    """The Space of the modules of one package (or of one folder), looked at anew from time to time."""

    def __init__(self, interpreter: Interpreter, workspace: Path, root: Path, package: str, wishes: Wishes) -> None:
        self._interpreter = interpreter
        self._wishes = wishes
        self._roots = tuple(dict.fromkeys((workspace, root)))
        self._wide = frozenset(filter(is_wide, self._roots))
        self._own = root, package
        self._project = _Search(self._look_at_project, self._roots)
        self._installed = _Search(self._look_at_installed, (), _INSTALLED)
        self._space: Space | None = None
        self._made_of: tuple[_Found, _Found] | None = None

    def current(self, *, after: bool) -> Space:
        """What was found a moment ago; what is found now, where the moment is over or that cannot be right."""
        made_of = self._project.found(at_once=after), self._installed.found()
        if self._space is None or made_of != self._made_of:
            project, installed = self._made_of = made_of
            unseen = _as_shown([*project.hidden, *installed.hidden], [*project.shown, *installed.shown])
            self._space = Space(self._interpreter, project.shown, unseen)
        return self._space

    def _look_at_project(self) -> _Found:
        shown: dict[Path, None] = {}
        secret: list[Path] = []
        for root in self._roots:
            try:
                if root in self._wide:
                    raise TooLargeError
                secret += hidden(root, self._wishes)
                shown[root] = None
            except TooLargeError:
                own = _own_parts(*self._own)
                secret += _secrets_of_parts(own, self._wishes)
                shown |= dict.fromkeys(own)
        return _Found(tuple(shown), tuple(secret))

    def _look_at_installed(self) -> _Found:
        secret: list[Path] = []
        for folder, levels in _looked_at(self._interpreter):
            with suppress(TooLargeError):  # it is installed, and Python cannot do without it
                secret += hidden(folder, levels=levels)
        for folder in self._interpreter.added:
            secret += _secrets_of_other(folder, self._wishes)
        return _Found(self._interpreter.folders, tuple(secret))


@dataclass(frozen=True, slots=True)
class _Found:
    """What was found of some folders."""

    shown: tuple[Path, ...]
    hidden: tuple[Path, ...]


class _Search:
    """What must be hidden of some folders, looked for anew from time to time."""

    def __init__(self, look: Callable[[], _Found], watched: Sequence[Path], patience: float = 1.0) -> None:
        """`watched`: folders whose change is noticed at once; `patience`: for how much longer the rest is not."""
        self._look = look
        self._watched = watched
        self._patience = patience
        self._known: _Found | None = None
        self._states: list[int] = []
        self._due = self._took = 0.0

    def found(self, *, at_once: bool = False) -> _Found:
        """As `_View.current`; `at_once`: what is found now, also where the moment is not over, if that is cheap."""
        began = time.monotonic()
        is_due = began >= self._due or (at_once and self._took < _CHEAP_SECONDS)
        states = [_changed(folder) for folder in self._watched]
        known = self._known if not is_due and states == self._states else None
        # What is gone cannot be covered, and a mechanism that tries will fail.
        if known is not None and all(map(os.path.lexists, known.hidden)):
            return known
        busy, before = time.thread_time(), self._known
        self._known, self._states = self._look(), states
        self._took = time.thread_time() - busy
        # What is new takes longer to be looked at than what is known.
        moment = RECHECK_SECONDS * max(1.0, self._took / _SHORT_SECONDS) if self._known == before else 0.0
        self._due = began + self._patience * moment
        return self._known


def _looked_at(interpreter: Interpreter) -> Iterator[tuple[Path, int]]:
    """What is installed of an interpreter, and how deep it is looked at."""
    yield from ((place, _LEVELS) for place in interpreter.parts if not is_within(place, OF_THE_SYSTEM))
    yield from ((place, _LEVELS_OF_PACKAGES) for place in interpreter.packages if not is_within(place, OF_THE_SYSTEM))


def _changed(folder: Path) -> int:
    """When the entries of a folder changed last, by its own clock; 0 if there is none."""
    try:
        return os.stat(folder).st_ctime_ns  # noqa: PTH116  # at every evaluation
    except OSError:
        return 0


def _own_parts(root: Path, package: str) -> list[Path]:
    """What a module needs of a root that cannot be shown: its package, or the modules beside it; but no links, which
    would show what they lead to."""
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
            raise SandboxError(
                f"{part} holds too much to be searched for what must stay hidden: move its data elsewhere."
            ) from None


def _secrets_of_other(folder: Path, wishes: Wishes) -> Iterable[Path]:
    """What must be hidden of a folder of another project: it may be all of it, as seen from the project."""
    try:
        found = hidden(project_of(folder) or folder, wishes)
    except TooLargeError:
        return [folder]
    return [folder] if is_within(folder, found) else found


def _as_shown(secret: Iterable[Path], folders: Iterable[Path]) -> tuple[Path, ...]:
    """The places at which `secret` ones stand in `folders`. What stands in none of them is not seen anyway."""
    reals = [(folder, real(folder)) for folder in folders]
    found: dict[Path, None] = {}
    for path in secret:
        for folder, reached in reals:
            if path.is_relative_to(folder):
                found[path] = None
            elif path.is_relative_to(reached):  # a link led there
                found[folder / path.relative_to(reached)] = None
    return tuple(sorted(found))
