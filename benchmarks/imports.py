"""Measure the time to find the module that defines a name, in a large project with many installed packages.

The project is a copy of the standard library in a temporary folder. Its interpreter has this Python's packages. None of
their code runs. The last line is a JSON object with medians:

* `not_read_ms`: a new index of names finds a name that the target's module imports, so the index reads no other file;
* `first_ms`: the same index finds another name, and reads the project's files for the first time. The disk cache is
  warm;
* `later_ms`: the same index finds a third name;
* `nowhere_ms`: the same index looks for a name that nothing defines, so it also searches installed packages;
* `all_at_once_ms`: a new index begins with a name that nothing defines;
* `undefined_ms`: all undefined names of one function in a small module are found;
* `undefined_large_ms`: the same in the largest file;
* `files`, `megabytes`: the size of the project;
* `peak_megabytes`: the peak memory of an index.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import sysconfig
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.domain import Span
from adacoder.source.imports import ImportIndex, undefined_names
from adacoder.source.locate import locate

if TYPE_CHECKING:
    from collections.abc import Callable

    from adacoder.domain import JSON, Target

MODULE = '''"""A module."""

from math import sqrt as root


def f(x):
    """Doc."""
    return x
'''
SEEN, SEEN_TOO, NOT_SEEN = "Iterable", "partial", "no_such_name_anywhere"


def milliseconds(work: Callable[[], object]) -> float:
    """Return the milliseconds of one call of `work`."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def project(folder: Path) -> Target:
    """Copy the standard library into `folder` as a project, and add a module. Return the target in this module."""
    library = Path(sysconfig.get_path("stdlib"))
    foreign = shutil.ignore_patterns("site-packages", "dist-packages", "__pycache__", "*.so", "*.a")
    shutil.copytree(library, folder / "library", ignore=foreign, ignore_dangling_symlinks=True)
    module = folder / "library" / "own.py"
    module.write_text(MODULE, encoding="utf-8")
    return locate(MODULE, module, folder, qualname="f")


def index_times(target: Target, folder: Path, packages: Path) -> dict[str, float]:
    """Return the times of all cases that need an index."""
    index = ImportIndex(target, folder, [packages])
    fresh = ImportIndex(target, folder, [packages])
    return {
        "not_read_ms": milliseconds(lambda: index.import_for("root", "root(2)")),
        "first_ms": milliseconds(lambda: index.import_for(SEEN, f"{SEEN}()")),
        "later_ms": milliseconds(lambda: index.import_for(SEEN_TOO, f"{SEEN_TOO}(f)")),
        "nowhere_ms": milliseconds(lambda: index.import_for(NOT_SEEN, f"{NOT_SEEN}(1)")),
        "all_at_once_ms": milliseconds(lambda: fresh.import_for(NOT_SEEN, f"{NOT_SEEN}(1)")),
    }


def undefined_times(folder: Path) -> dict[str, float]:
    """Return the times to find undefined names in a small module, and in the largest file."""
    small = MODULE.replace("return x", "return sqrt(x)")
    large = max(((path.stat().st_size, path) for path in (folder / "library").glob("*.py")), default=(0, folder))[1]
    text = large.read_text(encoding="utf-8")
    return {
        "undefined_ms": milliseconds(lambda: undefined_names(small, Span(small.index("def"), len(small)))),
        "undefined_large_ms": milliseconds(lambda: undefined_names(text, Span(0, 200))),
    }


def held(target: Target, folder: Path, packages: Path) -> float:
    """Return the peak memory of an index in megabytes."""
    tracemalloc.start()
    ImportIndex(target, folder, [packages]).import_for(NOT_SEEN, f"{NOT_SEEN}(1)")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def measure(rounds: int) -> dict[str, JSON]:
    """Return the output line."""
    packages = Path(sysconfig.get_path("purelib"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        target = project(folder)
        taken: dict[str, list[float]] = {}
        for _ in range(rounds + 1):
            for case, one in {**index_times(target, folder, packages), **undefined_times(folder)}.items():
                taken.setdefault(case, []).append(one)
        files = list(folder.rglob("*.py"))
        return {
            "rounds": rounds,
            **{case: round(statistics.median(times[1:]), 3) for case, times in taken.items()},
            "files": len(files),
            "megabytes": round(sum(path.stat().st_size for path in files) / 1e6, 1),
            "peak_megabytes": round(held(target, folder, packages), 1),
        }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="new indexes (default: %(default)s)")
    json.dump(measure(parser.parse_args().rounds), sys.stdout)
    print()
