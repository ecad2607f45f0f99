"""Compare `adacoder check` with `pytest --doctest-modules`, by their times and verdicts on the same files.

    check.py [--rounds N] [--only CASE]…

The cases are packages, parts of large packages, and one file with one docstring. The output is one JSON line for each.
Both programs run as commands, in turns, in a new virtual environment with AdaCoder and pytest. Then each docstring's
verdict is compared with the verdict of `doctest`'s runner in a separate process. Each difference is listed with its
reason. `check_to_pytest_limit` is the same ratio for a program that only forks a process for each docstring, without
isolation or observation. The packages come from PyPI, in the versions of `PACKAGES`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from evaluations import WORDS
from measuring import Figure, Report, interleave, milliseconds, ratio

if TYPE_CHECKING:
    from adacoder.domain import JSON

PACKAGES = {
    "more_itertools": "more-itertools==11.2.1",
    "boltons": "boltons==26.2.0",
    "networkx/algorithms": "networkx==3.6.1",
    "sympy/core": "sympy==1.14.0",
    "pandas/core/strings": "pandas==3.1.1",
    "sklearn/metrics": "scikit-learn==1.9.1",
}
"""Folders to check, each with the requirement to install."""
NEEDED = ("numpy==2.4.6", "scipy==1.17.1", "mpmath==1.3.0", "python-dateutil", "joblib", "threadpoolctl", "narwhals")
"""Packages that `PACKAGES` need."""
ONE = "one docstring"
SECONDS = 600
_FAILED = ("partial", "failed")

RUNNER = """
import contextlib, doctest, importlib, inspect, io, json, os, sys
root, *paths = json.load(sys.stdin)
sys.path.insert(0, root)
said, seen = {}, {}
for path in paths:
    name = path[len(root) + 1 : -len(".py")].replace(os.sep, ".").removesuffix(".__init__")
    try:
        module = importlib.import_module(name)
    except BaseException:
        continue
    for test in doctest.DocTestFinder().find(module, name):
        if test.examples:
            runner = doctest.DocTestRunner()
            with contextlib.redirect_stdout(io.StringIO()):
                runner.run(test, out=lambda text: None)
            said[test.name] = "failed" if runner.failures else "passed"
    seen[name] = {key: getattr(value, "__module__", None) for key, value in vars(module).items()}
json.dump([said, seen], sys.stdout)
"""
"""A program that runs docstrings as `doctest.testmod` does. It also reports which module each name is from."""

FORKED = """
import doctest, importlib, os, sys
root, *paths = sys.argv[1:]
sys.path.insert(0, root)
tests = []
for path in paths:
    name = path[len(root) + 1 : -len(".py")].replace(os.sep, ".").removesuffix(".__init__")
    try:
        module = importlib.import_module(name)
    except BaseException:
        continue
    tests += [test for test in doctest.DocTestFinder().find(module, name) if test.examples]
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
os.dup2(1, 2)
others = range(1, os.cpu_count())
first = next((number for number in others if not os.fork()), 0)
for test in tests[first :: os.cpu_count()]:
    if not os.fork():
        doctest.DocTestRunner().run(test)
        os._exit(0)
    os.wait()
if first:
    os._exit(0)
for _ in others:
    os.wait()
