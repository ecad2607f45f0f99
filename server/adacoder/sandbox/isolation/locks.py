"""Landlock and seccomp, by which a Linux process restricts itself without any privileges.

Landlock restricts access to files, and seccomp restricts system calls. Both are called *locks* here.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adacoder.sandbox.isolation import seccomp

if TYPE_CHECKING:
    from collections.abc import Iterator

_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_CREATE_RULESET_VERSION = 1
_SIGNALS_SINCE = 6
"""First version of Landlock that restricts signals."""


@dataclass(frozen=True, slots=True)
class Locks:
    """The locks that this kernel supports."""

    landlock: int
    """Version (ABI) of Landlock, or 0 if the kernel lacks it."""
    machine: str
    """Machine type as in `os.uname`, because a seccomp program is made for one machine type."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of these locks, as in `Isolation.by`."""
        return ("landlock", "seccomp") if self.landlock else ("seccomp",)

    def confinement(self, *, files: bool, processes: bool) -> Iterator[str]:
        """Yield the launcher's arguments that apply these locks.

        `files` is True if nothing else protects files. `processes` is True if nothing else protects other processes.
        """
        if self.landlock:
            yield f"landlock={self.landlock}"
        signals = processes and self.landlock < _SIGNALS_SINCE
        yield f"filter={seccomp.template_filter(self.machine, files=files, signals=signals).hex()}"

    def program(self) -> bytes:
        """Return the seccomp program of an evaluation."""
        return seccomp.child_filter(self.machine, owns_devices=os.geteuid() == 0)

    def importing(self) -> bytes:
        """Return the seccomp program of an importer, a process that imports a module and forks its evaluations."""
        signals = self.landlock < _SIGNALS_SINCE
        return seccomp.importer_filter(self.machine, owns_devices=os.geteuid() == 0, signals=signals)


def locks() -> Locks | None:
    """Return the locks that this kernel supports, or None if seccomp programs cannot be built for this machine."""
    machine = os.uname().machine
    if machine not in seccomp.MACHINES:
        return None
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    arguments = (_LANDLOCK_CREATE_RULESET, 0, 0, _LANDLOCK_CREATE_RULESET_VERSION)
    return Locks(max(0, syscall(*map(ctypes.c_long, arguments))), machine)
