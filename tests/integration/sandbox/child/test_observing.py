"""Observation finds the examples that run a function or show its results, on each installed Python."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import FailureKind
from adacoder.sandbox.environment.interpreter import describe
from support.evaluating import Workspace, examples, other_pythons, program, workspace

if TYPE_CHECKING:
    from adacoder.domain import Verdict

pytestmark = pytest.mark.isolation

PYTHONS = [Path(sys.executable), *other_pythons()]
MODULE = '''\
import math


class Box:
    """Something that can change."""

    def __init__(self):
        self.items = []


def f(x=1, into=None):
    """
{shown}
    """
    if into is not None:
        into.append(x)
    return x


def g(x=1):
    return x


def clear(into):
    """Has no examples."""
    into.clear()
'''

FLOWS = {
    ">>> f(1)\n1": "x",
    ">>> g(1)\n1": "-",
    ">>> x = f(1)\n>>> x\n1": "xx",
    ">>> x = g(1)\n>>> x\n1": "--",
    ">>> x = f(1)\n>>> x = g(1)\n>>> x\n1": "x--",
    ">>> x = f(1)\n>>> y = x + 1\n>>> y\n2": "xxx",
    ">>> x = f(1)\n>>> x += 1\n>>> x\n2": "xxx",
    ">>> x = f(1)\n>>> if x: x = 2\n>>> x\n2": "xxx",
    ">>> x = f(1)\n>>> import math as x\n>>> x.floor(1.5)\n1": "x--",
    ">>> x = f(1)\n>>> list(map(lambda x: x, [1]))\n[1]": "x-",
    ">>> y = 5\n>>> x = f(y)\n>>> y\n5": "-x-",
    ">>> x = f(math.floor(1.5))\n>>> math.floor(2.5)\n2": "x-",
    ">>> f(len([1]))\n1\n>>> len([1])\n1": "x-",
    ">>> f(Box)  # doctest: +ELLIPSIS\n<...>\n>>> Box.__name__\n'Box'": "x-",
    ">>> for i in [f(1)]: print(i)\n1\n>>> i\n1": "xx",
    ">>> [y for x in [f(1)] if (y := x)]\n[1]\n>>> y\n1": "xx",
    ">>> with open(f('/dev/null')) as file: pass\n>>> file.closed\nTrue": "xx",
    ">>> def h(a):\n...     b = f(a)\n...     return b\n>>> h(1)\n1\n>>> h.__name__\n'h'": "-x-",
    ">>> class A(f(Box)): pass\n>>> A().items\n[]": "xx",
    ">>> d = {}\n>>> d['k'] = f(1)\n>>> d\n{'k': 1}": "-xx",
    ">>> d = {}\n>>> d.update(k=f(1))\n>>> d\n{'k': 1}": "-xx",
    ">>> b = Box()\n>>> b.size = f(1)\n>>> b.size\n1": "-xx",
    ">>> items = []\n>>> f(None, items)\n>>> items\n[None]": "-xx",
    ">>> exec('x = f(1)')\n>>> x\n1": "xx",
    ">>> import mod\n>>> mod.f(1)\n1\n>>> mod.g(1)\n1": "-x-",
    # a value that may have been changed proves nothing about the function
    ">>> items = []\n>>> f(1, items)\n1\n>>> items\n[1]": "-x-",
    ">>> items = []\n>>> x = f(1, items)\n>>> items\n[1]": "-x-",
    # a changed value must still be right
    ">>> items = []\n>>> f(1, items)\n1\n>>> items\n[2]": "-xx",
    ">>> items = []\n>>> x = f(1, items)\n>>> clear(items)\n>>> items\n[1]": "-x-x",
    ">>> f(1 / 0)\n1": "-",
    ">>> x = f([])[0]\n>>> x\n1": "xx",
}
"""Docstrings, with the examples that run `f` or use its results."""


def with_examples(shown: str) -> str:
    return MODULE.format(shown=indent(shown, "    "))


def entered(verdict: Verdict) -> str:
    return "".join("x" if result.entered else "-" for result in verdict.results)


async def test_what_shows_what_came_of_the_target_runs_it(ws: Workspace) -> None:
    found = {shown: entered(await ws.evaluate(with_examples(shown))) for shown in FLOWS}
    assert found == FLOWS


async def test_only_imports_from_the_targets_own_package_are_observed(ws: Workspace) -> None:
    ws.write({"other.py": "import mod\n\nVALUE = mod.f(1)\n"})
    lazy = "\n\ndef __getattr__(name):\n    if name == 'lazy': return f(1)\n    raise AttributeError\n"
    shown = {
        ">>> from mod import lazy\n>>> lazy\n1": "xx",
        ">>> from other import VALUE\n>>> VALUE\n1": "--",
        ">>> from other import VALUE; f(VALUE)\n1\n>>> from other import VALUE as x; x = f(x)\n>>> x\n1": "xxx",
    }
    assert {each: entered(await ws.evaluate(with_examples(each) + lazy)) for each in shown} == shown


async def test_what_ran_instead_is_told(ws: Workspace) -> None:
    ws.write({"pkg/__init__.py": "from .far import f, Box\n", "pkg/far.py": "def f(x=1): return x\nclass Box: pass\n"})
    told = {
        ">>> import pkg\n>>> pkg.f(1)\n1": "`pkg.f` is `pkg.far.f`",
        ">>> from math import floor as f\n>>> f(1.5)\n1": "`f` is `math.floor`",
        ">>> f = lambda x: x\n>>> f(1)\n1": "`f` is `mod.<lambda>`",
        ">>> def f(x): return x\n>>> f(1)\n1": "`f` is the `mod.f` of line 1",
        ">>> b = Box(); b.f = f\n>>> b.f.__name__\n'f'": "",
        ">>> callable(f)\nTrue": "",
        ">>> g(1)\n1": "",
        ">>> f(1)\n1": "",
    }
    found = {shown: (await ws.evaluate(with_examples(shown))).results[-1].ran for shown in told}
    assert found == told


UNSEEN = {
    "a copy of its code": "types.FunctionType(f.__code__.replace(co_flags=f.__code__.co_flags), f.__globals__)",
    "compiled anew": "types.FunctionType(compile('def f(x): return 2 * x', '', 'exec').co_consts[0], {})",
    "no Python code": "functools.partial(operator.mul, 2)",
}
"""Decorated functions that cannot be observed, for example compiled ones."""
DECORATED = '''
import functools, operator, types

@(lambda f: {})
def f(x):
    """
    >>> f(3)
    6
    """
    return x * 2
'''


@pytest.mark.parametrize("decorated", UNSEEN.values(), ids=UNSEEN)
async def test_what_cannot_be_seen_to_run_is_not_said_to_have_not(ws: Workspace, decorated: str) -> None:
    text = DECORATED.format(decorated)
    verdict = await ws.evaluate(text)
    assert [(result.matched, result.entered) for result in verdict.results] == [(True, False)]
    assert verdict.results[0].ran.startswith("`f` is a ")
    wrong = await ws.evaluate(text.replace("    6\n", "    7\n"))
    assert wrong.failure is not None
    assert wrong.failure.kind is FailureKind.WRONG_OUTPUT
    other = await ws.evaluate(DECORATED.format("lambda x: x + x"))
    assert other.results[0].ran == "`f` is `mod.<lambda>.<locals>.<lambda>`", "the control"


async def test_a_failure_that_ran_something_else_is_a_note(ws: Workspace) -> None:
    aside = await ws.evaluate(with_examples(">>> f(1)\n1\n>>> g(1)\n2"))
    assert aside.passed
    assert aside.notes == ("The example on line 15 gave 1 instead of 2. It did not run 'f', so it counts for nothing.",)
    own = await ws.evaluate(with_examples(">>> f(1)\n1\n>>> f(2)\n1"))
    assert own.failure is not None
    assert own.notes == ()


async def test_where_every_example_counts_a_failure_is_one(ws: Workspace) -> None:
    text = with_examples(">>> f(1)\n1\n>>> g(1)\n2")
    what = program(ws.folder / "mod.py", ws.folder, text, "f")
    for all_count in (True, False):
        verdict = await ws.host().evaluate(replace(what, all_count=all_count), examples(text), timeout=10)
        assert (verdict.failure is not None) == all_count


BRANCHING = '''
    def f(x, items=(1, 2)):
        """
        >>> f(1)
        'one'
        >>> f(0)
        'none'
        >>> g(1)
        """
        if x == 1:
            return "one"
        for item in items:
            if item == x:
                return "other"
        try:
            found = [each for each in items if each]
        except KeyError:
            found = None
        return "none"


    def g(x):
        return x
'''


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.name)
async def test_the_lines_and_branches_that_each_example_reaches(python: Path, tmp_path: Path) -> None:
    async with workspace(tmp_path, interpreter=describe(python)) as opened:
        text = dedent(BRANCHING)
        what = program(opened.folder / "mod.py", opened.folder, text, "f")
        verdict = await opened.host().evaluate(replace(what, by_line=True), examples(text), timeout=10)
        plain = await opened.host().evaluate(what, examples(text), timeout=10)
    one, none, other = verdict.results
    assert (one.reached.lines, other.reached.lines) == ({10, 11}, set())
    assert none.reached.lines == {10, 12, 13, 15, 16, 19}
    assert verdict.reachable.lines - one.reached.lines - none.reached.lines == {14, 17, 18}
    if verdict.reachable.branches:  # as in Python 3.12 and later
        assert {(10, 11), (10, 12), (13, 14), (12, 15)} <= verdict.reachable.branches
        assert (10, 11) in one.reached.branches
        assert {(10, 12), (12, 15)} <= none.reached.branches
        assert (13, 14) not in one.reached.branches | none.reached.branches
    assert bool(verdict.reachable.branches) == (python.name >= "python3.12" and len(python.name) > len("python3.8"))
    assert all(result.reached.lines == result.reached.branches == frozenset() for result in plain.results)
    assert entered(plain) == entered(verdict) == "xx-"


DISTURBING = '''
    import sys
    import threading


    def watching():
        return [sys.gettrace(), sys.getprofile()]


    def profiled(function):
        import cProfile
        profile = cProfile.Profile()
        profile.enable()
        function()
        profile.disable()
        return sorted(entry.code.co_name for entry in profile.getstats() if not isinstance(entry.code, str))


    def traced(function):
        seen, before = [], sys.gettrace()
        sys.settrace(lambda frame, event, argument: seen.append(frame.f_code.co_name))
        function()
        sys.settrace(before)
        return seen


    def inner():
        return [1]


    def f(function=watching):
        """
        >>> f()
        [None, None]
        >>> traced(lambda: f(inner))
        ['<lambda>', 'f', 'inner']
        >>> before = sys.getprofile()
        >>> sys.setprofile(lambda *event: None)
        >>> sys.setprofile(before)
        >>> f()
        [None, None]
        >>> profiled(lambda: f(inner))
        ['<lambda>', 'f', 'inner']
        """
        return function()
'''


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.name)
async def test_code_traces_and_profiles_as_if_nothing_observed_it(python: Path, tmp_path: Path) -> None:
    async with workspace(tmp_path, interpreter=describe(python)) as opened:
        text = dedent(DISTURBING)
        verdict = await opened.evaluate(text)
        assert verdict.passed, verdict.failure
        assert [result.matched for result in verdict.results] == [True] * 7
        assert verdict.is_proved
        wrong = await opened.evaluate(text.replace("'f', 'inner']\n    \"\"\"", '\'f\']\n    """'))
        assert wrong.failure is not None
