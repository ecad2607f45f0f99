"""Traces of the target in an example, on each installed Python, and their limits.

A trace decides nothing. Attacks on the tracer are compared with similar honest code.
"""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

import pytest

from adacoder.sandbox.child.tracing import MOST_KEPT, SEEN_LIMIT, TRACE_LIMIT
from adacoder.sandbox.environment.interpreter import describe
from adacoder.traces import Trace
from support.evaluating import Workspace, other_pythons, told, traced, workspace

isolated = pytest.mark.isolation

PYTHONS = [Path(sys.executable), *other_pythons()]


KINDS = '''
    import asyncio


    def plain(numbers):
        """
        >>> plain([3, 4])
        12
        """
        product = 1
        for number in numbers:
            product *= number
        return product


    class Stack:
        def __init__(self):
            self.items = []

        def push(self, item, *more):
            """
            >>> stack = Stack()
            >>> stack.push(1)
            >>> stack.push(2, 3)
            """
            self.items.append(item)
            for each in more:
                self.push(each)


    def generated(n):
        """
        >>> list(generated(2))
        [0, 1]
        """
        while n:
            n -= 1
            yield n


    async def later(n):
        await asyncio.sleep(0)
        return n


    async def awaited(n):
        """
        >>> asyncio.run(awaited(1))
        2
        """
        n = n + await later(1)
        return n


    def recursive(n):
        """
        >>> recursive(1)
        1
        """
        if n == 0:
            return 1
        return n * recursive(n - 1)


    def raising(words):
        """
        >>> raising(["a", "b"])
        """
        found = {}
        for word in words:
            found[word] = len(found)
        del found["a"]
        return found["a"]


    def handling(text):
        """
        >>> handling("x")
        0
        """
        try:
            number = int(text)
        except ValueError as error:
            number = 0
        return number


    def nesting(n):
        """
        >>> nesting(2)
        [0, 2]
        """
        def double(x):
            return x * n
        return list(map(double, range(n)))


    class Countdown:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return self

        def __next__(self):
            if not self.n:
                raise StopIteration
            self.n -= 1
            return self.n


    def iterating(n):
        """
        >>> iterating(1)
        """
        for each in Countdown(n):
            pass


    def exhausted(items):
        """
        >>> exhausted([])
        """
        try:
            next(iter(items))
        except StopIteration:
            pass


    def thrown(what):
        """
        >>> thrown(ValueError("no"))
        1
        """
        def suspended():
            yield 1
        try:
            (running := suspended()).send(None)
            running.throw(what)
        except ValueError:
            return 1


    def others(n):
        """
        >>> others(1) + plain([2]) + others(2)
        9
        """
        return n + plain([n])
'''
SEEN = {
    "plain": """
        1 product = 1  # numbers = [3, 4]
        1 for number in numbers:  # product = 1
        1 product *= number  # number = 3
        1 for number in numbers:  # product = 3
        1 product *= number  # number = 4
        1 for number in numbers:  # product = 12
        1 return product
        1 return product  # gave 12
    """,
    "Stack.push": """
        1 self.items.append(item)  # self = <Stack items=[1]>, item = 2, more = (3,)
        1 for each in more:  # self = <Stack items=[1, 2]>
        1 self.push(each)  # each = 3
        2 self.items.append(item)  # self = <Stack items=[1, 2]>, item = 3, more = ()
        2 for each in more:  # self = <Stack items=[1, 2, 3]>
        2 for each in more:  # gave None
        1 for each in more:  # self = <Stack items=[1, 2, 3]>
        1 for each in more:  # gave None
    """,
    "generated": """
        1 while n:  # n = 2
        1 n -= 1
        1 yield n  # n = 1
        1 yield n  # gave 1
        1 while n:
        1 n -= 1
        1 yield n  # n = 0
        1 yield n  # gave 0
        1 while n:
        1 while n:  # gave None
    """,
    "awaited": """
        1 n = n + await later(1)  # n = 1
        1 return n  # n = 2
        1 return n  # gave 2
    """,
    "recursive": """
        1 if n == 0:  # n = 1
        1 return n * recursive(n - 1)
        2 if n == 0:  # n = 0
        2 return 1
        2 return 1  # gave 1
        1 return n * recursive(n - 1)  # gave 1
    """,
    "raising": """
        1 found = {}  # words = ['a', 'b']
        1 for word in words:  # found = {}
        1 found[word] = len(found)  # word = 'a'
        1 for word in words:  # found = {'a': 0}
        1 found[word] = len(found)  # word = 'b'
        1 for word in words:  # found = {'a': 0, 'b': 1}
        1 del found["a"]
        1 return found["a"]  # found = {'b': 1}
        1 return found["a"]  # raised KeyError('a')
    """,
    "handling": """
        1 try:  # text = 'x'
        1 number = int(text)
        1 number = int(text)  # raised ValueError("invalid literal for int() with base 10: 'x'")
        1 except ValueError as error:
        1 number = 0  # error = ValueError("invalid literal for int() with base 10: 'x'")
        1 return number  # number = 0
        1 return number  # gave 0
    """,
    "nesting": """
        1 def double(x):  # n = 2
        1 return list(map(double, range(n)))  # double = <function>
        2 return x * n  # x = 0, n = 2
        2 return x * n  # gave 0
        3 return x * n  # x = 1, n = 2
        3 return x * n  # gave 2
        1 return list(map(double, range(n)))  # gave [0, 2]
    """,
    "iterating": """
        1 for each in Countdown(n):  # n = 1
        1 pass  # each = 0
        1 for each in Countdown(n):
        1 for each in Countdown(n):  # gave None
    """,
    "exhausted": """
        1 try:  # items = []
        1 next(iter(items))
        1 next(iter(items))  # raised StopIteration()
        1 except StopIteration:
        1 pass
        1 pass  # gave None
    """,
    "thrown": """
        1 def suspended():  # what = ValueError('no')
        1 try:  # suspended = <function>
        1 (running := suspended()).send(None)
        2 yield 1
        2 yield 1  # gave 1
        1 running.throw(what)  # running = <generator>
        2 yield 1  # raised ValueError('no')
        1 running.throw(what)  # raised ValueError('no')
        1 except ValueError:
        1 return 1
        1 return 1  # gave 1
    """,
    "others": """
        1 return n + plain([n])  # n = 1
        1 return n + plain([n])  # gave 2
        2 return n + plain([n])  # n = 2
        2 return n + plain([n])  # gave 4
    """,
}
"""The trace of each function, in the order in which lines ran."""


