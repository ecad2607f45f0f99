"""The mechanisms that confine a template, one file each. Which of them works here is for `probe` to prove."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager

    from adacoder.domain import Isolation
    from adacoder.sandbox.space import Space

ENVIRONMENT: Mapping[str, str] = {
    "LANG": "C.UTF-8",
    "PATH": "/usr/bin:/bin",
    "LOGNAME": "user",  # there is no other way to tell
    "PYTHONDONTWRITEBYTECODE": "1",
    # Each thread's arena and each BLAS thread reserves address space, which is limited.
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""All that confined code finds in its environment, but for HOME and TMPDIR."""

LIMITS: Mapping[str, int] = {
    "AS": 8 << 30,  # address space; more than what it may fill, since libraries reserve much that they never use
    "DATA": 2 << 30,
    "FSIZE": 16 << 20,
    "NOFILE": 256,
    "CORE": 0,
    "MEMLOCK": 0,
    "MSGQUEUE": 0,
    "SIGPENDING": 64,
}
"""`resource.RLIMIT_*` of a template, in bytes or counts; its evaluations lower some further. Not NPROC: the kernel
counts all processes of the user for it."""

CONFIGURATION = tuple(
    f"/etc/{name}"
    for name in (
        *("ld.so.cache", "localtime", "timezone", "alternatives", "mime.types", "protocols", "services"),
        *("ssl/openssl.cnf", "ssl/certs"),
    )
)
SCRATCH_SIZE = 64 << 20
"""Bytes that may be in the files of one evaluation."""
SCRATCH_FILES = 20_000
"""How many files it may have."""
MOST_THREADS = 128
"""How many threads one evaluation may have."""
DEVICES = tuple(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom"))


@dataclass(frozen=True, slots=True)
class Stage:
    """How one template is started."""

    wrapper: tuple[str, ...]
    """The command that isolates whatever it is given to run; empty if the launcher does all of it."""
    confinement: tuple[str, ...]
    """What the launcher is to do before the interpreter starts."""
    scratch: str
    """The folder with one for each evaluation that may run at a time, as it sees it."""
    program: bytes = b""
    """The seccomp program of an evaluation; empty if there is none."""
    importing: bytes = b""
    """That of a process that imports a module as it stands, and forks its evaluations."""
    on_disk: bool = False
    """Whether what is written to the scratch folder takes space of a real disk."""
    most_files: int = 0
    """How many files one evaluation may have, where the template is to count them."""
    descriptors: tuple[int, ...] = ()
    """What the command is to inherit."""
    holds: Callable[[], bool] = lambda: True
    """Whether all is still hidden that is to be; code that ran since may have seen it if not."""
    is_current: Callable[[], bool] = lambda: True
    """Whether it still shows all that it is to show."""

    @property
    def environment(self) -> dict[str, str]:
        """All of the environment."""
        return {**ENVIRONMENT, "HOME": self.scratch, "TMPDIR": self.scratch}


class Mechanism(Protocol):
    """A way to confine templates. Equal ones confine alike."""

    @property
    def isolation(self) -> Isolation:
        """What it amounts to."""
        ...

    def stage(self, space: Space, slots: int = 1) -> AbstractContextManager[Stage]:
        """What a template needs that sees `space`, cleaned up at the end; its processes must be gone by then.

        `slots`: how many evaluations of it there may be at a time.

        Raises:
            OSError: there is no place for its files.
        """
        ...


def limits(scratch: str, slots: int) -> Iterable[str]:
    """The part of a Stage's `confinement` that is the same for all."""
    yield from (f"limit:{name}={value}" for name, value in LIMITS.items())
    yield from (f"scratch={scratch}", f"slots={slots}")
