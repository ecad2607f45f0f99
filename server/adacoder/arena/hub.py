"""Download tasks from the Hugging Face hub, with the library `datasets`.

The tasks are stored as an ordinary file, with a checksum in a second file, and are not downloaded again. EvalPlus, the
-ET variants and LiveCodeBench can only be read from local files, because their datasets on the hub have another format
or need code from there.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from adacoder.arena.tasks import TasksError
from adacoder.visible import visible

_PLACES: Mapping[str, tuple[str, str]] = {
    "humaneval": ("openai/openai_humaneval", "openai_humaneval"),
    "mbpp": ("google-research-datasets/mbpp", "full"),
    "mbpp-sanitized": ("google-research-datasets/mbpp", "sanitized"),
}
"""Name and configuration of each dataset on the hub."""
NAMES = tuple(_PLACES)


def download(name: str, folder: Path) -> Path:
    """Return the path of the task file for `name` in `folder`. If the file is missing, download it.

    Raises:
        TasksError: the file cannot be downloaded, read or written, or it has changed since its download.
    """
    if name not in _PLACES:
        raise TasksError(f"'{name}' cannot be downloaded, but {', '.join(NAMES)} can: name a file or a folder.")
    path, beside = folder / f"{name}.jsonl", folder / f"{name}.jsonl.sha256"
    try:
        if not path.exists():
            data = "".join(json.dumps(each) + "\n" for each in _rows(name)).encode()
            _write(beside, f"{hashlib.sha256(data).hexdigest()}  {path.name}\n".encode())
            _write(path, data)
        elif beside.exists() and beside.read_text().split()[:1] != [hashlib.sha256(path.read_bytes()).hexdigest()]:
            raise TasksError(f"{path} differs from the download: delete it, or run without --download.")
    except OSError as error:
        raise TasksError(f"{error.filename or path} cannot be written or read: {error.strerror}.") from error
    return path


def _rows(name: str) -> Iterable[Mapping[str, object]]:
    """Load the tasks of all splits, in the order of their numbers."""
    try:
        from datasets import load_dataset
    except ImportError:
        raise TasksError("Downloads need the hub's library: pip install 'adacoder[hub]'.") from None
    place, configuration = _PLACES[name]
    try:
        with tempfile.TemporaryDirectory(prefix="adacoder-hub-") as cache:
            splits = load_dataset(place, configuration, cache_dir=cache)
            found = [dict(each) for split in splits.values() for each in split]
    except Exception as error:  # the library and its dependencies raise many kinds of errors
        why = visible(str(error).strip().partition("\n")[0] or type(error).__name__)
        raise TasksError(f"{place} cannot be downloaded: {why}") from error
    if not found or not all("task_id" in each for each in found):
        raise TasksError(f"{place} holds no tasks in a known format.")
    return sorted(found, key=_number)


def _number(task: Mapping[str, object]) -> int:
    return int(str(task["task_id"]).rpartition("/")[2])


def _write(path: Path, data: bytes) -> None:
    """Write a file completely or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(data)
    part.replace(path)
