"""The mechanisms that confine a process, one file each. Which of them works here is for `probe` to prove."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from adacoder.domain import Isolation
    from adacoder.sandbox.space import Space

ENVIRONMENT: Mapping[str, str] = {
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
    "PYTHONDONTWRITEBYTECODE": "1",
    # Each thread's arena and each BLAS thread reserves address space, which is limited.
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""All that confined code finds in its environment, but for HOME and TMPDIR."""


class Stage(Protocol):
    """A place for one process."""

    @property
    def command(self) -> tuple[str, ...]:
        """What the command line of the process must begin with."""
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """The whole environment it gets."""
        ...

    @property
    def folder(self) -> Path | None:
        """The folder to start it in; None if `command` sees to it."""
        ...

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Descriptors that `command` itself needs."""
        ...

    def started(self) -> None:
        """Called once the process exists."""
        ...

    async def kill(self, pid: int, *, ended: bool) -> None:
        """Kill process `pid`, unless it has `ended`, and all that came of it.

        Once the process has been waited for, nothing is left.
        """
        ...


class Mechanism(Protocol):
    """A way to confine processes."""

    @property
    def isolation(self) -> Isolation:
        """What it amounts to."""
        ...

    def stage(self, space: Space) -> AbstractContextManager[Stage]:
        """A place for one process, cleaned up at the end; the process must be gone by then."""
        ...
