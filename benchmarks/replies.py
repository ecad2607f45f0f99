"""Run the arena on recorded replies of models, and compare the results with the replies' labels.

    replies.py [--sources NAME …] [--columns] [--keep FOLDER]

The environment variable `ADACODER_DATA` names the folder with `HumanEval.jsonl.gz`, `mbpp.jsonl.gz` and
`model_replies.jsonl.gz`. Labels come from hidden tests, which no task shows.

The output is one JSON line. For each model, it has the number of distinct replies that are right:

* `alone`: the program in the reply, unchanged. The labels refer to this program.

With `--columns` it also has:

* `extraction`: the strategy `direct`;
* `rules`: the strategy `adacoder` with its repair rules, but without further rounds;
* `loop`: the strategy `resample`, which tries the replies to a task in order. Only tasks with several replies count.

These numbers are not pass@1, because each distinct reply counts once. If a result contradicts the reply's label, the
reply is judged again with six times the time, and listed. With `--keep`, a later run continues from the results in a
folder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from recorded import Recorded, plain, replies_in, tasks_in

from adacoder.arena.cells import Bench, Cell, Plan
from adacoder.arena.judge import PASSED, HiddenJudge
from adacoder.arena.rows import RowsFile, RowsReader
from adacoder.arena.runner import Runner, RunProgress
from adacoder.arena.tasks import ArenaTask, TaskSet
from adacoder.domain import Reply
from adacoder.models.backend import Session
from adacoder.models.base import Leases
from adacoder.models.errors import OnlyThought
from adacoder.models.recording.about import About
from adacoder.models.scripted import ScriptedModel
from adacoder.models.window import Window
from adacoder.service import Service
from adacoder.settings import Settings

Replies: TypeAlias = "Mapping[tuple[str, str], Sequence[Recorded]]"
"""Replies by model and task."""

WORKERS = 4
SECONDS = 5.0
COLUMNS = {"direct": "extraction", "adacoder": "rules", "resample": "loop"}


class NoMore(OnlyThought):
    """The model has no recorded reply left.

    As a subclass of OnlyThought, this counts as a failure of the model, not of its server.
    """


@dataclass(frozen=True)
class Samples(Plan):
    """A plan with one cell for each reply of a model to a task."""

    replies: Replies

    def __len__(self) -> int:
        return sum(1 for _ in self.cells(self.models))

    def cells(self, models: Iterable[str]) -> Iterator[Cell]:
        """Yield the cells that have a reply."""
        for cell in super().cells(models):
            given = self.replies.get((cell.model, cell.task.id), ())
            is_one = cell.strategy != "resample" or cell.key[5] == 0
            if cell.key[5] < len(given) and is_one:
                yield cell


def kept_in(path: Path) -> dict[str, bool]:
    """Return the stored judgements of an earlier run, by reply. Remove the last line if it is incomplete."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    whole = [line for line in lines if line.endswith("\n")]
    path.write_text("".join(whole))
    return dict(map(json.loads, whole))


async def shared_out(judge: HiddenJudge, work: Sequence[tuple[Recorded, ArenaTask]], path: Path) -> list[bool]:
    """Judge the programs of all replies. Return True for each that is right.

    The file `path` stores the judgements. Those of an earlier run are reused.
    """
    found = await asyncio.to_thread(kept_in, path)
    waiting = iter([(recorded, task) for recorded, task in work if recorded["id"] not in found])
    with path.open("a", buffering=1) as kept:

        async def worker() -> None:
            for recorded, task in waiting:
                found[recorded["id"]] = await judge.judge_text(task, plain(recorded, task)) == PASSED
                kept.write(json.dumps([recorded["id"], found[recorded["id"]]]) + "\n")
                if len(found) % 500 == 0:
                    print(f"alone: {len(found)} of {len(work)}", file=sys.stderr, flush=True)

        await asyncio.gather(*(worker() for _ in range(WORKERS)))
    return [found[recorded["id"]] for recorded, _ in work]


def model_of(recorded: Recorded) -> str:
    """Return a name for the model of a reply. The name includes the reply's source."""
    return f"{recorded['source']}/{recorded['model']}"


async def columns(sets: Sequence[TaskSet], replies: Replies, folder: Path) -> dict[str, dict[str, list[int]]]:
    """Run the arena. Return the numbers of right cells and of all cells, for each model and column."""
    settings = Settings(timeout=SECONDS, max_iterations=0, seed=0)
    path = folder / "rows.jsonl"

    async def opened(
        name: str | None, settings: Settings, session: Session, on_wait: object, about: About | None = None
    ) -> ScriptedModel:
        assert name is not None
        assert about is not None
        given = replies[name, ids[id(about.target)]][settings.seed or 0 :]
        texts = [Reply(each["reply"]) for each in given]
        return ScriptedModel(*texts, then=NoMore(name), name=name, window=Window(1 << 17))

    ids = {id(task.target): task.id for each in sets for task in each.tasks}
    models = tuple(dict.fromkeys(model for model, _ in replies))
    for strategies, of in ((("direct", "adacoder"), settings), (("resample",), replace(settings, max_iterations=None))):
        for tasks in sets:
            judge, service = HiddenJudge(of), Service(opened, Session(leases=Leases(WORKERS)))
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
    for row in RowsReader().rows(path):
        if row.strategy == "resample" and len(replies[row.model, row.task]) == 1:
            continue
        count = counts[row.model][COLUMNS[row.strategy]]
        count[0] += row.right is True
        count[1] += 1
    return counts


def tell(standing: RunProgress) -> None:
    """Print the progress from time to time."""
    if standing.done % 250 == 0:
        print(f"{standing.done} of {standing.total} cells", file=sys.stderr, flush=True)


async def measure(
    data: Path, folder: Path, kept: Path, sources: Sequence[str], *, with_columns: bool
) -> dict[str, object]:
    """Return the output line."""
    sets, by_id = tasks_in(data, folder)
    replied = replies_in(data / "model_replies.jsonl.gz")
    recorded = [each for each in replied if not sources or each["source"] in sources]
    work = [(each, by_id[each["task_id"]]) for each in recorded]
    judge = HiddenJudge(Settings(timeout=SECONDS))
    try:
        alone = await shared_out(judge, work, kept / "alone.jsonl")
    finally:
        await judge.close()
    differing = [place for place, (each, _) in enumerate(work) if alone[place] != (each["hidden_tests"] == "pass")]
    patient = HiddenJudge(Settings(timeout=6 * SECONDS))
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
        for model, counts in (await columns(sets, replies, kept)).items():
            table[model].update(counts)
    return {
        "tasks": {each.dataset: len({task.id for _, task in work} & {task.id for task in each.tasks}) for each in sets},
        "replies": len(recorded),
        "differences": differences,
        "table": table,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sources", nargs="*", default=(), help="only the replies of these systems")
    parser.add_argument("--columns", action="store_true", help="add the arena's results for the replies")
    parser.add_argument("--keep", type=Path, help="folder for the results, from which a later run continues")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        kept = arguments.keep or folder
        kept.mkdir(parents=True, exist_ok=True)
        data = Path(os.environ["ADACODER_DATA"])
        print(json.dumps(asyncio.run(measure(data, folder, kept, arguments.sources, with_columns=arguments.columns))))


if __name__ == "__main__":
    main()
