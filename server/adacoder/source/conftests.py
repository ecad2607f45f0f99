"""Read the files `conftest.py`, in which pytest finds fixtures and settings for the files below them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from adacoder.privacy.access import Access

_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Ignored:
    """The values of `collect_ignore` and `collect_ignore_glob` in a `conftest.py`; None if it does not set them."""

    conftest: Path
    names: tuple[str, ...] | None
    patterns: tuple[str, ...] | None
    trouble: str = ""
    """The reason why the values are not known; else empty."""


def conftests(folder: Path, top: Path, access: Access) -> Iterator[tuple[Path, str]]:
    """Yield the files `conftest.py` for the files of `folder`, with their texts: the nearest first, up to `top`."""
    for place in (folder, *folder.parents):
        path = place / "conftest.py"
        if os.path.isfile(path):  # noqa: PTH113  # is_file() may raise
            try:
                yield path, access.read(path, most=_MOST_BYTES).decode("utf-8", "replace")
            except OSError:
                continue  # running code cannot read it either
        if place == top:
            return


def adds_names(folder: Path, top: Path, access: Access) -> bool:
    """Return whether a `conftest.py` mentions the names that it adds to the examples of the files of `folder`."""
    return any("doctest_namespace" in text for _, text in conftests(folder, top, access))


def ignoring(path: Path, ignored: Sequence[Ignored]) -> Path | None:
    """Return the `conftest.py` that leaves out a file, as pytest does; None if the file is wanted.

    `ignored` has the values for the file, the nearest first. For each folder above the file, the nearest `conftest.py`
    above this folder decides.
    """
    for place in (path, *path.parents):
        above = [each for each in ignored if each.conftest.parent in place.parents]
        names = next((each for each in above if each.names is not None), None)
        patterns = next((each for each in above if each.patterns is not None), None)
        if names is not None and str(place) in (_joined(names, name) for name in names.names or ()):
            return names.conftest
        if patterns is not None and any(
            fnmatchcase(str(place), _joined(patterns, each)) for each in patterns.patterns or ()
        ):
            return patterns.conftest
    return None


def _joined(ignored: Ignored, name: str) -> str:
    return os.path.normpath(ignored.conftest.parent / name)
