"""Search folders for private files, sockets and pipes, which confined code must not see.

A file is private because of its name or its contents. But the names of files that Python can import, and of templates
such as `.env.example`, do not make these files private.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from pathlib import Path

from adacoder.privacy.contents import found_in_file
from adacoder.privacy.private_names import (
    HIDDEN_BY_WISH,
    NO_WISHES,
    Secrecy,
    Wishes,
    is_private,
    is_private_entry,
    is_private_in_store,
    is_readable,
    secrecy,
)
from adacoder.project import FOREIGN

_NOT_WALKED = frozenset(
    {
        *FOREIGN,
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", ".eggs"),
    }
)
"""Folders that are not searched. They are large, rarely contain secrets, and can be created again."""
_STANDARD_LIBRARY = re.compile(r"python3\.\d+t?")
_OF_AN_ENVIRONMENT = "pyvenv.cfg"

_UNSETTLED_NS = 2_000_000_000
"""A folder's listing is cached only if the folder has not changed for this many nanoseconds.

A folder that changes twice within this time may keep the same time stamp.
"""
_KEPT = 1024

_NAMED = "its name"
_DOOR = "it is a socket or a pipe, not a file"
_DATA = "it is too large to search"
_STORED = "it lies in a folder of secrets"


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Limits of a search for private files."""

    entries: int = 200_000
    """Maximum number of entries in a tree. The first search of such a tree takes less than a second."""
    in_folder: int = 5_000
    """Maximum number of entries in a folder. Larger folders are hidden completely."""
    read: int = 3_000
    """Maximum number of files whose contents are checked. Files near the top are checked first."""
    pause: float = 10.0
    """Seconds after which the contents of files are checked again, even if their folders have not changed."""


LIMITS = SearchLimits()


class TooLargeError(Exception):
    """A tree has too many entries to search."""


def hidden(
    folder: Path,
    wishes: Wishes = NO_WISHES,
    *,
    only: Path | None = None,
    levels: int | None = None,
    limits: SearchLimits = LIMITS,
) -> Mapping[Path, str]:
    """Return the sorted paths to hide in `folder`, each with the reason.

    A link to a private file is replaced by its target. Links to folders are not followed. Listings are cached.

    If `only` is given, search only this subfolder, and check the names on the path to it.

    `levels` is for folders of installed packages. If given, it limits the depth of the search, no contents are read,
    and large folders are not hidden.

    Raises:
        TooLargeError: the tree is too large to search.
    """
    way = () if only is None else only.relative_to(folder).parts
    return _Tree(str(folder), wishes, way, levels, limits).hidden()


@dataclass(frozen=True, slots=True)
class _FolderEntries:
    """The entries of a folder that matter to the search."""

    state: tuple[int, int, int] | None
    """Result of `_state`, which changes when the folder changes. None if the folder must be listed again."""
    size: int = 0
    folders: Mapping[str, Secrecy] = field(default_factory=dict)
    """Folders to search, each with the secrecy of its contents."""
    hidden: Mapping[str, str] = field(default_factory=dict)
    """Entries to hide, with the reasons."""
    readable: tuple[str, ...] = ()
    """Files whose contents must be checked."""
    is_hidden: bool = False
    """True if the folder is hidden completely."""