"""
"""A program that runs each docstring in a fork of a process that has imported all modules. It uses all processors, and
has no isolation."""


def prepare(folder: Path) -> Path:
    """Return the Python of a new environment in `folder` that has AdaCoder, pytest and `NEEDED`."""
    venv.create(folder / "environment", with_pip=True)
    python = folder / "environment/bin/python"
    quietly(str(python), "-m", "pip", "install", "-q", str(Path(__file__).parents[1]), "pytest", *NEEDED)
    return python


def install(name: str, folder: Path, python: Path) -> Path:
    """Install a package of `PACKAGES` in a folder of its own, and return the path to check.

    Remove the package's tests, which `pytest` would run, and files that configure `pytest`.
    """
    if name == ONE:
        folder.mkdir()
        (folder / "words.py").write_text(WORDS, encoding="utf-8")
        return folder / "words.py"
    quietly(str(python), "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), PACKAGES[name])
    for path in sorted(folder.rglob("tests"), reverse=True):
        quietly("rm", "-r", str(path))
    for path in folder.rglob("conftest.py"):
        path.unlink()
    return folder / name


def quietly(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=SECONDS)


def ran(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in an empty folder. It may use and write bytecode files, and pytest loads no plugins."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    with tempfile.TemporaryDirectory(prefix="adacoder-bench-") as here:
        return subprocess.run(
            command, cwd=here, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )


async def timed(*command: str) -> float:
    """Return the seconds that a command takes. It must end with exit code 0 or 1."""
    began = time.perf_counter()
    done = await asyncio.to_thread(ran, *command)
    seconds = time.perf_counter() - began
    if done.returncode > 1:
        raise SystemExit(f"{command} ended with {done.returncode}: {done.stderr or done.stdout}")
    return seconds


def check_command(python: Path, path: Path) -> tuple[str, ...]:
    return (str(python), "-m", "adacoder", "check", "--interpreter", str(python), "--timeout", "60", str(path))


def forked_command(python: Path, folder: Path, path: Path) -> tuple[str, ...]:
    return (str(python), "-c", FORKED, str(folder), *files(path))


def files(path: Path) -> list[str]:
    return sorted(map(str, [path] if path.is_file() else path.rglob("*.py")))


def pytest_command(python: Path, folder: Path, path: Path) -> tuple[str, ...]:
    options = ("-q", "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={folder}", "--import-mode=prepend")
    return (str(python), "-m", "pytest", "--doctest-modules", *options, str(path))


def compared(python: Path, folder: Path, path: Path) -> tuple[int, list[dict[str, JSON]]]:
    """Return the number of docstrings with equal verdicts, and a description of each with different verdicts."""
    found = [json.loads(line) for line in ran(*check_command(python, path), "--json").stdout.splitlines()]
    ours = {docstring(each["target"]): each for each in found}
    told = subprocess.run(
        (str(python), "-c", RUNNER),
        input=json.dumps([str(folder), *files(path)]),
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
        cwd=tempfile.gettempdir(),
    )
    theirs, names = json.loads(told.stdout)
    same, differences = 0, []
    for name in sorted({*ours, *theirs}):
        own = ours.get(name)
        verdict = None if own is None else "failed" if own["status"] in _FAILED else "passed"
        if verdict == theirs.get(name):
            same += 1
            continue
        reason = own["reason"] if own and theirs.get(name) else why_not_found(name, names, own)
        differences.append({"docstring": name, "adacoder": verdict, "doctest": theirs.get(name), "reason": reason})
    return same, differences


def docstring(target: str) -> str:
    """Return the name that doctest gives a target."""
    path, _, qualname = target.partition("::")
    module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    return module if qualname == "__doc__" else f"{module}.{qualname}"


def why_not_found(name: str, names: dict[str, dict[str, str | None]], own: dict[str, JSON] | None) -> str:
    """Return the reason why only AdaCoder or only doctest found a docstring."""
    module = max((each for each in names if f"{name}.".startswith(f"{each}.")), key=len, default=None)
    if module is None:
        return "the module cannot be imported; doctest stops there"
    if own is None:
        return "the file's text has no such docstring"
    first = name[len(module) + 1 :].partition(".")[0]
    if first not in names[module]:
        return "the module does not define it after its import"
    if names[module][first] != module:
        return f"after the import the name belongs to '{names[module][first]}'"
    return "doctest does not search this object"


async def measure(name: str, path: Path, folder: Path, python: Path, rounds: int) -> dict[str, JSON]:
    """Return the output line of one case."""
    cases: dict[str, Callable[[], object]] = {
        "check": partial(timed, *check_command(python, path)),
        "pytest": partial(timed, *pytest_command(python, folder, path)),
        "forked": partial(timed, *forked_command(python, folder, path)),
    }
    samples = await interleave(cases, rounds, warm=1)  # type: ignore[arg-type]
    same, differences = await asyncio.to_thread(compared, python, folder, path)
    figures = {"check_to_pytest": Figure(ratio(samples, "check", "pytest"), at_most=1.0)}
    limit = round(ratio(samples, "forked", "pytest"), 4)
    remarks: dict[str, JSON] = {"check_to_pytest_limit": limit, "same_verdicts": same, "differences": [*differences]}
    line = Report(rounds, figures, milliseconds(samples), remarks).json()
    return {"case": name, "python": platform.python_version(), "cores": os.cpu_count() or 1, **line}


def main(only: list[str], rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="adacoder-bench-") as temporary:
        python = prepare(Path(temporary).resolve())
        for number, name in enumerate((*PACKAGES, ONE)):
            if not only or name in only:
                folder = Path(temporary).resolve() / str(number)
                path = install(name, folder, python)
                print(json.dumps(asyncio.run(measure(name, path, folder, python, rounds))), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="of each command (default: %(default)s)")
    parser.add_argument("--only", action="append", default=[], choices=[*PACKAGES, ONE], metavar="CASE")
    arguments = parser.parse_args()
    main(arguments.only, arguments.rounds)
