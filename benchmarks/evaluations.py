"""Measure AdaCoder's evaluations against a bare fork and `doctest`, at each level of isolation, and after a timeout."""

from __future__ import annotations

import asyncio
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import Case, Figure, Report, Unavailable, interleave, milliseconds, ratio

import adacoder.sandbox
from adacoder.domain import Example, FailureKind, Level
from adacoder.pytext import Lines, definitions
from adacoder.sandbox import process
from adacoder.sandbox.environment.interpreter import find
from adacoder.sandbox.host import PROCESSORS, Host, IsolationRefused, Program
from adacoder.sandbox.isolation import ENVIRONMENT
from adacoder.sandbox.pool import TemplatePool, Upkeep
from adacoder.source.locate import locate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

TEMPLATE = Path(adacoder.sandbox.__file__).with_name("child") / "template.py"
TWIN = Path(__file__).with_name("fork_twin.py")
SECONDS = 10.0
"""Timeout in seconds of evaluations that end long before it."""
TIMEOUT = 0.2
"""Timeout of an endless loop, in seconds."""
REPLY_SECONDS = 1.0
"""Pause in seconds between two evaluations, in which a template has time for imports. A real model's reply takes
longer.
"""

WORDS = '''"""Words and how often they occur."""

from collections import Counter


def split(text):
    """The words of a text, in lower case."""
    return text.lower().split()


def most_common(text, count=1):
    """The most common words of a text, the more common first, equals in order of the alphabet.

    >>> most_common("a rose is a rose")
    ['a']
    >>> most_common("a rose is a rose", 2)
    ['a', 'rose']
    >>> most_common("", 3)
    []
    """
    words = Counter(split(text))
    return sorted(words, key=lambda word: (-words[word], word))[:count]
'''
"""A typical module that does almost no work, so that the evaluator's own time dominates."""

UNOBSERVED = {
    "observing.py": """
class Observer:
    codes, entered, lines, branches = (), True, set(), set()
    def forget(self): pass
    def start(self): pass
    def stop(self): pass
    def is_undisturbed(self): return True

def by_name(code): return {}
def observer(codes, by_line): return Observer()
def code_of(codes, qualname, first, last): return ()
""",
    "flow.py": """
class Flow:
    def __init__(self, namespace): pass
    def begins(self): pass
    def ran(self, source, code, **observed): return True
""",
}
"""Replacements for files of a worker. Without any observation, they report that every example ran its target."""