@lru_cache(maxsize=_KEPT)
class _Tree:
    """A folder tree with cached listings of its folders."""

    def __init__(
        self, folder: str, wishes: Wishes, way: tuple[str, ...], levels: int | None, limits: SearchLimits
    ) -> None:
        self._folder = folder
        self._wishes = wishes
        self._way = way
        """Names on the path from the root to the only folder that is searched. Empty if all folders are searched."""
        self._levels = levels
        self._limits = limits
        self._listings: dict[str, _FolderEntries] = {}
        self._held: dict[str, dict[str, str]] = {}
        """By folder: the files that contain secrets, with the reasons."""
        self._due = 0.0

    def hidden(self) -> Mapping[Path, str]:
        listings: dict[str, _FolderEntries] = {}
        found: dict[str, str] = {}
        held: dict[str, dict[str, str]] = {}
        now = time.monotonic()
        known = self._held if now < self._due else {}
        entries = read = 0
        waiting: deque[tuple[str, tuple[str, ...], Secrecy]] = deque([(self._folder, (), Secrecy.OPEN)])
        while waiting:
            path, parts, within = waiting.popleft()
            listing = listings[path] = self._listing(path, parts, within)
            entries += listing.size
            is_data = listing.size > self._limits.in_folder
            if entries > self._limits.entries or (is_data and not parts):
                raise TooLargeError
            if is_data:
                found |= {path: _DATA} if self._levels is None else {}
                continue
            targets = {target: why for name, why in listing.hidden.items() if (target := _target(path, name))}
            if listing.is_hidden:
                found[path] = _NAMED if secrecy(parts[-1]) is not Secrecy.OPEN else _STORED
                targets = {target: why for target, why in targets.items() if os.path.dirname(target) != path}  # noqa: PTH120  # many
            found |= targets
            way = self._way[len(parts) : len(parts) + 1]
            readable = () if way or self._levels is not None else listing.readable[: self._limits.read - read]
            read += len(readable)
            if path not in known or listing is not self._listings.get(path):
                files = (os.path.join(path, name) for name in readable)  # noqa: PTH118  # many
                held[path] = {file: f"it holds {what}" for file in files if (what := found_in_file(file))}
            else:
                held[path] = known[path]
            found |= held[path]
            if self._levels is not None and len(parts) + 1 >= self._levels:
                continue
            waiting += [
                (os.path.join(path, name), (*parts, name), inside)  # noqa: PTH118  # many
                for name, inside in listing.folders.items()
                if not way or name in way
            ]
        self._listings, self._held = listings, held
        self._due = self._due if known else now + self._limits.pause
        return {Path(path): found[path] for path in sorted(found)}

    def _listing(self, path: str, parts: tuple[str, ...], within: Secrecy) -> _FolderEntries:
        known = self._listings.get(path)
        try:
            state = _state(path)
            return known if known is not None and known.state == state else self._listed(path, state, parts, within)
        except OSError:
            return _FolderEntries(None)  # Code in the sandbox cannot read a folder that is gone or unreadable.

    def _listed(
        self, path: str, state: tuple[int, int, int], parts: tuple[str, ...], within: Secrecy
    ) -> _FolderEntries:
        settled = state if time.time_ns() - state[2] > _UNSETTLED_NS else None
        kinds: dict[str, _EntryKind] = {}
        with os.scandir(path) as entries:
            for entry in entries:
                kinds[entry.name] = _kind(entry)
                if len(kinds) > self._limits.in_folder:
                    return _FolderEntries(settled, len(kinds))
        if _OF_AN_ENVIRONMENT in kinds:
            within = Secrecy.OPEN
        parent = os.path.basename(path)  # noqa: PTH119  # many
        folders: dict[str, Secrecy] = {}
        hidden: dict[str, str] = {}
        readable: list[str] = []
        for name, kind in kinds.items():
            own = (*parts, name)
            why = _DOOR if kind is _EntryKind.DOOR else self._why(own, kind, parent, within)
            if kind is _EntryKind.FOLDER and (why is None or self._wishes.reaches_into(own)):
                if _is_walked(name, parent):
                    folders[name] = Secrecy.WHOLE if why else self._inside(own, within)
            elif why is not None:
                hidden[name] = why
            elif kind is _EntryKind.FILE and is_readable(name) and not self._wishes.shows(own):
                readable.append(name)
        is_hidden = bool(parts) and within is not Secrecy.OPEN and bool(hidden) and len(hidden) == len(kinds)
        return _FolderEntries(settled, len(kinds), folders, hidden, tuple(readable), is_hidden)

    def _inside(self, parts: tuple[str, ...], within: Secrecy) -> Secrecy:
        return Secrecy.OPEN if self._wishes.shows(parts) else max(within, secrecy(parts[-1]))

    def _why(self, parts: tuple[str, ...], kind: _EntryKind, parent: str, within: Secrecy) -> str | None:
        name = parts[-1]
        if self._wishes.shows(parts):
            return None
        if self._wishes.hides(parts):
            return HIDDEN_BY_WISH
        if kind is not _EntryKind.FILE and secrecy(name) is Secrecy.WHOLE:
            return _NAMED
        if within is Secrecy.WHOLE:
            return _STORED if kind is not _EntryKind.FOLDER else None
        if parent and is_private_entry(parent, name):
            return _NAMED
        if kind is _EntryKind.FOLDER:
            return None
        if is_private(name):
            return _NAMED
        return _STORED if within is Secrecy.STORE and is_private_in_store(name) else None


def _state(path: str) -> tuple[int, int, int]:
    found = os.stat(path)  # noqa: PTH116  # many
    return found.st_dev, found.st_ino, found.st_ctime_ns


class _EntryKind(Enum):
    FOLDER = auto()
    FILE = auto()
    LINK = auto()
    DOOR = auto()
    """A socket, a named pipe or a device, through which confined code could reach another program."""


def _kind(entry: os.DirEntry[str]) -> _EntryKind:
    try:
        if entry.is_symlink():
            return _EntryKind.LINK
        if entry.is_dir(follow_symlinks=False):
            return _EntryKind.FOLDER
        return _EntryKind.FILE if entry.is_file(follow_symlinks=False) else _EntryKind.DOOR
    except OSError:
        return _EntryKind.FILE  # The entry is gone, so its kind does not matter.


def _is_walked(name: str, parent: str) -> bool:
    lower = name.lower()
    return lower not in _NOT_WALKED and not (parent.lower() in ("lib", "lib64") and _STANDARD_LIBRARY.fullmatch(lower))


def _target(folder: str, name: str) -> str | None:
    """Return the path to hide for an entry, or None if nothing need be hidden. For a link, return the target's path."""
    path = os.path.join(folder, name)  # noqa: PTH118  # many
    if not os.path.islink(path):  # noqa: PTH114  # many
        return path if os.path.exists(path) else None  # noqa: PTH110  # many
    target = os.path.realpath(path)
    if os.path.isdir(target):  # noqa: PTH112  # many
        return target if secrecy(name) is Secrecy.WHOLE else None
    may_be_hidden = is_private_in_store(os.path.basename(target))  # noqa: PTH119  # many
    return target if may_be_hidden and os.path.exists(target) else None  # noqa: PTH110  # many
