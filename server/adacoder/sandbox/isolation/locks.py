"""Landlock and seccomp, called *locks* here. A Linux process can restrict itself by them, without any privileges.

Landlock restricts access to files, and seccomp restricts system calls.
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
    """The locks that this kernel has."""

    landlock: int
    """Version (ABI) of Landlock; 0 if there is none."""
    machine: str
    """Kind of machine for seccomp programs, as `os.uname` names it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the mechanisms, for `Isolation.by`."""
        return ("landlock", "seccomp") if self.landlock else ("seccomp",)

    def confinement(self, *, files: bool, processes: bool) -> Iterator[str]:
        """Yield the part of `Stage.confinement` that applies these locks.

        `files` is True if only the locks protect files. `processes` is True if only the locks protect other processes.
        """
        if self.landlock:
            yield f"landlock={self.landlock}"
        signals = processes and self.landlock < _SIGNALS_SINCE
        yield f"filter={seccomp.template_filter(self.machine, files=files, signals=signals).hex()}"

    def program(self) -> bytes:
        """Return the seccomp program of an evaluation."""
        return seccomp.child_filter(self.machine, owns_devices=os.geteuid() == 0)

    def importing(self) -> bytes:
        """Return the seccomp program of an importer: a process that imports a module and forks its evaluations."""
        signals = self.landlock < _SIGNALS_SINCE
        return seccomp.importer_filter(self.machine, owns_devices=os.geteuid() == 0, signals=signals)


def locks() -> Locks | None:
    """Return the locks of this kernel, or None if there is no seccomp program for its machine."""
    machine = os.uname().machine
    if machine not in seccomp.MACHINES:
        return None
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    arguments = (_LANDLOCK_CREATE_RULESET, 0, 0, _LANDLOCK_CREATE_RULESET_VERSION)
    return Locks(max(0, syscall(*map(ctypes.c_long, arguments))), machine)
