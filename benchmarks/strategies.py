"""Measure the results and costs of every strategy with a random model.

    strategies.py [--only NAME …] [--tasks N] [--chance P …] [--seeds N]

For a function, the model writes the right program with probability P, and otherwise a recorded reply that fails the
hidden tests. In other roles, it writes a prepared reply of the right form. So the figures do not describe real
models, but show whether feedback loops, budgets and selection work, and what each strategy costs. All strategies get
the same random numbers. Tasks and replies come from the folder ADACODER_DATA.

The output is one JSON line for each strategy and P:

* `verified` and `right`: shares of the requests, with Wilson's intervals. Hidden tests decide what is right;
* `calls`, `programs` and `rounds`: means over the requests;
* `most_calls`: the maximum for a request, including retries;
* `worse`: requests that did not return the best candidate that they evaluated. It must be 0.
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
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from recorded import replies_in
from rescue import shared_out

from adacoder.arena.formats import load
from adacoder.arena.judge import PASSED, HiddenJudge
from adacoder.arena.measures import wilson
from adacoder.arena.tasks import ArenaTask
from adacoder.domain import FailureKind, Level, Status
from adacoder.journal import Evaluated
from adacoder.service import Service
from adacoder.settings import Settings
from adacoder.strategies import STRATEGIES
from adacoder.task import Task
from support.acting import Actor

DATA = "ADACODER_DATA"
"""The environment variable that names the folder with `HumanEval.jsonl.gz` and `model_replies.jsonl.gz`."""
SECONDS = 5.0
"""Timeout of an evaluation, in seconds."""
_GOT_LESS_FAR = frozenset({FailureKind.MEMORISED, FailureKind.UNDEFINED_NAME})
"""Failures that rank below all other failures (see `Verdict.reach`)."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A task, and the replies that the model can give."""

    task: ArenaTask
    right: str
    wrong: Sequence[str]

    def writer(self, chance: float, seed: int) -> Actor:
        """Return a model whose random numbers are the same in every run and for every strategy."""
        luck = random.Random(f"{self.task.id} {chance} {seed}")

        def writes(number: int) -> str:
            return self.right if luck.random() < chance else luck.choice(self.wrong)

        tests = "\n".join(f"assert {self.task.target.qualname}({n}) == {n}" for n in range(3))
        return Actor(writes, tests=f"```python\n{tests}\n```", accepts=True, score=3)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one request."""

    task: str
    is_verified: bool
    is_right: bool
    calls: int
    programs: int
    rounds: int
    is_worse: bool


def trials(data: Path, folder: Path) -> list[Trial]:
    """Return the tasks of HumanEval that have failing recorded replies. `folder` is their workspace."""
    wrong: defaultdict[str, list[str]] = defaultdict(list)
    for row in replies_in(data / "model_replies.jsonl.gz"):
        if row["hidden_tests"] == "fail":
            wrong[row["task_id"]].append(row["reply"])
    return [
        Trial(each, f"```python\n{each.canonical.text}\n```", wrong[each.id])
        for each in load(data / "HumanEval.jsonl.gz", folder).tasks
        if each.id in wrong and each.canonical is not None
    ]


async def request(
    service: Service, judge: HiddenJudge, settings: Settings, trial: Trial, chance: float, seed: int
) -> Result:
    """Run the settings' strategy on one task."""
    model, name = trial.writer(chance, seed), f"{trial.task.id} {seed}"
    models[name] = model
    outcome = await service.run(Task(trial.task.target, replace(settings, models=(name,)), trial.task.project))
    programs = [
        step.details for step in outcome.steps if isinstance(step.details, Evaluated) and step.action == "evaluate"
    ]
    honest = [each for each in programs if each.failure is None or each.failure.kind not in _GOT_LESS_FAR]
    most = max((each.passed for each in honest), default=0)
    is_right = False
    if outcome.candidate is not None:
        is_right = await judge.judge(trial.task, outcome.candidate) == PASSED
    return Result(
        trial.task.id,
        outcome.status is Status.VERIFIED,
        is_right,
        len(model.asked),
        len(programs),
        outcome.rounds,
        outcome.passed < most,
    )


models: dict[str, Actor] = {}
"""The model of each running request, by the request's task and seed."""


async def opened(model_id: str | None, *_: object) -> Actor:
    """Return the model of a running request. The service calls this to open a model."""
    return models[str(model_id)]


async def measure(folder: Path, data: Path, given: argparse.Namespace) -> None:
    """Print a line for each strategy and chance."""
    chosen = trials(data, folder)[: given.tasks]
    settings = Settings(isolation=Level.LSM, timeout=SECONDS)
    service, judge = Service(open_model=opened), HiddenJudge(settings)  # type: ignore[arg-type]  # it has the used part of a model
    try:
        for name, chance in product(given.only, given.chance):
            results: list[Result] = []
            used = replace(settings, strategy=name)

            async def one(trial: Trial, seed: int, *, of: Settings, at: float, kept: list[Result]) -> None:
                kept.append(await request(service, judge, of, trial, at, seed))

            all_of_them = product(chosen, range(given.seeds))
            await shared_out([one(trial, seed, of=used, at=chance, kept=results) for trial, seed in all_of_them])
            print(json.dumps({"strategy": name, "chance": chance, **summed(results)}), flush=True)
    finally:
        await service.close()
        await judge.close()


def summed(results: Sequence[Result]) -> Mapping[str, float | list[float]]:
    """Summarise all requests of a strategy.

    Requests with different seeds for the same task are not independent. So intervals are computed from the number of
    tasks.
    """
    count, tasks = len(results), len({each.task for each in results})

    def interval(hits: int) -> list[float]:
        return [round(bound, 3) for bound in wilson(hits / count * tasks, tasks)]

    return {
        "tasks": tasks,
        "verified_interval": interval(sum(each.is_verified for each in results)),
        "right_interval": interval(sum(each.is_right for each in results)),
        "verified": round(sum(each.is_verified for each in results) / count, 3),
        "right": round(sum(each.is_right for each in results) / count, 3),
        "calls": round(sum(each.calls for each in results) / count, 2),
        "most_calls": max(each.calls for each in results),
        "programs": round(sum(each.programs for each in results) / count, 2),
        "rounds": round(sum(each.rounds for each in results) / count, 2),
        "worse": sum(each.is_worse for each in results),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[*STRATEGIES], choices=[*STRATEGIES])
    parser.add_argument("--chance", nargs="+", type=float, default=[0.1, 0.3, 0.6])
    parser.add_argument("--tasks", type=int)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    data = os.environ.get(DATA)
    if data is None:
        print(json.dumps({"skipped": f"{DATA} does not name a folder with real replies"}))
        return
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder).resolve(), Path(data), given))


if __name__ == "__main__":
    main()
