"""Create scratch folders on disk, for mechanisms that cannot create them in memory.

AdaCoder locks each folder that it creates. When AdaCoder ends or is killed, the kernel releases the lock. So an
unlocked folder was left behind, and can be removed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.sandbox.child.worker import empty
from adacoder.sandbox.held import deleted_bytes
from adacoder.sandbox.isolation import SCRATCH_FILES, SCRATCH_SIZE

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator


SHORT = "/tmp"  # noqa: S108  # A socket's path may have at most 107 bytes, and TMPDIR may be longer.
_PREFIX = "adacoder-scratch-"
_NAME = re.compile(rf"{_PREFIX}[a-z0-9_]{{8}}")
"""Matches the name of a scratch folder."""
_FOLDER_BYTES = 4096
"""Assumed size of a folder, as on most file systems. Reading the real sizes would take too long."""
_MOST_LOCKED = 8
"""Maximum nesting of folders that deny access to their owner. The search keeps a descriptor open for each such folder.
"""
_MOST_SECONDS = 10.0
"""Maximum seconds that a start of AdaCoder spends on removing old folders. The next start removes the rest."""


@contextmanager
def scratch(parent: str | None = None) -> Iterator[str]:
    """Create a scratch folder and yield its path. At the end, remove the folder, even if hostile code has filled it.

    By default, `parent` is the system's folder for temporary files.
    """
    folder, lock = _make(parent)
    try:
        yield folder
    finally:
        _remove(folder)
        os.close(lock)


def _make(parent: str | None) -> tuple[str, int]:
    """Create and lock a folder. Return its path and the descriptor that holds the lock."""
    while True:
        folder = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
        # Another AdaCoder may remove the folder before it is locked. In that case, create another folder.
        with suppress(FileNotFoundError):
            lock = os.open(folder, os.O_RDONLY)
            if _is_locked(lock) and os.path.lexists(folder):
                return folder, lock
            os.close(lock)


def _is_locked(folder: int) -> bool:
    """Try to lock a new folder. Return False if another process has locked it."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # This file system has no locks, so other processes never remove the folder.
        pass
    return True


def _remove(folder: str) -> None:
    empty(folder)
    shutil.rmtree(folder, ignore_errors=True)


def remove_left() -> None:
    """Remove this user's scratch folders that killed processes left behind. This is slow, so run it in a thread."""
    end = time.monotonic() + _MOST_SECONDS
    try:
        parents = {tempfile.gettempdir(), SHORT}
    except FileNotFoundError:  # There is no folder for temporary files.
        return
    for parent in parents:
        with suppress(OSError):
            if not _keeps_names(parent):
                continue
            with os.scandir(parent) as entries:
                found = [entry.path for entry in entries if _NAME.fullmatch(entry.name)]
            for path in found:
                if time.monotonic() < end:
                    _remove_if_left(path)


def _keeps_names(folder: str) -> bool:
    """Return whether a folder is safe from other users.

    In an unsafe folder, another user could replace an entry just before AdaCoder removes the entry.
    """
    found = os.stat(folder)  # noqa: PTH116  # All of this file uses `os`.
    own = found.st_uid in (0, os.geteuid())
    return own and bool(found.st_mode & stat.S_ISVTX or not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _remove_if_left(folder: str) -> None:
    with suppress(OSError):  # Ignore a folder that is in use or already gone.
        found = os.lstat(folder)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return
        if found.st_mode & stat.S_IRWXU != stat.S_IRWXU:  # Code without isolation may have changed the mode.
            os.chmod(folder, stat.S_IRWXU)  # noqa: PTH101  # like everything in this file
        lock = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(folder)
        finally:
            os.close(lock)


def is_overfull(folder: str, pid: int | None) -> bool:
    """Return whether an evaluation wrote more to `folder` than it may. This is slow, so run it in a thread.

    Deleted files that the process `pid` still holds open count as well.
    """
    size = 0 if pid is None else deleted_bytes(pid, str(Path(folder).parent))
    try:
        with closing(_sizes(os.path.realpath(folder))) as sizes:
            for count, each in enumerate(sizes, 1):
                size += each
                if size > SCRATCH_SIZE or count > SCRATCH_FILES:
                    return True
    except OSError:
        return True  # Only hostile code nests folders too deeply, or denies access to them.
    return size > SCRATCH_SIZE


def _sizes(folder: str, locked: int = 0) -> Generator[int, None, None]:
    """Yield the size of each entry below a folder, in bytes. `locked` is the number of enclosing folders that denied
    access.
    """
    folders = [folder]
    while folders:
        place = folders.pop()
        if sys.platform == "linux" and locked < _MOST_LOCKED and not os.access(place, os.R_OK | os.X_OK):
            yield from _sizes_of_locked(place, locked + 1)
            continue
        with suppress(FileNotFoundError), os.scandir(place) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                    yield _FOLDER_BYTES
                else:
                    yield _size(entry)


def _sizes_of_locked(folder: str, locked: int) -> Iterator[int]:
    """Yield the sizes of the entries below a folder that denies access to its owner.

    The owner gets access for as long as this takes. Hostile code may move the folder, or replace it by a link to a
    folder outside. In these cases, change nothing.
    """
    try:
        handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError):
        return
    opened, mode = f"/proc/self/fd/{handle}", stat.S_IMODE(os.fstat(handle).st_mode)
    try:
        if os.readlink(opened) == folder:  # noqa: PTH115  # like everything in this file
            os.chmod(opened, stat.S_IRWXU)  # noqa: PTH101
            yield from _sizes(folder, locked)
    finally:
        if os.readlink(opened) == folder:  # noqa: PTH115
            os.chmod(opened, mode)  # noqa: PTH101
        os.close(handle)


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except FileNotFoundError:
        return 0
