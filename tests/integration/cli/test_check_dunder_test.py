"""`adacoder check` runs the examples in a module's `__test__`."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from support.commandline import Desk

pytestmark = pytest.mark.isolation

MODULE = '''def double(x):
    return 2 * x


MORE = """
>>> double(3)
7
"""
__test__ = {
    "right": """
    >>> double(2)
    4
    """,
    "more": MORE,
}
'''


def statuses(desk: Desk, *arguments: object) -> dict[str, str]:
    """Run a check. Return each docstring's status."""
    return {each["target"]: each["status"] for each in desk.run("check", "--json", *arguments).objects}


def test_each_string_is_a_docstring(desk: Desk) -> None:
    desk.write(MODULE, "a.py")
    ran = desk.run("check", "-v", "--junit", "out.xml", "--sarif", "out.sarif")
    assert ran.code == 1
    assert 'File "a.py", line 6, in a.__test__.more' in ran.out
    assert "[a.py::__test__.right]" in ran.out
    cases = {case.attrib["name"]: case for case in ET.parse("out.xml").getroot().iter("testcase")}
    assert {name: case.find("failure") is None for name, case in cases.items()} == {
        "__test__.right": True,
        "__test__.more": False,
    }
    assert cases["__test__.more"].attrib["line"] == "5"
    assert '"startLine": 6' in Path("out.sarif").read_text("utf-8")


def test_a_string_can_be_named_or_selected(desk: Desk) -> None:
    desk.write(MODULE, "a.py")
    right, more = {"a.py::__test__.right": "verified"}, {"a.py::__test__.more": "failed"}
    assert statuses(desk) == right | more
    assert statuses(desk, "a.py::__test__.right") == statuses(desk, "-k", "right") == right
    assert statuses(desk, "a.py::__test__.more") == statuses(desk, "a.py:6") == more
    assert desk.run("check", "a.py::__test__.other").code == 2


def test_the_actual_output_is_written(desk: Desk) -> None:
    path = desk.write(MODULE, "a.py")
    desk.run("check", "--update", "--write")
    assert path.read_text("utf-8") == MODULE.replace("\n7\n", "\n6\n")


@pytest.mark.parametrize(
    "text",
    [
        "__test__ = dict(zip('a', ['x']))\n",
        MODULE + "__test__.update(a=MORE)\n",
        MODULE + "__test__['\\x1b[31mred'] = MORE\n",
        MODULE + "__test__['\\ud800'] = MORE\n",
        MODULE + "__test__['\\n::error::'] = MORE\n",
    ],
)
def test_values_that_are_not_read_are_told(text: str, desk: Desk) -> None:
    desk.write(text, "a.py")
    line = text.count("\n")
    why = f"Line {line} puts something into `__test__` that is not read: write it as a string literal."
    ran = desk.run("check", "--json", "--allow-empty")
    assert ran.error_lines[0] == f"a.py: {why}"
    assert [each["reason"] for each in ran.objects if each["status"] == "skipped"] == [why]
    assert "puts something" not in desk.run("check", "a.py::__test__.right").err


def test_other_texts_with_examples_are_told(desk: Desk) -> None:
    """Such texts may become docstrings at run time, so a check without failures must mention them."""
    loose = 'double.__doc__ = "Doc.\\n\\n>>> double(4)\\n9\\n"\n\n\n\nHELP = f"""\n>>> double({1})\n"""\n'
    desk.write(MODULE.replace("7", "6"), "a.py")
    desk.write(f"{MODULE.replace('7', '6')}{loose}", "b.py")
    desk.write(f"def double(x):\n    return x\n\n\n{loose}", "test_b.py")
    ran = desk.run("check", "--json")
    assert ran.code == 0
    assert ran.error_lines == ["Not checked: 2 texts with examples that are not docstrings, in b.py."]
    (told,) = [each for each in ran.objects if each["status"] == "skipped"]
    assert (told["target"], told["reason"]) == ("b.py", "2 texts with examples, but no docstring: line 16, 20.")
    assert desk.run("check", "a.py").error_lines == []
