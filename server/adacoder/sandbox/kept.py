"""Keeps between starts what the probe proved, in a file that nobody but this user can have written.

All is asked of what is open, so that nothing can be put in its place meanwhile. Whatever is not as it must be is taken
for missing: then the probe proves anew, and where nothing can be kept, every time.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.sandbox.places import home

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adacoder.domain import JSON

_FOLDER, _FILE = "adacoder", "isolation.json"
_MOST_BYTES = 1 << 18
_OF_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read() -> JSON:
    """What was kept; None if there is nothing that could be relied on."""
    with suppress(OSError, ValueError, RecursionError), _folder() as folder:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with open(os.open(_FILE, flags, dir_fd=folder), "rb") as file:  # noqa: PTH123  # of an open folder
            found = os.fstat(file.fileno())
            # One that was replaced just now has no name any more.
            if stat.S_ISREG(found.st_mode) and found.st_nlink <= 1 and _is_private(found):
                kept: JSON = json.loads(file.read(_MOST_BYTES))
                return kept
    return None


def keep(value: JSON) -> None:
    """Keep `value` in the place of what was kept before, if that is possible."""
    with suppress(OSError), _folder(make=True) as folder:
        name = f"{_FILE}.{os.urandom(8).hex()}"
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            with open(handle, "w", encoding="utf-8") as file:  # noqa: PTH123  # of an open folder
                json.dump(value, file)
            os.rename(name, _FILE, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            os.unlink(name, dir_fd=folder)
            raise


@contextmanager
def _folder(*, make: bool = False) -> Iterator[int]:
    """Our folder in the user's cache, open.

    Raises:
        OSError: there is none, and none was to be made or could be; or it is not this user's alone.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    cache = _cache()
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


def _cache() -> Path:
    """The user's folder for what can be made anew."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if named.is_absolute():
        return named
    return home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")


def _is_private(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & _OF_OTHERS
