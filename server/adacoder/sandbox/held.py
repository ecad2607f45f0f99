"""Read a process's memory, files, threads and processor time from Linux (proc(5))."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from adacoder.sandbox.isolation import LIMITS

_SHARED = re.compile(rb"^\S+ ...s (?:\S+ +){2}\d+\b(?! +/(?:usr|lib)/)", re.MULTILINE)
"""Matches a shared mapping in `/proc/PID/maps`. System files do not count, because confined code cannot write to them.
"""
_SHARED_WITH_WRITERS = re.compile(rb"^VmFlags:.* sh\b", re.MULTILINE)
_MEMORY = re.compile(rb"^(?:RssAnon|RssShmem|VmSwap|VmPTE):\s*(\d+) kB", re.MULTILINE)


def shares_memory(pid: int) -> bool | None:
    """Return whether a process shares writable memory with forked processes, or could share it; None if unknown.

    Through such memory, one evaluation could influence another.
    """
    with suppress(OSError):
        if not _SHARED.search(_read(pid, "maps")):
            return False
        return _SHARED_WITH_WRITERS.search(_read(pid, "smaps")) is not None
    return None


def memory(pid: int) -> int:
    """Return the bytes of memory that only this process uses; 0 if unknown."""
    with suppress(OSError):
        return sum(map(int, _MEMORY.findall(_read(pid, "status")))) << 10
    return 0


def threads(pid: int) -> int:
    """Return the number of a process's threads; 0 if unknown."""
    try:
        return os.stat(f"/proc/{pid}/task").st_nlink - 2  # noqa: PTH116  # called before each verdict
    except OSError:
        return 0


def waits(pid: int) -> dict[str, float]:
    """Return the seconds that each thread of a process has waited for a processor, by the thread's id."""
    seconds = {}
    with suppress(OSError):  # The process may have ended, or the kernel may not measure waits.
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):  # Ignore a thread that has ended.
                seconds[thread.name] = int((thread / "schedstat").read_bytes().split()[1]) / 1e9
    return seconds


def computed(pid: int) -> float:
    """Return the seconds of processor time that all threads of a process have used; 0 if unknown."""
    with suppress(OSError):  # Ignore a process that has ended.
        fields = _read(pid, "stat").rpartition(b")")[2].split()  # The program's name may contain anything.
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def deleted_bytes(pid: int, folder: str) -> int:
    """Return the bytes of deleted files in `folder` that a process may still have open or mapped.

    The size of a mapped file is unknown, so the file counts with the maximum size.
    """
    folder = os.path.realpath(folder)
    sizes: dict[int, int] = {}
    with suppress(OSError):  # Ignore a process that has ended.
        mapped = re.compile(rb"^(?:\S+ +){4}(\d+) +%b/.* \(deleted\)$" % re.escape(os.fsencode(folder)), re.MULTILINE)
        sizes.update((int(inode), LIMITS["FSIZE"]) for inode in mapped.findall(_read(pid, "maps")))
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):  # Ignore a descriptor that was closed.
                target = str(descriptor.readlink())
                if target.startswith(f"{folder}/") and target.endswith(" (deleted)"):
                    found = descriptor.stat()
                    sizes[found.st_ino] = found.st_blocks * 512
    return sum(sizes.values())


def _read(pid: int, name: str) -> bytes:
    return Path(f"/proc/{pid}/{name}").read_bytes()
