"""Isolation by Landlock and seccomp alone, where no namespaces can be made: in many containers, and on Ubuntu 24.04.

A process may read the system's libraries, the interpreter and the project but for its secrets, and write to a scratch
folder of its own. It cannot reach the network nor any process outside. Names of files that it may not read it can see.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.domain import Isolation, Level
from adacoder.sandbox.isolation import CONFIGURATION, DEVICES, SYSTEM, Stage, is_within, limits
from adacoder.sandbox.isolation.scratch import scratch
from adacoder.sandbox.space import TOOLS, Space

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adacoder.sandbox.isolation.locks import Locks


@dataclass(frozen=True, slots=True)
class Landlocked:
    """A Mechanism."""

    locks: Locks

    @property
    def isolation(self) -> Isolation:
        """Files, network and processes, without namespaces."""
        return Isolation(Level.LSM, (*self.locks.names, "rlimits"))

    @contextmanager
    def stage(self, space: Space, slots: int = 1) -> Iterator[Stage]:
        """As `Mechanism.stage`."""
        with scratch() as folder:
            confinement = (
                *limits(folder, slots),
                *self.locks.confinement(files=True, processes=True),
                *(f"read={place}" for place in (*SYSTEM, *CONFIGURATION)),
                *(f"device={device}" for device in DEVICES),
                *_visible(space),
            )
            yield Stage((), confinement, folder, self.locks.program(), on_disk=True)


def _visible(space: Space) -> Iterator[str]:
    yield from (f"read={tool}" for tool in TOOLS)
    hidden = [place for secret in space.hidden for place in (secret, secret.resolve())]
    for folder in dict.fromkeys([*space.interpreter.folders, *space.shown]):
        yield from _around(folder, hidden)


def _around(place: Path, hidden: Sequence[Path]) -> Iterator[str]:
    """What allows to read `place` but for the `hidden`; Landlock only knows how to allow."""
    if is_within(place, hidden):
        return
    if not any(secret.is_relative_to(place) for secret in hidden):
        yield f"read={place}"
        return
    yield f"list={place}"
    try:
        entries = sorted(os.scandir(place), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if not entry.is_symlink():  # a rule would be for what it leads to
            yield from _around(Path(entry.path), hidden)
