"""Compare `adacoder check` with `pytest --doctest-modules` on the same files, by time and by verdicts.

    check.py [--rounds N] [--only CASE]…
    check.py --verdicts [REQUIREMENT]…

The cases are packages from PyPI, parts of large packages, and one file with one docstring. Both programs run as
commands in a new virtual environment. The output is one JSON line for each case:

* `check_to_pytest`: the ratio of the times if both find bytecode files. `first_to_first` is the ratio if there are
  none, as in a fresh clone.
* `check_mib`, `pytest_mib`: the peak memory of all processes of a command together.
* each docstring on which the verdicts differ, with the reason.

`--verdicts` compares only the verdicts on whole packages, by default `VERDICTS`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from evaluations import WORDS
from measuring import Figure, Report, interleave, milliseconds, ratio

from adacoder.sandbox.child.launcher import children

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
"""Folders to check, each with the requirement that installs it."""
NEEDED = (
    "numpy==2.4.6",
    "matplotlib",
    "scipy==1.17.1",
    "mpmath==1.3.0",
    "python-dateutil",
    "joblib",
    "threadpoolctl",
    "narwhals",
)
"""Packages that `PACKAGES` need."""
VERDICTS = (
    "anytree==2.13.0",
    "babel==2.19.0",
    "boltons==26.2.0",
    "glom==25.12.0",
    "humanize==4.17.0",
    "jedi==0.20.1",
    "more-itertools==11.2.1",
    "mpmath==1.3.0",
    "natsort==8.4.0",
    "networkx==3.6.1",
    "numpy==2.4.6",
    "pandas==3.1.1",
    "permuta==2.3.1",
    "pyparsing==3.3.3",
    "pyrsistent==0.20.0",
    "returns==0.30.0",
    "scikit-learn==1.9.1",
    "sortedcontainers==2.4.0",
    "sympy==1.14.0",
    "toolz==1.2.0",
    "ubelt==1.4.3",
    "xdoctest==1.3.2",
)
"""Packages whose verdicts are compared."""
OPTIONS = """[tool.pytest.ini_options]
doctest_optionflags = ["ELLIPSIS", "NORMALIZE_WHITESPACE", "NUMBER"]
python_files = ["none"]
"""
NAMES = """import pytest


@pytest.fixture(autouse=True)
def names(doctest_namespace):
    import numpy, pandas

    doctest_namespace.update(np=numpy, pd=pandas)
"""
"""A `conftest.py` that defines names for the examples of pandas. The `conftest.py` of pandas works only in its source
tree.
"""
ONE = "one docstring"
SECONDS = 3600
_SAME = {"verified": "passed", "unverified": "passed", "partial": "failed"}
"""pytest's words for AdaCoder's verdicts."""
_WHATEVER_FAILS = (
    "--doctest-continue-on-failure",
    "--doctest-ignore-import-errors",
    "--continue-on-collection-errors",
)
"""Options that make pytest report every docstring, even after failures."""
_NOT_CHECKED = "it was not checked."
"""End of the reason of a result that doctest never has. These results are not compared."""


def prepare(folder: Path) -> Path:
    """Return the Python of a new environment in `folder` that has AdaCoder, pytest and `NEEDED`."""
    venv.create(folder / "environment", with_pip=True)
    python = folder / "environment/bin/python"
    quietly(str(python), "-m", "pip", "install", "-q", str(Path(__file__).parents[1]), "pytest", *NEEDED)
    return python


def install(name: str, folder: Path, python: Path) -> Path:
    """Install a case in its own folder, without bytecode files. Return the path to check."""
    if name == ONE:
        folder.mkdir()
        (folder / "words.py").write_text(WORDS, encoding="utf-8")
    else:
        quietly(str(python), "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), PACKAGES[name])
        remove_bytecode(folder)
    configure(folder)
    return folder / ("words.py" if name == ONE else name)


def configure(folder: Path) -> None:
    """Remove the packages' tests and settings, because pytest would use them. Give both programs the same settings."""
    for path in sorted(folder.rglob("tests"), reverse=True):
        quietly("rm", "-r", str(path))
    for path in [*folder.rglob("conftest.py"), *folder.glob("*/pyproject.toml")]:
        path.unlink()
    (folder / "pyproject.toml").write_text(OPTIONS, encoding="utf-8")
    if (folder / "pandas").is_dir():
        (folder / "conftest.py").write_text(NAMES, encoding="utf-8")


