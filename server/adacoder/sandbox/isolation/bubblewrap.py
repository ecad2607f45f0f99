"""Isolation by bubblewrap: namespaces of its own for files, processes, users and the network (bwrap(1)).

A process in it sees the system's libraries, the interpreter and the project, all read-only, secrets left out.
It can write to a small scratch folder in memory, and reach neither the network nor any process outside.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.domain import Isolation, Level
from adacoder.sandbox.descriptors import readable
from adacoder.sandbox.isolation import ENVIRONMENT, Stage
from adacoder.sandbox.space import TOOLS, Space

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SCRATCH = "/tmp"  # noqa: S108  # the sandbox's own, in memory
SCRATCH_SIZE = 64 << 20
_CHILD = re.compile(rb'"child-pid": *(\d+)')
"""In what `--info-fd` tells: JSON, but written piece by piece, and this is its first piece."""
_TELLING_SECONDS = 5.0
"""How long bubblewrap may take to tell of the process that it made; it does so at once."""
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
_CONFIGURATION = ("/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives")


@dataclass(frozen=True, slots=True)
class Features:
    """What this machine's bubblewrap can do."""

    proc: bool = True
    """Mount a new `/proc`; often forbidden within a container."""
    disable_userns: bool = True
    """Forbid further user namespaces inside."""
    size: bool = True
    """Limit the size of the scratch folder."""


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """A Mechanism."""

    program: Path
    features: Features

    @property
    def isolation(self) -> Isolation:
        """Full: files, network and processes."""
        return Isolation(Level.FULL, ("bubblewrap", "rlimits"))

    @contextmanager
    def stage(self, space: Space) -> Iterator[Stage]:
        """As `Mechanism.stage`."""
        told, tell = os.pipe()
        os.set_blocking(told, False)
        stage = _Sandbox((*self._command(space), "--info-fd", str(tell), "--"), told, tell)
        try:
            yield stage
        finally:
            stage.started()
            os.close(told)

    def _command(self, space: Space) -> Iterator[str]:
        yield str(self.program)
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
            yield from ("--proc", "/proc")
        yield from ("--dev", "/dev")
        if self.features.size:
            yield from ("--size", str(SCRATCH_SIZE))
        yield from ("--tmpfs", SCRATCH)
        folders = _outermost([*TOOLS, *space.interpreter.folders, *space.shown])
        for folder in folders:
            yield from ("--ro-bind", str(folder), str(folder))
        for link, target in space.interpreter.links:
            if not _is_within(link, (*map(Path, (*_SYSTEM, *_CONFIGURATION)), *folders)):
                yield from ("--symlink", target, str(link))
        for secret in space.hidden:
            if secret.is_dir():
                yield from ("--tmpfs", str(secret), "--remount-ro", str(secret))
            else:
                yield from ("--ro-bind", os.devnull, str(secret))
        yield from ("--chdir", SCRATCH)


@dataclass(slots=True)
class _Sandbox:
    command: tuple[str, ...]
    _told: int
    """Where bubblewrap tells the process id of the sandbox's first process."""
    _tell: int
    environment: Mapping[str, str] = field(default_factory=lambda: {**ENVIRONMENT, "HOME": SCRATCH, "TMPDIR": SCRATCH})
    folder: None = None

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The one on which bubblewrap tells about the sandbox."""
        return (self._tell,)

    def started(self) -> None:
        """Bubblewrap has its own copy of the descriptor now."""
        if self._tell >= 0:
            os.close(self._tell)
            self._tell = -1

    async def kill(self, pid: int, *, ended: bool) -> None:
        """As `Stage.kill`.

        The kernel ends all others with the sandbox's first process, and when they are gone bubblewrap ends.
        Killing bubblewrap instead would leave them there for a moment longer; and for good a first process that
        still waits for bubblewrap to set up its user.
        """
        if ended:
            return
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_TELLING_SECONDS):
                    await readable(self._told)
        finally:
            if not self._kill_first_process(pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _kill_first_process(self, bubblewrap: int) -> bool:
        with suppress(OSError):
            told = _CHILD.search(os.read(self._told, 4096))
            if told is None:
                return False
            first = int(told[1])
            handle = os.pidfd_open(first)
            try:
                if _parent(first) == bubblewrap:  # and not some other process that got its number since
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                    return True
            finally:
                os.close(handle)
        return False


def _parent(pid: int) -> int:
    # proc(5): the name in parentheses may hold anything; state and parent follow it.
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])


def _system() -> Iterator[str]:
    for place in _SYSTEM:
        if Path(place).is_symlink():
            yield from ("--symlink", str(Path(place).readlink()), place)
        else:
            yield from ("--ro-bind-try", place, place)
    for place in _CONFIGURATION:
        yield from ("--ro-bind-try", place, place)


def _outermost(paths: Sequence[Path]) -> list[Path]:
    """The paths that no other of them and no folder of the system contains, each once."""
    found: list[Path] = [Path(place) for place in _SYSTEM if not Path(place).is_symlink()]
    system = len(found)
    for path in sorted(set(paths), key=lambda path: len(path.parts)):
        if path.exists() and not _is_within(path, found):
            found.append(path)
    return found[system:]


def _is_within(path: Path, folders: Sequence[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
