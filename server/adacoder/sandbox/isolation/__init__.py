"""The ways to isolate code, called *mechanisms*. `probe` tests which mechanisms work on this machine.

A mechanism confines a *template*: a warm interpreter that forks one process for each evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager

    from adacoder.domain import Isolation
    from adacoder.sandbox.environment.visible_paths import VisiblePaths

ENVIRONMENT: Mapping[str, str] = {
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
    "LOGNAME": "user",  # Without LOGNAME, libraries find no user name.
    "PYTHONDONTWRITEBYTECODE": "1",
    # Have few malloc arenas and BLAS threads, because each uses address space, which is limited.
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""Environment of confined code, except for HOME and TMPDIR."""

LIMITS: Mapping[str, int] = {
    "AS": 8 << 30,  # More than the memory limit, because libraries reserve address space that they never use.
    "DATA": 2 << 30,
    "FSIZE": 16 << 20,
    "NOFILE": 256,
    "CORE": 0,
    "MEMLOCK": 0,
    "MSGQUEUE": 0,
    "SIGPENDING": 64,
}
"""Limits of a template (`resource.RLIMIT_*`), in bytes or counts. Evaluations have some lower limits.

NPROC is not used, because it would count the processes of the user's other programs.
"""

CONFIGURATION = tuple(
    f"/etc/{name}"
    for name in (
        *("ld.so.cache", "localtime", "timezone", "alternatives", "mime.types", "protocols", "services"),
        *("ssl/openssl.cnf", "ssl/certs"),
    )
)
SCRATCH_SIZE = 64 << 20
"""Maximum total size of an evaluation's files, in bytes."""
SCRATCH_FILES = 20_000
"""Maximum number of files of one evaluation."""
MOST_MEMORY = 1 << 30
"""Maximum memory of an evaluation, in bytes. For a large template, the limit is higher, see `allow_for_memory`."""
MOST_THREADS = 128
"""Maximum number of threads of one evaluation."""
DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))


@dataclass(frozen=True, slots=True)
class Stage:
    """The setup of one template."""

    wrapper: tuple[str, ...]
    """Command that runs another command in isolation, or empty if the launcher does all the isolation."""
    confinement: tuple[str, ...]
    """Arguments of `child/launcher.py` that say how to confine the launched process."""
    scratch: str
    """Path of the scratch folder inside the sandbox, with a subfolder for each concurrent evaluation."""
    program: bytes = b""
    """Seccomp program of an evaluation, or empty."""
    importing: bytes = b""
    """Seccomp program of an importer, a process that imports an unchanged module and forks others. May be empty."""
    on_disk: bool = False
    """True if the scratch folder is on a real disk."""
    most_files: int = 0
    """Maximum number of files of one evaluation. With 0, the template does not count files."""
    descriptors: tuple[int, ...] = ()
    """Descriptors that `wrapper` inherits."""
    holds: Callable[[], bool] = lambda: True
    """Returns False if code may have seen a hidden file. The evaluation's results must then be discarded."""
    is_current: Callable[[], bool] = lambda: True
    """Returns False if a new template is needed, because files of the project were added or replaced."""

    @property
    def environment(self) -> dict[str, str]:
        """The complete environment of the template."""
        return {**ENVIRONMENT, "HOME": self.scratch, "TMPDIR": self.scratch}


class Mechanism(Protocol):
    """A way to confine templates. Mechanisms that compare equal confine in the same way."""

    @property
    def isolation(self) -> Isolation:
        """The isolation that this mechanism provides."""
        ...

    def stage(self, visible: VisiblePaths, slots: int = 1) -> AbstractContextManager[Stage]:
        """Prepare a template that sees the `visible` files, for at most `slots` concurrent evaluations.

        Leaving the context removes the stage's files, so end the template's processes first.

        Raises:
            OSError: the stage's files cannot be created.
        """
        ...


def limits(scratch: str, slots: int) -> Iterable[str]:
    """Yield the launcher's arguments that all mechanisms share."""
    yield from (f"limit:{name}={value}" for name, value in LIMITS.items())
    yield from (f"scratch={scratch}", f"slots={slots}")
