"""No isolation: a process of its own with limits, an environment without secrets, and a scratch folder."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.domain import Isolation, Level
from adacoder.sandbox.isolation import ENVIRONMENT, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from adacoder.sandbox.space import Space


@dataclass(frozen=True, slots=True)
class Unconfined:
    """A Mechanism only in form, for those who accept `none`: the process may do whatever the user may."""

    @property
    def isolation(self) -> Isolation:
        """None: limits stop accidents, not intent."""
        return Isolation(Level.NONE, ("rlimits",))

    @contextmanager
    def stage(self, space: Space) -> Iterator[Stage]:
        """As `Mechanism.stage`; all of the file system is visible, whatever `space` says."""
        del space
        scratch = Path(tempfile.mkdtemp(prefix="adacoder-"))
        try:
            yield _Scratch(scratch, {**ENVIRONMENT, "HOME": str(scratch), "TMPDIR": str(scratch)})
        finally:
            _remove(scratch)


@dataclass(frozen=True, slots=True)
class _Scratch:
    folder: Path
    environment: Mapping[str, str]
    command: tuple[str, ...] = ()
    descriptors: tuple[int, ...] = ()

    def started(self) -> None:
        """There is nothing to do."""

    async def kill(self, pid: int, *, ended: bool) -> None:
        """Kill the process group, which may outlive its leader. What left the group stays behind."""
        del ended
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


def _remove(folder: Path) -> None:
    def unlock_and_retry(remove: Callable[[str], object], path: str, _: object) -> None:
        # Whatever ran there may have taken the rights away, from the entry or from its folder.
        with suppress(OSError):
            for place in (Path(path).parent, Path(path)):
                if not place.is_symlink() and place.is_relative_to(folder):
                    place.chmod(stat.S_IRWXU)
            if remove in (os.rmdir, os.unlink):
                remove(path)
            else:
                shutil.rmtree(path, ignore_errors=True)

    shutil.rmtree(folder, onerror=unlock_and_retry)
