"""The texts of a project's own Python files, the nearest to a file first."""

from __future__ import annotations

import io
import os
import stat
import tokenize
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adacoder.privacy.access import Access

_FILES = 2000
_DIRECTORIES = 2000
_FILE_BYTES = 256 * 1024
"""A longer file is passed over: it is data, or generated."""
_ALL_BYTES = 16 * 1024 * 1024
_FOREIGN = frozenset({"node_modules", "site-packages", "__pycache__", "venv", "env", "build", "dist"})


def project_files(own: Path, workspace: Path, access: Access) -> list[tuple[Path, str]]:
    """The Python files of `workspace` but `own`, with their texts, outwards from its directory.

    At most 2,000 of them, and 16 MiB; hidden directories, environments, and what cannot be read are passed over.
    """
    texts: list[tuple[Path, str]] = []
    room = _ALL_BYTES
    for path, size in _files(own, workspace):
        if len(texts) == _FILES or room < size:
            break
        text = text_of(path, access)
        if text is not None:
            texts.append((path, text))
            room -= size
    return texts


def text_of(path: Path, access: Access, *, most: int = _FILE_BYTES) -> str | None:
    """The text of a Python file of at most so many bytes; None if there is none that may and can be read."""
    try:
        data = io.BytesIO(access.read(path, most=most))
        encoding, _ = tokenize.detect_encoding(data.readline)
        data.seek(0)
        return io.TextIOWrapper(data, encoding).read()
    except (OSError, SyntaxError, UnicodeDecodeError, LookupError):
        return None


def _files(own: Path, workspace: Path) -> Iterator[tuple[Path, int]]:
    """The files with their sizes."""
    around = [folder for folder in own.parents if folder.is_relative_to(workspace)]
    seen: set[str] = set()
    for top in around or [own.parent]:
        for directory, folders, files in os.walk(top):
            if directory in seen or len(seen) == _DIRECTORIES:
                folders.clear()
                continue
            seen.add(directory)
            folders[:] = sorted(name for name in folders if not _is_foreign(Path(directory, name)))
            for path in (Path(directory, name) for name in sorted(files) if name.endswith(".py")):
                size = _size(path)
                if path != own and size is not None and size <= _FILE_BYTES:
                    yield path, size


def _is_foreign(folder: Path) -> bool:
    """Whether the project's own code is not to be found in `folder`."""
    return folder.name.startswith(".") or folder.name in _FOREIGN or (folder / "pyvenv.cfg").exists()


def _size(path: Path) -> int | None:
    """The size of a plain file in bytes; None for anything else."""
    try:
        status = path.stat(follow_symlinks=False)
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
