"""The ways to isolate code, called *mechanisms*. `probe` tests which of them work on this machine.

A mechanism confines a *template*: a warm interpreter that forks one process for each evaluation. Each mechanism has a
file of its own.
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
    "LOGNAME": "user",  # The sandbox has no other source for this name.
    "PYTHONDONTWRITEBYTECODE": "1",
    # Each malloc arena and each BLAS thread reserves address space, which LIMITS restricts.
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""Environment of confined code, except for HOME and TMPDIR."""

LIMITS: Mapping[str, int] = {
    "AS": 8 << 30,  # Address space: more than the memory limit, because libraries reserve much of it and use little.
    "DATA": 2 << 30,
    "FSIZE": 16 << 20,
    "NOFILE": 256,
    "CORE": 0,
    "MEMLOCK": 0,
    "MSGQUEUE": 0,
    "SIGPENDING": 64,
}
"""Limits of a template (`resource.RLIMIT_*`), in bytes or counts. Its evaluations lower some of them further.

NPROC is missing. It would count all processes of the user, so it could fail an evaluation because of other programs.
"""

CONFIGURATION = tuple(
    f"/etc/{name}"
    for name in (
        *("ld.so.cache", "localtime", "timezone", "alternatives", "mime.types", "protocols", "services"),
        *("ssl/openssl.cnf", "ssl/certs"),
    )
)
SCRATCH_SIZE = 64 << 20
"""Maximum bytes in the files of one evaluation."""
SCRATCH_FILES = 20_000
"""Maximum number of files of one evaluation."""
MOST_MEMORY = 1 << 30
"""Maximum bytes of memory of an evaluation. A large template raises the limit to its own memory plus half of this."""
MOST_THREADS = 128
"""Maximum number of threads of one evaluation."""
DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))


@dataclass(frozen=True, slots=True)
class Stage:
    """The setup of one template."""

    wrapper: tuple[str, ...]
    """Command that isolates the program whose name follows it. Empty if the launcher does all the isolation."""
    confinement: tuple[str, ...]
    """Instructions for `child/launcher.py`, which carries them out before the interpreter starts."""
    scratch: str
    """Folder with one subfolder for each concurrent evaluation, as a path inside the sandbox."""
    program: bytes = b""
    """Seccomp program of an evaluation; empty if there is none."""
    importing: bytes = b""
    """Seccomp program of a process that imports an unchanged module and forks its evaluations."""
    on_disk: bool = False
    """True if the scratch folder is on a real disk."""
    most_files: int = 0
    """Maximum number of files of one evaluation. 0 means that the template need not count files and bytes."""
    descriptors: tuple[int, ...] = ()
    """Descriptors that `wrapper` inherits."""
    holds: Callable[[], bool] = lambda: True
    """Returns False if code may have seen a hidden file."""
    is_current: Callable[[], bool] = lambda: True
    """Returns False if the stage no longer shows all files that it should show, so a new template is needed."""

    @property
    def environment(self) -> dict[str, str]:
        """The complete environment of the template."""
        return {**ENVIRONMENT, "HOME": self.scratch, "TMPDIR": self.scratch}


class Mechanism(Protocol):
    """A way to confine templates. Equal mechanisms confine in the same way."""

    @property
    def isolation(self) -> Isolation:
        """The isolation that this mechanism provides."""
        ...

    def stage(self, visible: VisiblePaths, slots: int = 1) -> AbstractContextManager[Stage]:
        """Set up a template that sees `visible`, for at most `slots` concurrent evaluations.

        The context cleans up at its end. The caller must end the template's processes before.

        Raises:
            OSError: the stage's files cannot be created.
        """
        ...


def limits(scratch: str, slots: int) -> Iterable[str]:
    """Yield the part of a Stage's `confinement` that all mechanisms share."""
    yield from (f"limit:{name}={value}" for name, value in LIMITS.items())
    yield from (f"scratch={scratch}", f"slots={slots}")
