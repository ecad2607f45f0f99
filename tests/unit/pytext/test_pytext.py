"""The line structure of a text agrees with Python's, and is also found if Python cannot parse the text."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest
import toolz
from hypothesis import given
from hypothesis import strategies as st

from adacoder import pytext
from adacoder.pytext import (
    Lines,
    dedent,
    definitions,
    indent_width,
    line_ending,
    line_number,
    line_start,
    logical_lines,
    parsed,
    statements,
)

SOURCES = [
    *sorted(Path(toolz.__file__).parent.glob("*.py")),
    *sorted(Path(pytext.__file__).parent.glob("*.py")),
    *(Path(inspect.getfile(module)) for module in (ast, inspect, pytest)),
    Path(inspect.__file__).with_name("textwrap.py"),
    Path(inspect.__file__).with_name("typing.py"),
    Path(inspect.__file__).with_name("argparse.py"),
    Path(inspect.__file__).with_name("tarfile.py"),
]
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
WHOLE = '''@decorated
def whole(x,
          y={":": 1}):
    """Doc: (.

def fake():
    """
    return [
        x]'''
BROKEN = st.sampled_from(
    [
        "x = (\n",
        "x = [1, {\n    'a': (2,\n",
        "def broken(a, b:\n    pass\n",
        "class Broken(\n",
        "s = 'open\n",
        's = f"open {x\n',
        "if True\n    x = 1\n",
        ") ] }\n",
        "\u00a0\ufeff?$`\n",
        "for for for:\n\tx\n    y\n",
    ]
)
CODE = st.text(alphabet=st.sampled_from("def classx():=,#'\"\\[]{} \t\n\r\f@fr"), max_size=80)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_definitions_are_those_that_python_finds(path: Path, ending: str) -> None:
    text = path.read_text(encoding="utf-8").replace("\n", ending)
    lines = Lines(text)
    found = {
        (
            each.name,
            each.is_class,
            lines.line_at(each.header.start) + 1,
            each.docstring is not None,
            last_line(lines, each),
        )
        for each in definitions(text)
    }
    assert found == expected(text)


def last_line(lines: Lines, definition: pytext.Definition) -> int:
    return lines.line_at(definition.lines[-1].code_end) + 1


def expected(text: str) -> set[tuple[str, bool, int, bool, int | None]]:
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, DEFINITIONS)]
    return {
        (node.name, isinstance(node, ast.ClassDef), node.lineno, ast.get_docstring(node) is not None, node.end_lineno)
        for node in nodes
    }


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_docstrings_and_headers_are_those_that_python_finds(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = Lines(text)
    nodes = {node.lineno - 1: node for node in ast.walk(ast.parse(text)) if isinstance(node, DEFINITIONS)}
    for each in definitions(text):
        node = nodes[lines.line_at(each.header.start)]
        assert text[each.header.end - 1] == ":"
        assert each.header.end <= lines.starts[node.body[0].lineno - 1] + node.body[0].col_offset
        if each.docstring is not None:
            assert ast.literal_eval(each.docstring.of(text)) == ast.get_docstring(node, clean=False)
            assert lines.line_at(each.docstring.start) + 1 == node.body[0].lineno


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_statements_are_those_that_python_finds(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = Lines(text)
    found = [lines.line_at(span.start) + 1 for span in statements(text)]
    nodes = ast.parse(text).body
    starts = [min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))]) for node in nodes]
    assert found == sorted(set(starts))


@given(CODE)
def test_logical_lines_of_any_text_are_in_order_and_hold_all_code(text: str) -> None:
    end = 0
    for line in logical_lines(text):
        assert end <= line.start < line.code_end <= line.end <= len(text)
        between = text[end : line.start - len(line.indent)]
        assert all(
            not part.strip(" \t\f") or part.strip(" \t\f").startswith("#") for part in re.split(r"[\r\n]", between)
        )
        end = line.end


@given(CODE)
def test_definitions_of_any_text_lie_in_it(text: str) -> None:
    for each in definitions(text):
        assert 0 <= each.span.start <= each.header.start < each.header.end <= len(text)
        assert each.span.end <= len(text)


@given(
    st.lists(st.sampled_from(["a", "", "\f", "\x1c", "\u2028", "é"]), min_size=1), st.sampled_from(["\n", "\r\n", "\r"])
)
def test_only_the_protocols_line_ends_end_a_line(parts: list[str], ending: str) -> None:
    text = ending.join(parts)
    lines = Lines(text)
    assert len(lines) == len(parts)
    assert "".join(lines[index] for index in range(len(lines))) == text
    assert [text[start : lines.end(index)] for index, start in enumerate(lines.starts)] == parts
    assert line_ending(text) == (ending if len(parts) > 1 else "\n")


@given(st.lists(st.sampled_from(["a", "bc", "\n", "\r\n", "\r", "\u2028"])), st.integers(-3, 30), st.integers(0, 40))
def test_lines_are_counted_as_they_are_cut(parts: list[str], line: int, offset: int) -> None:
    text = "".join(parts)
    lines = Lines(text)
    assert line_start(text, line) == (lines.starts[line] if 0 <= line < len(lines) else None)
    offset = min(offset, len(text))
    assert line_number(text, offset) == lines.line_at(offset)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_the_lines_of_a_long_text_are_found(ending: str) -> None:
    text = ending.join("x" * (index % 90) for index in range(1000))
    lines = Lines(text)
    assert [line_start(text, line) for line in range(1001)] == [*lines.starts, None]
    assert line_start(text, -1) is None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x = (1,\ndef f():\n    pass\n", ["f"]),
        ("def f(a, b:\n    pass\n\ndef g():\n    pass\n", ["f", "g"]),
        ("def f():\n    x = {'a': [1\n    return x\n\nclass C:\n    pass\n", ["f", "C"]),
        ("s = 'open\ndef f(): pass\n", ["f"]),
        ("def f():\n    pass\ns = '''open\ndef g(): pass\n", ["f", "g"]),
        ("s = '''\ndef inside():\n'''\ndef f(): pass\n", ["f"]),
        ("if True:\n    def f(): pass\nelse:\n    def f(): pass\n", ["f", "f"]),
    ],
)
def test_what_is_broken_in_one_place_stays_readable_in_the_others(text: str, names: list[str]) -> None:
    assert [each.name for each in definitions(text)] == names


@given(st.lists(BROKEN, max_size=3), st.lists(BROKEN, max_size=3), st.sampled_from(["\n", "\r\n", "\r"]))
def test_a_whole_function_is_found_between_broken_ones(before: list[str], after: list[str], ending: str) -> None:
    text = "".join([*before, WHOLE, "\n", *after]).replace("\n", ending)
    (found,) = (each for each in definitions(text) if each.name == "whole")
    assert found.span.of(text) == WHOLE.replace("\n", ending)
    assert found.header.of(text).endswith("}):")
    assert found.docstring is not None
    assert found.docstring.of(text).startswith('"""Doc')
    assert not any(each.name == "fake" for each in definitions(text))


@pytest.mark.parametrize(
    ("line", "code", "colon"),
    [
        ("x = {1: 2}[1:2]  # a: b", "x = {1: 2}[1:2]", None),
        ("x: int = 1", "x: int = 1", 1),
        ("f(x := 1); y: int", "f(x := 1); y: int", 12),
        ("x = 'a # b'  \t", "x = 'a # b'", None),
        ("if (x # c\n    ): y", "if (x # c\n    ): y", 15),
        ("x = '''a\n: ''' : b", "x = '''a\n: ''' : b", 15),
        ("x = 1 \\\n  + 2", "x = 1 \\\n  + 2", None),
        ("x = f(  # only a comment here", "x = f(", None),
    ],
)
def test_a_logical_line_knows_its_code_and_its_colon(line: str, code: str, colon: int | None) -> None:
    first, second = logical_lines(f"{line}\npass")
    assert (first.start, line[: first.code_end], first.colon, first.end) == (0, code, colon, len(line))
    assert first.closed is not line.startswith("x = f(")
    assert (second.start, second.indent) == (len(line) + 1, "")


def test_comments_at_the_bodys_indentation_belong_to_it() -> None:
    text = "def f():\n    x = 1\n\n    # its own\n  # not\ndef g(): pass\n"
    first, second = definitions(text)
    assert first.span.of(text) == "def f():\n    x = 1\n\n    # its own"
    assert second.span.of(text) == "def g(): pass"


def test_a_name_is_the_one_python_knows() -> None:
    (found,) = definitions("def \u00b5(): pass")
    assert found.name == "\u03bc"


@pytest.mark.parametrize(("white_space", "width"), [("", 0), ("    ", 4), ("\t", 8), ("  \t", 8), ("  \f ", 1)])
def test_indentation_is_counted_as_python_does(white_space: str, width: int) -> None:
    assert indent_width(white_space) == width


def test_dedent_leaves_strings_alone() -> None:
    text = '    def f():\n        """Doc.\n\n        More.\n        """\n        return 1\n'
    assert dedent(text) == 'def f():\n    """Doc.\n\n        More.\n        """\n    return 1\n'


class TestTrees:
    @pytest.mark.parametrize("text", ["(" * 5000, "x = \x00", "x = '\ud800", "x ="])
    def test_what_breaks_the_parser_gives_nothing(self, text: str) -> None:
        assert parsed(text) is None

    def test_what_the_parser_warns_of_it_reads(self) -> None:
        assert parsed("x = '\\d'") is not None
        assert parsed("") is not None


def test_a_parser_that_another_thread_disturbed_is_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 3.11.8, Python then raises SystemError."""
    parse, calls = ast.parse, list[str]()

    def disturbed(text: str) -> ast.Module:
        calls.append(text)
        if len(calls) == 1:
            raise SystemError("AST constructor recursion depth mismatch (before=51, after=207)")
        return parse(text)

    monkeypatch.setattr(ast, "parse", disturbed)
    assert parsed("x = 1") is not None
    assert len(calls) == 2
