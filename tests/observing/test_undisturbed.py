"""An observed example behaves as it does unobserved: with the same depth, traceback and interpreter."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from adacoder.domain import Verdict
from adacoder.sandbox.environment.interpreter import describe
from support.evaluating import Workspace, other_pythons, workspace

PYTHONS = [Path(sys.executable), *other_pythons()]

RECURSIVE = '''\
import sys


def below():
    frame, number = sys._getframe(1), 0
    while frame:
        frame, number = frame.f_back, number + 1
    return number


def deepest(n=0):
    """
    >>> sys.getrecursionlimit() - below() - deepest()
    {want}
    """
    try:
        return deepest(n + 1)
    except RecursionError:
        return n
'''
RAISING = '''\
import traceback


def outermost(items):
    """
    >>> try:
    ...     outermost([1, "b"])
    ... except TypeError:
    ...     print(traceback.format_exc().partition("mod.py")[2].splitlines())
    {want}
    """
    return [inner(item) for item in items]


def inner(item):
    def innermost():
        return (
            1
            + item
        )

    return innermost()
'''
UNOBSERVED = """\
import doctest, sys
path, name = sys.argv[1:]
source = open(path).read()
namespace = {"__name__": "mod"}
exec(compile(source, path, "exec"), namespace)
(example,) = doctest.DocTestParser().get_examples(namespace[name].__doc__)
exec(compile(example.source, "<example>", "single"), namespace)
"""
"""Code that runs only the one example of a function."""


async def unobserved(python: Path, path: Path, of: str) -> str:
    """Return what the example of a function in a file prints, in a Python process of its own."""
    command = [str(python), "-c", UNOBSERVED, str(path), of]
    ran = await asyncio.to_thread(lambda: subprocess.run(command, capture_output=True, text=True, check=True))
    return ran.stdout


async def with_want(ws: Workspace, template: str, want: str, of: str) -> Verdict:
    """Return the verdict on a function whose only example expects the line `want`."""
    return await ws.evaluate(template.replace("{want}", want.strip()), of=of)


@pytest.mark.parametrize("python", PYTHONS, ids=lambda python: python.name)
async def test_an_example_goes_as_deep_as_unobserved(python: Path, tmp_path: Path) -> None:
    async with workspace(tmp_path, interpreter=describe(python)) as ws:
        ws.write({"mod.py": RECURSIVE})
        want = await unobserved(python, tmp_path / "mod.py", "deepest")
        assert (await with_want(ws, RECURSIVE, want, "deepest")).passed
        assert not (await with_want(ws, RECURSIVE, str(int(want) + 1), "deepest")).passed


@pytest.mark.parametrize("python", PYTHONS, ids=lambda python: python.name)
async def test_a_traceback_is_the_same_as_unobserved(python: Path, tmp_path: Path) -> None:
    async with workspace(tmp_path, interpreter=describe(python)) as ws:
        ws.write({"mod.py": RAISING})
        want = await unobserved(python, tmp_path / "mod.py", "outermost")
        assert "innermost" in want
        assert (await with_want(ws, RAISING, want, "outermost")).passed
        assert not (await with_want(ws, RAISING, want.replace("innermost", "inmost"), "outermost")).passed
