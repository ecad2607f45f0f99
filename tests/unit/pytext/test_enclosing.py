"""Searching from a position finds the same function as reading the whole text."""

from __future__ import annotations

import argparse
import inspect
import random
import tarfile
import typing
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import toolz.itertoolz
from hypothesis import given
from hypothesis import strategies as st

from adacoder.pytext import Definition, Lines, definitions, functions_around, logical_lines, starts_logical_line

SOURCES = [Path(inspect.getfile(module)) for module in (argparse, inspect, tarfile, typing, toolz.itertoolz)]
ENDINGS = ["\n", "\r\n", "\r"]


def check(text: str, lines: Iterable[int] | None = None) -> None:
    """Compare both methods at some or all lines of a text."""
    cut = Lines(text)
    functions = [each for each in definitions(text) if not each.is_class]
    for line in range(len(cut)) if lines is None else lines:
        start = cut.starts[line]
        expected = [each for each in functions if each.span.start <= start <= each.span.end]
        for offset in (start, cut.end(line)):
            assert list(map(parts, functions_around(text, offset))) == list(map(parts, expected)), (line, cut[line])


def parts(definition: Definition) -> tuple[object, ...]:
    parents = [(parent.name, parent.is_class, parent.header, parent.docstring) for parent in definition.parents]
    return definition.name, definition.span, definition.lines, definition.header_index, definition.docstring, parents


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_at_lines_of_real_files(path: Path, ending: str, one_in: Callable[[int], int]) -> None:
    text = path.read_text(encoding="utf-8").replace("\n", ending)
    check(text, range(ENDINGS.index(ending), text.count(ending), 23 * one_in(3)))


HALF_TYPED = (
    *("def f(", "    def g(self, x", "class A", "    x = foo(a, [", "@dec", "@dec(", "        @dec.x", "@ spaced"),
    *(
        "if x",
        "        return '",
        "# a comment \\",
        "    x = 'a \\",
        "\f",
        "\x1c",
        "\t\tdef tabbed():",
        "  \fdef fed():",
    ),
    *("    f'{x", "    f'''{a", '    """', "'''", ")", "    ]", "else:", "async def", "\u2028", '""" + """', "\\"),
)


def without(lines: list[str], at: int, chance: random.Random) -> list[str]:
    return lines[:at] + lines[at + 1 :]


def with_quote(lines: list[str], at: int, chance: random.Random) -> list[str]:
    column = chance.randrange(len(lines[at]) + 1)
    quotes = chance.choice(["'", '"', "'''", '"""'])
    return [*lines[:at], lines[at][:column] + quotes + lines[at][column:], *lines[at + 1 :]]


def with_bracket(lines: list[str], at: int, chance: random.Random) -> list[str]:
    return [*lines[:at], lines[at] + chance.choice("([{)]}\\"), *lines[at + 1 :]]


def with_half_typed_line(lines: list[str], at: int, chance: random.Random) -> list[str]:
    return [*lines[:at], chance.choice(HALF_TYPED), *lines[at:]]


def cut_off(lines: list[str], at: int, chance: random.Random) -> list[str]:
    return [*lines[:at], lines[at][: chance.randrange(len(lines[at]) + 1)]]


def indented_otherwise(lines: list[str], at: int, chance: random.Random) -> list[str]:
    return [*lines[:at], chance.choice(["", " ", "\t", "      "]) + lines[at].lstrip(), *lines[at + 1 :]]


@pytest.mark.parametrize(
    "change", [without, with_quote, with_bracket, with_half_typed_line, cut_off, indented_otherwise]
)
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_at_lines_of_real_files_while_they_are_edited(
    path: Path, change: Callable[[list[str], int, random.Random], list[str]]
) -> None:
    chance = random.Random(path.name + change.__name__)
    lines = path.read_text(encoding="utf-8").split("\n")
    at = chance.randrange(len(lines))
    changed = change(lines, at, chance)
    near = range(max(at - 4, 0), min(at + 6, len(changed)))
    check(chance.choice(ENDINGS).join(changed), {*near, *(chance.randrange(len(changed)) for _ in range(15))})


