"""Measure which step helps a real model most after its first program has failed.

    next_step.py FILE --model MODEL [--base-url URL | --host URL] [--only even|odd] [--tasks N] [--seed N]

FILE is a benchmark's file, such as `HumanEval.jsonl.gz`. The model writes each function once. From each program that
fails, every step of `STEPS` is tried independently. A program passes if it passes the docstring's examples. The output
is one JSON line for each step:

* `tried` and `passed`: number of programs, and how many of them pass;
* `tokens` and `prompt_tokens`: mean number of tokens that the step writes and reads;
* `same`: number of programs that equal the failed program.

The first line is about the first programs. Its `left_out` counts tasks for which the model or its server failed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from unittest.mock import patch

from adacoder.agents.advisor import by_plan, told
from adacoder.agents.budget import Budget
from adacoder.agents.failures import described
from adacoder.agents.programming_assistant import WRITER, WRITER_BY_PLAN
from adacoder.agents.prompt_engineer import PLANNER
from adacoder.agents.request import Request
from adacoder.arena.formats import load
from adacoder.domain import Attempt, Candidate, Tokens
from adacoder.journal import Evaluated, Step
from adacoder.models.base import Sampling
from adacoder.service import Service
from adacoder.settings import Settings
from adacoder.strategies import STRATEGIES
from adacoder.strategies.revising import EXPLAINER, REVISER
from adacoder.strategies.strategy import Strategy
from adacoder.task import Task

NAME = "next-step"
"""Name of the strategy that tries all steps."""


async def _afresh(request: Request, failed: Attempt, *, temperature: float) -> Candidate:
    return await request.ask(WRITER, sampling=Sampling(temperature=temperature))


async def _revised(request: Request, failed: Attempt) -> Candidate:
    return await request.ask(REVISER, told(failed), advice="")


async def _explained(request: Request, failed: Attempt) -> Candidate:
    about = told(failed)
    return await request.ask(REVISER, about, advice=await request.ask(EXPLAINER, about))


async def _planned(request: Request, failed: Attempt) -> Candidate:
    return await by_plan(request, WRITER_BY_PLAN, await request.ask(PLANNER, error=described(failed.verdict)))


STEPS: Mapping[str, Callable[[Request, Attempt], Awaitable[Candidate]]] = {
    "afresh at 0.4": partial(_afresh, temperature=0.4),
    "afresh at 0.8": partial(_afresh, temperature=0.8),
    "afresh at 1": partial(_afresh, temperature=1.0),
    "revise": _revised,
    "explain, then revise": _explained,
    "plan, then write": _planned,
}


async def every_step(request: Request) -> None:
    """Write the function. If it fails, try each step on this program, each in its own branch of the search."""
    for _ in request.rounds():
        first = await request.repaired(await request.evaluate(await request.ask(WRITER)))
        if not first.verdict.passed and not first.verdict.final:
            for name, step in STEPS.items():
                with request.branch(name):
                    await request.repaired(await request.evaluate(await step(request, first)))


STRATEGY = Strategy(
    name=NAME,
    summary="tries every next step",
    paper="ours",
    roles=(WRITER, WRITER_BY_PLAN, PLANNER, REVISER, EXPLAINER),
    iterations=None,
    budget=lambda t: Budget(rounds=1 + t, calls=20),
    run=every_step,
)


def summed(requests: Sequence[Sequence[Step]]) -> list[Mapping[str, object]]:
    """Return the figures of each step from the journals of all requests."""
    tried: defaultdict[str, list[list[Step]]] = defaultdict(list)
    same: defaultdict[str, int] = defaultdict(int)
    for steps in requests:
        branches: defaultdict[str, list[Step]] = defaultdict(list)
        for each in steps:
            branches["".join(each.branch)].append(each)
        failed = {each.code for each in _programs(branches.pop("", []))}
        for name, found in branches.items():
            tried[name].append(found)
            same[name] += bool(failed & {each.code for each in _programs(found)[:1]})
    lines: list[Mapping[str, object]] = []
    for name, branch in tried.items():
        tokens = [sum((each.tokens for each in found), Tokens()) for found in branch]
        lines.append(
            {
                "step": name,
                "tried": len(branch),
                "passed": sum(any(each.failure is None for each in _programs(found)) for found in branch),
                "tokens": round(fmean(each.completion for each in tokens)),
                "prompt_tokens": round(fmean(each.prompt for each in tokens)),
                "same": same[name],
            }
        )
    return lines


def _programs(steps: Sequence[Step]) -> list[Evaluated]:
    return [each.details for each in steps if each.action == "evaluate" and isinstance(each.details, Evaluated)]


async def measure(folder: Path, given: argparse.Namespace) -> None:
    """Print an output line for each step of `STEPS`."""
    tasks = load(given.file, folder).tasks
    if given.only:
        tasks = tuple(each for number, each in enumerate(tasks) if number % 2 == (given.only == "odd"))
    tasks = tasks[: given.tasks]
    settings = Settings(models=(given.model,), host=given.host, base_url=given.base_url, seed=given.seed, strategy=NAME)
    service = Service()
    try:
        with patch.dict(STRATEGIES, {NAME: STRATEGY}):
            outcomes = [await service.run(Task(each.target, settings, each.project)) for each in tasks]
    finally:
        await service.close()
    known = [outcome for outcome in outcomes if outcome.trouble is None]
    first = [_programs([each for each in outcome.steps if not each.branch]) for outcome in known]
    print(
        json.dumps(
            {
                "step": "first",
                "tried": len(known),
                "left_out": len(outcomes) - len(known),
                "passed": sum(any(each.failure is None for each in found) for found in first),
            }
        )
    )
    for line in summed([outcome.steps for outcome in known]):
        print(json.dumps(line))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--host", default=Settings().host)
    parser.add_argument("--base-url")
    parser.add_argument("--only", choices=["even", "odd"])
    parser.add_argument("--tasks", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measure(Path(folder), given))


if __name__ == "__main__":
    main()
