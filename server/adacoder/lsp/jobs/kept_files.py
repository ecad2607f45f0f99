"""Store kept results on disk, so that they survive a restart of the server.

Each result has its own file, in a folder that only this user can access. Files in an unknown form are ignored. A result
from a file counts as unverified until its examples have run again.
"""

from __future__ import annotations

import ast
import hashlib
import json
import logging
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from pygls.uris import to_fs_path

from adacoder.domain import JSON, Candidate, Edit
from adacoder.lsp.jobs.results import MOST_KEPT, KeptResult
from adacoder.lsp.snapshot import Uri, is_file
from adacoder.private_files import PrivateFolder
from adacoder.project import home
from adacoder.pytext import dedent, normalize, parsed
from adacoder.source.text import apply_edits

T = TypeVar("T")

log = logging.getLogger(__name__)

_VERSION = 1
_MOST_BYTES = 1 << 18
"""Maximum size of a file in bytes. A larger result is kept only in memory."""
_MOST_BYTES_IN_ALL = 1 << 22
_NAME = re.compile(r"[0-9a-f]{64}\.json")
_MOST_EXAMPLES = 1_000_000


class KeptFiles:
    """Files that store the kept results of one workspace."""

    def __init__(self, workspace: Path, storage: Path | None = None) -> None:
        """Use the folder `storage` that the client provides for the workspace.

        By default, use the user's state folder.
        """
        if storage is not None:
            self._folder = PrivateFolder(storage, "kept")
        else:
            key = hashlib.sha256(os.fsencode(os.path.realpath(workspace))).hexdigest()[:32]
            self._folder = PrivateFolder(_state(), "adacoder", "kept", key)

    def load(self) -> list[KeptResult]:
        """Return the stored results, the oldest first. Delete results for source files that no longer exist."""
        found, damaged = list[KeptResult](), list[str]()
        for name in self._names()[-MOST_KEPT:]:
            try:
                result = _result(json.loads(self._folder.read(name, _MOST_BYTES)), name)
                if result.path.is_file():
                    found.append(result)
                else:
                    self._folder.remove(name)
            except (OSError, ValueError, RecursionError, KeyError, TypeError):
                damaged.append(name)
        if damaged:
            log.warning("Ignored %d kept results that cannot be read: %s", len(damaged), ", ".join(damaged))
        return found

    def save(self, result: KeptResult) -> None:
        """Write a result. If there are too many files, delete the oldest.

        A result for a document that was never saved is not written, because that document may not exist after a
        restart.
        """
        if not is_file(result.uri):
            return
        data = json.dumps(_json(result)).encode()
        if len(data) > _MOST_BYTES:
            return
        try:
            self._folder.write(_name(result.job_id), data)
            names = self._names()
            sizes = self._folder.sizes()
            left = sum(sizes.values())
            while names and (len(names) > MOST_KEPT or left > _MOST_BYTES_IN_ALL):
                left -= sizes.get(names[0], 0)
                self._folder.remove(names.pop(0))
        except OSError as error:
            log.warning("The kept result is in memory only: %s", error)

    def remove(self, job_id: str) -> None:
        """Delete the file of a result, if it exists."""
        with suppress(OSError):
            self._folder.remove(_name(job_id))

    def clear(self) -> None:
        """Delete the files of all results."""
        with suppress(OSError):
            for name in self._names():
                self._folder.remove(name)

    def _names(self) -> list[str]:
        """Return the file names, the oldest first. If other users can access the folder, return none."""
        try:
            return [name for name in self._folder.sizes() if _NAME.fullmatch(name)]
        except OSError as error:
            log.warning("Kept results are not read: %s", error)
            return []


def _state() -> Path:
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    if state.is_absolute():
        return state
    return home() / ("Library/Application Support" if sys.platform == "darwin" else ".local/state")


def _name(job_id: str) -> str:
    return f"{hashlib.sha256(job_id.encode(errors='replace')).hexdigest()}.json"


def _json(result: KeptResult) -> dict[str, JSON]:
    candidate = result.candidate
    return {
        "version": _VERSION,
        "jobId": result.job_id,
        "uri": result.uri,
        "qualifiedName": result.qualname,
        "signature": result.signature,
        "source": result.source,
        "candidate": None
        if candidate is None
        else {
            "function": candidate.function,
            "imports": [*candidate.imports],
            "definitions": [*candidate.definitions],
            "cut": candidate.cut,
        },
        "edits": [[edit.start, edit.end, edit.text] for edit in result.additions],
        "reach": [*result.reach],
        "above": result.above,
    }


def _result(value: object, name: str) -> KeptResult:
    """Return the result that was read from the file `name`. `value` is the decoded JSON.

    Raises:
        ValueError, KeyError, TypeError: `value` does not describe a result.
    """
    members = _of(value, dict)
    job_id, uri, qualname = (_text(members[key]) for key in ("jobId", "uri", "qualifiedName"))
    signature, source = _text(members["signature"]), _text(members["source"])
    place = to_fs_path(uri) if is_file(uri) else None
    _require(members["version"] == _VERSION and _name(job_id) == name)
    _require(place is not None and Path(place).is_absolute() and "\0" not in place)
    _require(all(part.isidentifier() for part in qualname.split(".")))
    candidate = None if members["candidate"] is None else _candidate(members["candidate"])
    edits = tuple(_edit(each, len(source)) for each in _of(members["edits"], list))
    written = apply_edits(source, edits)
    _require(candidate is not None or _differs_in_docstring_only(source, written))
    return KeptResult(
        job_id,
        Uri(uri),
        Path(place or ""),
        qualname,
        signature,
        source,
        written,
        candidate,
        edits,
        score="not reviewed" if candidate is None else "unverified",
        reach=_reach(members["reach"]),
        above=max(_of(members.get("above", 0), int), 0),
    )


def _candidate(value: object) -> Candidate:
    members = _of(value, dict)
    imports, definitions = _texts(members["imports"]), _texts(members["definitions"])
    return Candidate(_text(members["function"]), imports, definitions, _of(members["cut"], bool))


def _edit(value: object, end: int) -> Edit:
    start, stop, text = _of(value, list)
    _require(0 <= _of(start, int) <= _of(stop, int) <= end)
    return Edit(start, stop, _text(text))


def _reach(value: object) -> tuple[int, ...]:
    reach = tuple(_of(each, int) for each in _of(value, list))
    _require(len(reach) in (1, 2) and all(0 <= each <= _MOST_EXAMPLES for each in reach))
    return reach


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(_text, _of(value, list)))


def _text(value: object) -> str:
    text = _of(value, str)
    text.encode()  # raises ValueError if the text cannot be encoded in UTF-8
    return text


def _of(value: object, kind: type[T]) -> T:
    if type(value) is not kind:
        raise TypeError(f"this must be of type {kind.__name__}")
    return value


def _require(holds: bool) -> None:
    if not holds:
        raise ValueError("the stored result is invalid")


def _differs_in_docstring_only(before: str, after: str) -> bool:
    """Return whether two versions of a function differ only in the docstring.

    Suggested examples are inserted without running them, so they must not change code.
    """
    one, other = map(_code, (before, after))
    return before != after and one is not None and one == other


def _code(source: str) -> str | None:
    tree = parsed(dedent(normalize(source)))
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    function = tree.body[0]
    if ast.get_docstring(function) is None:
        return None
    del function.body[0]
    return ast.dump(tree)
