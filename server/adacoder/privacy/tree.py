"""Finds what must stay unseen in the folders that a confined interpreter is shown: secrets, and doors to programs.

Names decide, since nothing is read. What a program imports is never hidden, and neither are the templates that
projects keep beside their secrets.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from fnmatch import translate
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_SECRET_FILES = (
    *(".env*", "*.env", ".secrets*", "secrets.*", "credentials", "credentials.*"),
    *("client_secret*.json", "service-account*.json", "service_account*.json", "*.tfstate", "*.tfstate.backup"),
    *("*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore", "*.kdb", "*.kdbx"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*"),
    *(".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", ".dockercfg", ".boto", ".s3cfg"),
    *(".git", ".git-credentials", ".vault-token"),  # in a worktree and in a submodule `.git` is a file
)
_SECRET_FOLDERS = frozenset(
    {".git", ".hg", ".svn", ".bzr", ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".secrets", ".password-store"}
)
_SECRET_IN_FOLDERS = frozenset({(".docker", "config.json"), (".config", "gcloud"), (".config", "gh")})
"""A folder's name and an entry in it that is secret there, and harmless elsewhere."""
_HARMLESS = (
    *("*.py", "*.pyi", "*.pyc", "*.so", "*.pub"),
    *("*.example", "*.sample", "*.template", "*.dist"),
    *(".env.example.*", ".env.sample.*", ".env.template.*", "*.example.env", "*.sample.env", "*.template.env"),
    *("example.env", "sample.env", "template.env", "cacert.pem"),  # the certificates that everybody trusts
)
_NOT_WALKED = frozenset(
    {
        *("__pycache__", "node_modules", "site-packages", "dist-packages"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".eggs"),
    }
)
"""Folders of what was installed from elsewhere or can be made anew: large, and no place for secrets."""
_STANDARD_LIBRARY = re.compile(r"python3\.\d+t?")

MOST_ENTRIES = 200_000
"""Entries of one folder tree that are looked at: less than a second's work, and once."""
MOST_IN_FOLDER = 5_000
"""Entries of one folder that are looked at; what holds more is data, and is hidden as a whole."""
_UNSETTLED_NS = 2_000_000_000
"""A folder that changed so shortly before it was listed may have changed again within the tick of its clock."""
_KEPT = 1024


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, patterns)))


_SECRET_NAME = _any_of(_SECRET_FILES)
_HARMLESS_NAME = _any_of(_HARMLESS)


class TooLargeError(Exception):
    """A folder tree has more entries than can be looked at."""


def secrets(folder: Path, *, levels: int | None = None) -> tuple[Path, ...]:
    """What must be hidden of `folder` and the folders below it, in order; links that lead out of it are resolved.

    `levels`: of what is installed, how many levels of folders are looked at, it being the first; there, what is large
    is not hidden. No link is followed. What was listed once is listed again only where it changed: then this costs one
    `stat` a folder.

    Raises:
        TooLargeError: there is too much to look at, so that nothing can be said.
    """
    return _tree(str(folder), levels).secrets()


@lru_cache(maxsize=_KEPT)
def _tree(folder: str, levels: int | None) -> _Tree:
    return _Tree(folder, levels)


@dataclass(frozen=True, slots=True)
class _Listing:
    """What one folder holds, as far as it matters here."""

    state: tuple[int, int, int] | None
    """By which a change is noticed; None: it must be listed again."""
    size: int = 0
    folders: tuple[str, ...] = ()
    """Those to be walked."""
    hidden: tuple[str, ...] = ()


