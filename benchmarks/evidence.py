"""Find functions of real packages that AdaCoder calls verified, with their own bodies and with useless bodies.

The output is a JSON line for each package and body:

* `own`: the functions' own bodies. The line names the verified functions, to compare runs;
* `none`, `pass`, `unwritten`, `first`: `return None`, `pass`, `raise NotImplementedError`, or `return` of the first
  parameter. The line names the functions that are still verified, with their examples. This is correct if an example
  only shows None.

Functions without examples are left out. The packages come from PyPI, in the versions of `PACKAGES`.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from adacoder.domain import Outcome, Status, Target
from adacoder.pytext import dedent, normalize
from adacoder.sandbox.environment.interpreter import describe
from adacoder.source.locate import functions
from support.bodies import STAND_INS, outcome_of, with_body  # modules in tests/
from support.evaluating import workspace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adacoder.domain import JSON
    from adacoder.sandbox.host import Host

PACKAGES = {
    "toolz": ("toolz==1.2.0", ["toolz"]),
    "sortedcontainers": ("sortedcontainers==2.4.0", ["sortedcontainers"]),
    "more_itertools": ("more-itertools==11.2.1", ["more_itertools"]),
    "boltons": ("boltons==26.2.0", ["boltons"]),
    "networkx": (
        "networkx==3.6.1",
        [
            "networkx/algorithms/approximation",
            "networkx/algorithms/bipartite",
            "networkx/algorithms/distance_measures.py",
            "networkx/algorithms/cycles.py",
            "networkx/algorithms/dag.py",
            "networkx/algorithms/shortest_paths/generic.py",
            "networkx/classes/function.py",
        ],
    ),
}
"""The packages, each with the requirement to install it, and with its files and folders to read."""
OWN = "own"


def files(folder: Path, parts: Sequence[str]) -> Iterator[Path]:
    """Yield the modules of a package, without its tests."""
    for part in parts:
        whole = folder / part
        found = sorted(whole.rglob("*.py")) if whole.is_dir() else [whole]
        yield from (path for path in found if "tests" not in path.relative_to(folder).parts)


def targets(folder: Path, parts: Sequence[str]) -> list[Target]:
    """Return the functions and methods that have examples or whose class has examples."""
    found = [one for path in files(folder, parts) for one in functions(path.read_text("utf-8"), path, folder)]
    return [one.target for one in found if one.target.examples or one.target.of_class]


def first_parameter(target: Target) -> str | None:
    """Return the name of a function's first parameter after `self` or `cls`.

    If there is no other, return `self` or `cls`; None without parameters.
    """
    (function,) = ast.parse(dedent(normalize(target.source))).body
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    parameters = function.args
    plain = [*parameters.posonlyargs, *parameters.args]
    is_bound = target.in_class and not any(
        isinstance(decorator, ast.Name) and decorator.id == "staticmethod" for decorator in function.decorator_list
    )
    given = [*plain[is_bound:], *filter(None, [parameters.vararg]), *parameters.kwonlyargs, *plain]
    return given[0].arg if given else None


async def outcomes(host: Host, found: Sequence[Target], body: str) -> dict[Target, Outcome]:
    """Return the outcomes of the functions with the given body.

    A body that returns the first parameter leaves out functions without parameters.
    """
    if body == OWN:
        cases = dict.fromkeys(found)
    else:
        firsts = {target: first_parameter(target) for target in found}
        statement = STAND_INS[body]
        cases = {
            target: with_body(target, statement.format(first=first))
            for target, first in firsts.items()
            if first is not None or "{" not in statement
        }
    ended = await asyncio.gather(*(outcome_of(host, *case) for case in cases.items()))
    return dict(zip(cases, ended, strict=True))


def named(target: Target) -> str:
    """Return a function's name with its module and line. The name alone may occur more than once."""
    line = target.text.count("\n", 0, target.header.start) + 1
    return f"{target.module.name}.{target.qualname}:{line}"


def shown(outcome: Outcome) -> list[JSON]:
    verdict = outcome.verdict
    results = () if verdict is None else verdict.results
    return [f"{result.example.source.strip()} → {result.example.want.strip()}" for result in results]


async def measure(folder: Path, package: str, bodies: Sequence[str]) -> None:
    """Print a line for each body, for one package."""
    requirement, parts = PACKAGES[package]
    found = targets(folder, parts)
    async with workspace(folder, interpreter=describe(Path(sys.executable))) as ws:
        for body in bodies:
            began = time.monotonic()
            ended = await outcomes(ws.host(), found, body)
            verified = [target for target, outcome in ended.items() if outcome.status is Status.VERIFIED]
            line: dict[str, JSON] = {
                "package": requirement,
                "body": body,
                "functions": len(ended),
                "verified": len(verified),
                "statuses": dict(Counter(outcome.status.value for outcome in ended.values())),
                "seconds": round(time.monotonic() - began, 1),
            }
            if body == OWN:
                line["names"] = [named(target) for target in verified]
                line["reasons"] = {
                    named(target): outcome.reason
                    for target, outcome in ended.items()
                    if outcome.status is not Status.VERIFIED
                }
            else:
                line["accepted"] = {named(target): shown(ended[target]) for target in verified}
            print(json.dumps(line), flush=True)


def measure_all(packages: Sequence[str], bodies: Sequence[str]) -> None:
    """Install each package, and print its lines."""
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
    for package in packages:
        with tempfile.TemporaryDirectory(prefix="adacoder-evidence-") as folder:
            subprocess.run([*install, "--target", folder, PACKAGES[package][0]], check=True)
            asyncio.run(measure(Path(folder), package, bodies))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PACKAGES, action="append", metavar="PACKAGE", help=", ".join(PACKAGES))
    parser.add_argument("--body", choices=[OWN, *STAND_INS], action="append", metavar="BODY", help="of those above")
    arguments = parser.parse_args()
    measure_all(arguments.only or list(PACKAGES), arguments.body or [OWN, *STAND_INS])
