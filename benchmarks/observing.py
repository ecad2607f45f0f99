"""Measure how much observation slows down examples that mostly make calls.

Each piece of code runs in an evaluation and in a bare process, in turns, and measures its own time. The output is a
JSON line for each Python, with the milliseconds of each piece of code and the ratios of the medians. The code `loop`
makes no calls, so its ratio shows the cost of isolation alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from measuring import Case, Figure, interleave, milliseconds, ratio

from adacoder.sandbox.environment.interpreter import describe
from support.evaluating import other_pythons, workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adacoder.domain import JSON
    from support.evaluating import Workspace

CODE = '''\
import time


def other(x):
    return x


def f(how, n):
    """
    >>> began = time.perf_counter(); _ = f({how!r}, {n}); print(time.perf_counter() - began)
    0
    """
    return globals()["_" + how](n) if how != "recursion" else recursion(n, f)


def _loop(n):
    for number in range(n):
        number + 1


def _calls(n):
    for number in range(n):
        other(number)


def _callbacks(n):
    sorted(range(n), key=other)


def _generator(n):
    for number in (other(number) for number in range(n)):
        pass


def recursion(n, again):
    return n if n < 2 else again("recursion", n - 1) + again("recursion", n - 2)
'''
WORK = {"loop": 600_000, "calls": 300_000, "callbacks": 300_000, "generator": 200_000, "recursion": 21}
"""The pieces of code, each with an amount of work. In `recursion`, the target calls itself."""
BARE = """\
import doctest, sys
namespace = {"__name__": "mod"}
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"), namespace)
(example,) = doctest.DocTestParser().get_examples(namespace["f"].__doc__)
exec(compile(example.source, "<example>", "single"), namespace)
"""
MOST = 3.0
"""Target: observed code takes at most this multiple of its time in a bare Python."""


def text(how: str) -> str:
    """Return the module for one piece of code."""
    return CODE.replace("{how!r}", repr(how)).replace("{n}", str(WORK[how]))


async def bare(python: Path, path: Path) -> float:
    """Return the seconds that the example takes in a process that runs nothing else."""
    command = [python, "-c", BARE, path]
    ran = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
    return float(ran.stdout)


async def observed(ws: Workspace, how: str) -> float:
    """Return the seconds that the example takes in an evaluation."""
    verdict = await ws.evaluate(text(how), file=f"{how}.py", timeout=60)
    (result,) = verdict.results
    return float(result.got)


async def measure(python: Path, rounds: int) -> dict[str, JSON]:
    """Return the output line of one Python."""
    with tempfile.TemporaryDirectory(prefix="adacoder-observing-") as name:
        folder = Path(name)
        async with workspace(folder, interpreter=describe(python)) as ws:
            ws.write({f"{how}.py": text(how) for how in WORK})
            cases: dict[str, Case] = {}
            for how in WORK:
                cases[f"{how}_bare"] = partial(bare, python, folder / f"{how}.py")
                cases[f"{how}_observed"] = partial(observed, ws, how)
            samples = await interleave(cases, rounds, warm=1)
    figures = {how: Figure(ratio(samples, f"{how}_observed", f"{how}_bare"), at_most=MOST).json() for how in WORK}
    return {"python": python.name, "n": rounds, "figures": figures, **milliseconds(samples)}


def pythons(named: Sequence[Path]) -> Sequence[Path]:
    """Return the named Pythons, by default all available ones."""
    return named or [Path(sys.executable), *other_pythons()]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, action="append", default=[], help="only these")
    parser.add_argument("--rounds", type=int, default=7, help="(default: %(default)s)")
    arguments = parser.parse_args()
    for python in pythons(arguments.python):
        print(json.dumps(asyncio.run(measure(python, arguments.rounds))), flush=True)
