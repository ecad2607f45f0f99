"""What a proof of isolation rests on: as long as none of it has changed, what was proved still holds."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder import __version__
from adacoder.sandbox.space import OUR_PYTHON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adacoder.domain import JSON
    from adacoder.sandbox.isolation.locks import Locks

_BOOT = "/proc/sys/kernel/random/boot_id"
_RIGHTS = ("NoNewPrivs", "Seccomp", "Cap")
"""Lines of `/proc/self/status` with what this process may do, and so what may come of it."""
_STATES = (
    *(f"/proc/self/{name}" for name in ("uid_map", "gid_map", "setgroups", "attr/current")),
    *("/sys/kernel/security/lsm", "/sys/fs/selinux/enforce", "/sys/module/apparmor/parameters/enabled"),
    *(
        f"/proc/sys/kernel/{name}"
        for name in (
            *("unprivileged_userns_clone", "apparmor_restrict_unprivileged_userns"),
            *("apparmor_restrict_unprivileged_unconfined", "yama/ptrace_scope"),
        )
    ),
    *(f"/proc/sys/user/max_{kind}_namespaces" for kind in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup")),
)
_PROFILES = ("/etc/apparmor.d", "/etc/apparmor.d/local", "/etc/apparmor.d/disable")
_STARTED = 19
"""When a process started, among the fields of `/proc/PID/stat` after its name."""


def grounds(bubblewrap: Path | None, system: Locks | None) -> JSON:
    """All that a proof rests on, with the system's bubblewrap and locks; None where that cannot be told."""
    boot = _text(_BOOT)
    if not boot:
        return None
    places = [OUR_PYTHON, *_own_files(), Path("/"), *map(Path, _PROFILES), *([bubblewrap] if bubblewrap else [])]
    return [
        [__version__, sys.version, sys.executable, sys.platform, boot, *os.uname()],
        [*os.getresuid(), *os.getresgid(), *sorted(os.getgroups())],
        [system.landlock, system.machine] if system else None,
        [*_rights(), *map(_text, _STATES)],
        # A container may have the name and the folders of another that ended, but not its first process.
        [*_namespaces(), *_text("/proc/1/stat").rpartition(")")[2].split()[_STARTED : _STARTED + 1]],
        [[str(place), *_identity(place)] for place in places],
    ]


def _own_files() -> list[Path]:
    """The files of this room: what isolates, and what tries it."""
    room = Path(__file__).parent
    return sorted((*room.glob("*.py"), *room.glob("*/*.py")))


def _rights() -> Iterator[str]:
    for line in _text("/proc/self/status").splitlines():
        if line.startswith(_RIGHTS):
            yield line


def _namespaces() -> Iterator[str]:
    with suppress(OSError):
        for name in sorted(os.listdir("/proc/self/ns")):  # noqa: PTH208  # the names are all
            yield os.readlink(f"/proc/self/ns/{name}")  # noqa: PTH115  # as it is written


def _text(path: str) -> str:
    """What a file of the kernel says; empty where there is none, or it says nothing to us."""
    with suppress(OSError):
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    return ""


def _identity(place: Path) -> list[int]:
    """What changes when a file or folder is changed, or another takes its place; of `/`, when it is another's."""
    try:
        found = place.lstat()
    except OSError:
        return []
    if place.parent == place:
        return [found.st_dev, found.st_ino]
    return [
        found.st_dev,
        found.st_ino,
        found.st_mode,
        found.st_uid,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    ]
