"""Isolation by bubblewrap: namespaces of its own for files, processes, users and the network (bwrap(1)).

A process in it sees the system's libraries, the interpreter and the project, all read-only, secrets left out.
It can write to a small scratch folder in memory, and reach neither the network nor any process outside.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.domain import Isolation, Level
from adacoder.sandbox.isolation import (
    CONFIGURATION,
    DEVICES,
    SCRATCH_FILES,
    SCRATCH_SIZE,
    SYSTEM,
    Stage,
    is_within,
    limits,
)
from adacoder.sandbox.space import TOOLS, Space

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adacoder.sandbox.isolation.locks import Locks

SCRATCH = "/tmp"  # noqa: S108  # the sandbox's own


@dataclass(frozen=True, slots=True)
class Features:
    """What this machine's bubblewrap can do."""

    proc: bool = True
    """Mount a new `/proc`; often forbidden within a container."""
    disable_userns: bool = True
    """Forbid further user namespaces inside."""
    size: bool = True
    """Limit the size of a folder in memory."""


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """A Mechanism."""

    program: str
    """Where it is, absolute."""
    features: Features
    locks: Locks

    @property
    def isolation(self) -> Isolation:
        """Full: files, network and processes, each by more than one mechanism."""
        return Isolation(Level.FULL, ("bubblewrap", *self.locks.names, "rlimits"))

    @contextmanager
    def stage(self, space: Space, slots: int = 1) -> Iterator[Stage]:
        """As `Mechanism.stage`."""
        folders = _outermost([*TOOLS, *space.interpreter.folders, *space.shown])
        confinement = (
            *limits(SCRATCH, slots),
            *self.locks.confinement(files=False, processes=False),
            # Its own evaluations are all that is left to keep apart, in SCRATCH.
            *(f"read={place}" for place in (*SYSTEM, *CONFIGURATION, *folders)),
            *(f"device={device}" for device in DEVICES),
        )
        wrapper = tuple(self._command(space, folders, slots))
        yield Stage(wrapper, confinement, SCRATCH, self.locks.program(), most_files=SCRATCH_FILES)

    def _command(self, space: Space, folders: Sequence[Path], slots: int) -> Iterator[str]:
        yield self.program
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
        for slot in range(slots):  # each is full by itself, and leaves room in the others
            if self.features.size:
                yield from ("--size", str(SCRATCH_SIZE))
            yield from ("--tmpfs", f"{SCRATCH}/{slot}")
        for folder in folders:
            yield from ("--ro-bind", str(folder), str(folder))
        for link, target in space.interpreter.links:
            if not is_within(link, (*map(Path, (*SYSTEM, *CONFIGURATION)), *folders)):
                yield from ("--symlink", target, str(link))
        for secret in space.hidden:
            if secret.is_dir():
                yield from ("--tmpfs", str(secret), "--remount-ro", str(secret))
            elif secret.exists():
                yield from ("--ro-bind", os.devnull, str(secret))
        yield from ("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", SCRATCH)


def _system() -> Iterator[str]:
    for place in SYSTEM:
        if Path(place).is_symlink():
            yield from ("--symlink", str(Path(place).readlink()), place)
        else:
            yield from ("--ro-bind-try", place, place)
    for place in CONFIGURATION:
        yield from ("--ro-bind-try", place, place)


def _outermost(paths: Sequence[Path]) -> list[Path]:
    """The paths that no other of them and no folder of the system contains, each once."""
    found: list[Path] = [Path(place) for place in SYSTEM if not Path(place).is_symlink()]
    system = len(found)
    for path in sorted(set(paths), key=lambda path: len(path.parts)):
        if path.exists() and not is_within(path, found):
            found.append(path)
    return found[system:]
