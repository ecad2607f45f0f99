"""The examples in a class's docstring that run a method, with what they need before them, are the method's too."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest

from adacoder.source.locate import documented, functions, locate
from evaluating import Workspace, program, workspace

if TYPE_CHECKING:
    from adacoder.domain import Example, Verdict

DOCSTRING = """
    A stack.

    >>> s = Stack()
    >>> s.push(3)
    >>> s.size
    1
    >>> s.name
    'stack'
    >>> s.pop()
    3
    >>> Stack.named("x").name
    'x'
"""
STACK = '''\
import math


def helper(n):
    """Help."""
    return n


class Stack:
    """{docstring}"""

    name = "stack"

    def __init__(self):
        """Empty."""
        self.items = []

    @property
    def size(self):
        """How many."""
        return len(self.items)

    def push(self, item):
        """Put on top.{own}"""
        self.items.append(item)

    def pop(self):
        """Take from the top."""
        return self.items.pop()

    @classmethod
    def named(cls, name):
        """A stack with a name."""
        stack = cls()
        stack.name = name
        return stack

    def get(self, index):
        """One item."""
        return self.items[index]

    def __len__(self):
        """How many."""
        return len(self.items)
'''


def stack(docstring: str = DOCSTRING, own: str = "") -> str:
    return STACK.format(docstring=indent(dedent(docstring), "    "), own=own)


def found(name: str, text: str) -> tuple[Example, ...]:
    return locate(text, Path("/w/mod.py"), Path("/w"), qualname=f"Stack.{name}").examples


def sources(name: str, text: str) -> list[str]:
    return [example.source.rstrip("\n") for example in found(name, text)]


def examples_of(docstring: str, name: str = "push", own: str = "") -> list[str]:
    return sources(name, stack(docstring, own))


@pytest.mark.parametrize(
    ("name", "last", "decide"),
    [
        ("push", "s.pop()", ["s.size", "s.name", "s.pop()"]),
        ("pop", "s.pop()", ["s.pop()"]),
        ("size", "s.size", ["s.size"]),
        ("named", 'Stack.named("x").name', ['Stack.named("x").name']),
        ("__init__", 'Stack.named("x").name', ["s.size", "s.name", "s.pop()", 'Stack.named("x").name']),
    ],
)
def test_examples_up_to_the_last_that_runs_the_method(name: str, last: str, decide: list[str]) -> None:
    examples = found(name, stack())
    assert [example.source.rstrip("\n") for example in examples if example.decides] == decide
    assert examples[0].source == "s = Stack()\n"
    assert examples[-1].source.rstrip("\n") == last


def test_each_stands_on_its_line_of_the_file_after_the_method_s_own() -> None:
    text = stack(own="\n\n        >>> Stack().push(1)\n        ")
    lines = text.split("\n")
    own, *others = found("push", text)
    assert own.line > others[-1].line
    assert all(lines[example.line].strip() == f">>> {example.source.rstrip()}" for example in (own, *others))


@pytest.mark.parametrize("name", ["get", "__len__"])
def test_a_method_that_no_example_calls_has_none(name: str) -> None:
    assert found(name, stack()) == ()


@pytest.mark.parametrize(
    ("docstring", "name"),
    [
        (">>> d = {1: 2}\n>>> d.get(1)\n2", "get"),  # of something else
        (">>>broken\n>>> s = Stack()\n>>> s.push(1)", "push"),
        (">>> s = Stack()\n>>> s.push(1)  # doctest: +SKIP", "push"),
        (">>> s = np.stack(Stack())\n>>> s.push(1)", "push"),  # nothing defines np
        ("push(1) == 2, for s = 1 the output is 2", "push"),
    ],
)
def test_examples_that_show_nothing_of_the_method_are_none_of_its(docstring: str, name: str) -> None:
    assert examples_of(docstring, name) == []


@pytest.mark.parametrize(
    ("stub", "left"),
    [
        ("def pop(self):", ["s = Stack()", "s.push(3)", "s.size", "s.name"]),
        ("def size(self):", ["s = Stack()", "s.push(3)"]),
        ("def push(self, item):", ["s = Stack()", "s.push(3)", "s.size", "s.name", "s.pop()"]),
        ("def __init__(self):", []),
        ("def __len__(self):", []),
        ("def get(self, index):", ["s = Stack()", "s.push(3)", "s.size", "s.name", "s.pop()"]),
    ],
)
def test_examples_end_where_another_method_is_still_a_stub(stub: str, left: list[str]) -> None:
    before, header, after = stack().partition(f"    {stub}\n")
    docstring, _, rest = after.partition("\n")
    body, blank, others = rest.partition("\n\n")
    text = f"{before}{header}{docstring}\n        raise NotImplementedError\n{blank}{others}"
    assert body
    assert sources("push", text) == left


def test_a_stub_elsewhere_ends_them_where_it_is_named() -> None:
    docstring = ">>> s = Stack()\n>>> s.push(1)\n>>> helper(s.size)\n1"
    assert examples_of(docstring) == ["s = Stack()", "s.push(1)", "helper(s.size)"]
    text = stack(docstring).replace("    return n\n", "    ...\n", 1)
    assert sources("push", text) == ["s = Stack()", "s.push(1)"]
    other = "\n\nclass Other:\n    def work(self): ...\n"
    using = ">>> s = Stack()\n>>> s.push(1)\n>>> s.push(Other())"
    assert sources("push", stack(using) + other) == ["s = Stack()", "s.push(1)"]


@pytest.mark.parametrize(
    ("own", "docstring", "is_used"),
    [
        (">>> s = Stack()", ">>> s = Stack()\n>>> s.push(1)", True),
        (">>> s = Stack()", ">>> s.push(1)", False),
        (">>> math = 3", ">>> s = Stack()\n>>> s.push(math.pi)", False),
        (">>> math = 3", ">>> import math\n>>> s = Stack()\n>>> s.push(math.pi)", True),
        (">>> math = 3  # doctest: +SKIP", ">>> s = Stack()\n>>> s.push(math.pi)", True),
    ],
)
def test_names_that_the_own_docstring_leaves_behind_are_not_used(own: str, docstring: str, is_used: bool) -> None:
    examples = examples_of(docstring, own=f"\n\n        {own}\n        ")
    assert examples[0] == own.removeprefix(">>> ")
    assert bool(examples[1:]) == is_used


def test_whoever_looks_for_docstrings_finds_each_example_once() -> None:
    path, folder = Path("/w/mod.py"), Path("/w")
    text = stack(own="\n\n        >>> Stack().push(1)\n        ")
    by_docstring = {one.target.qualname: one for one in documented(text, path, folder)}
    assert len(by_docstring["Stack"].target.examples) == 6
    assert len(by_docstring["Stack.push"].target.examples) == 1
    (push,) = (one.target for one in functions(text, path, folder) if one.target.name == "push")
    assert len(push.examples) == 6
    assert locate(text, path, folder, qualname="Stack.push").examples == push.examples
    line = text.split("\n").index("        self.items.append(item)")
    assert locate(text, path, folder, line=line).examples == push.examples
    one = by_docstring["Stack.push"]
    assert type(one)(push, is_function=True).as_doctest.examples == one.as_doctest.examples


@pytest.mark.isolation
async def test_only_what_runs_the_method_can_fail_it(tmp_path: Path) -> None:
    text = stack(DOCSTRING.replace("'stack'", "'wrong'").replace("    >>> s.push(3)\n", ""))
    async with workspace(tmp_path) as ws:
        verdict = await named(ws, text)
        assert verdict.passed
        assert verdict.examples_passed == 1
        assert [result.matched for result in verdict.results] == [True, False, False, False, True]
        failure = (await named(ws, text.replace("stack.name = name", "stack.name = 1"))).failure
        assert failure is not None
        assert failure.message == "The example on line 20 gave 1 instead of 'x'."


async def named(ws: Workspace, text: str) -> Verdict:
    what = program(ws.folder / "mod.py", ws.folder, text, "Stack.named")
    return await ws.host().evaluate(what, found("named", text), timeout=10)
