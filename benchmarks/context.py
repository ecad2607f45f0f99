"""Measure the time to gather a model's context in small and large modules of the standard library.

The output is one JSON line. For each module it has the number of lines, and the number and size of the context's
pieces. `cold` is the time in milliseconds of the first call in a process, with the import of jedi, and `warm` of later
calls. `warm_by_parsing` compares a later call with `ast.parse` of the module.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.source.context import pieces
from adacoder.source.locate import locate
from adacoder.source.text import read

if TYPE_CHECKING:
    from adacoder.domain import JSON, Target

LIBRARY = Path(os.__file__).parent
FUNCTIONS = {
    "textwrap.py": "TextWrapper.wrap",
    "statistics.py": "NormalDist.overlap",
    "argparse.py": "ArgumentParser.error",
    "typing.py": "get_type_hints",
    "_pydecimal.py": "Decimal.quantize",
}
"""Functions whose context is gathered, by module. The largest module is last."""
COLD = "import sys, context; print(context.seconds(context.target(sys.argv[1])))"


def target(name: str) -> Target:
    """Return the function to measure in the module `name`."""
    path = LIBRARY / name
    return locate(read(path).text, path, LIBRARY, qualname=FUNCTIONS[name])


def seconds(one: Target) -> float:
    """Return the seconds that one call takes."""
    begin = time.perf_counter()
    pieces(one)
    return time.perf_counter() - begin


def cold(name: str) -> float:
    """Return the seconds that the first call in a new process takes."""
    command = [sys.executable, "-c", COLD, name]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, cwd=Path(__file__).parent).stdout)


def parsing(one: Target) -> float:
    """Return the seconds that Python's parser needs for the whole text."""
    begin = time.perf_counter()
    ast.parse(one.text)
    return time.perf_counter() - begin


def measured(name: str, rounds: int) -> dict[str, JSON]:
    """Return the figures of one module."""
    one = target(name)
    seconds(one)
    samples = [(cold(name), seconds(one), parsing(one)) for _ in range(rounds)]
    first, later, whole = (statistics.median(column) for column in zip(*samples, strict=True))
    found = pieces(one)
    return {
        "lines": one.text.count("\n"),
        "pieces": len(found),
        "characters": sum(len(piece.text) for piece in found),
        "cold_ms": round(first * 1000, 1),
        "warm_ms": round(later * 1000, 1),
        "warm_by_parsing": round(later / whole, 2),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11, help="of each module (default: %(default)s)")
    rounds = parser.parse_args().rounds
    line: dict[str, JSON] = {"python": platform.python_version(), "cores": os.cpu_count() or 1, "n": rounds}
    print(json.dumps(line | {name.removesuffix(".py"): measured(name, rounds) for name in FUNCTIONS}))
