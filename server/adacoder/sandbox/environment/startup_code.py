"""Find code in the workspace that Python runs at start-up, before any example.

The sandbox confines such code, but it may change the results of examples. So the user gets a note.

Files that are unchanged since the installation of their package are left out, because most environments have such
files. `usercustomize` never runs, because AdaCoder starts Python in isolated mode.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import time
from base64 import urlsafe_b64encode
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.sandbox.environment.real_paths import beginning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adacoder.sandbox.environment.interpreter import Interpreter

RECHECK_SECONDS = 10.0
_CODE = re.compile(rb"^(?:\xef\xbb\xbf)?import[ \t]", re.MULTILINE)
"""Matches a line of a `.pth` file that Python runs as code, not as a path."""
_OF_VIRTUALENV = b"import _virtualenv"
"""Contents of the `.pth` file that virtualenv and uv put into each environment. No package lists this file."""
_LIBRARIES = ("", "python3*", "python3*/*-packages", "lib*/python3*", "lib*/python3*/*-packages")
"""Folders in which Python looks for modules, relative to the interpreter's folders."""
_MOST_BYTES = 1 << 16
_MOST_BYTES_OF_RECORD = 1 << 22
_MOST_ENTRIES = 10_000
_MOST_RECORDS = 1_000
_SHOWN = 3


def note(interpreter: Interpreter, workspace: Path) -> str:
    """Return a note about start-up code in the workspace, or an empty text."""
    files = _files(interpreter, workspace, int(time.monotonic() / RECHECK_SECONDS))
    if not files:
        return ""
    names = ["".join(filter(str.isprintable, os.path.relpath(file, workspace))) for file in files]
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    return (
        f"This workspace has Python start-up code ({shown}). It runs before every example and can change results: "
        "review it."
    )


@lru_cache(maxsize=32)
def _files(interpreter: Interpreter, workspace: Path, moment: int) -> tuple[Path, ...]:
    del moment  # This argument only makes cached results expire.
    root = os.path.realpath(workspace)
    places = {os.path.realpath(place): place for place in _places(interpreter)}
    inside = [place for reached, place in places.items() if Path(reached).is_relative_to(root)]
    return tuple(sorted(file for place in inside for file in _run_in(place)))


def _places(interpreter: Interpreter) -> Iterator[Path]:
    for folder in interpreter.folders:
        for pattern in _LIBRARIES:
            with suppress(OSError):
                yield from sorted(folder.glob(pattern)) if pattern else [folder]


def _run_in(place: Path) -> Iterator[Path]:
    """Yield the files in a folder of modules that Python runs at start-up."""
    names: list[str] = []
    with suppress(OSError), os.scandir(place) as entries:
        names = [entry.name for entry in itertools.islice(entries, _MOST_ENTRIES)]
    for name in names:
        is_run = name.partition(".")[0] == "sitecustomize"
        if name.endswith(".pth") and place.name.endswith("-packages"):
            content = beginning(place / name, _MOST_BYTES)
            is_run = _runs_code(content) and not _is_as_installed(place, name, content)
        if is_run:
            yield place / name


def _runs_code(content: bytes) -> bool:
    return len(content) == _MOST_BYTES or _CODE.search(content.replace(b"\r", b"\n")) is not None


def _is_as_installed(place: Path, name: str, content: bytes) -> bool:
    """Return whether a file is unchanged since its package was installed."""
    if content.strip() == _OF_VIRTUALENV:
        return True
    digest = urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
    line = b"%s,sha256=%s,%d" % (os.fsencode(name), digest, len(content))
    with suppress(OSError):
        records = itertools.islice(place.glob("*.dist-info/RECORD"), _MOST_RECORDS)
        return any(line in beginning(record, _MOST_BYTES_OF_RECORD).splitlines() for record in records)
    return False
