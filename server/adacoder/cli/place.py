"""Where a command's functions are: `PATH`, `PATH::QUALNAME` or `PATH:LINE`, and the workspace around a file."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from adacoder.domain import Target, TargetError
from adacoder.privacy.access import leads_out
from adacoder.sandbox.places import is_wide
from adacoder.source.locate import Documented, functions, locate, module_of
from adacoder.source.text import SourceFile

_LINE = re.compile(r"(?P<path>.+):(?P<line>\d+)")
_MARKERS = ("pyproject.toml", ".git", "setup.py")
_NOT_OURS = frozenset(
    {
        *("venv", "node_modules", "site-packages", "__pycache__", "build", "dist"),
        *("vendor", "vendored", "_vendor", "third_party"),
    }
)
"""Folders of other people's code, or of copies; hidden ones are left out too."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file, and one function in it or all of them."""

    path: Path
    """Absolute."""
    qualname: str | None = None
    line: int | None = None
    """0-based."""
    number: int | None = None
    """Of several functions named `qualname` which one, in the order of the file; None: as `locate` chooses."""

    @classmethod
    def parse(cls, text: str) -> Place:
        """What a user wrote.

        Raises:
            TargetError: a part is missing.
        """
        path, separator, qualname = text.rpartition("::")
        if separator:
            if not path or not qualname:
                raise TargetError(f"'{text}' is incomplete: write PATH::NAME.")
            return cls(_absolute(path), qualname)
        match = _LINE.fullmatch(text)
        if match is None or _exists(Path(text)):
            return cls(_absolute(text))
        line = int(match["line"]) - 1
        if line < 0:
            raise TargetError(f"'{text}' names no line: the first line of a file is line 1.")
        return cls(_absolute(match["path"]), line=line)

    @property
    def is_whole_file(self) -> bool:
        """Whether no function is named."""
        return self.qualname is None and self.line is None

    def find(self, file: SourceFile, folder: Path) -> Target:
        """The function here, in the text of `file`, in the workspace `folder`.

        Raises:
            TargetError: there is none, or it cannot be a target.
        """
        if self.number is None:
            return locate(file.text, file.path, folder, line=self.line, qualname=self.qualname)
        found = _functions(file.text, file.path, folder)
        same = [one for one in found if one.target.qualname == self.qualname]
        if len(same) <= self.number:
            raise TargetError(f"'{self.qualname}' is no longer in {file.path}: run the command again.")
        if (unreadable := same[self.number].unreadable) is not None:
            raise unreadable
        return same[self.number].target


_functions = lru_cache(maxsize=1)(functions)
"""One after the other the functions of a file are looked for in it, mostly in the same text."""


def chosen(file: SourceFile, folder: Path, chooses: Callable[[Documented], bool]) -> Iterator[Place]:
    """The places of those functions in `file` that `chooses` takes."""
    seen = Counter[str]()
    for one in _functions(file.text, file.path, folder):
        qualname = one.target.qualname
        if chooses(one):
            yield Place(file.path, qualname, number=seen[qualname])
        seen[qualname] += 1


def workspace(file: SourceFile) -> Path:
    """The workspace of a file: the nearest folder with a project in it, else where its module is imported from."""
    found = project_around(file.path.parent)
    if found is None:
        return module_of(file.path, file.text, Path(file.path.anchor)).root
    # A project that a link in another one leads to is no part of that: who means it names it itself.
    around = [folder for folder in found.parents if _is_project(folder) and not is_wide(folder)]
    return next((folder for folder in around if leads_out(found, folder)), found)


def project_around(folder: Path) -> Path | None:
    """The nearest folder at or above `folder` with a project in it."""
    return next(filter(_is_project, (folder, *folder.parents)), None)


def python_files(folder: Path, tell: Callable[[str], None]) -> Iterator[Path]:
    """The Python files below `folder`, in order; what is hidden, installed, vendored or built is left out.

    `tell` hears of what cannot be read.
    """
    pending = [iter([(folder, True)])]  # folders may be nested deeper than generators may be
    while pending:
        path, is_folder = next(pending[-1], (None, False))
        if path is None:
            pending.pop()
        elif not is_folder:
            yield path
        else:
            try:
                pending.append(iter(sorted(_ours(path))))
            except OSError as error:
                tell(f"{path} cannot be read ({error.strerror}): check its permissions.")


def _ours(folder: Path) -> Iterator[tuple[Path, bool]]:
    """The Python files and the folders in `folder` that are looked at, each with whether it is a folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            path = folder / entry.name
            if entry.name.startswith(".") or entry.name in _NOT_OURS or entry.is_symlink():
                continue
            if entry.is_dir() and not _exists(path / "pyvenv.cfg"):
                yield path, True
            elif path.suffix == ".py" and entry.is_file():
                yield path, False


def _is_project(folder: Path) -> bool:
    return any(_exists(folder / marker) for marker in _MARKERS)


def _exists(path: Path) -> bool:
    """Whether there is such a thing, as far as we may look."""
    return os.path.exists(path)  # noqa: PTH110  # Path.exists() raises where we may not


def _absolute(path: str) -> Path:
    """Without `.` and `..`; links are kept, so that a file is named as the user named it."""
    return Path(os.path.abspath(path))  # noqa: PTH100  # resolve() would follow the links
