"""If prose says that a function returns a value, printing this value, or one that looks like it, does not pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adacoder.domain import FailureKind, Status
from support.commandline import Desk
from support.concluding import concluded, verdict_of
from support.evaluating import Workspace, workspace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from adacoder.domain import Level


PROSE = {
    "equation": "f(2) == 15",
    "verb": "f(2) returns 15",
    "arrow": "f(2) -> 15",
    "prompt": ">>> f(2) == 15",
    "assert": "assert f(2) == 15",
    "sentence": "For x = 2 the output should be 15.",
    "labels": "Input: x = 2\n    Output: 15",
}
CLASSES = """
class Meta(type):
    __name__ = "int"
    __mro__ = (int, object)
    def __instancecheck__(cls, other): return True
    def __subclasscheck__(cls, other): return True
    def __eq__(cls, other): return True
    __hash__ = type.__hash__

class Lies(metaclass=Meta):
    __class__ = int
    def __eq__(self, other): return True
    def __hash__(self): return 15
    def __repr__(self): return "15"
    __str__ = __format__ = lambda self, *_: "15"
    def __index__(self): return 15
    __int__ = __float__ = __len__ = __bool__ = __index__
    def __reduce__(self): return (int, ("15",))

class Number(int):
    def __repr__(self): return "15"
    def __index__(self): return 15
    __int__ = __index__
    __eq__ = lambda self, other: True
    __hash__ = int.__hash__

class Real(float):
    def __repr__(self): return "15.0"
    __float__ = lambda self: 15.0

class Word(str):
    def __repr__(self): return "15"

class Shown(str):
    def __add__(self, other): return self
    def __getitem__(self, item): return self

class Row(list):
    def __repr__(self): return "15"
    def __iter__(self): return iter([15])
