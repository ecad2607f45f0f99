"""Tasks from the dataset hub, downloaded with the hub's own library, which is imported only here and only on request.

They are written as a file of tasks like any other, with its checksum beside it; a file that is there is not downloaded
again. What the hub has of EvalPlus, of the -ET variants and of LiveCodeBench is in other forms, or needs code of
theirs to run: these are read from local files.
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
"""Name and configuration on the hub; all of their splits are tasks."""
NAMES = tuple(_PLACES)


def download(name: str, folder: Path) -> Path:
    """The file with the tasks of that name in `folder`, downloaded unless it is there.

    Raises:
        TasksError: it cannot be downloaded, or the file is not what was downloaded.
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
            raise TasksError(f"{path} is not what was downloaded: delete it, or run without --download.")
    except OSError as error:
        raise TasksError(f"{error.filename or path} cannot be written or read: {error.strerror}.") from error
    return path


def _rows(name: str) -> Iterable[Mapping[str, object]]:
    """The tasks, in an order that has nothing to do with the hub's splits."""
    try:
        from datasets import load_dataset
    except ImportError:
        raise TasksError("Downloads need the hub's library: pip install 'adacoder[hub]'.") from None
    place, configuration = _PLACES[name]
    try:
        with tempfile.TemporaryDirectory(prefix="adacoder-hub-") as cache:
            splits = load_dataset(place, configuration, cache_dir=cache)
            found = [dict(each) for split in splits.values() for each in split]
    except Exception as error:  # whatever the library and those below it raise
        why = visible(str(error).strip().partition("\n")[0] or type(error).__name__)
        raise TasksError(f"{place} cannot be downloaded: {why}") from error
    if not found or not all("task_id" in each for each in found):
        raise TasksError(f"{place} holds no tasks in a form that is known.")
    return sorted(found, key=_number)


def _number(task: Mapping[str, object]) -> int:
    return int(str(task["task_id"]).rpartition("/")[2])


def _write(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(data)
    part.replace(path)
