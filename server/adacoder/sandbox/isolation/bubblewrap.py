"""Isolation by bubblewrap: separate namespaces for files, processes, users and the network (bwrap(1)).

A confined process sees the system's libraries, the interpreter and the project, all read-only and without secrets. It
can write to a small scratch folder in memory. It can reach neither the network nor any process outside.
"""

from __future__ import annotations

import fcntl
import os
import select
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.domain import Isolation, Level
from adacoder.sandbox.child.launcher import HIDDEN_PROC
from adacoder.sandbox.environment.real_paths import follow, real, unmoved
from adacoder.sandbox.environment.visible_paths import VisiblePaths, tools
from adacoder.sandbox.isolation import CONFIGURATION, DEVICES, SCRATCH_FILES, SCRATCH_SIZE, Stage, limits
from adacoder.sandbox.isolation.paths import SYSTEM, is_within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from adacoder.sandbox.isolation.locks import Locks

SCRATCH = "/tmp"  # noqa: S108  # inside the sandbox

_MOST_OPEN = 100
"""Maximum number of hidden paths that are kept open. Many systems allow a process only 1,024 descriptors."""


@dataclass(frozen=True, slots=True)
class Features:
    """Features of this machine's bubblewrap."""

    proc: bool = True
    """True if bubblewrap can mount a new `/proc`. Containers often forbid this."""
    disable_userns: bool = True
    """True if bubblewrap can forbid the creation of user namespaces inside the sandbox."""
    size: bool = True
    """True if bubblewrap can limit the size of a folder in memory."""


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """The mechanism that runs bubblewrap."""

    program: str
    """The absolute path of bubblewrap."""
    features: Features
    locks: Locks

    @property
    def isolation(self) -> Isolation:
        """Full isolation. Files, network and processes are each isolated in more than one way."""
        return Isolation(Level.FULL, ("bubblewrap", *self.locks.names, "rlimits"))

    @contextmanager
    def stage(self, visible: VisiblePaths, slots: int = 1) -> Iterator[Stage]:
        """Implement `Mechanism.stage`."""
        folders = _outermost([*unmoved([*tools(), *visible.interpreter.folders]), *map(real, visible.shown)])
        hidden = [real(secret.parent) / secret.name for secret in visible.hidden]
        confinement = (
            *limits(SCRATCH, slots),
            *self.locks.confinement(files=False, processes=False),
            # Mounts already protect other files. These rules also keep evaluations out of each other's folders.
            *(f"read={place}" for place in (*SYSTEM, *CONFIGURATION, *folders)),
            *(f"device={device}" for device in DEVICES),
        )
        links = dict.fromkeys(
            [*visible.interpreter.links, *(link for place in visible.shown for link in _links(place))]
        )
        with _covered(hidden) as covers, _pipe(self._arguments(folders, links, covers.places, slots)) as arguments:
            yield Stage(
                (self.program, "--args", str(arguments)),
                confinement,
                SCRATCH,
                self.locks.program(),
                self.locks.importing(),
                most_files=SCRATCH_FILES,
                descriptors=(arguments,),
                holds=covers.hold,
            )

    def _arguments(
        self, folders: Sequence[Path], links: Iterable[tuple[Path, str]], hidden: Iterable[Path], slots: int
    ) -> Iterator[str]:
        yield from (
            "--unshare-user",
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--cap-drop",
            "ALL",
        )
        if self.features.disable_userns:
            yield "--disable-userns"
        yield from _system()
        if self.features.proc:
            yield from ("--proc", HIDDEN_PROC)
        yield from ("--dev", "/dev")
        if not self.locks.landlock:  # Hide /dev/zero, because no limit counts memory that is mapped from it.
            yield from ("--ro-bind", os.devnull, "/dev/zero")
        for slot in range(slots):  # Limit each folder, so that none can fill the memory.
            if self.features.size:
                yield from ("--size", str(SCRATCH_SIZE))
            yield from ("--tmpfs", f"{SCRATCH}/{slot}")
        for folder in folders:
            yield from ("--ro-bind", str(folder), str(folder))
        there = (*map(Path, (*SYSTEM, *CONFIGURATION, "/proc", "/dev")), *folders)
        for link, target in links:
            if not is_within(link, there):
                yield from ("--symlink", target, str(link))
        for secret in hidden:
            if secret.is_dir():
                yield from ("--tmpfs", str(secret), "--remount-ro", str(secret))
            else:
                yield from ("--ro-bind", os.devnull, str(secret))
        yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", SCRATCH)


class _Covers:
    """The hidden paths. A mount covers each of them.

    If a covered file is removed or replaced, the kernel removes the mount. Code could then see a new file at the path.
    """

    def __init__(self, places: Iterable[Path], cleanup: ExitStack) -> None:
        self._known: dict[Path, tuple[int, ...]] = {}
        for place in places:
            # Skip a path that is missing, or that this user may not see. Code in the sandbox cannot see the path
            # either.
            with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                if len(self._known) < _MOST_OPEN:
                    cleanup.callback(os.close, os.open(place, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC))
                self._known[place] = _identity(place, is_open=len(self._known) < _MOST_OPEN)

    @property
    def places(self) -> Iterable[Path]:
        return self._known

    def hold(self) -> bool:
        """Return whether no covered file was removed or replaced, so that all mounts still exist."""
        try:
            found = [_identity(place, is_open=number < _MOST_OPEN) for number, place in enumerate(self._known)]
        except OSError:
            return False
        return found == list(self._known.values())


@contextmanager
def _covered(places: Iterable[Path]) -> Iterator[_Covers]:
    with ExitStack() as cleanup:
        yield _Covers(places, cleanup)


def _identity(place: Path, *, is_open: bool) -> tuple[int, ...]:
    """Return numbers that change when a file or folder is replaced.

    The inode number of an open file is unique. The inode number of a closed file may be reused, so the time of the last
    change is added.
    """
    found = os.lstat(place)
    return found.st_dev, found.st_ino, 0 if is_open else found.st_ctime_ns


@contextmanager
def _pipe(arguments: Iterable[str]) -> Iterator[int]:
    """Yield a descriptor from which bubblewrap reads its arguments.

    The arguments name hidden files. Code in the sandbox could read them on the command line.
    """
    data = b"".join(os.fsencode(argument) + b"\0" for argument in arguments)
    read, write = os.pipe()
    try:
        with open(write, "wb", buffering=0) as file:  # noqa: PTH123  # it has no path
            fcntl.fcntl(file, fcntl.F_SETPIPE_SZ, max(len(data), select.PIPE_BUF))
            file.write(data)
        yield read
    finally:
        os.close(read)


def _links(place: Path) -> tuple[tuple[Path, str], ...]:
    way = follow(place)
    return way.links if way is not None else ()


def _system() -> Iterator[str]:
    for place in SYSTEM:
        if Path(place).is_symlink():
            yield from ("--symlink", str(Path(place).readlink()), place)
        else:
            yield from ("--ro-bind-try", place, place)
    for place in CONFIGURATION:
        yield from ("--ro-bind-try", place, place)


def _outermost(paths: Sequence[Path]) -> list[Path]:
    """Return the existing paths that are not inside another path or a system folder."""
    found: list[Path] = [Path(place) for place in SYSTEM if not Path(place).is_symlink()]
    system = len(found)
    for path in sorted(set(paths), key=lambda path: len(path.parts)):
        if path.exists() and not is_within(path, found):
            found.append(path)
    return found[system:]
