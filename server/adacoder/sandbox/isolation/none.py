"""No isolation. Code still gets its own process with limits, a scratch folder, and an environment without secrets."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adacoder.domain import Isolation, Level
from adacoder.sandbox.isolation import Stage, limits
from adacoder.sandbox.isolation.scratch import scratch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adacoder.sandbox.environment.visible_paths import VisiblePaths


@dataclass(frozen=True, slots=True)
class Unconfined:
    """The mechanism for users who accept no isolation. Code may do everything that the user may do."""

    @property
    def isolation(self) -> Isolation:
        """No isolation. The limits stop accidents, but not attacks."""
        return Isolation(Level.NONE, ("rlimits",))

    @contextmanager
    def stage(self, visible: VisiblePaths, slots: int = 1) -> Iterator[Stage]:
        """Implement `Mechanism.stage`. Code sees all files, so `visible` has no effect."""
        del visible
        with scratch() as folder:
            yield Stage((), tuple(limits(folder, slots)), folder, on_disk=True)