LINES = st.sampled_from(
    [
        *(
            "def f():",
            "def f(x,",
            "      y): # c",
            "def f(): return 1",
            "async def f(): pass",
            "def f[T: int](x: T) -> T:",
        ),
        *("class C:", "class C[T]:", "class C", "@dec", "@dec(1,", "@ dec", "@dec\\", "# @dec", "type X = int"),
        *('"""Doc."""', '"""Doc', '"""', "'''", "'''x''' '''y", '("Doc."', '"a" """b', 'x = """', "# '''", 'r"\\"""'),
        *("x = [", "]", "x = (1,", ")", "{", "}", "x = 'a\\", "x = 1 \\", "# c \\", "x = 'a", 'f"{d["a"]}"', "f'{x"),
        *(
            "return 1",
            "return (",
            "if x:",
            "else:",
            "for x in y:",
            "match x:",
            "case 1:",
            "with x:",
            "pass",
            "lambda: 0",
        ),
        *("", "# c", "\f", "x = '\x85\u2028\x1c'", "# \x1c def f():", "\x1c", "text: with (", "a\tb", "\ufeff"),
    ]
)
INDENTS = st.sampled_from(["", "", " ", "    ", "    ", "        ", "\t", "  \f  ", "\f"])
CODE = st.lists(st.tuples(INDENTS, LINES, st.sampled_from(["\n"] * 6 + ["\r\n", "\r"])).map("".join), max_size=14)


@given(CODE)
def test_at_all_lines_of_any_code(lines: list[str]) -> None:
    check("".join(lines))


@given(st.text(alphabet=st.sampled_from('def f():class\n\n\r \t\f@#""""\'\'\'\\([])'), max_size=60))
def test_at_all_lines_of_any_text(text: str) -> None:
    check(text)


@given(CODE)
def test_where_logical_lines_start(lines: list[str]) -> None:
    text = "".join(lines)
    starts = {line.start for line in logical_lines(text)}
    assert {offset for offset in range(len(text)) if starts_logical_line(text, offset)} == starts


TRICKY = '''x = """
def no():
"""; y = """
"""
@first  # one
# between
@second(
    """
@no
""",
) # two

async def decorated(
    self,
):
    """Doc."""
    class Inner:
        @(
            lambda f: f)
        def method(self): return {
1: (2,
3)}
        # of the class
    value = [
1,
    ]
    def nested(x): """One line."""; return x

    # of the function
# of the module
z = f(
    1
)
if z:
    class Other[T](
Base):
        \'\'\'Other.\'\'\'
        field = """
            def no(): pass"""  \\
            .strip()

        def last[T: (int, str)](self) -> T:
            match self:
                case 1:
                    return f"""{f'{"""a"""}'}
def no():
"""
'''


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    ("line", "names"),
    [
        *((line, []) for line in (*range(4), *range(29, 41), 47)),
        *((line, ["decorated"]) for line in (*range(4, 17), *range(22, 26), 27, 28)),
        *((line, ["decorated", "decorated.Inner.method"]) for line in range(17, 22)),
        (26, ["decorated", "decorated.nested"]),
        *((line, ["Other.last"]) for line in range(41, 47)),
    ],
)
def test_what_must_not_mislead(line: int, names: list[str], ending: str) -> None:
    text = TRICKY.replace("\n", ending)
    lines = Lines(text)
    assert [each.qualname for each in functions_around(text, lines.starts[line])] == names


@pytest.mark.parametrize("ending", ENDINGS)
def test_at_all_lines_of_what_must_not_mislead(ending: str) -> None:
    check(TRICKY.replace("\n", ending))


def test_of_a_class_around_the_docstring_is_known() -> None:
    text = 'class C:\n    """Doc."""\n    x = 1\n    class D(\n    ): y = 2\n    def f(self): pass\n'
    (found,) = functions_around(text, text.index("pass"))
    assert [parent.docstring and parent.docstring.of(text) for parent in found.parents] == ['"""Doc."""']
    assert found.qualname == "C.f"


def test_definitions_deeper_than_python_reads_are_left_alone() -> None:
    text = "".join(f"{' ' * depth}def f():\n" for depth in range(150))
    assert len(definitions(text)) == 100
    check(text, (50, 140))
