"""Store the proof of isolation for later starts, in a file that only this user can write.

`probe.py` finds the proof. The stored record is valid until one of its conditions changes. A malformed record counts as
missing.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder import __version__
from adacoder.private_files import cache_folder
from adacoder.sandbox.environment.visible_paths import OUR_PYTHON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adacoder.domain import JSON
    from adacoder.sandbox.isolation.locks import Locks

_FILE = "isolation.json"
_MOST_BYTES = 1 << 18
_RIGHTS = ("NoNewPrivs", "Seccomp", "Cap")
"""Lines of `/proc/self/status` about this process's rights."""
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
"""Index of the start time in `/proc/PID/stat`, counted from 0 after the program's name."""


@dataclass(frozen=True, slots=True)
class Basis:
    """Facts on which a proof of isolation depends, besides the mechanism and this process's rights."""

    version: str = __version__
    python: Path = OUR_PYTHON
    package: Path = Path(__file__).parent
    """Folder with the code of the mechanisms and the probe."""
    boot: str = "/proc/sys/kernel/random/boot_id"
    states: tuple[str, ...] = _STATES
    """Files of the kernel whose contents must not change."""


# --- the file --------------------------------------------------------------------------------


def read() -> JSON:
    """Return the record, or None if it is missing or malformed."""
    with suppress(OSError, ValueError, RecursionError):
        record: JSON = json.loads(cache_folder().read(_FILE, _MOST_BYTES))
        return record
    return None


def write(record: JSON) -> None:
    """Replace the record. Ignore errors, because the next start then tests the isolation again."""
    with suppress(OSError):
        cache_folder().write(_FILE, json.dumps(record).encode())


# --- its conditions --------------------------------------------------------------------------


def conditions(bubblewrap: Path | None, system: Locks | None, basis: Basis) -> JSON:
    """Return the facts on which a proof of isolation depends. While they stay the same, the proof is valid.

    Return None if a fact is unknown. The proof must then not be stored.
    """
    boot = _text(basis.boot)
    if not boot:
        return None
    places = [basis.python, *sorted((*basis.package.glob("*.py"), *basis.package.glob("*/*.py"))), Path("/")]
    places += [*map(Path, _PROFILES), *([bubblewrap] if bubblewrap else [])]
    rights = [line for line in _text("/proc/self/status").splitlines() if line.startswith(_RIGHTS)]
    return [
        [basis.version, sys.version, sys.platform, boot, *os.uname()],
        [*os.getresuid(), *os.getresgid(), *sorted(os.getgroups())],
        [system.landlock, system.machine] if system else None,
        [*rights, *map(_text, basis.states)],
        # Two containers may look the same, but their first processes have different start times.
        [*_namespaces(), *_text("/proc/1/stat").rpartition(")")[2].split()[_STARTED : _STARTED + 1]],
        [[str(place), *_identity(place)] for place in places],
    ]


def _namespaces() -> Iterator[str]:
    with suppress(OSError):
        for name in sorted(os.listdir("/proc/self/ns")):  # noqa: PTH208  # only the names matter
            yield os.readlink(f"/proc/self/ns/{name}")  # noqa: PTH115  # The text of the link is needed unchanged.


def _text(path: str) -> str:
    """Return the text of a kernel file, or an empty text if it cannot be read."""
    with suppress(OSError):
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    return ""


def _identity(place: Path) -> list[int]:
    """Return numbers that change when a file or folder is changed or replaced.

    For `/`, the numbers change only when `/` is replaced.
    """
    try:
        found = place.lstat()
    except OSError:
        return []
    identity = [found.st_dev, found.st_ino]
    if place.parent == place:
        return identity
    return [*identity, found.st_mode, found.st_uid, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
