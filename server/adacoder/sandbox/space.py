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
from adacoder.sandbox.isolation.paths import is_within
from adacoder.sandbox.places import OF_THE_SYSTEM, is_wide, libraries, parts, project_of, real

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from adacoder.domain import Module
    from adacoder.sandbox.interpreter import Interpreter

LAUNCHER = Path(__file__).with_name("launcher.py")
TEMPLATE = Path(__file__).with_name("template.py")
_LOADED = [
    Path(__file__).with_name(f"{name}.py")
    for name in ("worker", "standing", "compiling", "finders", "names", "observing", "tracing")
]
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

RECHECK_SECONDS = 0.5
"""How long what is looked for in no more than `_CHEAP_SECONDS` is taken for granted before an evaluation, below the
uppermost folders: after it that is looked for again, and what it told is thrown away if it may have seen too much."""
_CHEAP_SECONDS = 0.002
_PATIENCE, _PATIENCE_FOR_INSTALLED = 20, 200
"""For how many times the time it takes what takes longer is taken for granted, and what is installed: that is not where
anybody works at the moment."""
_SHORT_SECONDS = 0.0001
"""What takes less is taken to take so long."""
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
    moment = 0.0 if after else RECHECK_SECONDS
    found = [_installed(interpreter, wishes).found()]
    for root in dict.fromkeys((workspace, module.root)):
        whole = _project(root, wishes).found(moment)
        own = (module.root, module.name.partition(".")[0], wishes)
        found.append(whole if whole.shown else _part(*own).found(moment))
    return _space(interpreter, tuple(found))


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


@dataclass(frozen=True, slots=True)
class _Found:
    """What was found of some folders."""

    shown: tuple[Path, ...] = ()
    """Nothing where they hold too much to be searched."""
    hidden: tuple[Path, ...] = ()


class _Search:
    """What must be hidden of some folders, looked for anew from time to time."""

    def __init__(self, look: Callable[[], _Found], patience: int = _PATIENCE, watched: Path | None = None) -> None:
        """`watched`: a folder whose change is noticed at once."""
        self._look = look
        self._patience = patience
        self._watched = watched
        self._state = 0
        self._known: _Found | None = None
        self._looked = self._took = 0.0

    def found(self, moment: float | None = None) -> _Found:
        """What was found a moment ago, or is found now; `moment`: how long that is, where to look is cheap."""
        if moment is None or self._took >= _CHEAP_SECONDS:
            moment = self._patience * max(self._took, _SHORT_SECONDS)
        began = time.monotonic()
        state = _changed(self._watched) if self._watched else 0
        known = self._known if began < self._looked + moment and state == self._state else None
        # What is gone cannot be covered, and a mechanism that tries will fail.
        if known is not None and all(map(os.path.lexists, known.hidden)):
            return known
        busy, before = time.thread_time(), self._known
        self._known, self._state = self._look(), state
        self._looked = began
        # What is new takes longer to be looked at than what is known.
        self._took = time.thread_time() - busy if self._known == before else 0.0
        return self._known


@lru_cache(maxsize=_KEPT)
def _space(interpreter: Interpreter, found: Sequence[_Found]) -> Space:
    """The Space of an interpreter, whose own parts were found first, and of a project."""
    shown = dict.fromkeys(place for each in found[1:] for place in each.shown)
    hidden = [place for each in found for place in each.hidden]
    return Space(interpreter, tuple(shown), _as_shown(hidden, [*shown, *interpreter.folders]))


@lru_cache(maxsize=_KEPT)
def _project(root: Path, wishes: Wishes) -> _Search:
    """The search of a root as a whole."""
    wide = is_wide(root)

    def look() -> _Found:
        with suppress(TooLargeError):
            return _Found() if wide else _Found((root,), tuple(hidden(root, wishes)))
        return _Found()

    return _Search(look, watched=root)


@lru_cache(maxsize=_KEPT)
def _part(root: Path, package: str, wishes: Wishes) -> _Search:
    """The search of what the modules of one package (or of one folder) need of a root that holds too much."""

    def look() -> _Found:
        own = _own_parts(root, package)
        return _Found(tuple(own), tuple(_secrets_of_parts(own, wishes)))

    return _Search(look, watched=root)


@lru_cache(maxsize=_KEPT)
def _installed(interpreter: Interpreter, wishes: Wishes) -> _Search:
    """The search of what is installed."""

    def look() -> _Found:
        secret: list[Path] = []
        for folder, levels in _looked_at(interpreter):
            with suppress(TooLargeError):  # it is installed, and Python cannot do without it
                secret += hidden(folder, levels=levels)
        for folder in interpreter.added:
            secret += _secrets_of_other(folder, wishes)
        return _Found(hidden=tuple(secret))

    return _Search(look, _PATIENCE_FOR_INSTALLED)


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