@isolated
@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.name)
async def test_what_each_kind_of_function_executes(python: Path, tmp_path: Path) -> None:
    found = {}
    async with workspace(tmp_path, interpreter=describe(python)) as ws:
        for name in SEEN:
            trace = await traced(ws, KINDS, name)
            assert trace.is_complete, name
            found[name] = told(trace, KINDS)
    assert found == {name: dedent(text).strip().splitlines() for name, text in SEEN.items()}


COMPREHENDING = '''
    def f(n):
        """
        >>> f(2)
        [0, 10]
        """
        return [10 * x
                for x in range(n)]
'''
LOOPING = '''
    def f(n):
        """
        >>> f({n})
        """
        total = 0
        while total != n:
            total += 1
'''
RECURSING = '''
    def f(n):
        """
        >>> f(0)
        """
        return f(n + 1)
'''


@isolated
@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.name)
async def test_what_differs_between_pythons_or_runs_long(python: Path, tmp_path: Path) -> None:
    async with workspace(tmp_path, interpreter=describe(python)) as ws:
        values = {value for each in (await traced(ws, COMPREHENDING)).executed for value in each.values}
        assert values == {("n", "2"), ("x", "0"), ("x", "1")}

        short, long = [await traced(ws, LOOPING.format(n=n)) for n in (40, 4_000)]
        assert short.is_complete
        assert (long.ended, long.is_complete) == (True, False)
        assert len(long.first) == len(long.last) == MOST_KEPT // 2
        assert len(long.executed) + long.left_out == 8_003
        assert long.first[1:80] == short.executed[1:80]
        assert long.last[-1].gave == "None"
        assert long.last[-2].values == (("total", "4000"),)

        deep = await traced(ws, RECURSING)
        assert not deep.ended
        assert [each.values for each in deep.first[:2]] == [(("n", "0"),), (("n", "1"),)]
        assert deep.last[-1].call > 500


@isolated
async def test_of_what_never_ends_what_was_seen_is_told(ws: Workspace) -> None:
    trace = await traced(ws, LOOPING.format(n=-1), timeout=5)
    assert not trace.ended
    assert len(trace.executed) + trace.left_out == SEEN_LIMIT
    assert trace.last[-1].values
    hanging = LOOPING.format(n=-1).replace("total += 1", "sum(iter(int, 1))")
    assert await traced(ws, hanging, timeout=2) == Trace()