ENDLESS = '''def spin():
    """Never returns.

    >>> spin()
    """
    while True:
        pass
'''


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An evaluation that a host can run repeatedly."""

    program: Program
    examples: tuple[Example, ...]

    @classmethod
    def of(cls, path: Path, text: str, function: str) -> Evaluation:
        """Write the module `text` to `path`, and return the evaluation of all examples of its function."""
        path.write_text(text, encoding="utf-8")
        target = locate(text, path, path.parent, qualname=function)
        (place,) = [found for found in definitions(text) if found.qualname == function]
        first, last = (Lines(text).line_at(offset) + 1 for offset in (place.span.start, place.span.end))
        return cls(Program(target.module, text, function, first, last), target.examples)

    async def passes(self, host: Host) -> float:
        """Return the seconds from the request for an evaluation to its verdict. All examples must pass."""
        began = time.perf_counter()
        verdict = await host.evaluate(self.program, self.examples, timeout=SECONDS)
        seconds = time.perf_counter() - began
        if not verdict.passed or len(verdict.results) != len(self.examples):
            raise SystemExit(f"{self.program.module.name} did not pass: {verdict}")
        return seconds

    async def overruns(self, host: Host) -> float:
        """Return how many seconds after `TIMEOUT` the verdict comes. The verdict must be a timeout."""
        began = time.perf_counter()
        verdict = await host.evaluate(self.program, self.examples, timeout=TIMEOUT)
        seconds = time.perf_counter() - began
        if verdict.failure is None or verdict.failure.kind is not FailureKind.TIMED_OUT:
            raise SystemExit(f"an endless loop did not time out: {verdict}")
        return seconds - TIMEOUT


@contextmanager
def workspace() -> Iterator[Path]:
    """Yield a temporary folder to use as a workspace."""
    with tempfile.TemporaryDirectory(prefix="adacoder-bench-") as name:
        yield Path(name).resolve()


@asynccontextmanager
async def host(folder: Path, level: Level, *, spares: int = PROCESSORS) -> AsyncIterator[Host]:
    """Yield a host whose isolation is exactly at `level`."""
    templates = TemplatePool(PROCESSORS, Upkeep(spares))
    opened = Host(find(None, folder, folder), folder, least=level, best=level, templates=templates)
    try:
        yield opened
    except IsolationRefused as refused:
        raise Unavailable(f"level {level} does not work here: {refused}") from refused
    finally:
        await opened.close()


async def requests(rounds: int) -> Report:
    """Measure a warm evaluation of three examples, against a bare fork and a fresh `python -m doctest`.

    In a `hit`, a child was forked before the request; in a `miss`, it was not. `unobserved` has no observer.

    The targets are 2.0 forks for a hit and 4.0 for a miss, because a child has more page faults: 570 to 680, mostly
    copies on write, instead of 64.
    """
    with workspace() as folder:
        words = Evaluation.of(folder / "words.py", WORDS, "most_common")
        async with AsyncExitStack() as stack:

            async def warm(level: Level, spares: int) -> Case:
                opened = await stack.enter_async_context(host(folder, level, spares=spares))
                await words.passes(opened)
                return partial(words.passes, opened)

            async def warm_unobserved(spares: int) -> Case:
                opened = await stack.enter_async_context(host(folder, Level.FULL, spares=spares))
                with unobserved(folder / f"unobserved_{spares}"):
                    await words.passes(opened)
                    await asyncio.sleep(REPLY_SECONDS)
                return partial(words.passes, opened)

            cases = {
                "fork": await stack.enter_async_context(fork_twin(folder, "ctypes", "collections")),
                "doctest": lambda: asyncio.to_thread(doctest, folder / "words.py"),
                **{
                    f"{level}_{kind}": await warm(level, spares)
                    for level in (Level.FULL, Level.NONE)
                    for kind, spares in (("hit", 1), ("miss", 0))
                },
                "unobserved_hit": await warm_unobserved(1),
                "unobserved_miss": await warm_unobserved(0),
            }
            samples = await interleave(cases, rounds)
    return Report(
        rounds,
        {
            "hit_to_fork": Figure(ratio(samples, "full_hit", "fork"), at_most=2.0),
            "miss_to_fork": Figure(ratio(samples, "full_miss", "fork"), at_most=4.0),
            "hit_to_unobserved": Figure(ratio(samples, "full_hit", "unobserved_hit"), at_most=1.2),
            "miss_to_unobserved": Figure(ratio(samples, "full_miss", "unobserved_miss"), at_most=1.2),
            "hit_full_to_none": Figure(ratio(samples, "full_hit", "none_hit"), at_most=1.3),
            "miss_full_to_none": Figure(ratio(samples, "full_miss", "none_miss"), at_most=1.3),
            "hit_to_doctest": Figure(ratio(samples, "full_hit", "doctest"), at_most=1 / 15),
            "miss_to_doctest": Figure(ratio(samples, "full_miss", "doctest"), at_most=1 / 15),
        },
        milliseconds(samples),
    )


@contextmanager
def unobserved(copy: Path) -> Iterator[None]:
    """Let new templates run without the observer. They run a changed copy of their files in the folder `copy`."""
    shutil.copytree(TEMPLATE.parent, copy, ignore=shutil.ignore_patterns("isolation", "__pycache__"))
    for name, text in UNOBSERVED.items():
        (copy / name).write_text(text, encoding="utf-8")
    process.TEMPLATE = copy / TEMPLATE.name
    try:
        yield
    finally:
        process.TEMPLATE = TEMPLATE


@asynccontextmanager
async def fork_twin(folder: Path, *modules: str) -> AsyncIterator[Case]:
    """Yield a case that forks a process like a template, which has imported `modules`."""
    twin = await asyncio.create_subprocess_exec(
        *(str(find(None, folder, folder).path), "-I", "-B", str(TWIN), str(TEMPLATE), *modules),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**ENVIRONMENT, "HOME": str(folder), "TMPDIR": str(folder)},
    )
    assert twin.stdin is not None
    assert twin.stdout is not None
    commands, answers = twin.stdin, twin.stdout

    async def fork() -> float:
        commands.write(b"f")
        return int.from_bytes(await answers.readexactly(8), "little") / 1e9

    try:
        yield fork
    finally:
        commands.close()
        await twin.wait()


def doctest(path: Path) -> float:
    """Return the seconds that `python -m doctest` takes. All examples must pass."""
    began = time.perf_counter()
    subprocess.run((sys.executable, "-m", "doctest", str(path)), check=True, capture_output=True, timeout=120)
    return time.perf_counter() - began


async def boot(rounds: int) -> Report:
    """Measure the first evaluation of a new host, including its template's start, with and without bubblewrap."""
    with workspace() as folder:
        words = Evaluation.of(folder / "words.py", WORDS, "most_common")

        async def first(level: Level) -> float:
            async with host(folder, level) as opened:
                return await words.passes(opened)

        cases: dict[str, Case] = {}
        refused: dict[Level, str] = {}
        for level in (Level.FULL, Level.LSM, Level.NONE):
            try:
                await first(level)  # not measured, because the first host also tests the isolation
                cases[level] = partial(first, level)
            except Unavailable as reason:
                refused[level] = str(reason)
        samples = await interleave(cases, rounds)

    def against(level: Level) -> Figure:
        for needed in (Level.FULL, level):
            if needed in refused:
                return Figure(None, at_most=1.5, skipped=refused[needed])
        return Figure(ratio(samples, Level.FULL, level), at_most=1.5)

    figures = {f"full_to_{level}": against(level) for level in (Level.LSM, Level.NONE)}
    return Report(rounds, figures, milliseconds(samples))


