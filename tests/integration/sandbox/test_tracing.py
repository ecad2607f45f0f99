"""What an example executes of the target, with the values of locals: on each Python that is here, and what bounds it.

A trace decides nothing. What code does to it, or to what makes it, is compared with what its honest twin does.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, deque, namedtuple
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from adacoder.sandbox.interpreter import describe
from adacoder.sandbox.tracing import MOST_KEPT, MOST_VALUES, SEEN_LIMIT, TRACE_LIMIT, VALUE_LIMIT, shown
from adacoder.traces import Executed, Trace
from support.evaluating import Workspace, examples, other_pythons, program, workspace

if TYPE_CHECKING:
    pass

isolated = pytest.mark.isolation

PYTHONS = [Path(sys.executable), *other_pythons()]


async def traced(ws: Workspace, text: str, of: str = "f", timeout: float = 30) -> Trace:  # noqa: ASYNC109  # as `evaluate`
    text = dedent(text)
    what = program(ws.folder / "mod.py", ws.folder, text, of)
    return await ws.host().trace(what, examples(text, of), timeout=timeout)


def told(trace: Trace, text: str) -> list[str]:
    """A trace for people: the call, the line's code, and what came to light before it ran."""
    lines = dedent(text).splitlines()
    return [f"{each.call} {lines[each.line - 1].strip()}{_came(each)}" for each in trace.executed]


def _came(each: Executed) -> str:
    came = [f"{name} = {value}" for name, value in each.values]
    came += [f"gave {each.gave}"] if each.gave else []
    came += [f"raised {each.raised}"] if each.raised else []
    return "".join(f"  # {', '.join(came)}" if came else "")


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
"""What is told of each function; as it ran, each line before it did."""


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
    trace = await traced(ws, LOOPING.format(n=-1), timeout=20)
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


HOSTILE = '''
    import sys
    import time


    class Meta(type):
        def __eq__(cls, other):
            print("compared")
        def __hash__(cls):
            print("hashed")
            return 1
        def __getattribute__(cls, name):
            print("got", name)
            return type.__getattribute__(cls, name)


    class Value(metaclass=Meta):
        def __init__(self):
            self.x = 1
            object.__getattribute__(self, "__dict__")[Key("y")] = 2
        def __repr__(self):
            print("shown")
            {how}
        def __getattribute__(self, name):
            print("asked for", name)
            return object.__getattribute__(self, name)
        __class__ = property(lambda self: print("classified"))


    class Items(list, {bases}):
        __iter__ = __len__ = __getitem__ = Value.__repr__


    class Key(str):
        def __hash__(self):
            return 1
        def __eq__(self, other):
            print("compared")
            return True
        __repr__ = __str__ = Value.__repr__


    def f(n):
        """
        >>> f(1)
        'x'
        """
        value = Value()
        items = Items([1, value])
        table = {{Key("k"): items}}
        return "x"
'''


@isolated
@pytest.mark.parametrize(
    "how", ["raise ValueError", "time.sleep(60)", "sys.exit()", "return repr(self)", "return 'x' * 10**9"]
)
async def test_no_code_of_a_value_runs_to_show_it(how: str, ws: Workspace) -> None:
    text = dedent(HOSTILE).format(how=how, bases="metaclass=Meta")
    trace = await traced(ws, text)
    assert trace.is_complete
    assert told(trace, text) == [
        "1 value = Value()  # n = 1",
        "1 items = Items([1, value])  # value = <Value x=1>",
        '1 table = {Key("k"): items}  # items = Items([1, <Value x=1>])',
        "1 return \"x\"  # table = {Key('k'): Items([1, <Value x=1>])}",
        "1 return \"x\"  # gave 'x'",
    ]


Point = namedtuple("Point", "x y")


class Slotted:
    __slots__ = ("left", "right")

    def __init__(self) -> None:
        self.left = 1


class Named(Slotted):
    def __init__(self) -> None:
        super().__init__()
        self.name = "n"
        self.own = [self]