@isolated
async def test_only_the_last_example_is_traced_after_the_others_ran(ws: Workspace) -> None:
    trace = await traced(ws, LOOPING.replace(">>> f({n})", ">>> f(1)\n        >>> n = 2\n        >>> f(n)"))
    assert trace.executed[0].values == (("n", "2"),)
    raised = await traced(ws, LOOPING.replace(">>> f({n})", ">>> 1 / 0\n        >>> f(1)"))
    assert raised.is_complete
    assert raised.executed
    skipped = await traced(ws, LOOPING.replace("{n})", "1)  # doctest: +SKIP"))
    assert skipped == await traced(ws, LOOPING.replace("f({n})", "f(")) == Trace(ended=False)


@isolated
async def test_what_cannot_run_has_no_trace(ws: Workspace) -> None:
    assert await traced(ws, LOOPING.format(n=1) + "\n\n    1 / 0\n") == Trace()
    assert await traced(ws, LOOPING.format(n=1).replace("total = 0", "total =")) == Trace()


MEDDLING = {
    "the trace function is taken away": "sys.settrace(None)",
    "a tracer of its own": "sys.settrace(lambda *event: None)",
    "a line of another function": "tracer.keep('1 3\\n\\n\\nx=1')",
    "what is no entry": "tracer.keep('rubbish')",
    "too much": "tracer._first.append('1 9\\n\\n\\nx=' + 'x' * 10**7)",
    "too many": "tracer._first.extend(['1 9\\n\\n'] * 9_999)",
    "rubbish on the line": "os.write(3, b'rubbish' * 99)",
    "a trace of its own": "tracer._tell('yes', '0', '1', '1 9\\n2\\n'); os._exit(0)",
    "an early end": "tracer.stop(); os._exit(0)",
    "a trace of its own, twice": "tracer._tell('yes', '0', '0')",
    "a trace function that raises": "type(tracer).keep = lambda *given: 1 / 0",
    "no more trace function": "frame.f_trace = None; frame.f_trace_lines = False; type(tracer).__call__ = None",
}
"""Attacks on the tracer and on the trace."""
FORGED = {"a trace of its own", "a trace of its own, twice", "an early end"}
"""Attacks that forge a complete trace."""
MEDDLER = '''
    import os
    import sys


    def f(x):
        """
        >>> f(1)
        {want}
        """
        frame = sys._getframe()
        tracer = getattr(frame.f_trace, "tracer", None)
        if {meddles} and tracer:
            {meddling}
        return x + 1
'''


def meddler(meddling: str, want: int = 2) -> str:
    return dedent(MEDDLER).format(want=want, meddles=bool(meddling), meddling=meddling or "pass")


@isolated
async def test_who_meddles_with_a_trace_spoils_it_alone(ws: Workspace) -> None:
    honest = await traced(ws, meddler(""))
    assert honest.is_complete
    assert honest.executed[-1].gave == "2"
    for name, meddling in MEDDLING.items():
        spoilt = await traced(ws, meddler(meddling))
        assert spoilt.ended == (name in FORGED), name
        assert {each.line for each in spoilt.executed} <= set(range(6, 17)), name
        assert sum(len(value) for each in spoilt.executed for _, value in each.values) <= TRACE_LIMIT, name
    assert (await traced(ws, meddler(""))).executed[-1] == honest.executed[-1]


@isolated
async def test_no_verdict_is_other_for_a_trace(ws: Workspace) -> None:
    """A trace has no verdict of its own. Tracing does not change later verdicts, even if code forges its trace."""
    for meddling in ("", MEDDLING["a trace of its own"], "import mod; mod.f.__code__ = (lambda x: 2).__code__"):
        for want, passes in ((2, True), (3, False)):
            text = meddler(meddling, want)
            before = await ws.evaluate(text)
            await traced(ws, text)
            after = await ws.evaluate(text)
            assert before.passed == after.passed == passes, (meddling, want)
            assert (
                [result.entered for result in before.results] == [result.entered for result in after.results] == [True]
            )


UNDISTURBED = '''
    import sys


    def f(x):
        """
        >>> f(1)
        """
        print("printed")
        before = sys.gettrace(), sys.getprofile()
        depth = len(sys._current_frames())
        try:
            raise ValueError("no")
        except ValueError as error:
            frames = 0
            while error.__traceback__ and frames < 9:
                error.__traceback__, frames = error.__traceback__.tb_next, frames + 1
        return before, depth, frames
'''


@isolated
@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.name)
async def test_what_traces_does_not_show(python: Path, tmp_path: Path) -> None:
    async with workspace(tmp_path, interpreter=describe(python)) as ws:
        trace = await traced(ws, UNDISTURBED)
        assert trace.is_complete
        assert trace.executed[-1].gave == "((None, None), 1, 1)"
