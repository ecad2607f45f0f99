"""Store the results of a workspace's tests on disk, so that the next start can reuse them.

Each test file has its own file of results, which only this user can write. A malformed file is ignored.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from adacoder.domain import JSON, ProjectTest, ProjectTestStatus
from adacoder.foreign_json import read_json
from adacoder.private_files import cache_folder

_VERSION = 1
_MOST_BYTES = 8 << 20
_MOST_BYTES_IN_ALL = 64 << 20
"""Maximum size of all stored results of a workspace, in bytes. The oldest files are removed first."""


@dataclass(frozen=True, slots=True)
class Observed:
    """Results of one test file on the unchanged project."""

    tests: tuple[ProjectTest, ...]
    trouble: str = ""
    """The reason why tests did not run, or which of the project's options were left out. Empty if neither happened."""
    state: Mapping[Path, str | None] | None = None
    """Digest of each file that the tests read. A missing file has None."""


class Observations:
    """The stored test results of one workspace and its environment variables."""

    def __init__(self, workspace: Path, env: Sequence[str] = ()) -> None:
        place = "\0".join([os.path.realpath(workspace), *env])
        key = hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        self._folder = cache_folder("tests", key)

    def load(self, path: Path, root: Path) -> Observed | None:
        """Return the stored results of a test file, or None.

        `root` is the folder from which its tests import modules.
        """
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return _observed(read_json(self._folder.read(_name(path, root), _MOST_BYTES).decode()))
        return None

    def save(self, path: Path, root: Path, observed: Observed) -> None:
        """Store the results of a test file. If this fails, the tests run again at the next start."""
        data = json.dumps(_json(observed)).encode()
        if len(data) > _MOST_BYTES:
            return
        with suppress(OSError):
            self._folder.write(_name(path, root), data)
            sizes = self._folder.sizes()
            left = sum(sizes.values())
            for name, size in sizes.items():
                if left > _MOST_BYTES_IN_ALL:
                    self._folder.remove(name)
                    left -= size


def _name(path: Path, root: Path) -> str:
    return f"{hashlib.sha256(os.fsencode(path) + bytes(1) + os.fsencode(root)).hexdigest()[:32]}.json"


def _json(observed: Observed) -> JSON:
    return {
        "version": _VERSION,
        "trouble": observed.trouble,
        "state": {str(path): digest for path, digest in (observed.state or {}).items()},
        "tests": [
            {
                "name": test.name,
                "status": test.status.value,
                "seconds": test.seconds,
                "error": test.error,
                "explanation": test.explanation,
                "source": test.source,
                "cases": test.cases,
                "skipped": test.skipped,
                "ran": [[file, line] for file, line in sorted(test.ran)],
            }
            for test in observed.tests
        ],
    }


def _observed(found: object) -> Observed:
    match found:
        case {"version": version, "trouble": str(trouble), "state": dict(state), "tests": list(tests)} if (
            version == _VERSION
        ):
            digests = {Path(path): digest if digest is None else str(digest) for path, digest in state.items()}
            return Observed(tuple(map(_test, tests)), trouble, digests)
    raise ValueError("it has another form")


def _test(found: object) -> ProjectTest:
    match found:
        case {
            "name": str(name),
            "status": str(status),
            "seconds": int() | float() as seconds,
            "error": str(error),
            "explanation": str(explanation),
            "source": str(source),
            "cases": int(cases),
            "skipped": int(skipped),
            "ran": list(ran),
        }:
            places = frozenset((str(file), int(line)) for file, line in ran)
            found_status = ProjectTestStatus(status)
            return ProjectTest(
                name, found_status, float(seconds), None, error, explanation, source, places, cases, skipped
            )
    raise ValueError("a test has another form")