async def timeout(rounds: int) -> Report:
    """Measure the time from the timeout of an endless loop to its verdict."""
    with workspace() as folder:
        spin = Evaluation.of(folder / "endless.py", ENDLESS, "spin")
        async with host(folder, Level.FULL) as opened:
            samples = await interleave({"overrun": lambda: spin.overruns(opened)}, rounds)
    overruns = [seconds * 1000 for seconds in samples["overrun"]]
    return Report(
        rounds,
        {
            "overrun_median_ms": Figure(statistics.median(overruns), at_most=50),
            "overrun_max_ms": Figure(max(overruns), at_most=50),
        },
        {"timeout_ms": TIMEOUT * 1000},
    )


async def imports(rounds: int) -> Report:
    """Measure how much longer an evaluation takes if the module imports numpy or pandas.

    It is the second evaluation of a new host, `REPLY_SECONDS` after the first. `hit` and `miss` have the same meaning
    as in `requests`.
    """
    plain = "plain"
    headers = {plain: "", "numpy": "import numpy as np\n", "pandas": "import pandas as pd\n"}
    installed = {name: header for name, header in headers.items() if name == plain or find_spec(name) is not None}
    kinds = {"hit": 1, "miss": 0}
    samples: dict[str, list[float]] = {f"{name}_{kind}": [] for name in installed for kind in kinds}
    for _ in range(rounds):
        async with AsyncExitStack() as stack:
            cases: dict[str, Case] = {}
            for name, header in installed.items():
                for kind, spares in kinds.items():
                    folder = stack.enter_context(workspace())
                    words = Evaluation.of(folder / "words.py", header + WORDS, "most_common")
                    opened = await stack.enter_async_context(host(folder, Level.FULL, spares=spares))
                    await words.passes(opened)
                    cases[f"{name}_{kind}"] = partial(words.passes, opened)
            await asyncio.sleep(REPLY_SECONDS)
            for case, seconds in (await interleave(cases, 1, warm=0)).items():
                samples[case] += seconds

    def more(name: str, kind: str) -> Figure:
        if name not in installed:
            return Figure(None, at_most=10, skipped=f"{name} is not installed")
        with_import, without = (statistics.median(samples[f"{each}_{kind}"]) for each in (name, plain))
        return Figure((with_import - without) * 1000, at_most=10)

    figures = {f"{name}_{kind}_more_ms": more(name, kind) for name in headers if name != plain for kind in kinds}
    return Report(rounds, figures, milliseconds(samples))
