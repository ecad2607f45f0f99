"""Record of the probe between starts: what was proved, in a file that only this user can have written.

It holds as long as its conditions do. All checks are made on open files and folders, so that nothing can be put in
their place meanwhile. A record that is not as it must be counts as missing: then the probe proves anew.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder import __version__
from adacoder.project import home
from adacoder.sandbox.visible_paths import OUR_PYTHON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adacoder.domain import JSON
    from adacoder.sandbox.isolation.locks import Locks

_FOLDER, _FILE = "adacoder", "isolation.json"
_MOST_BYTES = 1 << 18
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_BOOT = "/proc/sys/kernel/random/boot_id"
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
"""Index of a process's start time in `/proc/PID/stat`, counted after its name."""


# --- the file --------------------------------------------------------------------------------


def read() -> JSON:
    """Read the record; None if there is none that can be relied on."""
    with suppress(OSError, ValueError, RecursionError), _folder() as folder:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(_FILE, flags, dir_fd=folder), "rb") as file:  # noqa: PTH123  # of an open folder
            found = os.fstat(file.fileno())
            # A file that was replaced just now has no name any more.
            if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1 and _is_private(found):
                record: JSON = json.loads(file.read(_MOST_BYTES))
                return record
    return None


def write(record: JSON) -> None:
    """Replace the record, if that is possible."""
    with suppress(OSError), _folder(make=True) as folder:
        name = f"{_FILE}.{os.urandom(8).hex()}"
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123  # of an open folder
                json.dump(record, file)
            os.rename(name, _FILE, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(name, dir_fd=folder)
            raise


@contextmanager
def _folder(*, make: bool = False) -> Iterator[int]:
    """Open our folder in the user's cache.

    Raises:
        OSError: it is missing, cannot be made, or is not this user's alone.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not cache.is_absolute():
        cache = home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    if make:
        with suppress(FileExistsError):
            cache.mkdir(0o700)
    around = os.open(cache, flags)
    try:
        if os.fstat(around).st_uid != os.geteuid():  # as under sudo: what root made here would be in its user's way
            raise PermissionError
        if make:
            with suppress(FileExistsError):
                os.mkdir(_FOLDER, 0o700, dir_fd=around)
        folder = os.open(_FOLDER, flags | os.O_NOFOLLOW, dir_fd=around)
    finally:
        os.close(around)
    try:
        if not _is_private(os.fstat(folder)):
            raise PermissionError
        yield folder
    finally:
        os.close(folder)


def _is_private(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & _OF_OTHERS


# --- its conditions --------------------------------------------------------------------------


def conditions(bubblewrap: Path | None, system: Locks | None) -> JSON:
    """All that a proof depends on, with the system's bubblewrap and locks; None if that cannot be found out."""
    boot = _text(_BOOT)
    if not boot:
        return None
    places = [OUR_PYTHON, *_own_files(), Path("/"), *map(Path, _PROFILES), *([bubblewrap] if bubblewrap else [])]
    rights = [line for line in _text("/proc/self/status").splitlines() if line.startswith(_RIGHTS)]
    return [
        [__version__, sys.version, sys.executable, sys.platform, boot, *os.uname()],
        [*os.getresuid(), *os.getresgid(), *sorted(os.getgroups())],
        [system.landlock, system.machine] if system else None,
        [*rights, *map(_text, _STATES)],
        # A container may have the name and the folders of another that ended, but not its first process.
        [*_namespaces(), *_text("/proc/1/stat").rpartition(")")[2].split()[_STARTED : _STARTED + 1]],
        [[str(place), *_identity(place)] for place in places],
    ]


def _own_files() -> list[Path]:
    """Files of this room: the mechanisms and their probe."""
    room = Path(__file__).parent
    return sorted((*room.glob("*.py"), *room.glob("*/*.py")))


def _namespaces() -> Iterator[str]:
    with suppress(OSError):
        for name in sorted(os.listdir("/proc/self/ns")):  # noqa: PTH208  # the names are all
            yield os.readlink(f"/proc/self/ns/{name}")  # noqa: PTH115  # as it is written


def _text(path: str) -> str:
    """Read a file of the kernel; empty if it is missing or denied."""
    with suppress(OSError):
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    return ""


def _identity(place: Path) -> list[int]:
    """Numbers that change when a file or folder is changed or replaced; of `/`, when it is replaced."""
    try:
        found = place.lstat()
    except OSError:
        return []
    identity = [found.st_dev, found.st_ino]
    if place.parent == place:
        return identity
    return [*identity, found.st_mode, found.st_uid, found.st_size, found.st_mtime_ns, found.st_ctime_ns]