class _Tree:
    """A folder and those below it, as they were listed."""

    def __init__(self, folder: str, levels: int | None) -> None:
        self._folder = folder
        self._levels = levels
        self._listings: dict[str, _Listing] = {}

    def secrets(self) -> tuple[Path, ...]:
        """As `secrets`."""
        listings: dict[str, _Listing] = {}
        hidden: set[str] = set()
        entries = 0
        waiting = deque([(self._folder, 1)])
        while waiting:
            path, level = waiting.popleft()
            listing = listings[path] = self._listing(path)
            entries += listing.size
            is_data = listing.size > MOST_IN_FOLDER
            if entries > MOST_ENTRIES or (is_data and path == self._folder):
                raise TooLargeError
            if is_data:
                hidden.update([path] if self._levels is None else [])
                continue
            hidden.update(target for name in listing.hidden if (target := _target(path, name)))
            if self._levels is None or level < self._levels:
                waiting.extend((os.path.join(path, name), level + 1) for name in listing.folders)  # noqa: PTH118  # many
        self._listings = listings
        return tuple(map(Path, sorted(hidden)))

    def _listing(self, path: str) -> _Listing:
        known = self._listings.get(path)
        try:
            state = _state(path)
            return known if known is not None and known.state == state else _listed(path, state)
        except OSError:
            return _Listing(None)  # it is gone, or what cannot be read here cannot be read in confinement either


def _state(path: str) -> tuple[int, int, int]:
    found = os.stat(path)  # noqa: PTH116  # many
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _listed(path: str, state: tuple[int, int, int]) -> _Listing:
    settled = state if time.time_ns() - state[2] > _UNSETTLED_NS else None
    parent = os.path.basename(path).lower()  # noqa: PTH119  # many
    folders: list[str] = []
    hidden: list[str] = []
    size = 0
    with os.scandir(path) as entries:
        for entry in entries:
            size += 1
            if size > MOST_IN_FOLDER:
                return _Listing(settled, size)
            name = entry.name.lower()
            kind = _kind(entry)
            if _is_secret(name, parent, kind):
                hidden.append(entry.name)
            elif kind is _Kind.FOLDER and _is_walked(name, parent):
                folders.append(entry.name)
    return _Listing(settled, size, tuple(folders), tuple(hidden))


class _Kind(Enum):
    FOLDER = auto()
    FILE = auto()
    LINK = auto()
    DOOR = auto()
    """A socket, a named pipe or a device: someone may listen behind it."""


def _kind(entry: os.DirEntry[str]) -> _Kind:
    try:
        if entry.is_symlink():
            return _Kind.LINK
        if entry.is_dir(follow_symlinks=False):
            return _Kind.FOLDER
        return _Kind.FILE if entry.is_file(follow_symlinks=False) else _Kind.DOOR
    except OSError:
        return _Kind.FILE  # it is gone; what takes its place changes the folder


def _is_secret(name: str, parent: str, kind: _Kind) -> bool:
    """Whether an entry is to be hidden; `name` and its folder's name `parent` are in small letters."""
    if kind is _Kind.DOOR or (parent, name) in _SECRET_IN_FOLDERS:
        return True
    if kind is not _Kind.FILE and name in _SECRET_FOLDERS:
        return True
    return kind is not _Kind.FOLDER and _has_secret_name(name)


def _has_secret_name(name: str) -> bool:
    return _SECRET_NAME.match(name) is not None and _HARMLESS_NAME.match(name) is None


def _is_walked(name: str, parent: str) -> bool:
    return name not in _NOT_WALKED and not (parent in ("lib", "lib64") and _STANDARD_LIBRARY.fullmatch(name))


def _target(folder: str, name: str) -> str | None:
    """The place to hide for an entry: of a link it is where that leads, if it leads somewhere secret."""
    path = os.path.join(folder, name)  # noqa: PTH118  # many
    if not os.path.islink(path):  # noqa: PTH114  # many
        return path if os.path.exists(path) else None  # noqa: PTH110  # many
    target = os.path.realpath(path)
    harmless = _HARMLESS_NAME.match(os.path.basename(target).lower())  # noqa: PTH119  # many
    return target if harmless is None and os.path.exists(target) else None  # noqa: PTH110  # many
