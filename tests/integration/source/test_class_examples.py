"""Examples in a class's docstring that run a method count for this method, together with examples that they need.

A run shows which examples these are. Some can be left out without a run.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest

from adacoder.agents.code_evaluator import CodeEvaluator
from adacoder.journal import Journal
from adacoder.source.locate import documented, functions, locate
from support.evaluating import Workspace, program

if TYPE_CHECKING:
    from collections.abc import Iterable

    from adacoder.domain import Example, Target, Verdict

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


def located(name: str, text: str, path: Path = Path("/w/mod.py")) -> Target:
    return locate(text, path, path.parent, qualname=f"Stack.{name}")


def sources(examples: Iterable[Example]) -> list[str]:
    return [example.source.rstrip("\n") for example in examples]


def candidates(name: str, text: str) -> list[str]:
    """Return the examples that may run a method, judged by the text alone."""
    return sources(located(name, text).of_class)


async def running(ws: Workspace, name: str, text: str) -> Target:
    """Return a method with its examples, including those from its class."""
    ws.write({"mod.py": text})
    evaluator = CodeEvaluator(ws.host(), Journal(), overlays={}, timeout=10)
    return await evaluator.with_class_examples(located(name, text, ws.folder / "mod.py"))


@pytest.mark.isolation
@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("push", "s.pop()"),  # later examples use the changed object
        ("pop", "s.pop()"),
        ("size", "s.size"),
        ("named", 'Stack.named("x").name'),
        ("__init__", 'Stack.named("x").name'),
    ],
)
async def test_examples_up_to_the_last_that_runs_the_method(name: str, last: str, ws: Workspace) -> None:
    every = candidates(name, stack())
    for body in ("", "raise NotImplementedError", "return (  # it is no Python"):
        text = with_body(stack(), name, body)
        assert sources((await running(ws, name, text)).examples) == every[: every.index(last) + 1]


@pytest.mark.isolation
async def test_a_body_that_ends_the_run_hides_no_example_after_it(ws: Workspace) -> None:
    every = candidates("push", stack())
    text = with_body(stack(), "push", "import os; os._exit(0)")
    assert sources((await running(ws, "push", text)).examples) == every[: every.index("s.pop()") + 1]


def with_body(text: str, name: str, body: str) -> str:
    """Return `text` with `body` as the body of the method; unchanged if `body` is empty."""
    target = located(name, text)
    head, tail = text[: target.body.start], text[target.body.end :]
    return f"{head}\n        {body}{tail}" if body else text


@pytest.mark.isolation
async def test_each_stands_on_its_line_of_the_file_after_the_method_s_own(ws: Workspace) -> None:
    text = stack(own="\n\n        >>> Stack().push(1)\n        ")
    lines = text.split("\n")
    own, *others = (await running(ws, "push", text)).examples
    assert others
    assert own.line > others[-1].line
    assert all(lines[example.line].strip() == f">>> {example.source.rstrip()}" for example in (own, *others))


@pytest.mark.isolation
@pytest.mark.parametrize(
    ("docstring", "name", "expected"),
    [
        (">>> d = {1: 2}\n>>> d.get(1)\n2", "get", 0),  # a method of another object
        (">>> s = Stack()\n>>> s.push(1); s.get(0)\n1", "get", 2),
        (">>> s = Stack()\n>>> s.push(1)  # doctest: +SKIP", "push", 0),
        (">>> s = Stack()\n>>> s.push(1)  # doctest: +ELLIPSIS", "push", 2),
        (">>> s = Stack()\n>>> Stack.push\n", "push", 0),  # only names the method
        (">>> s = Stack()\n>>> len(s)\n0", "__len__", 2),
        (">>> s = Stack()\n>>> bool(s)\nFalse", "__len__", 2),  # runs the method without naming it
        (">>> s = Stack()\n>>> s is s\nTrue", "__len__", 0),
    ],
)
async def test_examples_that_do_not_run_the_method_are_none_of_its(
    docstring: str, name: str, expected: int, ws: Workspace
) -> None:
    assert len((await running(ws, name, stack(docstring))).examples) == expected


@pytest.mark.parametrize(
    "docstring",
    [
        ">>>broken\n>>> s = Stack()\n>>> s.push(1)",
        ">>> s = np.stack(Stack())\n>>> s.push(1)",  # np is not defined
        "push(1) == 2, for s = 1 the output is 2",
    ],
)
def test_what_cannot_be_read_or_run_may_not_be_its(docstring: str) -> None:
    assert candidates("push", stack(docstring)) == []


EVERY = ["s = Stack()", "s.push(3)", "s.size", "s.name", "s.pop()", 'Stack.named("x").name']


@pytest.mark.parametrize(
    ("stub", "left"),
    [
        ("def pop(self):", ["s = Stack()", "s.push(3)", "s.size", "s.name"]),
        ("def size(self):", ["s = Stack()", "s.push(3)"]),
        ("def push(self, item):", EVERY),
        ("def __init__(self):", []),
        ("def __len__(self):", []),
        ("def get(self, index):", EVERY),
    ],
)
def test_examples_end_where_another_method_is_still_a_stub(stub: str, left: list[str]) -> None:
    before, header, after = stack().partition(f"    {stub}\n")
    docstring, _, rest = after.partition("\n")
    body, blank, others = rest.partition("\n\n")
    text = f"{before}{header}{docstring}\n        raise NotImplementedError\n{blank}{others}"
    assert body
    assert candidates("push", text) == left


def test_a_stub_elsewhere_ends_them_where_it_is_named() -> None:
    docstring = ">>> s = Stack()\n>>> s.push(1)\n>>> helper(s.size)\n1"
    assert candidates("push", stack(docstring)) == ["s = Stack()", "s.push(1)", "helper(s.size)"]
    text = stack(docstring).replace("    return n\n", "    ...\n", 1)
    assert candidates("push", text) == ["s = Stack()", "s.push(1)"]
    other = "\n\nclass Other:\n    def work(self): ...\n"
    using = ">>> s = Stack()\n>>> s.push(1)\n>>> s.push(Other())"
    assert candidates("push", stack(using) + other) == ["s = Stack()", "s.push(1)"]


@pytest.mark.isolation
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
async def test_names_that_the_own_docstring_leaves_behind_are_not_used(
    own: str, docstring: str, is_used: bool, ws: Workspace
) -> None:
    target = await running(ws, "push", stack(docstring, f"\n\n        {own}\n        "))
    examples = sources(target.examples)
    assert examples[0] == own.removeprefix(">>> ")
    assert bool(examples[1:]) == is_used


def test_whoever_looks_for_docstrings_finds_each_example_once() -> None:
    path, folder = Path("/w/mod.py"), Path("/w")
    text = stack(own="\n\n        >>> Stack().push(1)\n        ")
    by_docstring = {one.target.qualname: one.target for one in documented(text, path, folder)}
    assert len(by_docstring["Stack"].examples) == 6
    assert (len(by_docstring["Stack.push"].examples), by_docstring["Stack.push"].of_class) == (1, ())
    (push,) = (one.target for one in functions(text, path, folder) if one.target.name == "push")
    assert (len(push.examples), len(push.of_class)) == (1, 6)
    assert locate(text, path, folder, qualname="Stack.push") == push
    line = text.split("\n").index("        self.items.append(item)")
    assert locate(text, path, folder, line=line) == push


@pytest.mark.isolation
async def test_only_what_runs_the_method_can_fail_it(ws: Workspace) -> None:
    text = stack(DOCSTRING.replace("'stack'", "'wrong'"))
    verdict = await named(ws, text)
    assert verdict.passed
    assert verdict.examples_passed == 1
    assert [result.matched for result in verdict.results] == [True, True, True, False, True, True]
    failure = (await named(ws, text.replace("stack.name = name", "stack.name = 1"))).failure
    assert failure is not None
    assert failure.message == "The example on line 21 gave 1 instead of 'x'."


async def named(ws: Workspace, text: str) -> Verdict:
    target = await running(ws, "named", text)
    what = program(ws.folder / "mod.py", ws.folder, text, "Stack.named")
    return await ws.host().evaluate(what, target.examples, timeout=10)
