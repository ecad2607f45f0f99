"""Results and costs of every strategy with a random model.

    strategies.py [--only NAME …] [--tasks N] [--chance P …]

On each call the model writes the right function with probability P, else a recorded reply to that task that fails its
hidden tests. In all other roles it writes something of the right form. So the table does not describe real models. It
shows that feedback loops, budgets and selection work, that the best candidate is returned, and the cost of each
strategy. Tasks and replies come from the folder that ADACODER_DATA names.

One JSON line a strategy and P: `verified` and `right` (by the hidden tests, which are used only here) as shares of the
tasks; mean `calls`, `programs` and `rounds` a task; `most_calls`, retries included; `worse`: requests that returned
less than the best candidate they evaluated, which must be 0.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from rescue import Judge, humaneval, read, shared_out
from rescue import Task as JudgedTask

from adacoder.domain import FailureKind, Level, Status, TargetError
from adacoder.journal import Evaluated
from adacoder.project import Project
from adacoder.service import Service
from adacoder.settings import Settings
from adacoder.source.locate import locate
from adacoder.source.splice import splice
from adacoder.strategies import STRATEGIES
from adacoder.task import Task
from support.acting import Actor

DATA = "ADACODER_DATA"
"""The environment variable that names the folder with `HumanEval.jsonl.gz` and `model_replies.jsonl.gz`."""
SECONDS = 5.0
"""Timeout of an evaluation, in seconds."""
_GOT_LESS_FAR = frozenset({FailureKind.MEMORISED, FailureKind.UNDEFINED_NAME})
"""Failures that rank a candidate below all others (`Verdict.reach`)."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One task, with the model's possible replies."""

    name: str
    task: JudgedTask
    right: str
    wrong: Sequence[str]

    def writer(self, chance: float, strategy: str) -> Actor:
        """A model whose luck is the same in every run."""
        luck = random.Random(f"{self.name} {chance} {strategy}")

        def writes(number: int) -> str:
            return self.right if luck.random() < chance else luck.choice(self.wrong)

        tests = "\n".join(f"assert {self.task.function}({n}) == {n}" for n in range(3))
        return Actor(writes, tests=f"```python\n{tests}\n```", accepts=True, score=3)


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one request."""

    is_verified: bool
    is_right: bool
    calls: int
    programs: int
    rounds: int
    is_worse: bool


def trials(data: Path) -> list[Trial]:
    """The tasks of HumanEval that have recorded replies which fail."""
    wrong: defaultdict[str, list[str]] = defaultdict(list)
    for row in read(data / "model_replies.jsonl.gz"):
        if row["hidden_tests"] == "fail" and row["task_id"].startswith("HumanEval/"):
            wrong[row["task_id"]].append(row["reply"])
    found = []
    for each in read(data / "HumanEval.jsonl.gz"):
        if each["task_id"] in wrong:
            right = f"```python\n{each['prompt']}{each['canonical_solution']}\n```"
            found.append(Trial(each["task_id"], humaneval(each), right, wrong[each["task_id"]]))
    return found


async def request(service: Service, judge: Judge, folder: Path, trial: Trial, strategy: str, chance: float) -> Result:
    """Run one strategy on one task."""
    model = trial.writer(chance, strategy)
    models[trial.name] = model
    settings = Settings(models=(trial.name,), strategy=strategy, isolation=Level.LSM, timeout=SECONDS)
    target = locate(trial.task.prompt, folder / "task.py", folder, qualname=trial.task.function)
    outcome = await service.run(Task(target, settings, Project(folder)))
    programs = [
        step.details for step in outcome.steps if isinstance(step.details, Evaluated) and step.action == "evaluate"
    ]
    honest = [each for each in programs if each.failure is None or each.failure.kind not in _GOT_LESS_FAR]
    most = max((each.passed for each in honest), default=0)
    is_right = False
    if outcome.candidate is not None:
        is_right = await judge.passes(splice(target, outcome.candidate).text, trial.task)
    return Result(
        outcome.status is Status.VERIFIED,
        is_right,
        len(model.asked),
        len(programs),
        outcome.rounds,
        outcome.passed < most,
    )


models: dict[str, Actor] = {}
"""The model of each request that runs, by the task's name."""


async def opened(model_id: str | None, *_: object) -> Actor:
    """The model of a task."""
    return models[str(model_id)]


async def measure(folder: Path, data: Path, names: Sequence[str], chances: Sequence[float], most: int | None) -> None:
    """Print a line for each strategy and chance."""
    chosen = []
    for trial in trials(data):
        try:
            locate(trial.task.prompt, folder / "task.py", folder, qualname=trial.task.function)
            chosen.append(trial)
        except TargetError:
            print(f"left out: {trial.name}", file=sys.stderr)
    chosen = chosen[:most]
    service, judge = Service(open_model=opened), Judge(folder)  # type: ignore[arg-type]  # it has the used part of a model
    try:
        for name in names:
            for chance in chances:
                results: list[Result] = []

                async def one(
                    trial: Trial, name: str = name, chance: float = chance, kept: list[Result] = results
                ) -> None:
                    kept.append(await request(service, judge, folder, trial, name, chance))

                await shared_out([one(trial) for trial in chosen])
                print(json.dumps({"strategy": name, "chance": chance, **summed(results)}), flush=True)
    finally:
        await service.close()
        await judge.close()


def summed(results: Sequence[Result]) -> Mapping[str, float]:
    """Summary of all requests of a strategy."""
    count = len(results)
    return {
        "tasks": count,
        "verified": round(sum(each.is_verified for each in results) / count, 3),
        "right": round(sum(each.is_right for each in results) / count, 3),
        "calls": round(sum(each.calls for each in results) / count, 2),
        "most_calls": max(each.calls for each in results),
        "programs": round(sum(each.programs for each in results) / count, 2),
        "rounds": round(sum(each.rounds for each in results) / count, 2),
        "worse": sum(each.is_worse for each in results),
    }


def main() -> None:
    """Read the arguments, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[*STRATEGIES], choices=[*STRATEGIES])
    parser.add_argument("--chance", nargs="+", type=float, default=[0.1, 0.3, 0.6])
    parser.add_argument("--tasks", type=int)
    given = parser.parse_args()
    data = os.environ.get(DATA)
    if data is None:
        print(json.dumps({"skipped": f"{DATA} does not name a folder with real replies"}))
        return
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder).resolve(), Path(data), given.only, given.chance, given.tasks))


if __name__ == "__main__":
    main()
