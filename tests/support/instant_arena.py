"""Run the arena with a model that answers at once: `instant_arena.py FOLDER SAMPLES`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from adacoder.arena.cells import Bench, Plan
from adacoder.arena.formats import load
from adacoder.arena.judge import HiddenJudge
from adacoder.arena.rows import RowsFile
from adacoder.arena.runner import Runner
from adacoder.models.backend import Session
from adacoder.models.base import Leases
from adacoder.models.scripted import ScriptedModel
from adacoder.service import Service
from adacoder.settings import Settings

RIGHT = "```python\ndef double(x):\n    return 2 * x\n```\n"


async def run(folder: Path, samples: int) -> None:
    """Run all cells of the arena that have no row yet."""

    async def open_model(*_: object) -> ScriptedModel:
        return ScriptedModel(then=RIGHT)

    settings = Settings(seed=0)
    judge, service = HiddenJudge(settings), Service(open_model, Session(leases=Leases(9)))
    rows = RowsFile(folder / "rows.jsonl")
    tasks = load(folder / "tasks.jsonl", folder / "work")
    plan = Plan(tasks, ("openai:instant",), ("direct",), samples, settings)
    try:
        await Runner(plan, Bench(service, judge, settings, folder / "journals"), rows).run()
    finally:
        await asyncio.gather(judge.close(), service.close())
        await rows.close()


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1]), int(sys.argv[2])))
