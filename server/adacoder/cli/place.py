"""Parse an argument that names functions: `PATH`, `PATH::QUALNAME` or `PATH:LINE`."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from adacoder.domain import Target, TargetError
from adacoder.source.locate import Documented, functions, locate
from adacoder.source.text import SourceFile

_LINE = re.compile(r"(?P<path>.+):(?P<line>\d+)")


@dataclass(frozen=True, slots=True)
class Place:
    """One function in a file, or the whole file."""

    path: Path
    """The absolute path."""
    qualname: str | None = None
    line: int | None = None
    """The 0-based line."""
    number: int | None = None
    """0-based position among the file's functions of the same name; None for the first that can be a target."""

    @classmethod
    def parse(cls, text: str) -> Place:
        """Parse `PATH`, `PATH::QUALNAME` or `PATH:LINE`.

        Raises:
            TargetError: a part is missing, or LINE is 0.
        """
        path, separator, qualname = text.rpartition("::")
        if separator:
            if not path or not qualname:
                raise TargetError(f"'{text}' is incomplete: write PATH::NAME.")
            return cls(_absolute(path), qualname)
        match = _LINE.fullmatch(text)
        if match is None or os.path.exists(text):  # noqa: PTH110  # Path.exists() raises in folders that we may not search
            return cls(_absolute(text))
        line = int(match["line"]) - 1
        if line < 0:
            raise TargetError(f"'{text}' names line 0: the first line of a file is line 1.")
        return cls(_absolute(match["path"]), line=line)

    @property
    def is_whole_file(self) -> bool:
        """True if the place is a whole file, without a function."""
        return self.qualname is None and self.line is None

    def find(self, file: SourceFile, folder: Path, *, bare: bool = False) -> Target:
        """Find the function in the text of `file`, in the workspace `folder`. For `bare`, see `locate`.

        Raises:
            TargetError: the function does not exist, or cannot be a target.
        """
        if self.number is None:
            return locate(file.text, file.path, folder, line=self.line, qualname=self.qualname, bare=bare)
        found = _functions(file.text, file.path, folder)
        same = [one for one in found if one.target.qualname == self.qualname]
        if len(same) <= self.number:
            raise TargetError(f"'{self.qualname}' is no longer in {file.path}: run the command again.")
        if (unreadable := same[self.number].unreadable) is not None:
            raise unreadable
        return same[self.number].target


_functions = lru_cache(maxsize=1)(functions)
"""The functions of a file. The latest result is cached, because `find` is called for one function after the other."""


def chosen(
    file: SourceFile,
    folder: Path,
    chooses: Callable[[Documented], bool],
    arranges: Callable[[Sequence[Target]], Sequence[Target]] = list,
) -> list[Place]:
    """Return the places of the functions in `file` that `chooses` selects, in the order that `arranges` gives."""
    seen = Counter[str]()
    targets: list[Target] = []
    places: dict[int, Place] = {}
    for one in _functions(file.text, file.path, folder):
        qualname = one.target.qualname
        if chooses(one):
            targets.append(one.target)
            places[id(one.target)] = Place(file.path, qualname, number=seen[qualname])
        seen[qualname] += 1
    return [places[id(target)] for target in arranges(targets)]


def _absolute(path: str) -> Path:
    """Make a path absolute and remove `.` and `..`. Do not resolve symbolic links, because messages show the path."""
    return Path(os.path.abspath(path))  # noqa: PTH100  # resolve() would follow the links
