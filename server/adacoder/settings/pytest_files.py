"""Find the files that pytest takes for files with tests. Its configuration may be hostile, so values are limited."""

from __future__ import annotations

import configparser
import os
import posixpath
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from adacoder.settings.pyproject import document, read_own, words

CONFIGURATION = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
"""The names of files with pytest's configuration, in pytest's order. The first that has its options counts."""
_DEFAULT = ("test_*.py", "*_test.py")
_OF_GLOB = frozenset("*?[")
_MOST_PATTERNS = 20
"""Maximum number of patterns of an option. Further patterns do not count."""
_LONGEST = 100
"""Maximum number of characters of a pattern. A longer pattern does not count."""

_Patterns: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""The patterns of `python_files` and of `testpaths`."""


def files_with_tests(top: Path) -> Callable[[Path], bool]:
    """Return a function that returns whether pytest takes a Python file below `top` for a file with tests.

    The nearest configuration at or above the file decides.
    """
    known: dict[Path, tuple[Path, _Patterns]] = {}

    def nearest(folder: Path) -> tuple[Path, _Patterns]:
        if folder not in known:
            own = _configured(folder)
            is_last = own is not None or folder == top or not folder.is_relative_to(top)
            known[folder] = (folder, own or (_DEFAULT, ())) if is_last else nearest(folder.parent)
        return known[folder]

    return lambda path: _matches(path, *nearest(path.parent))


def _matches(path: Path, folder: Path, patterns: _Patterns) -> bool:
    names, tops = patterns
    place = path.relative_to(folder).as_posix()
    if tops and not any(fnmatchcase(place, top) or fnmatchcase(place, f"{top}/*") for top in tops):
        return False
    return any(
        fnmatchcase(path.as_posix(), f"*/{each}") if "/" in each else fnmatchcase(path.name, each) for each in names
    )


def _configured(folder: Path) -> _Patterns | None:
    for name in CONFIGURATION:
        path = folder / name
        try:
            status = os.stat(path)  # noqa: PTH116  # called for many files
        except (OSError, ValueError):
            continue
        patterns = _patterns(path, status.st_mtime_ns, status.st_size)
        if patterns is not None:
            names, tops = patterns
            # Pytest ignores `testpaths` if it names nothing that exists.
            exist = any(_OF_GLOB.intersection(top) or os.path.exists(folder / top) for top in tops)  # noqa: PTH110
            return names, tops if exist else ()
    return None


@lru_cache(maxsize=256)  # a check asks for each file
def _patterns(path: Path, _changed: int, _size: int) -> _Patterns | None:
    """Return the patterns in a file; None if it has no options of pytest or cannot be read."""
    try:
        options = _options(path)
    except (OSError, ValueError, RecursionError, configparser.Error):
        return None
    if options is None:
        return None
    found = (
        [each for each in words(options.get(name)) if len(each) <= _LONGEST] for name in ("python_files", "testpaths")
    )
    names, tops = (tuple(each[:_MOST_PATTERNS]) for each in found)
    tops = tuple(map(posixpath.normpath, tops))
    return names or _DEFAULT, () if "." in tops else tops


def _options(path: Path) -> Mapping[str, object] | None:
    if path.suffix == ".toml":
        tables = document(path)
        if path.name == "pyproject.toml":
            return of_pytest(_table(tables.get("tool")) or {})
        return _table(tables.get("pytest")) or {}
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.read_string(read_own(path))
    section = "tool:pytest" if path.name == "setup.cfg" else "pytest"
    if parser.has_section(section):
        return dict(parser.items(section))
    return {} if path.name.endswith("pytest.ini") else None


def of_pytest(tools: Mapping[str, object]) -> Mapping[str, object] | None:
    """Return pytest's options in the `[tool.*]` tables of a pyproject.toml; None if there are none."""
    table = _table(tools.get("pytest"))
    return table if table is None else _table(table.get("ini_options", table))  # pytest 9 needs no `ini_options`


def _table(value: object) -> Mapping[str, object] | None:
    return value if isinstance(value, Mapping) else None
