"""Values of local variables in a trace: their text, which runs none of their code, and its length."""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, deque, namedtuple
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from textwrap import dedent

import pytest

from adacoder.sandbox.child.tracing import MOST_VALUES, TRACE_LIMIT, VALUE_LIMIT, shown
from support.evaluating import Workspace, told, traced

isolated = pytest.mark.isolation


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
