"""A scratch folder on disk, for the mechanisms that have none in memory."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

from adacoder.sandbox.isolation import SCRATCH_FILES, SCRATCH_SIZE
from adacoder.sandbox.worker import empty

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def scratch() -> Iterator[str]:
    """A new folder, gone at the end with all that hostile code put into it."""
    folder = tempfile.mkdtemp(prefix="adacoder-")
    try:
        yield folder
    finally:
        empty(folder)
        shutil.rmtree(folder, ignore_errors=True)


def is_overfull(folder: str) -> bool:
    """Whether there is more in a folder than one evaluation may write; it takes its time.

    What was deleted while it is open is not seen; the limits of files' sizes and of descriptors bound that to 1 GiB.
    """
    size = count = 0
    folders = [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    count += 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        size += _size(entry)
                    if size > SCRATCH_SIZE or count > SCRATCH_FILES:
                        return True
        except FileNotFoundError:
            continue
        except OSError:
            return True  # too deep, or closed to us: nothing else makes such folders
    return False


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except FileNotFoundError:
        return 0
