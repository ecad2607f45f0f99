"""Find the programs that AdaCoder runs outside isolation, such as bubblewrap.

Only root may be able to change such a program. So the program must be in a system folder. PATH alone is not safe,
because it may contain a virtual environment, `.` or a folder of the project.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

_FOLDERS = (
    *("/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"),
    *("/run/current-system/sw/bin", "/nix/var/nix/profiles/default/bin", "/run/current-system/profile/bin"),
)
"""Folders of the system's programs. The last three belong to NixOS, Nix and Guix.

A program in another folder is not trusted, even if root owns the program. In a container, root often owns a project's
programs.
"""
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def program_of_system(name: str) -> Path | None:
    """Return the real path of a program in a system folder on PATH, or None.

    Programs that another user than root could have put there do not count.
    """
    for folder in _FOLDERS:
        path = Path(os.path.realpath(os.path.join(folder, name)))  # noqa: PTH118  # Path has no realpath that never raises
        if folder in _entries() and _is_program(path) and all(map(_is_roots, (path, *path.parents))):
            return path
    return None


def program_of_others(name: str) -> str | None:
    """Return the path of a program on PATH that `program_of_system` rejects, or None."""
    return shutil.which(name) if program_of_system(name) is None else None


def environment() -> dict[str, str]:
    """Return the complete environment for a program of the system."""
    return {"PATH": os.defpath, "LANG": "C.UTF-8"}


def _entries() -> set[str]:
    return {os.path.normpath(entry) for entry in os.environ.get("PATH", os.defpath).split(os.pathsep) if entry}


def _is_program(path: Path) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113  # Path.is_file() may raise


def _is_roots(path: Path) -> bool:
    """Return whether only root can change a file, or the entries of a folder."""
    with suppress(OSError):
        found = path.lstat()
        # In a sticky folder, such as the store of Nix, only an entry's owner can replace the entry.
        kept = found.st_mode & stat.S_ISVTX and stat.S_ISDIR(found.st_mode) and not found.st_mode & stat.S_IWOTH
        return (found.st_uid == 0 or _is_nobodys(found.st_uid)) and bool(kept or not found.st_mode & _OTHERS_WRITE)
    return False


def _is_nobodys(user: int) -> bool:
    """Return whether `user` is the overflow id, which stands for all users outside of this user namespace.

    Files of this user are safe, because no process in the namespace can have the id. In a container without root, the
    files belong to the machine's root.
    """
    with suppress(OSError, ValueError):
        unknown = int(Path("/proc/sys/kernel/overflowuid").read_text(encoding="ascii"))
        mapped = [line.split() for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines()]
        known = any(int(first) <= unknown < int(first) + int(count) for first, _, count in mapped)
        return user == unknown and not known
    return False
