"""Measure the time to find the function at the cursor in a file of 5,000 lines that was just edited.

The file consists of modules of the standard library. Before each call a line is typed, so no cache helps. All cases run
in turns on the same text, with the cursor at the beginning, in the middle and at the end:

* `find` finds the function around a line, and reads only the function's lines (`pytext.functions_around`);
* `locate` also makes a Target of the function (`source.locate`);
* `walk` finds the same function by reading the whole file (`pytext.definitions`);
* `parse` is `ast.parse` of the same text, if it has no syntax error.

Times are processor times. The last line is a JSON object with the milliseconds of each case, and how many times faster
`find` is. The run fails if `find` and `walk` find different functions.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from adacoder.domain import TargetError
from adacoder.pytext import Definition, Lines, definitions, functions_around, line_start
from adacoder.source.locate import locate

if TYPE_CHECKING:
    from adacoder.domain import JSON

MODULES = ("argparse", "inspect", "typing", "tarfile", "doctest")
LINES = 5000
PLACES = {"beginning": 0.0, "middle": 0.45, "end": 0.9}
"""Names of places in the file, each with the fraction of the file that is above it."""

T = TypeVar("T")


@dataclass(frozen=True)
class Text:
    """The text of a file after a line was typed, and the cursor's line."""

    text: str
    line: int


def sources(modules: tuple[str, ...], lines: int) -> list[str]:
    """Return texts of `lines` lines. Each joins modules of the standard library in another order."""
    texts = [Path(inspect.getfile(importlib.import_module(name))).read_text(encoding="utf-8") for name in modules]
    joined = ["".join(texts[index:] + texts[:index]) for index in range(len(texts))]
    return ["".join(text.splitlines(keepends=True)[:lines]) for text in joined]


def edited(source: str, place: float, chance: random.Random) -> Text:
    """Return `source` after a random line was typed at `place`, a fraction of the file."""
    cut = Lines(source)
    line = int((place + chance.random() / 10) * (len(cut) - 1))
    indent = cut[line][: len(cut[line]) - len(cut[line].lstrip(" "))].rstrip("\n")
    typed = chance.choice(["value = {}", "# {}", "call({}", "if x{}:", "return '{}"]).format(chance.random())
    return Text(f"{source[: cut.starts[line]]}{indent}{typed}\n{source[cut.starts[line] :]}", line)


def find(text: Text) -> list[Definition]:
    """Return the functions around the cursor."""
    start = line_start(text.text, text.line)
    return [] if start is None else functions_around(text.text, start)


def walk(text: Text) -> list[Definition]:
    """Return the functions around the cursor by reading the whole file."""
    start = Lines(text.text).starts[text.line]
    functions = (each for each in definitions(text.text) if not each.is_class)
    return [each for each in functions if each.span.start <= start <= each.span.end]


def make_target(text: Text) -> bool:
    """Make a Target of the function at the cursor. Return True if this succeeds."""
    path = Path(inspect.getfile(argparse))
    try:
        locate(text.text, path, path.parent, line=text.line)
    except TargetError:
        return False
    return True


def timed(work: Callable[[Text], T], text: Text) -> tuple[float, T]:
    """Call `work`. Return its processor time in milliseconds, and its result."""
    began = time.thread_time()
    result = work(text)
    return (time.thread_time() - began) * 1000, result


def measure(calls: int, seed: int) -> dict[str, JSON]:
    """Call each method `calls` times at each place of a file. Return the output line."""
    chance = random.Random(seed)
    files = sources(MODULES, LINES)
    samples: dict[str, dict[str, list[float]]] = {place: {} for place in PLACES}
    for index in range(calls):
        for place, begin in PLACES.items():
            text = edited(files[index % len(files)], begin, chance)
            for name, milliseconds in one_call(text, chance).items():
                samples[place].setdefault(name, []).append(milliseconds)
    return {"lines": LINES, "calls": calls, **{place: summary(found) for place, found in samples.items()}}


def one_call(text: Text, chance: random.Random) -> dict[str, float]:
    """Call each method on one text, in random order. Return the milliseconds of those that succeed."""
    works: dict[str, Callable[[], tuple[float, object]]] = {
        "find": lambda: timed(find, text),
        "walk": lambda: timed(walk, text),
        "parse": lambda: timed(parse, text),
        "locate": lambda: timed(make_target, text),
    }
    order = list(works)
    chance.shuffle(order)
    found = {name: works[name]() for name in order}
    if names(found["find"][1]) != names(found["walk"][1]):
        raise SystemExit(f"line {text.line}: {names(found['find'][1])} is not {names(found['walk'][1])}")
    return {name: milliseconds for name, (milliseconds, result) in found.items() if result is not False}


def parse(text: Text) -> bool:
    """Parse the text. Return False after a syntax error, because parsing ended early."""
    try:
        ast.parse(text.text)
    except SyntaxError:
        return False
    return True


def names(found: object) -> object:
    """Return the names and places of functions, to compare the results of two methods."""
    return [(each.qualname, each.span) for each in found] if isinstance(found, list) else found


def summary(samples: Mapping[str, list[float]]) -> dict[str, JSON]:
    """Return medians and 99th percentiles in milliseconds, and how many times faster `find` is than the others."""
    median = {name: statistics.median(values) for name, values in samples.items()}
    late = {name: statistics.quantiles(values, n=100)[98] for name, values in samples.items()}
    return {
        **{f"{name}_ms": round(value, 3) for name, value in median.items()},
        **{f"{name}_p99_ms": round(value, 3) for name, value in late.items()},
        "times_faster_than_walk": round(median["walk"] / median["find"], 1),
        "times_faster_than_parse": round(median["parse"] / median["find"], 1),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=300, help="calls at each place")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.calls, arguments.seed)))
