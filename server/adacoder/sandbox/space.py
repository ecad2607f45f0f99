"""What of the file system a confined interpreter may see, independent of the mechanism that confines it."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.privacy.names import NO_WISHES, Wishes
from adacoder.privacy.tree import TooLargeError, hidden
from adacoder.sandbox.errors import SandboxError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from adacoder.domain import Module
    from adacoder.sandbox.interpreter import Interpreter

LAUNCHER = Path(__file__).with_name("launcher.py")
TEMPLATE = Path(__file__).with_name("template.py")
WORKER = Path(__file__).with_name("worker.py")
OUR_PYTHON = Path(sys.executable).resolve()
"""Runs the launcher, which needs nothing of the virtual environment that AdaCoder may be installed in."""
TOOLS = tuple(
    dict.fromkeys(
        place
        for path in (Path(sys.base_prefix), Path(sys.base_exec_prefix), OUR_PYTHON, LAUNCHER, TEMPLATE, WORKER)
        for place in (path, path.resolve())
    )
)
"""What AdaCoder itself runs inside."""

RECHECK_SECONDS = 1.0
"""How long what was found is taken for granted below the uppermost folders."""
_LONG_SECONDS = 0.1
"""Where a search takes longer it is made less often, so that it takes no more than a tenth of the time."""
_KEPT = 32


@dataclass(frozen=True, slots=True)
class Space:
    """What a confined process may read of the user's files. It may write none of them."""

    interpreter: Interpreter
    shown: tuple[Path, ...]
    """Folders and files of the project, absolute."""
    hidden: tuple[Path, ...]
    """What must not be seen of what is shown: secrets, sockets, folders too large to look for them."""


def space(interpreter: Interpreter, workspace: Path, module: Module, wishes: Wishes = NO_WISHES) -> Space:
    """What `module`, which belongs to `workspace`, may see when `interpreter` runs it.

    Equal as long as nothing changed, so that a process which was started in it can serve.

    Raises:
        SandboxError: the module's own folders are too large to be searched for secrets.
    """
    return _view(interpreter, workspace, module.root, module.name.partition(".")[0], wishes).current()


def is_wide(folder: Path) -> bool:
    """Whether `folder` holds more than a project: the home folder, those that all programs keep their files in
    there, that of temporary files, or one above."""
    return any(place.is_relative_to(real(folder)) for place in _shared_places())


def real(path: Path) -> Path:
    """`path` without links; where links lead in a circle it stays as it is."""
    return Path(os.path.realpath(path))


def home() -> Path:
    """The user's home folder, without links."""
    return real(Path(os.path.expanduser("~")))  # noqa: PTH111  # Path.home() fails for a user without one


def _shared_places() -> Iterator[Path]:
    yield from (home() / ".local" / "share", home() / ".config", home() / ".cache")
    with suppress(OSError):
        yield real(Path(tempfile.gettempdir()))


@lru_cache(maxsize=_KEPT)
def _view(interpreter: Interpreter, workspace: Path, root: Path, package: str, wishes: Wishes) -> _View:
    return _View(interpreter, workspace, root, package, wishes)


class _View:
    """The Space of the modules of one package (or of one folder), looked at anew from time to time."""

    def __init__(self, interpreter: Interpreter, workspace: Path, root: Path, package: str, wishes: Wishes) -> None:
        self._interpreter = interpreter
        self._roots = tuple(dict.fromkeys((workspace, root)))
        self._own = root, package
        self._wishes = wishes
        self._space: Space | None = None
        self._states: list[int] = []
        self._due = 0.0

    def current(self) -> Space:
        """What was found a moment ago; what is found now, where the moment is over or that cannot be right."""
        began = time.monotonic()
        states = [_changed(root) for root in self._roots]
        known = self._space if began < self._due and states == self._states else None
        # What is gone cannot be covered, and a mechanism that tries will fail.
        if known is not None and all(map(os.path.lexists, known.hidden)):
            return known
        self._space, self._states = self._look(), states
        took = time.monotonic() - began
        self._due = began + (RECHECK_SECONDS if took < _LONG_SECONDS else 10 * took)
        return self._space

    def _look(self) -> Space:
        shown: dict[Path, None] = {}
        secret: list[Path] = []
        for root in self._roots:
            try:
                if is_wide(root):
                    raise TooLargeError
                secret += hidden(root, self._wishes)
                shown[root] = None
            except TooLargeError:
                parts = _own_parts(*self._own)
                secret += _secrets_of_parts(parts, self._wishes)
                shown |= dict.fromkeys(parts)
        for folder in self._interpreter.added:
            try:
                secret += hidden(folder, self._wishes)
            except TooLargeError:
                secret.append(folder)
        return Space(self._interpreter, tuple(shown), _as_shown(secret, [*shown, *self._interpreter.added]))


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


def _secrets_of_parts(parts: Iterable[Path], wishes: Wishes) -> Iterator[Path]:
    for part in parts:
        try:
            yield from hidden(part, wishes) if part.suffix != ".py" else ()
        except TooLargeError:
            raise SandboxError(
                f"{part} holds too much to be searched for what must stay hidden: move its data elsewhere."
            ) from None


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
