"""Read `conftest.py` files, which contain pytest's fixtures and settings for a folder."""

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
    """Values of `collect_ignore` and `collect_ignore_glob` in a `conftest.py`; None if not set."""

    conftest: Path
    names: tuple[str, ...] | None
    patterns: tuple[str, ...] | None
    trouble: str = ""
    """The reason why the values could not be read; empty if they could."""


def conftests(folder: Path, top: Path, access: Access) -> Iterator[tuple[Path, str]]:
    """Yield the path and text of each `conftest.py`, from `folder` up to `top`."""
    for place in (folder, *folder.parents):
        path = place / "conftest.py"
        if os.path.isfile(path):  # noqa: PTH113  # is_file() may raise
            try:
                yield path, access.read(path, most=_MOST_BYTES).decode("utf-8", "replace")
            except OSError:
                continue  # pytest cannot read this file in the sandbox, either.
        if place == top:
            return


def adds_names(folder: Path, top: Path, access: Access) -> bool:
    """Return whether a `conftest.py` may define names for examples, by pytest's `doctest_namespace`."""
    return any("doctest_namespace" in text for _, text in conftests(folder, top, access))


def ignoring(path: Path, ignored: Sequence[Ignored]) -> Path | None:
    """Return the `conftest.py` that excludes a file or its folder from pytest's collection; None if there is none.

    `ignored` are the values from the `conftest.py` files above the file, beginning with the nearest.
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
