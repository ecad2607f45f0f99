"""The line structure of Python text agrees with Python's own where that can parse, and survives where it cannot."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
import toolz
from hypothesis import given
from hypothesis import strategies as st

from adacoder import pytext
from adacoder.pytext import Lines, dedent, definitions, indent_width, line_ending, logical_lines, statements

SOURCES = [
    *sorted(Path(toolz.__file__).parent.glob("*.py")),
    *(Path(inspect.getfile(module)) for module in (ast, inspect, pytest, pytext)),
    Path(inspect.__file__).with_name("textwrap.py"),
    Path(inspect.__file__).with_name("typing.py"),
    Path(inspect.__file__).with_name("argparse.py"),
    Path(inspect.__file__).with_name("tarfile.py"),
]
CODE = st.text(alphabet=st.sampled_from("def classx():=,#'\"\\[]{} \t\n\r\f@fr"), max_size=80)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_definitions_are_those_that_python_finds(path: Path, ending: str) -> None:
    text = path.read_text(encoding="utf-8").replace("\n", ending)
    lines = Lines(text)
    found = {
        (each.name, each.is_class, lines.line_at(each.header.start) + 1, each.docstring is not None, last_line(lines, each))
        for each in definitions(text)
    }
    assert found == expected(text)


def last_line(lines: Lines, definition: pytext.Definition) -> int:
    return lines.line_at(definition.lines[-1].code_end) + 1


def expected(text: str) -> set[tuple[str, bool, int, bool, int | None]]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]
    return {
        (node.name, isinstance(node, ast.ClassDef), node.lineno, ast.get_docstring(node) is not None, node.end_lineno)
        for node in nodes
    }


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
        assert all(not part.strip(" \t\f") or part.strip(" \t\f").startswith("#") for part in between.splitlines())
        end = line.end


@given(CODE)
def test_definitions_of_any_text_lie_in_it(text: str) -> None:
    for each in definitions(text):
        assert 0 <= each.span.start <= each.header.start < each.header.end <= len(text)
        assert each.span.end <= len(text)


@given(st.lists(st.sampled_from(["a", "", "\f", "\x1c", "\u2028", "é"]), min_size=1), st.sampled_from(["\n", "\r\n", "\r"]))
def test_only_the_protocols_line_ends_end_a_line(parts: list[str], ending: str) -> None:
    text = ending.join(parts)
    lines = Lines(text)
    assert len(lines) == len(parts)
    assert "".join(lines[index] for index in range(len(lines))) == text
    assert [text[start : lines.end(index)] for index, start in enumerate(lines.starts)] == parts
    assert line_ending(text) == (ending if len(parts) > 1 else "\n")


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


@pytest.mark.parametrize(("white_space", "width"), [("", 0), ("    ", 4), ("\t", 8), ("  \t", 8), ("  \f ", 1)])
def test_indentation_is_counted_as_python_does(white_space: str, width: int) -> None:
    assert indent_width(white_space) == width


def test_dedent_leaves_strings_alone() -> None:
    text = '    def f():\n        """Doc.\n\n        More.\n        """\n        return 1\n'
    assert dedent(text) == 'def f():\n    """Doc.\n\n        More.\n        """\n    return 1\n'