class Tree:
    def __init__(self, depth: int = 6) -> None:
        if depth:
            vars(self).update((f"branch_{number}", Tree(0)) for number in range(9))
            self.branch_0 = Tree(depth - 1)


SHOWN: dict[str, object] = {
    "None": None,
    "[True, 1, -1.5, 2j, Ellipsis]": [True, 1, -1.5, 2j, ...],
    "'a\\nb'": "a\nb",
    "(b'x', bytearray(b'y'))": (b"x", bytearray(b"y")),
    "(1,)": (1,),
    "[(), [], {}, set(), frozenset(set())]": [(), [], {}, set(), frozenset()],
    "[{1}, frozenset({'a'})]": [{1}, frozenset({"a"})],
    "{1: 'a', 'b': [2]}": {1: "a", "b": [2]},
    "Counter({'a': 2})": Counter("aa"),
    "OrderedDict({2: 1, 1: 2})": OrderedDict([(2, 1), (1, 2)]),
    "deque([1, 2])": deque([1, 2]),
    "Point((1, 2))": Point(1, 2),
    "[range(0, 3), range(3, 0, -1)]": [range(3), range(3, 0, -1)],
    "KeyError('a', 1)": KeyError("a", 1),
    "[<class Point>, <class int>]": [Point, int],
    "[<module>, <builtin_function_or_method>, <function>]": [sys, len, dedent],
    "<Slotted left=1>": Slotted(),
    "[<object>, <generator>, <frame>]": [object(), (each for each in range(0)), sys._getframe()],
    "[datetime.date(2024, 2, 29), datetime.timedelta(days=1)]": [date(2024, 2, 29), timedelta(1)],
    "datetime.datetime(2024, 2, 29, 0, 0)": datetime(2024, 2, 29),
    "<datetime>": datetime(2024, 2, 29, tzinfo=UTC),
    "[Decimal('1.50')]": [Decimal("1.50")],
    "<int of 10001 bits>": 1 << 10_000,
    "[[[[[[…]]]]]]": [[[[[[[1]]]]]]],
}


def test_how_values_are_shown() -> None:
    assert {display: shown(value) for display, value in SHOWN.items()} == {display: display for display in SHOWN}
    moved = OrderedDict([(1, 2), (2, 1)])
    moved.move_to_end(1)
    assert shown(moved) == "OrderedDict({2: 1, 1: 2})"
    within = shown(Named())
    assert within.startswith("<Named left=1, name='n', own=[<Named left=1, name='n', own=[<Named")
    assert "…" in within


@pytest.mark.parametrize(
    "value",
    [
        "x" * 10**7,
        list(range(10**6)),
        {str(n): n for n in range(10**5)},
        [[[0] * 99] * 99] * 99,
        Named(),
        Tree(),
        "\n" * 150,
    ],
)
def test_what_shows_a_value_is_short(value: object) -> None:
    assert len(shown(value)) <= VALUE_LIMIT
    assert "…" in shown(value)


BIG = '''
    def f(n):
        """
        >>> f(5)
        """
{assignments}
        for i in range(n):
            for each in ("{unit}" * 500, "y" * 500):
                {targets} = [(each, i)] * {count}
'''


@isolated
async def test_all_that_is_told_has_a_limit(ws: Workspace) -> None:
    names = [f"name_{number}" for number in range(60)]
    text = BIG.format(
        assignments="".join(f"        {name} = 0\n" for name in names),
        targets=", ".join(names),
        count=len(names),
        unit="x",
    )
    trace = await traced(ws, text)
    values = [value for each in trace.executed for value in each.values]
    assert trace.ended
    assert trace.left_out > 0
    assert max(len(each.values) for each in trace.executed) == MOST_VALUES
    assert TRACE_LIMIT // 2 < sum(len(name) + len(value) for name, value in values) <= TRACE_LIMIT
    assert trace.last[-1].gave == "None"


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
"""What code does to what traces it, and to the trace."""
FORGED = {"a trace of its own", "a trace of its own, twice", "an early end"}
"""Those that say that they were traced to the end."""
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
    """A trace has no verdict; and after it one is what it was before, for what forges a trace and for what does not."""
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
