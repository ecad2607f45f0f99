"""Read recorded replies of models to the tasks of HumanEval and MBPP.

The label of a reply is its result in hidden tests, which no task shows.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from adacoder.arena.formats import load
from adacoder.arena.tasks import ArenaTask, TaskSet

Recorded: TypeAlias = "Mapping[str, str]"
"""A reply: `id, source, model, task_id, kind, reply, hidden_tests`. The last field is the label."""

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n(?P<code>.*?)(?:^[ \t]*(?:```|~~~)|\Z)", re.DOTALL | re.MULTILINE)


def tasks_in(data: Path, folder: Path) -> tuple[list[TaskSet], dict[str, ArenaTask]]:
    """Return the tasks of both benchmarks, and the task of each reply by its id. `folder` is their workspace."""
    sets = [load(data / name, folder, shows=False) for name in ("HumanEval.jsonl.gz", "mbpp.jsonl.gz")]
    return sets, {task.id: task for each in sets for task in each.tasks}


def replies_in(path: Path) -> Iterator[Recorded]:
    """Yield the replies in a file, which may be compressed. Each line is a JSON object."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def plain(recorded: Recorded, task: ArenaTask) -> str:
    """Return the program in a reply without any repair. The reply's label refers to it."""
    reply = recorded["reply"]
    if recorded["kind"] == "continuation":
        return task.target.text + reply
    fence = _FENCE.search(reply) if recorded["kind"] == "chat-reply" else None
    return fence["code"] if fence else reply
