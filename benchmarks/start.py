"""Measure the start-up time of `adacoder check` for one docstring, against pytest and doctest.

All cases use the same file and Python, in a new order in each round. The output is one JSON line of ratios of medians:

* `over_pytest`: `adacoder check FILE` to `pytest --doctest-modules FILE` with only pytest's own plug-ins;
* `over_doctest`: `adacoder check FILE` to `python -m doctest FILE`;
* `first_over_later`: `adacoder check FILE` before and after it has stored which isolation works here.

With `--strict`, the run fails if a target is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from measuring import Case, Figure, Report, interleave, milliseconds, ratio

MODULE = '''"""Numbers."""


def successor(number):
    """The number after another.

    >>> successor(1)
    2
    """
    return number + 1
'''
OVER_PYTEST = 1.5
"""Maximum ratio to pytest. The goal is 1.0."""


def case(*command: str, folder: Path, environment: Mapping[str, str], forgets: Path | None = None) -> Case:
    """Return a case that runs a command. If `forgets` is given, each run first removes this folder."""

    async def run() -> float:
        if forgets is not None:
            shutil.rmtree(forgets, ignore_errors=True)
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        _, said = await process.communicate()
        seconds = time.perf_counter() - began
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed: {said.decode(errors='replace')}")
        return seconds

    return run


async def measure(rounds: int) -> Report:
    """Run all cases in turns, and return the results."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pyproject.toml").touch()
        (folder / "numbers_.py").write_text(MODULE, encoding="utf-8")
        caches = {"later": folder / "later", "first": folder / "first"}
        # Bytecode files are allowed, because users' modules are compiled as well.
        plain = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        kept, new = ({**plain, "XDG_CACHE_HOME": str(caches[key])} for key in ("later", "first"))
        for cache in caches.values():
            cache.mkdir(mode=0o700)
        check = (sys.executable, "-m", "adacoder", "check", "numbers_.py")
        alone = {**plain, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        pytest = (sys.executable, "-m", "pytest", "-q", "--doctest-modules", "numbers_.py")
        cases = {
            "check": case(*check, folder=folder, environment=kept),
            "first": case(*check, folder=folder, environment=new, forgets=caches["first"] / "adacoder"),
            "pytest": case(*pytest, folder=folder, environment=alone),
            "doctest": case(sys.executable, "-m", "doctest", "numbers_.py", folder=folder, environment=plain),
        }
        samples = await interleave(cases, rounds)
    figures = {
        "over_pytest": Figure(ratio(samples, "check", "pytest"), at_most=OVER_PYTEST),
        "over_doctest": Figure(ratio(samples, "check", "doctest"), at_most=10.0),
        "first_over_later": Figure(ratio(samples, "first", "check"), at_most=1.5),
    }
    return Report(rounds, figures, milliseconds(samples))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--strict", action="store_true", help="Fail if a target is missed.")
    options = parser.parse_args()
    if find_spec("pytest") is None:
        parser.error("pytest is not installed.")
    report = asyncio.run(measure(options.rounds))
    print(json.dumps(report.json()))
    missed = [name for name, figure in report.figures.items() if not figure.json().get("met")]
    return 1 if options.strict and missed else 0


if __name__ == "__main__":
    sys.exit(main())
