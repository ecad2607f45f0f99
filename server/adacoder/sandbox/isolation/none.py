"""No isolation: separate processes with limits, an environment without secrets, and a scratch folder."""

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
    """No isolation, for users who accept `none`. Code may do whatever the user may."""

    @property
    def isolation(self) -> Isolation:
        """No isolation: the limits stop accidents, but not attacks."""
        return Isolation(Level.NONE, ("rlimits",))

    @contextmanager
    def stage(self, visible: VisiblePaths, slots: int = 1) -> Iterator[Stage]:
        """Implement `Mechanism.stage`. The whole file system is visible, regardless of `visible`."""
        del visible
        with scratch() as folder:
            yield Stage((), tuple(limits(folder, slots)), folder, on_disk=True)
