"""A scratch folder on disk, for the mechanisms that have none in memory."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from adacoder.sandbox.worker import empty

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIZE = 64 << 20
"""Bytes that one evaluation may have in files."""
MOST_FILES = 20_000
_EVERY_SECONDS = 0.05


@contextmanager
def scratch() -> Iterator[str]:
    """A new folder, gone at the end with all that hostile code put into it."""
    folder = tempfile.mkdtemp(prefix="adacoder-")
    try:
        yield folder
    finally:
        empty(folder)
        shutil.rmtree(folder, ignore_errors=True)


async def overfull(folder: Path) -> None:
    """Return once there is more in a folder than one evaluation may write.

    What was deleted while it is open is not seen; the limits of files' sizes and of descriptors bound that to 1 GiB.
    """
    while not _is_overfull(folder):  # noqa: ASYNC110  # the kernel tells nobody how much there is in a folder
        await asyncio.sleep(_EVERY_SECONDS)


def _is_overfull(folder: Path) -> bool:
    size = count = 0
    folders = [str(folder)]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    count += 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        size += entry.stat(follow_symlinks=False).st_blocks * 512
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return True  # nothing else makes folders that deep
        if size > SIZE or count > MOST_FILES:
            return True
    return False
