"""Store the result of the probe for later starts, in a file that only this user can write.

The probe tests which isolation works on this machine. The record is valid as long as its conditions hold. If the record
is malformed, it counts as missing, so the probe runs again.
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
"""Lines of `/proc/self/status` about the rights of this process."""
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
"""Index of a process's start time among the fields that follow its name in `/proc/PID/stat`."""


@dataclass(frozen=True, slots=True)
class Basis:
    """Facts that a proof of isolation depends on, in addition to the mechanism and the rights of this process."""

    version: str = __version__
    python: Path = OUR_PYTHON
    package: Path = Path(__file__).parent
    """Folder of the modules with the mechanisms and their probe."""
    boot: str = "/proc/sys/kernel/random/boot_id"
    states: tuple[str, ...] = _STATES
    """Files whose contents must not change."""


# --- the file --------------------------------------------------------------------------------


def read() -> JSON:
    """Return the record. None means that it is missing or cannot be trusted."""
    with suppress(OSError, ValueError, RecursionError):
        record: JSON = json.loads(cache_folder().read(_FILE, _MOST_BYTES))
        return record
    return None


def write(record: JSON) -> None:
    """Replace the record. Ignore an error, because then the next start only runs the probe again."""
    with suppress(OSError):
        cache_folder().write(_FILE, json.dumps(record).encode())


# --- its conditions --------------------------------------------------------------------------


def conditions(bubblewrap: Path | None, system: Locks | None, basis: Basis) -> JSON:
    """Return everything that a proof with this bubblewrap and these locks depends on.

    Return None if the conditions are unknown. In that case, a proof must not be stored.
    """
    boot = _text(basis.boot)
    if not boot:
        return None
    places = [basis.python, *sorted((*basis.package.glob("*.py"), *basis.package.glob("*/*.py"))), Path("/")]
    places += [*map(Path, _PROFILES), *([bubblewrap] if bubblewrap else [])]
    rights = [line for line in _text("/proc/self/status").splitlines() if line.startswith(_RIGHTS)]
    return [
        [basis.version, sys.version, sys.executable, sys.platform, boot, *os.uname()],
        [*os.getresuid(), *os.getresgid(), *sorted(os.getgroups())],
        [system.landlock, system.machine] if system else None,
        [*rights, *map(_text, basis.states)],
        # A new container may reuse the name and the folders of an earlier container. But its first process has another
        # start time.
        [*_namespaces(), *_text("/proc/1/stat").rpartition(")")[2].split()[_STARTED : _STARTED + 1]],
        [[str(place), *_identity(place)] for place in places],
    ]


def _namespaces() -> Iterator[str]:
    with suppress(OSError):
        for name in sorted(os.listdir("/proc/self/ns")):  # noqa: PTH208  # only the names matter
            yield os.readlink(f"/proc/self/ns/{name}")  # noqa: PTH115  # The text of the link is needed unchanged.


def _text(path: str) -> str:
    """Return the text of a kernel file. It is empty if the file is missing or access is denied."""
    with suppress(OSError):
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    return ""


def _identity(place: Path) -> list[int]:
    """Return numbers that change when a file or folder is changed or replaced.

    The numbers of `/` change only when it is replaced, because its entries do not matter.
    """
    try:
        found = place.lstat()
    except OSError:
        return []
    identity = [found.st_dev, found.st_ino]
    if place.parent == place:
        return identity
    return [*identity, found.st_mode, found.st_uid, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
