"""Read a project's own Python files, beginning with those nearest to the edited file."""

from __future__ import annotations

import io
import tokenize
from typing import TYPE_CHECKING

from adacoder.project import nearest_files

if TYPE_CHECKING:
    from pathlib import Path

    from adacoder.privacy.access import Access

_FILES = 2000
_FILE_BYTES = 256 * 1024
"""Maximum bytes of a file. Longer files usually contain data or generated code, so they are skipped."""
_ALL_CHARACTERS = 16 * 1024 * 1024


def project_files(own: Path, workspace: Path, access: Access) -> list[tuple[Path, str]]:
    """Read the Python files of `workspace`, nearest to `own` first. The file `own` is left out.

    Reading stops after 2,000 files or about 16 million characters. Unreadable files are skipped.
    """
    texts: list[tuple[Path, str]] = []
    room = _ALL_CHARACTERS
    for path in nearest_files(own, workspace):
        text = text_of(path, access)
        if text is not None:
            texts.append((path, text))
            room -= len(text)
        if len(texts) == _FILES or room <= 0:
            break
    return texts


def text_of(path: Path, access: Access, *, most: int = _FILE_BYTES) -> str | None:
    """Read a Python file; None if it is missing, unreadable, private or larger than `most` bytes."""
    try:
        data = io.BytesIO(access.read(path, most=most))
        encoding, _ = tokenize.detect_encoding(data.readline)
        data.seek(0)
        return io.TextIOWrapper(data, encoding).read()
    except (OSError, SyntaxError, UnicodeDecodeError, LookupError):
        return None
