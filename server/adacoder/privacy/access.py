"""Control access to the files of a workspace.

Only this module decides whether a file may be read, shown or sent, and only this module opens files for these purposes.

A symbolic link is judged by its target. Hard links cannot be recognised: if a private file has a second, harmless name
in the workspace, the file can be read by this name.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.domain import AdaCoderError
from adacoder.messages import Named
from adacoder.privacy.contents import READING, found_in
from adacoder.privacy.private_names import HIDDEN_BY_WISH, NO_WISHES, Wishes, is_importable, privacy_reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import BufferedReader

    from adacoder.domain import Module

_PIECE = 1 << 20
_OUTSIDE = "it lies outside the workspace"


class AccessDenied(OSError):
    """A file may not be read, because it is outside the workspace, private, not a regular file, or too long."""


class Access:
    """Decides which files may be read for one request, and reads these files."""

    def __init__(self, folders: Iterable[Path], wishes: Wishes = NO_WISHES) -> None:
        """`folders` are the workspace and the other folders whose files may be read. Their links are resolved."""
        self._tops = frozenset(Path(os.path.realpath(folder)) for folder in folders)
        self._wishes = wishes
        self._reals: dict[str, str] = {}
        """Cached real paths of folders. An outdated path is safe, because `_opened` does not open a file by an outdated
        path.
        """

    @classmethod
    def around(cls, module: Module, workspace: Path, wishes: Wishes = NO_WISHES, *others: Path) -> Access:
        """Return an Access to `workspace`, to `others`, and to the package of `module`."""
        package = module.root / module.name.partition(".")[0]
        own = (workspace,) if package.is_relative_to(workspace) else (workspace, package)
        return cls((*own, *others), wishes)

    def refusal(self, path: Path) -> str | None:
        """Return the reason why a file may not be read, shown or sent, or None if it may.

        The file need not exist. Its contents are checked only by `read`.
        """
        try:
            return self._refusal(os.path.realpath(path))
        except (OSError, ValueError):
            return "its real path cannot be found"

    def read(self, path: Path, *, most: int) -> bytes:
        """Read a regular file of at most `most` bytes.

        Raises:
            AccessDenied: the file may not be read, or contains a secret.
            OSError: the file cannot be read.
        """
        real = self._real(path)
        refusal = self._refusal(real)
        if refusal is not None:
            raise AccessDenied(f"{path} is not read: {refusal}")
        data = _read(real, most)
        if not is_importable(real) and not any(map(self._wishes.shows, self._places(real))):
            what = found_in(data)
            if what is not None:
                raise AccessDenied(f"{path} is not read: it holds {what}")
        return data

    def require(self, path: Path) -> None:
        """Raise an AdaCoderError with advice if a file may not be read."""
        refusal = self.refusal(path)
        if refusal is None:
            return
        real = os.path.realpath(path)
        if refusal == _OUTSIDE:
            raise AdaCoderError(f"{path} leads out of the workspace, to {real}: name that file itself.")
        what = f"{path} is not read, because {real} is private ("
        raise AdaCoderError(what, refusal, "): list it in ", Named("show"), " if it is not.")

    def _refusal(self, real: str) -> str | None:
        places = self._places(real)
        if not places:
            return _OUTSIDE
        if any(map(self._wishes.shows, places)):
            return None
        if any(map(self._wishes.hides, places)):
            return HIDDEN_BY_WISH
        # If one allowed folder contains another, only names below the inner folder decide.
        return privacy_reason(min(places, key=len))

    def _places(self, real: str) -> list[tuple[str, ...]]:
        path = Path(real)
        return [path.relative_to(top).parts or (path.name,) for top in self._tops if path.is_relative_to(top)]

    def _real(self, path: Path) -> str:
        if os.path.islink(path):  # noqa: PTH114  # Path.is_link() is slower, and there are many paths
            return os.path.realpath(path)
        folder, name = os.path.split(path)
        if folder not in self._reals:
            self._reals[folder] = os.path.realpath(folder)
        return os.path.join(self._reals[folder], name)  # noqa: PTH118  # many


def read_regular(path: Path, *, most: int) -> bytes:
    """Read a regular file that the user has named.

    Raises:
        AccessDenied: the path is not a regular file, or the file has more than `most` bytes.
        OSError: the file cannot be read.
    """
    return _read(os.path.realpath(path), most)


@contextmanager
def opened_regular(path: Path) -> Iterator[BufferedReader]:
    """Open a regular file of any size that the user has named, to read it in pieces.

    Raises:
        AccessDenied: the path is not a regular file.
        OSError: the file cannot be read.
    """
    with open(_opened(os.path.realpath(path)), "rb") as file:
        yield file


def leads_out(path: Path, workspace: Path) -> bool:
    """Return whether a path in `workspace` leads out of the workspace through a symbolic link."""
    is_called_so = Path(os.path.abspath(path)).is_relative_to(os.path.abspath(workspace))  # noqa: PTH100  # not resolved
    return is_called_so and not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(workspace))


def _read(real: str, most: int) -> bytes:
    handle = _opened(real)
    try:
        if os.fstat(handle).st_size > most:
            raise AccessDenied(f"{real} is longer than {most:,} bytes")
        data = bytearray()
        while len(data) <= most and (piece := os.read(handle, min(_PIECE, most + 1 - len(data)))):
            data += piece
        if len(data) > most:
            raise AccessDenied(f"{real} is longer than {most:,} bytes")
        return bytes(data)
    finally:
        os.close(handle)


def _opened(real: str) -> int:
    """Open the regular file at a real path. Fail if another file takes its place during this call."""
    # Check the file before opening it, because opening a named pipe or a device can have effects. If such a file
    # appears after the check, O_NONBLOCK keeps the call from waiting.
    if not stat.S_ISREG(os.lstat(real).st_mode):
        raise AccessDenied(f"{real} is not a regular file")
    handle = os.open(real, READING)
    try:
        found = os.fstat(handle)
        # Check the path again, because a parent folder may have been replaced by a link.
        if not stat.S_ISREG(found.st_mode) or os.path.realpath(real) != real or not _is_at(found, real):
            raise AccessDenied(f"{real} is not a regular file, or was moved just now")
    except BaseException:
        os.close(handle)
        raise
    return handle


def _is_at(found: os.stat_result, path: str) -> bool:
    there = os.lstat(path)
    return (found.st_dev, found.st_ino) == (there.st_dev, there.st_ino)