"""
NOT_15 = {
    "prints": "print(15)",
    "prints without an end": "print(15, end='')",
    "prints and returns None": "print(15); return None",
    "prints and returns something else": "print(15); return 3",
    "prints and returns nothing of that look": "print(15); return Word('')",
    "writes": "import sys; sys.stdout.write('15\\n'); return None",
    "displays": "import sys; sys.displayhook(15)",
    "displays in a statement": "exec(compile('15', '', 'single'))",
    "prints in repr": "return type('R', (), {'__repr__': lambda s: print(15) or ''})()",
    "replaces stdout": "import io, sys; sys.stdout = io.StringIO('15\\n')",
    "replaces displayhook": "import sys; sys.displayhook = lambda _: print(15)",
    "patches repr": "import builtins; builtins.repr = lambda _: '15'; return 3",
    "patches type": "import builtins; builtins.type = lambda _: int; builtins.issubclass = lambda *_: True; return 'x'",
    "text": "return '15'",
    "bytes": "return b'15'",
    "an object of that look": "return type('R', (), {'__repr__': lambda s: '15'})()",
    "an object that lies": "return Lies()",
    "an int of that look": "return Number(3)",
    "a float of that look": "return Real(3)",
    "a text of that look": "return Word('abc')",
    "a look that is a subclass": "return type('R', (), {'__repr__': lambda s: Shown('15')})()",
    "a list of that look": "return Row()",
    "an enumeration": "import enum; return enum.Enum('E', {'A': 15}, type=None).A",
    "a module of that look": "import types; m = types.ModuleType('m'); m.__class__ = type('M', (types.ModuleType,),"
    " {'__repr__': lambda s: '15'}); return m",
    "a class of that look": "return type('M', (type,), {'__repr__': lambda c: '15'})('C', (), {})",
    "a proxy": "import weakref; o = Lies(); globals()['kept'] = o; return weakref.proxy(o)",
    "a Fraction": "from fractions import Fraction; return Fraction(15)",
    "a generator": "return (n for n in [15])",
    "a list around it": "return [15]",
    "a function": "return lambda: 15",
    "True": "return True",
    "too large": "return 15 + 10 ** 100_000",
    "nan": "return float('nan')",
}


@pytest.fixture
async def ws(level: Level, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Workspace]:
    async with workspace(tmp_path_factory.mktemp("project"), level, best=level) as opened:
        yield opened


def module(body: str, prose: str = "f(2) == 15") -> str:
    return f'{CLASSES}\n\ndef f(x):\n    """It.\n\n    {prose}\n    """\n    {body}\n'


async def statuses(ws: Workspace, modules: Mapping[str, str]) -> dict[str, Status]:
    """Return the status of the function `f` in each of `modules`."""
    return {name: (await concluded(ws, text)).status for name, text in modules.items()}


async def test_printing_is_not_returning_in_any_prose(ws: Workspace) -> None:
    for prose in PROSE.values():
        printed = await concluded(ws, module("print(15)", prose))
        assert printed.status is Status.FAILED
        assert printed.reason is not None
        assert printed.reason.endswith("printed 15 and returned None instead of returning 15.")
        assert (await concluded(ws, module("return Lies()", prose))).status is Status.FAILED
        assert (await concluded(ws, module("return x + 13", prose))).status is Status.VERIFIED


async def test_what_only_looks_like_it_is_not_it(ws: Workspace) -> None:
    found = await statuses(ws, {name: module(body) for name, body in NOT_15.items()})
    assert found == dict.fromkeys(NOT_15, Status.FAILED)
    assert (await concluded(ws, module("return x + 13"))).status is Status.VERIFIED


COLLECTIONS = {
    "items": ("f(2) == [1, 2]", "return [True, 2]"),
    "a tuple": ("f(2) == [1, 2]", "return (1, 2)"),
    "an iterator": ("f(2) == [1, 2]", "return iter([1, 2])"),
    "a range": ("f(2) == [0, 1]", "return range(2)"),
    "keys": ("f(2) == ['a']", "return {'a': 1}.keys()"),
    "lies inside": ("f(2) == [15]", "return [Lies()]"),
    "lies as a key": ("f(2) == {15: 1}", "return {Lies(): 1}"),
    "looks in a set": ("f(2) == {15}", "return {Number(3)}"),
    "twice in a set": (
        "f(2) == {15}",
        "return {type('N', (int,), {'__hash__': lambda s: id(s), '__eq__': lambda s, o: False})(15) for _ in '12'}",
    ),
    "a list that hides": ("f(2) == [1]", "return type('L', (list,), {'__iter__': lambda s: iter([1])})([1, 2])"),
    "a dict that hides": ("f(2) == {'a': 1}", "return type('D', (dict,), {'items': lambda s: [('a', 1)]})(b=1)"),
    "in itself": ("f(2) == [1]", "l = [1]; l.append(l); return l"),
    "deep": ("f(2) == [1]", "l = [1]\n    for _ in range(100_000): l = [l]\n    return l"),
    "wide": ("f(2) == [1]", "l = [1]\n    for _ in range(60): l = [l, l]\n    return l.__class__([l])"),
    "bytes": ("f(2) == 'a'", "return b'a'"),
    "the quoted": ("f(2) == 'a'", "return \"'a'\""),
    "None": ("f(2) == None", "return 'None'"),
    "None and more": ("f(2) == None", "print('None')"),
    "False": ("f(2) == False", "return 0"),
    "1": ("f(2) == 1", "return True"),
    "infinite": ("f(2) == 1e400", "return 'inf'"),
}


async def test_values_in_prose_have_their_type(ws: Workspace) -> None:
    found = await statuses(ws, {name: module(body, prose) for name, (prose, body) in COLLECTIONS.items()})
    assert found == dict.fromkeys(COLLECTIONS, Status.FAILED)
    for prose, _ in COLLECTIONS.values():
        wanted = prose.partition(" == ")[2]
        assert (await concluded(ws, module(f"return (1, {wanted})[x - 1]", prose))).status is Status.VERIFIED


HONEST = {
    "prints on its way": ("f(2) == 15", "print('debug'); return x + 13"),
    "a float": ("f(2) == 15", "return x + 13.0"),
    "zero": ("f(2) == 0", "return -0.0 * x"),
    "order of a set": ("f(2) == {'a', 'b'}", "return set('ba' * x)"),
    "order of a dict": ("f(2) == {'a': 1, 'b': 2}", "return dict([('b', x), ('a', 1)])"),
    "a Counter": ("f(2) == {'a': 2}", "from collections import Counter; return Counter('a' * x)"),
    "a defaultdict": (
        "f(2) == {'a': [2]}",
        "from collections import defaultdict; d = defaultdict(list); d['a'].append(x); return d",
    ),
    "a named tuple": ("f(2) == (2, 3)", "from collections import namedtuple; return namedtuple('P', 'a b')(x, 3)"),
    "an IntEnum": ("f(2) == 2", "from enum import IntEnum; return IntEnum('E', ['A', 'B'])(x)"),
    "a class of its own": ("f(2) == [2]", "return type('Stack', (list,), {})([x])"),
    "a text of its own": ("f(2) == 'aa'", "return type('Name', (str,), {})('a' * x)"),
    "an inner tuple": ("f(2) == {(2, 3): {4}}", "return {(x, 3): {2 * x}}"),
    "bytes": ("f(2) == b'aa'", "return b'a' * x"),
    "infinite": ("f(2) == 1e400", "return x * float('inf')"),
    "a complex inside": ("f(2) == [2j]", "return [x * 1j]"),
    "None": ("f(2) == None", "return {}.get(x)"),
    "True": ("f(2) == True", "return x > 1"),
    "long": ("f(2) == " + repr("ab" * 400), "return 'ab' * 200 * x"),
    "large": (f"f(2) == {10**900}", "return 10 ** (450 * x)"),
}


async def test_what_is_equal_and_of_its_kind_is_verified(ws: Workspace) -> None:
    found = await statuses(ws, {name: module(body, prose) for name, (prose, body) in HONEST.items()})
    assert found == dict.fromkeys(HONEST, Status.VERIFIED)


async def test_after_a_prompt_what_is_printed_counts_as_in_doctest(ws: Workspace) -> None:
    for body in ("print(x + 13)", "return x + 13", "print(x // 2, end=''); return x + 3", "return Lies()"):
        assert (await concluded(ws, module(body, ">>> f(2)\n    15"))).status is Status.VERIFIED
    for body in ("print(15); return 15", "print(16)"):
        assert (await concluded(ws, module(body, ">>> f(2)\n    15"))).status is Status.FAILED


async def test_it_is_told_apart_what_was_printed_and_what_was_returned(ws: Workspace) -> None:
    printed = verdict_of(await concluded(ws, module("print(15); return 3"))).failure
    assert printed is not None
    assert printed.kind is FailureKind.WRONG_OUTPUT
    assert printed.message.endswith(" printed 15 and returned 3 instead of returning 15.")
    assert printed.got == "3\nafter printing\n15\n"
    lies = verdict_of(await concluded(ws, module("return Word('abc')"))).failure
    assert lies is not None
    assert lies.message.endswith(" gave 15 (of the class 'Word') instead of 15.")
    assert lies.got == "15 (of the class 'Word')\n"


async def test_an_exception_in_prose_is_raised_and_not_printed(ws: Workspace) -> None:
    prose = "f(2) raises ValueError"
    printing = "print('Traceback (most recent call last):\\nValueError')"
    assert (await concluded(ws, module(printing, prose))).status is Status.FAILED
    assert (await concluded(ws, module("return ValueError()", prose))).status is Status.FAILED
    assert (await concluded(ws, module("print('no'); raise ValueError(x)", prose))).status is Status.VERIFIED


@pytest.mark.isolation
def test_the_command_line_takes_no_print_for_a_result(desk: Desk) -> None:
    desk.write(module("pass"), "mod.py")
    reply = desk.write("def f(x):\n    print(15)\n", "reply.txt")
    ran = desk.run("apply", "mod.py::f", "--reply", reply, "--json")
    assert (ran.code, ran.objects[0]["status"], ran.objects[0]["edits"]) == (1, "failed", [])
    reply.write_text("def f(x):\n    return x + 13\n", encoding="utf-8")
    ran = desk.run("apply", "mod.py::f", "--reply", reply, "--json")
    assert (ran.code, ran.objects[0]["status"]) == (0, "verified")