def quietly(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=SECONDS)


def ran(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in an empty folder. Bytecode files are allowed, and pytest loads no plug-ins."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    with tempfile.TemporaryDirectory(prefix="adacoder-bench-") as here:
        return subprocess.run(
            command, cwd=here, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )


async def timed(*command: str, cold: Path | None = None) -> float:
    """Return the seconds that a command takes. It must end with exit code 0 or 1.

    Before the start, the bytecode files in the folder `cold` are removed.
    """
    if cold is not None:
        await asyncio.to_thread(remove_bytecode, cold)
    began = time.perf_counter()
    done = await asyncio.to_thread(ran, *command)
    seconds = time.perf_counter() - began
    if done.returncode > 1:
        raise SystemExit(f"{command} ended with {done.returncode}: {done.stderr or done.stdout}")
    return seconds


def remove_bytecode(folder: Path) -> None:
    for path in sorted(folder.rglob("__pycache__")):
        shutil.rmtree(path)


def peak(*command: str) -> float:
    """Return the peak memory in MiB of a command's processes together. Shared memory counts once."""
    with tempfile.TemporaryDirectory(prefix="adacoder-bench-") as here:
        process = subprocess.Popen(command, cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        most = 0
        while process.poll() is None:
            sizes = [size for pid in family(process.pid) if (size := resident(pid)) is not None]
            most = max(
                most, sum(own - shared for own, shared in sizes) + max((shared for _, shared in sizes), default=0)
            )
            time.sleep(0.05)
    return most * os.sysconf("SC_PAGESIZE") / (1 << 20)


def family(pid: int) -> Iterator[int]:
    """Yield the ids of a process and its descendants."""
    yield pid
    for child in children(pid):
        yield from family(child)


def resident(pid: int) -> tuple[int, int] | None:
    """Return how many pages of a process are resident, and how many of these may be shared; None if the process has
    ended.
    """
    try:
        _, own, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split())
    except OSError:
        return None
    return own, shared


def check_command(python: Path, path: Path) -> tuple[str, ...]:
    return (str(python), "-m", "adacoder", "check", "--interpreter", str(python), "--timeout", "60", str(path))


def pytest_command(python: Path, folder: Path, path: Path) -> tuple[str, ...]:
    options = ("-q", "-p", "no:cacheprovider", "-c", f"{folder}/pyproject.toml", f"--rootdir={folder}")
    return (str(python), "-m", "pytest", "--doctest-modules", *options, "--import-mode=prepend", str(path))


def compared(python: Path, folder: Path, path: Path) -> dict[str, JSON]:
    """Return the number of docstrings with equal verdicts, and a description of every other docstring.

    If pytest's verdict is different, pytest checks the docstring again, alone.
    """
    lines = [json.loads(line) for line in ran(*check_command(python, path), "--json").stdout.splitlines()]
    found = {docstring(each["target"]): each for each in lines if "::" in (each["target"] or "")}
    ours = {name: each for name, each in found.items() if not (each["reason"] or "").endswith(_NOT_CHECKED)}
    theirs = moved(verdicts_of_pytest(pytest_command(python, folder, path)), ours)
    theirs = {name: verdict for name, verdict in theirs.items() if verdict != "skipped" or name in ours}
    differences: list[JSON] = []
    for name in sorted({*ours, *theirs}):
        own, pytest = ours.get(name), theirs.get(name)
        verdict = _SAME.get(own["status"], own["status"]) if own else None
        if verdict == pytest or {verdict, pytest} == {"passed", "skipped"}:
            continue
        told = {"docstring": name, "adacoder": verdict, "pytest": pytest}
        if own and pytest:
            one = folder / own["target"].partition("::")[0]
            alone = verdicts_of_pytest(pytest_command(python, folder, Path(f"{one}::{name}")))
            told["alone"] = alone.get(name)
        differences.append(told | {"reason": own["reason"] if own else "the file's text has no such docstring"})
    classes = Counter(kind(each) for each in differences)  # type: ignore[arg-type]
    same = len({*ours, *theirs}) - len(differences)
    return {"same_verdicts": same, "classes": {**classes}, "differences": differences}


def kind(difference: dict[str, str | None]) -> str:
    alone = f", {difference['alone']} alone in pytest" if "alone" in difference else ""
    return f"{difference['pytest']} in pytest{alone}, {difference['adacoder']} here"


def moved(theirs: dict[str, str], ours: dict[str, JSON]) -> dict[str, str]:
    """Rename docstrings that pytest finds in another module than AdaCoder, if the new names are unique.

    In NumPy, for example, doctest finds docstrings in the module that imports the function.
    """
    missing = {name: each["target"].partition("::")[2] for name, each in ours.items() if name not in theirs}  # type: ignore[index,call-overload,union-attr]
    unique = {tail for tail, count in Counter(missing.values()).items() if count == 1}
    names = {tail: name for name, tail in missing.items() if tail in unique}
    found = {name: verdict for name, verdict in theirs.items() if name in ours}
    for name in sorted(theirs.keys() - {*ours}):
        parts = name.split(".")
        tails = (".".join(parts[at:]) for at in range(1, len(parts)))
        own = next((names[tail] for tail in tails if tail in names), name)
        found[name if own in found else own] = theirs[name]
    return found


def verdicts_of_pytest(command: tuple[str, ...]) -> dict[str, str]:
    """Return pytest's verdict on each docstring, except in modules that it cannot import."""
    with tempfile.TemporaryDirectory(prefix="adacoder-bench-") as here:
        report = Path(here) / "report.xml"
        ran(*command, *_WHATEVER_FAILS, f"--junitxml={report}")
        cases = ElementTree.parse(report).getroot().iter("testcase")
        found = {case.attrib["name"]: {child.tag for child in case} for case in cases}
    return {
        name: "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        for name, kinds in found.items()
    }


def docstring(target: str) -> str:
    """Return the name that doctest gives a target."""
    path, _, qualname = target.partition("::")
    module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    return module if qualname == "__doc__" else f"{module}.{qualname}"


async def measure(name: str, path: Path, folder: Path, python: Path, rounds: int) -> dict[str, JSON]:
    """Return the output line of one case."""
    check, pytest = check_command(python, path), pytest_command(python, folder, path)
    clone = Path(f"{folder}-clone")
    shutil.copytree(folder, clone)
    there = clone / path.relative_to(folder)
    cases: dict[str, Callable[[], object]] = {
        "check_first": partial(timed, *check_command(python, there), cold=clone),
        "pytest_first": partial(timed, *pytest_command(python, clone, there), cold=clone),
        "check": partial(timed, *check),
        "pytest": partial(timed, *pytest),
    }
    samples = await interleave(cases, rounds, warm=1)  # type: ignore[arg-type]
    figures = {
        "check_to_pytest": Figure(ratio(samples, "check", "pytest"), at_most=1.0),
        "first_to_first": Figure(ratio(samples, "check_first", "pytest_first"), at_most=1.0),
    }
    remarks = await asyncio.to_thread(compared, python, folder, path)
    memory: dict[str, JSON] = {
        f"{each}_mib": round(peak(*command)) for each, command in (("check", check), ("pytest", pytest))
    }
    return line(name, Report(rounds, figures, milliseconds(samples), remarks | memory).json())


def line(name: str, members: dict[str, JSON]) -> dict[str, JSON]:
    return {"case": name, "python": platform.python_version(), "cores": os.cpu_count() or 1, **members}


def compare(requirement: str, folder: Path, python: Path) -> dict[str, JSON]:
    """Return the output line of a package whose verdicts are compared."""
    quietly(str(python), "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), requirement)
    quietly(str(python), "-m", "pip", "install", "-q", requirement)  # requirements of the packages
    configure(folder)
    return line(requirement, compared(python, folder, folder))


def main(only: list[str], rounds: int, requirements: list[str] | None) -> None:
    with tempfile.TemporaryDirectory(prefix="adacoder-bench-") as temporary:
        python = prepare(Path(temporary).resolve())
        for number, name in enumerate((*PACKAGES, ONE) if requirements is None else requirements or VERDICTS):
            folder = Path(temporary).resolve() / str(number)
            if requirements is not None:
                print(json.dumps(compare(name, folder, python)), flush=True)
            elif not only or name in only:
                path = install(name, folder, python)
                print(json.dumps(asyncio.run(measure(name, path, folder, python, rounds))), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="of each command (default: %(default)s)")
    parser.add_argument("--only", action="append", default=[], choices=[*PACKAGES, ONE], metavar="CASE")
    parser.add_argument("--verdicts", nargs="*", metavar="REQUIREMENT")
    arguments = parser.parse_args()
    main(arguments.only, arguments.rounds, arguments.verdicts)
