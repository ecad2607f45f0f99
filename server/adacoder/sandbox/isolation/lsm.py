"""Isolation by Landlock and seccomp alone, for systems that forbid namespaces: many containers, and Ubuntu 24.04.

Code may read the system's libraries, the interpreter and the project, except secrets. It may write to its own scratch
folder. It cannot reach the network or any process outside.

Isolation by bubblewrap is stronger. With Landlock, code can see the names of files that it may not read.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from adacoder.domain import Isolation, Level
from adacoder.sandbox.environment.real_paths import real, unmoved
from adacoder.sandbox.environment.visible_paths import VisiblePaths, tools
from adacoder.sandbox.isolation import CONFIGURATION, DEVICES, Stage, limits
from adacoder.sandbox.isolation.paths import SYSTEM, is_within
from adacoder.sandbox.isolation.scratch import scratch

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adacoder.sandbox.isolation.locks import Locks


@dataclass(frozen=True, slots=True)
class Landlocked:
    """The mechanism that needs only Landlock and seccomp."""

    locks: Locks

    @property
    def isolation(self) -> Isolation:
        """Isolation of files, network and processes, without namespaces."""
        return Isolation(Level.LSM, (*self.locks.names, "rlimits"))

    @contextmanager
    def stage(self, visible: VisiblePaths, slots: int = 1) -> Iterator[Stage]:
        """Implement `Mechanism.stage`."""
        listed: dict[Path, _Entries] = {}
        places = dict(_visible(visible, listed))
        with scratch() as folder:
            confinement = (
                *limits(folder, slots),
                *self.locks.confinement(files=True, processes=True),
                *(f"read={place}" for place in (*SYSTEM, *CONFIGURATION)),
                *(f"device={device}" for device in DEVICES),
                *(f"{right}={place}" for place, right in places.items()),
            )
            yield Stage(
                (),
                confinement,
                folder,
                self.locks.program(),
                self.locks.importing(),
                on_disk=True,
                is_current=lambda: all(_entries(place) == entries for place, entries in listed.items()),
            )


_Entries: TypeAlias = list[tuple[str, int]]


def _visible(visible: VisiblePaths, listed: dict[Path, _Entries]) -> Iterator[tuple[Path, str]]:
    """Yield the visible paths with their access rights. Add each folder that may only be listed to `listed`."""
    hidden = [real(secret.parent) / secret.name for secret in visible.hidden]
    for folder in (*unmoved(visible.interpreter.folders), *map(real, (*tools(), *visible.shown))):
        yield from _around(folder, hidden, listed)


def _around(place: Path, hidden: Sequence[Path], listed: dict[Path, _Entries]) -> Iterator[tuple[Path, str]]:
    """Yield paths and rights that allow reading everything in `place` except the `hidden` paths.

    Landlock cannot deny a path inside an allowed folder. So if a folder contains hidden paths, each visible entry of
    the folder is allowed separately.
    """
    if is_within(place, hidden):
        return
    if not any(secret.is_relative_to(place) for secret in hidden):
        yield place, "read"
        return
    yield place, "list"
    listed[place] = _entries(place)
    for name, _ in listed[place]:
        yield from _around(place / name, hidden, listed)


def _entries(folder: Path) -> _Entries:
    """Return the names and inode numbers of a folder's entries, sorted.

    If they change, a new template is needed. A Landlock rule applies to a file, not to a name, so the rule is lost when
    an editor replaces the file. Links are left out, because a rule for a link would apply to the link's target.
    """
    with suppress(OSError), os.scandir(folder) as entries:
        return sorted((entry.name, entry.inode()) for entry in entries if not entry.is_symlink())
    return []
