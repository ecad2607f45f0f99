"""Test the ways in which an example runs a function, or only seems to, with the fixtures' docstrings.

The first line of each docstring says how many of its examples run the function. All examples pass with the fixtures'
functions, so the verdict depends only on that number. Every file has functions of both kinds.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import JSON
from adacoder.report import to_json
from adacoder.sandbox.environment.interpreter import describe
from adacoder.source.locate import functions
from support.bodies import outcome_of, with_body
from support.commandline import Desk
from support.evaluating import other_pythons, workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from adacoder.domain import Candidate, Target
    from adacoder.sandbox.host import Host


FIXTURES = Path(__file__).parent / "fixtures"
SINCE = re.compile(r"since_3_(\d+)")
TOLD = re.compile(r"Run by (no|\d+) examples?: ")
WITHOUT_WAYS = {"__init__", "front", "other"}
INSTEAD = {
    "ways.namesake.diameter": "`ways.diameter` is `ways.exported.exact`",
    "ways.exported.tripled": "`ways.tripled` is `ways.other.scaled`",
    "ways.anew.Interval.length": "`Interval` is `ways.other.Interval`",
    "ways.accelerated.bisect_left": "`bisect_left` is `_bisect.bisect_left`",
    "ways.behind.unlisted": "`unlisted` is `ways.front.unlisted`",
    "ways.shadowed.signed": "`signed` is `builtins.abs`",
    "ways.decorated.welcome": "`welcome` is the `ways.decorated.welcome` of line 16",
    "ways.decorated.sized": None,
    "ways.generators.bracketed": None,
    "ways.plain.triple": None,
    "ways.methods.Box.get": None,
}
"""What ran instead of functions that did not run; None if that cannot be told."""
PYTHONS = [Path(sys.executable), *other_pythons()]


def minor(python: Path) -> int:
    """Return the minor version, such as the 11 of Python 3.11."""
    return int(python.suffix[1:]) if python in PYTHONS[1:] else sys.version_info.minor


def copied(folder: Path, minor: int) -> list[Path]:
    """Copy the fixtures that Python 3.`minor` can read to `folder` as a project."""
    left_out = [path.name for path in FIXTURES.iterdir() if (since := SINCE.match(path.name)) and int(since[1]) > minor]
    shutil.copytree(FIXTURES, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", *left_out))
    return sorted(folder.rglob("*.py"))


def targets(files: Iterable[Path], folder: Path) -> list[Target]:
    return [one.target for path in files for one in functions(path.read_text("utf-8"), path, folder)]


def told(target: Target) -> int:
    """Return how many examples run a function, according to its docstring."""
    found = TOLD.match(target.docstring)
    assert found is not None, target.qualname
    return 0 if found[1] == "no" else int(found[1])


def label(target: Target) -> str:
    return f"{target.module.name}:{target.text.count(chr(10), 0, target.definition.start) + 1} {target.qualname}"


async def outcomes(host: Host, cases: Sequence[tuple[Target, Candidate | None]], folder: Path) -> list[dict[str, JSON]]:
    """Return the JSON of each case's Outcome."""
    ended = []
    for _, of_file in groupby(cases, key=lambda case: case[0].module):  # each file has a template of its own
        ended += await asyncio.gather(*(outcome_of(host, *case) for case in of_file))
    return [to_json(each, folder) for each in ended]


def test_every_way_has_its_twin() -> None:
    for path in FIXTURES.rglob("*.py"):
        numbers = [told(target) for target in targets([path], FIXTURES)]
        assert path.stem in WITHOUT_WAYS or (0 in numbers and max(numbers) > 0), path.name


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """With `--all`, run all fixtures under every installed Python; otherwise only under the one that runs the tests."""
    if "python" in metafunc.fixturenames:
        metafunc.parametrize("python", PYTHONS if metafunc.config.getoption("all") else PYTHONS[:1], ids=minor)


async def test_what_the_examples_run_is_what_was_observed(python: Path, tmp_path: Path) -> None:
    found = targets(copied(tmp_path, minor(python)), tmp_path)
    async with workspace(tmp_path, interpreter=describe(python)) as ws:
        ended = await outcomes(ws.host(), [(target, None) for target in found], tmp_path)
    problems = []
    for target, outcome in zip(found, ended, strict=True):
        number = told(target)
        expected = ("verified" if number else "unverified", {"passed": number, "total": number})
        if (outcome["status"], outcome["examples"]) != expected:
            problems.append(f"{label(target)}: {outcome['summary']} {outcome['examples']}, not {number}")
    assert not problems, "\n".join(problems)
    assert len(found) > 150


async def test_no_function_without_its_body_is_verified(tmp_path: Path, one_in: Callable[[int], int]) -> None:
    found = targets(copied(tmp_path, sys.version_info.minor), tmp_path)[:: one_in(5)]
    async with workspace(tmp_path) as ws:
        cases = [(target, with_body(target, "return None")) for target in found]
        ended = await outcomes(ws.host(), cases, tmp_path)
    pairs = zip(found, ended, strict=True)
    # Its example shows the decorator's effect on any function, and calls it at once.
    right = [target for target in found if target.name == "bracketed"]
    assert [target for target, outcome in pairs if outcome["status"] == "verified"] == right


async def test_what_ran_instead_is_named(tmp_path: Path) -> None:
    cases = {
        f"{target.module.name}.{target.qualname}": (target, None)
        for target in targets(copied(tmp_path, sys.version_info.minor), tmp_path)
    }
    async with workspace(tmp_path) as ws:
        ended = await outcomes(ws.host(), [cases[name] for name in INSTEAD], tmp_path)
    for told, outcome in zip(INSTEAD.values(), ended, strict=True):
        reason = str(outcome["reason"])
        assert outcome["status"] == "unverified"
        assert "`" not in reason if told is None else told in reason


@pytest.mark.isolation
def test_check_says_the_same(desk: Desk) -> None:
    copied(desk.folder, sys.version_info.minor)
    ran = desk.run("check", "--json", "ways")
    found = [target for target in targets(sorted((desk.folder / "ways").glob("*.py")), desk.folder) if target.examples]
    numbers = {f"ways/{target.module.path.name}::{target.qualname}": told(target) for target in found}
    ended = {each["target"]: each["status"] for each in ran.objects if each["target"] in numbers}
    # If several functions have the same name, the last one is reported last. doctest would find only that one.
    assert ended == {name: "verified" if number else "unverified" for name, number in numbers.items()}
