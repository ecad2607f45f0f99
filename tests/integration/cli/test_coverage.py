"""The command line reports the lines and branches that no example reaches.

In the modules below, a comment marks a line as `unreached`, or its condition as `never false`. Nothing else may be
reported. Each function has a twin whose examples reach everything.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from adacoder import report
from adacoder.agents.code_evaluator import CodeEvaluator
from adacoder.conclusion import conclude
from adacoder.domain import Attempt, Coverage, Example, Failure, FailureKind, Outcome, SourceLine, Status, Verdict
from adacoder.journal import Journal
from adacoder.sandbox.environment.interpreter import find
from adacoder.sandbox.host import Host, Program
from adacoder.sandbox.unavailable import SandboxError
from adacoder.source.locate import locate
from adacoder.task import current
from support.commandline import STUB, Desk
from support.evaluating import Workspace, other_pythons

if TYPE_CHECKING:
    from collections.abc import Sequence

isolated = pytest.mark.isolation

HANDLER = '''def look(table, key):
    """Look up.

    >>> look({"a": 1}, "a")
    1
    """
    try:
        return table[key]
    except KeyError:  # unreached
        return None  # unreached


def look_twice(table, key):
    """Look up.

    >>> look_twice({"a": 1}, "a")
    1
    >>> look_twice({}, "a")
    """
    try:
        return table[key]
    except KeyError:
        return None
'''
ORDINARY = '''import asyncio
import contextlib
import functools
from typing import TYPE_CHECKING


def conditions(x, /, *, deep=False):
    """Explain.

    >>> conditions(1)
    2
    """
    # A comment is no code.

    if TYPE_CHECKING:
        from os import path
    if x:  # never false
        x += 1
    if deep: return 0  # never true
    if x > 5:
        x = 5  # unreached
    else:
        pass
    return x


def conditions_whole(x, /, *, deep=False):
    """Explain.

    >>> conditions_whole(1), conditions_whole(0, deep=True), conditions_whole(7)
    (2, 0, 5)
    """
    if TYPE_CHECKING:
        from os import path
    if x:
        x += 1
    if deep: return 0
    if x > 5:
        x = 5
    else:
        pass
    return x


def loops(xs):
    """Walk.

    >>> loops([1])
    1
    """
    total = 0
    for x in xs:
        if x < 0:
            continue  # unreached
        if x > 9:
            break  # unreached
        total += x
    else:
        total += 0
    while total > 100:
        total -= 1  # unreached
    return total


def loops_whole(xs):
    """Walk.

    >>> loops_whole([-1, 1, 10]), loops_whole([5] * 21)
    (1, 100)
    """
    total = 0
    for x in xs:
        if x < 0:
            continue
        if x > 9:
            break
        total += x
    else:
        total += 0
    while total > 100:
        total -= 1
    return total


def nested(n):
    """Build.

    >>> nested(2)
    [0, 1]
    """

    def helper(k):
        return k  # unreached

    class Local:
        """Local."""

        size: int = 1

        def method(self):
            return helper(1)  # unreached

    return [
        i
        for i in range(n)
        if i >= 0
    ]


def nested_whole(n):
    """Build.

    >>> nested_whole(2)
    [0, 1]
    """

    def helper(k):
        return k

    class Local:
        """Local."""

        size: int = 1

        def method(self):
            return helper(n)

    return [
        i
        for i in range(Local().method())
        if i >= 0
    ]


def yields(n):
    """Count.

    >>> list(yields(2))
    [0, 1]
    """
    yield from range(n)
    if n > 5:
        yield "many"  # unreached


def yields_whole(n):
    """Count.

    >>> list(yields_whole(2)), len(list(yields_whole(6)))
    ([0, 1], 7)
    """
    yield from range(n)
    if n > 5:
        yield "many"


async def waits(n):
    """Wait.

    >>> asyncio.run(waits(1))
    1
    """
    await asyncio.sleep(0)
    if n > 5:
        raise ValueError(  # unreached
            "many"  # unreached
        )
    return n


async def waits_whole(n):
    """Wait.

    >>> asyncio.run(waits_whole(1))
    1
    >>> asyncio.run(waits_whole(6))
    Traceback (most recent call last):
    ValueError: many
    """
    await asyncio.sleep(0)
    if n > 5:
        raise ValueError(
            "many"
        )
    return n


@functools.lru_cache(maxsize=None)
def fib(n):
    """Recur.

    >>> fib(1)
    1
    """
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)  # unreached


@functools.lru_cache(maxsize=None)
def fib_whole(n):
    """Recur.

    >>> fib_whole(3)
    2
    """
    if n < 2:
        return n
    return fib_whole(n - 1) + fib_whole(n - 2)


@contextlib.contextmanager
def opened(log):
    """Open.

    >>> log = []
    >>> with opened(log):
    ...     print(log)
    ['in']
    """
    log.append("in")
    try:
        yield
    except ValueError as error:  # unreached
        log.append(error)  # unreached
    finally:
        log.append("out")


def one_line(x):
    """Choose.

    >>> one_line(1)
    2
    """
    return x + 1 if x else 0


class Cart:
    """Shop.

    >>> Cart([1, 2]).total
    3
    """

    def __init__(self, items):
        """Fill.

        >>> Cart([1]).items
        [1]
        """
        if not items:
            items = [0]  # unreached
        self.items = items

    @property
    def total(self):
        """Add.

        >>> Cart([4]).total
        4
        """
        if self.items:  # never false
            result = sum(self.items)
        return result

    @staticmethod
    def of(*items):
        """Make.

        >>> Cart.of(1).items, Cart.of().items
        ([1], [0])
        """
        if items:
            return Cart(list(items))
        return Cart([0])
'''
MATCHING = '''def kind(x):
    """Tell.

    >>> kind((1, 2))
    3
    """
    match x:
        case None:
            return "nothing"  # unreached
        case (a, b):
            return a + b
        case _:  # unreached
            return "other"  # unreached


def kind_whole(x):
    """Tell.

    >>> kind_whole(None), kind_whole((1, 2)), kind_whole("")
    ('nothing', 3, 'other')
    """
    match x:
        case None:
            return "nothing"
        case (a, b):
            return a + b
        case _:
            return "other"
'''


def marked(text: str) -> tuple[set[int], set[tuple[int, bool]]]:
    """Return the lines marked as unreached, and the conditions marked as never true or false."""
    unreached, branches = set(), set()
    for number, line in enumerate(text.splitlines(), 1):
        found = re.search(r"# (unreached|never (true|false))$", line)
        if found and found[2]:
            branches.add((number, found[2] == "true"))
        elif found:
            unreached.add(number)
    return unreached, branches


def version(python: Path) -> tuple[int, int]:
    code = "import sys; print(*sys.version_info[:2])"
    major, minor = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return int(major), int(minor)


@isolated
@pytest.mark.parametrize("python", [Path(sys.executable), *other_pythons()], ids=lambda path: path.name)
def test_all_that_is_unreached_is_told_and_nothing_else(desk: Desk, python: Path) -> None:
    told_by = version(python)
    text = f"{ORDINARY}\n\n{MATCHING}" if told_by >= (3, 10) else ORDINARY
    desk.write(text, "all.py")
    ran = desk.run("check", "all.py", "--coverage", "--json", "--interpreter", python)
    assert {each["status"] for each in ran.objects} == {"verified"}, ran.out
    lines, branches = marked(text)
    told = [each["coverage"] for each in ran.objects if each["coverage"]]
    assert {line["line"] for each in told for line in each["unreached"]} == lines
    shown = {(branch["line"], branch["never"]) for each in told for branch in each["branches"]}
    assert shown == (branches if told_by >= (3, 12) else set())
    assert len(told) == sum(each["target"] != "all.py::Cart" for each in ran.objects), "a class is no function"


@isolated
def test_generate_tells_lines_of_the_file_as_it_will_be(desk: Desk) -> None:
    path = desk.write(STUB)
    body = "    if a < 0:\n        raise ValueError(a)\n    return math.hypot(a, b)\n"
    reply = f"import math\n\n\ndef hypotenuse(a, b):\n{body}"
    (desk.folder / "reply.txt").write_text(reply, encoding="utf-8")
    ran = desk.run("apply", "shapes.py", "--reply", "reply.txt", "--json")
    (told,) = ran.objects
    assert told["status"] == "verified"
    assert told["summary"].startswith(
        "Verified 'hypotenuse': 2/2 examples passed; no example reaches line 15: `raise ValueError(a)`; 1 round, "
    )
    (unreached,) = told["coverage"]["unreached"]
    desk.run("apply", "shapes.py", "--reply", "reply.txt", "--write")
    after = path.read_text(encoding="utf-8").splitlines()
    assert after[unreached["line"] - 1].strip() == unreached["text"] == "raise ValueError(a)"


@isolated
def test_check_tells_only_if_it_is_asked(desk: Desk) -> None:
    desk.write(HANDLER, "m.py")
    (quiet,) = desk.run("check", "m.py").out.splitlines()
    assert "reaches" not in quiet
    *told, total = desk.run("check", "m.py", "--coverage").out.splitlines()
    assert told == ["m.py::look  no example reaches line 9: `except KeyError`"]
    assert total.startswith("Passed: 2 docstrings")
    one = desk.run("check", "m.py::look", "--coverage")
    assert one.code == 0
    assert one.out.startswith("Verified 'look': 1/1 examples passed; no example reaches line 9: `except KeyError`; ")
    assert "reaches" not in desk.run("check", "m.py::look_twice", "--coverage").out
    assert [each["coverage"] for each in desk.run("check", "m.py", "--json").objects] == [None, None]


@isolated
def test_what_failed_has_no_coverage(desk: Desk) -> None:
    desk.write(HANDLER.replace('>>> look({"a": 1}, "a")\n    1', '>>> look({"a": 1}, "a")\n    2'), "m.py")
    failed, passed = desk.run("check", "m.py", "--coverage", "--json").objects
    assert (failed["status"], failed["coverage"]) == ("failed", None)
    assert passed["coverage"] == {"lines": 4, "reached": [20, 21, 22, 23], "unreached": [], "branches": []}


class FailingByLine(Host):
    """A host that fails when it observes lines."""

    failing: FailureKind | SandboxError | None

    async def evaluate(self, program: Program, examples: Sequence[Example], *, timeout: float) -> Verdict:  # noqa: ASYNC109
        if not program.by_line or self.failing is None:
            return await super().evaluate(program, examples, timeout=timeout)
        if isinstance(self.failing, SandboxError):
            raise self.failing
        return Verdict(Failure(self.failing, "It took too long."))


@isolated
@pytest.mark.parametrize("failing", [None, FailureKind.TIMED_OUT, SandboxError("There is no isolation.")])
async def test_a_second_run_that_fails_leaves_the_verdict_as_it_is(
    ws: Workspace, failing: FailureKind | SandboxError | None
) -> None:
    host = FailingByLine(find(None, ws.folder, ws.folder), ws.folder, least=ws.least)
    host.failing = failing
    ws.hosts.append(host)
    path = ws.folder / "m.py"
    path.write_text(HANDLER, encoding="utf-8")
    target = locate(HANDLER, path, ws.folder, qualname="look")
    evaluator = CodeEvaluator(ws.host(), Journal(), overlays={}, timeout=10, covers=True)
    verdict = await evaluator.evaluate(target, current(target))
    assert conclude(target, Attempt(current(target), verdict), 1).status is Status.VERIFIED
    assert (verdict.coverage is None) is (failing is not None)


TARGET = locate("def f(x):\n    '''\n    >>> f(1)\n    2\n    '''\n", Path("/w/m.py"), Path("/w"), qualname="f")


def summary(*unreached: SourceLine, lines: int = 30, branches: tuple[tuple[SourceLine, bool], ...] = ()) -> str:
    coverage = Coverage(tuple(range(1, lines)), unreached, branches)
    return report.unreached(Outcome(Status.VERIFIED, TARGET, verdict=Verdict(None, coverage=coverage)))


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (summary(), ""),
        (summary(SourceLine(7, "    return 1")), "no example reaches line 7: `return 1`"),
        (
            summary(
                SourceLine(7, "    except KeyError:"), SourceLine(8, "        log()"), SourceLine(9, "        return 1")
            ),
            "no example reaches line 7: `except KeyError`",
        ),
        (
            summary(SourceLine(7, "    log()"), SourceLine(8, "    return 1")),
            "no example reaches lines 7 to 8: `log()`",
        ),
        (
            summary(SourceLine(7, "    log()"), SourceLine(9, "        return 1")),
            "no example reaches line 7: `log()`, line 9: `return 1`",
        ),
        (
            summary(SourceLine(7, "        log()"), SourceLine(8, "    return 1")),
            "no example reaches line 7: `log()`, line 8: `return 1`",
        ),
        (
            summary(*(SourceLine(number, "    log()") for number in range(1, 20, 2))),
            "no example reaches line 1: `log()`, line 3: `log()`, line 5: `log()`, and 7 more places",
        ),
        (summary(SourceLine(7, f"    {'x' * 80}")), f"no example reaches line 7: `{'x' * 59}…`"),
        (summary(branches=((SourceLine(7, "    if x:"), False),)), "line 7 was never false: `if x`"),
        (
            summary(SourceLine(9, "    return 1"), branches=((SourceLine(7, "    if x: y()"), True),)),
            "no example reaches line 9: `return 1`; line 7 was never true: `if x: y()`",
        ),
    ],
)
def test_the_summary_is_short(told: str, text: str) -> None:
    assert told == text


def test_the_json_object_has_every_line() -> None:
    coverage = Coverage(
        (7, 8, 9), (SourceLine(8, "    a()"), SourceLine(9, "    b()")), ((SourceLine(7, "  if x:"), False),)
    )
    outcome = Outcome(Status.VERIFIED, TARGET, verdict=Verdict(None, coverage=coverage))
    told: Any = json.loads(json.dumps(report.to_json(outcome, Path("/w"))))["coverage"]
    assert told == {
        "lines": 3,
        "reached": [7],
        "unreached": [{"line": 8, "text": "a()"}, {"line": 9, "text": "b()"}],
        "branches": [{"line": 7, "text": "if x:", "never": False}],
    }
    assert report.to_json(replace(outcome, verdict=Verdict(None)), Path("/w"))["coverage"] is None
