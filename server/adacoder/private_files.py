"""Store files where other users can neither read nor write them.

Each file or folder is opened before its owner and mode are checked. So another user cannot replace a file between the
check and its use. Links are not followed.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.project import home

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class PrivateFolder:
    """A folder that only this user can access. Folders get the mode 0700, and files 0600.

    All methods raise OSError if another user owns or can access a file or folder.
    """

    def __init__(self, around: Path, *names: str) -> None:
        """Use the folder `around/NAME/NAME/…`, where `names` are the names.

        `around` must belong to the user, as `~/.cache` does.
        """
        self._around = around
        self._names = names

    def read(self, name: str, most: int) -> bytes:
        """Read the first `most` bytes of a file."""
        with self._open() as folder:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with open(os.open(name, flags, dir_fd=folder), "rb") as file:  # noqa: PTH123  # relative to an open folder
                found = os.fstat(file.fileno())
                # The link count is 0 if the file was just replaced. It is above 1 if there is another hard link.
                if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1 or not _is_private(found):
                    raise PermissionError(f"{name} is not a file of this user alone")
                return file.read(most)

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically, and replace an existing file."""
        with self._open(make=True) as folder:
            unfinished = f"{name}.{os.urandom(8).hex()}"
            handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
            try:
                with open(handle, "wb") as file:  # noqa: PTH123  # relative to an open folder
                    file.write(data)
                os.rename(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
            except OSError:
                os.unlink(unfinished, dir_fd=folder)
                raise

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        with suppress(FileNotFoundError), self._open() as folder:
            os.unlink(name, dir_fd=folder)

    def sizes(self) -> dict[str, int]:
        """Return the sizes of the files in bytes, the oldest file first.

        If there is no folder, return an empty dict.
        """
        found: list[tuple[int, str, int]] = []
        with suppress(FileNotFoundError), self._open() as folder:
            for name in os.listdir(folder):  # noqa: PTH208  # of an open folder
                with suppress(FileNotFoundError):
                    known = os.stat(name, dir_fd=folder, follow_symlinks=False)
                    found.append((known.st_mtime_ns, name, known.st_size))
        return {name: size for _, name, size in sorted(found)}

    @contextmanager
    def _open(self, *, make: bool = False) -> Iterator[int]:
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
        if make:
            self._around.mkdir(0o700, parents=True, exist_ok=True)
        folder = os.open(self._around, flags)
        try:
            # Under sudo, the folder belongs to the user, not to root. Files of root in this folder would lock out the
            # user.
            if os.fstat(folder).st_uid != os.geteuid():
                raise PermissionError(f"{self._around} is another user's")
            for name in self._names:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(name, 0o700, dir_fd=folder)
                around, folder = folder, os.open(name, flags | os.O_NOFOLLOW, dir_fd=folder)
                os.close(around)
                if not _is_private(os.fstat(folder)):
                    raise PermissionError(f"{name} is not a folder of this user alone")
            yield folder
        finally:
            os.close(folder)


def cache_folder(*names: str) -> PrivateFolder:
    """Return a folder of AdaCoder in the user's cache. `names` are the names of nested folders."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not cache.is_absolute():
        cache = home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return PrivateFolder(cache, "adacoder", *names)


def _is_private(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & _OF_OTHERS
