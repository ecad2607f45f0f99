"""The evaluators in the disposable sandbox, where attacks must succeed: AdaCoder's without isolation, and simple
ones.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adacoder.domain import Level
from adacoder.sandbox.child.worker import unpack
from adversarial.attack import Harness

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@dataclass(frozen=True, slots=True)
class Result:
    """A harness's report on an evaluation."""

    passed: bool
    told: str
    """All reported text except the verdict."""
    memory: int = 0
    """Peak memory of the harness's process in kilobytes."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The modules to evaluate, in order."""

    harness: Harness
    workspace: str
    programs: list[tuple[str, str]]
    """The modules, each with the interpreter that must run it."""
    timeout: float
    results: Path
    """File for a JSON list of results, written after each result."""


_SOFT_LIMIT = 128
"""Soft limit of a script for open files, as in usual harnesses."""

_REPORTER = """
import doctest, importlib, json, sys
sys.path.insert(0, sys.argv[1])
module = importlib.import_module("program")
failed = doctest.testmod(module).failed
print(json.dumps({"passed": not failed}))
"""
_ANSWERER = """
import contextlib, io, os, runpy, sys
from adacoder.sandbox.child.worker import pack
output = io.StringIO()
with contextlib.redirect_stdout(output):
    try:
        result = runpy.run_path(sys.argv[1])["f"](1)
        print(repr(result))
    except Exception as error:
        print(error)
os.write(int(sys.argv[2]), pack(["done", "", output.getvalue()]))
"""


async def evaluate(plan: Plan) -> None:
    sys.path.insert(0, plan.workspace)
    found = []
    async for result in _results(plan):
        found.append(asdict(replace(result, memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)))
        part = plan.results.with_suffix(".part")
        part.write_text(json.dumps(found), encoding="utf-8")
        part.replace(plan.results)


async def _results(plan: Plan) -> AsyncIterator[Result]:
    if plan.harness is not Harness.UNCONFINED:
        for python, text in plan.programs:
            yield _NAIVE[plan.harness](python, text)
        return
    from support.evaluating import workspace  # other harnesses start faster without this import

    async with workspace(Path(plan.workspace), Level.NONE, best=Level.NONE) as opened:
        for _, text in plan.programs:
            verdict = await opened.evaluate(text, timeout=plan.timeout)
            yield Result(verdict.passed, repr((verdict.failure, verdict.results)))


def _script(python: str, text: str) -> Result:
    path = Path(tempfile.gettempdir()) / "shared/program.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{text}\nassert f(1) == 2\n", encoding="utf-8")
    ended = subprocess.run([python, path], cwd=path.parent, preexec_fn=_soften)
    return Result(ended.returncode == 0, "")


def _soften() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (_SOFT_LIMIT, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def _report(python: str, text: str) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "program.py").write_text(text, encoding="utf-8")
        said = subprocess.run([python, "-c", _REPORTER, folder], cwd=folder, stdout=subprocess.PIPE, text=True).stdout
    return Result(json.loads(said.splitlines()[-1])["passed"], said)


def _answers(python: str, text: str) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(text, encoding="utf-8")
        read, write = os.pipe()
        child = subprocess.Popen([python, "-c", _ANSWERER, path, str(write)], pass_fds=[write])
        os.close(write)
        with open(read, "rb") as pipe:  # noqa: PTH123  # a descriptor is no path
            answer = pipe.read()
        child.wait()
    output = unpack(answer[4 : 4 + int.from_bytes(answer[:4], "little")])[2]
    return Result(output == "2\n", output[:1000])


def _in_process(python: str, text: str) -> Result:
    del python
    result: list[str] = []
    try:
        namespace: dict[str, Any] = {"__name__": "program"}
        exec(compile(text, "program.py", "exec"), namespace)
        assert namespace["f"](1) == 2
        result.append("passed")
    except BaseException as error:
        result.append(f"failed: {error!r}")
    return Result(result[0] == "passed", result[0])


_NAIVE = {Harness.SCRIPT: _script, Harness.REPORT: _report, Harness.ANSWERS: _answers, Harness.IN_PROCESS: _in_process}
