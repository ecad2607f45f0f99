"""Use the project's own pytest tests as judges of its functions.

Each test file runs once, alone, on the unchanged project. The sandbox observes which functions a test runs. A test that
passes then judges these functions. If very many tests run a function, only the tests that run the fewest other
functions judge it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path

from adacoder.domain import Example, Target, Verdict
from adacoder.project import below
from adacoder.pytext import Lines, line_number
from adacoder.sandbox.environment.interpreter import find
from adacoder.sandbox.host import Host, Program
from adacoder.settings import Settings

SECONDS = 60.0
"""Time limit in seconds for a test file while it is observed, and for the tests that judge a function."""
_MOST = 20
"""Maximum number of tests that judge a function."""
_NAMES = ("test_*.py", "*_test.py")
_RUN = """
import contextlib, io, os, pytest, sys

OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-o", "addopts=", "-W", "ignore", "--rootdir", FOLDER]
seen = {}

def begin():
    seen.clear()
    if hasattr(sys, "monitoring"):
        sys.monitoring.restart_events()
        sys.monitoring.set_events(TOOL, sys.monitoring.events.PY_START)
    else:
        sys.setprofile(lambda frame, event, _: seen.setdefault(id(frame.f_code), frame.f_code) and None)

def end():
    if hasattr(sys, "monitoring"):
        sys.monitoring.set_events(TOOL, 0)
    else:
        sys.setprofile(None)

def started(code, _):
    seen[id(code)] = code
    return sys.monitoring.DISABLE

class Observer:
    ran, good, bad = {}, set(), set()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        begin()
        yield
        end()
        found = {FUNCTIONS.get((os.path.realpath(each.co_filename), each.co_firstlineno)) for each in seen.values()}
        self.ran.setdefault(item.nodeid.partition("[")[0], set()).update(found - {None})

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.bad.add(report.nodeid.partition("[")[0])
        elif report.when == "call" and report.passed:
            self.good.add(report.nodeid.partition("[")[0])

if FUNCTIONS and hasattr(sys, "monitoring"):
    TOOL = next(each for each in range(6) if sys.monitoring.get_tool(each) is None)
    sys.monitoring.use_tool_id(TOOL, "adacoder")
    sys.monitoring.register_callback(TOOL, sys.monitoring.events.PY_START, started)
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    CODE = pytest.main([*OPTIONS, *(f"{FOLDER}/{each}" for each in TESTS)], plugins=[Observer()] if FUNCTIONS else [])
"""
"""A program that runs tests in the user's Python, and observes which functions of FUNCTIONS they run.

FUNCTIONS maps the file and line of a function to its number. If it is empty, nothing is observed.
"""
_TELL = """
import json

good = sorted((len(ran), each) for each, ran in Observer.ran.items() if each in Observer.good - Observer.bad)
print(json.dumps([[pair for pair in good if number in Observer.ran[pair[1]]][:MOST] for number in FUNCTIONS.values()]))
"""


def judging(folder: Path, tests: Sequence[str]) -> list[Example]:
    """Return examples that pass if `tests` pass. The tests have the names that `observed` returns."""
    run = _executed(_RUN, FOLDER=str(folder), TESTS=tuple(tests), FUNCTIONS={})
    return [run, Example("print(int(CODE))\n", "0\n", 0)]


async def observed(
    targets: Sequence[Target], files: Sequence[Path], folder: Path, settings: Settings, troubles: list[str]
) -> list[tuple[str, ...]]:
    """Return for each target the tests that pass and run it. The tests have the names that pytest gives them.

    If test files do not run, a message about them is added to `troubles`.

    Raises:
        SandboxError: nothing can run, because the isolation or the interpreter is missing.
    """
    paths = [path for path in files if any(fnmatchcase(path.name, each) for each in _NAMES)]
    if not paths or not targets:
        return [() for _ in targets]
    first = targets[0]
    interpreter = await asyncio.to_thread(find, settings.interpreter, first.module.path.parent, folder)
    host = Host(interpreter, folder, least=settings.isolation, wishes=settings.wishes)
    lines = {(str(each.module.path.resolve()), _line(each)): number for number, each in enumerate(targets)}
    program = Program(first.module, first.text, first.qualname, 1, len(Lines(first.text)), all_count=True)

    async def tried(path: Path) -> Verdict:
        test = below(folder, path).as_posix()
        run = _executed(_RUN, FOLDER=str(folder), TESTS=(test,), FUNCTIONS=lines)
        return await host.evaluate(program, [run, _executed(_TELL, MOST=_MOST)], timeout=SECONDS)

    try:
        verdicts = await asyncio.gather(*map(tried, paths))
    finally:
        await host.close()
    told = [*map(_told, verdicts)]
    silent = [number for number, each in enumerate(told) if not each]
    if silent:
        failure = verdicts[silent[0]].failure
        others = f" and {len(silent) - 1} more" if silent[1:] else ""
        why = failure.message if failure else "they gave no result"
        name = below(folder, paths[silent[0]]).as_posix() + others
        troubles.append(f"{name}: these tests could not run here, so they judge nothing: {why}")
    return [_fewest(tuple(each[number]) for each in told if number < len(each)) for number in range(len(targets))]


def _told(verdict: Verdict) -> list[list[tuple[int, str]]]:
    """Read the tests of each function, and how many functions each test runs; empty if no test could run."""
    lines = verdict.results[-1].got.splitlines() if verdict.results else []
    try:
        told = json.loads(lines[-1]) if lines else None
        return [[(int(count), str(name)) for count, name in each] for each in told] if isinstance(told, list) else []
    except (ValueError, TypeError, RecursionError):
        return []


def _fewest(found: Iterable[Sequence[tuple[int, str]]]) -> tuple[str, ...]:
    return tuple(name for _, name in sorted(chain.from_iterable(found))[:_MOST])


def _executed(program: str, **names: object) -> Example:
    given = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    return Example(f"exec({given + program!r}, globals())\n", "", 0)


def _line(target: Target) -> int:
    return line_number(target.text, target.definition.start) + 1
