"""`adacoder check` follows the directives around examples."""

from __future__ import annotations

import pytest

from support.commandline import Desk

pytestmark = pytest.mark.isolation

PAGE = """\
.. testcleanup::

   assert x == 2

.. testcode::

   x + 1
   for _ in range(2):
       print(x)

.. testoutput::

   {}
   1

>>> x += 1

.. testsetup::

   x = 1
"""


@pytest.mark.parametrize(("shown", "code"), [("1", 0), ("...", 0), ("2", 1)])
def test_a_block_of_code_is_compared_with_its_output(shown: str, code: int, desk: Desk) -> None:
    desk.write(PAGE.format(shown), "page.rst")
    ran = desk.run("check", "page.rst")
    assert (ran.code, 'File "page.rst", line 7, in ' in ran.out) == (code, code == 1)
    assert ran.out.count("Failed example:") == code


@pytest.mark.parametrize("where", ["page.rst", "a.py"])
@pytest.mark.parametrize(
    ("above", "skipped"),
    [
        (".. doctest-skip::", True),
        (".. doctest-remote-data::", True),
        (".. doctest-requires:: surely_not", True),
        (".. doctest-requires:: pytest>=9999", True),
        (".. doctest-requires:: pytest>=1, json", False),
        (".. doctest::\n   :skipif: exit(3)", True),
        (".. doctest::\n   :pyversion: < 3", True),
        (".. doctest::\n   :pyversion: >= 3", False),
    ],
)
def test_skipped_examples_are_counted_and_prove_nothing(above: str, skipped: bool, where: str, desk: Desk) -> None:
    text = f".. testsetup::\n\n   x = 1\n\n{above}\n\n   >>> f(x)\n   1\n"
    if where == "a.py":
        text = f'def f(x):\n    """\n{text}    """\n    return x\n'
    else:
        desk.write("def f(x):\n    return x\n", "a.py")
        text = text.replace("x = 1", "x = 1; from a import f")
    desk.write(text, where)
    (found,) = desk.run("check", "--json", where).objects
    assert found["status"] == ("unverified" if skipped else "verified")
    assert found["examples"]["total"] == (0 if skipped else 1)
    assert (found["reason"] or "").startswith("All examples") == skipped
    desk.write(">>> 1\n1\n", "other.rst")
    last = desk.run("check", where, "other.rst").out.splitlines()[-1]
    assert ("1 example skipped" in last) == skipped


def test_an_unknown_option_of_a_directive_is_told(desk: Desk) -> None:
    text = ".. testcode::\n   :{}:\n\n   print(1)\n\n.. testoutput::\n\n   1\n"
    desk.write(text.format("hide"), "page.rst")
    assert desk.run("check", "page.rst").code == 0
    desk.write(text.format("hidden"), "page.rst")
    ran = desk.run("check", "page.rst")
    told = "The example on line 4 has the option ':hidden:', which AdaCoder does not know: remove it."
    assert (ran.code, told in ran.out) == (1, True)


@pytest.mark.parametrize(("condition", "code"), [(">= 3", 0), ("=> 3", 1), ("3", 1)])
def test_an_unreadable_condition_on_the_version_is_told(condition: str, code: int, desk: Desk) -> None:
    desk.write(f".. doctest::\n   :pyversion: {condition}\n\n   >>> 1\n   1\n", "page.rst")
    ran = desk.run("check", "page.rst")
    told = "The example on line 4 has a ':pyversion:' that cannot be read: write a condition such as '>= 3.9'."
    assert (ran.code, told in ran.out) == (code, code == 1)


def test_an_output_without_code_fails_and_never_runs(desk: Desk) -> None:
    text = "{}\n>>> 1\n1\n\n.. testoutput::\n\n   exit(3)\n"
    desk.write(text.format(""), "page.rst")
    ran = desk.run("check", "page.rst")
    assert (ran.code, "is an output without a `testcode` above it: add one." in ran.out) == (1, True)
    assert "exit status" not in ran.out
    desk.write('.. testcode::\n\n   print("exit(3)")\n\n.. testoutput::\n\n   exit(3)\n', "page.rst")
    assert desk.run("check", "page.rst").code == 0


GROUPS = """\
.. testsetup:: *

   import json
   base = []

.. doctest:: a

   >>> x = ONE
   >>> base.append(x)
   >>> LIST.append(x)
   >>> base, LIST
   ([1], [1])

.. doctest:: b

   >>> x
   Traceback (most recent call last):
   NameError: name 'x' is not defined
   >>> base, LIST, json.dumps(1)
   ([], [], '1')

>>> x
Traceback (most recent call last):
NameError: name 'x' is not defined

.. doctest:: a

   >>> x
   1

.. testcode:: a, b

   print(len(base))

.. testoutput:: a

   1

.. testoutput:: b

   {}
"""


@pytest.mark.parametrize("where", ["page.rst", "a.py"])
@pytest.mark.parametrize(("last", "failed"), [("0", 0), ("1", 1)])
def test_only_examples_of_one_group_share_names(last: str, failed: int, where: str, desk: Desk) -> None:
    text = GROUPS.format(last)
    desk.write(f'def f():\n    """\n{text}    """\n' if where == "a.py" else text, where)
    found = desk.run("check", "--json", where, "--doctest-setup", "ONE = 1\nLIST = []").objects[0]
    assert (found["examples"]["total"], found["examples"]["passed"]) == (7, 7 - failed)
    assert found["status"] == ("partial" if failed else "verified" if where == "page.rst" else "unverified")


@pytest.mark.parametrize(("setup", "code", "update"), [("1", 0, "Updated 1 output"), ("len('ab')", 1, "by hand")])
def test_an_output_of_two_groups_is_updated_if_it_is_the_same(setup: str, code: int, update: str, desk: Desk) -> None:
    text = (
        f".. testsetup:: a\n\n   x = 1\n\n.. testsetup:: b\n\n   x = {setup}\n\n.. doctest:: a, b\n\n   >>> x\n   3\n"
    )
    path = desk.write(text, "page.rst")
    ran = desk.run("check", "--update", "--write", "page.rst")
    assert update in ran.err
    assert path.read_text("utf-8") == (text if code else text.replace("   3", "   1"))
    assert desk.run("check", "page.rst").code == code


def test_the_output_of_a_block_is_left_to_the_user(desk: Desk) -> None:
    text = PAGE.format("{}") + "\n.. doctest::\n\n   >>> x\n   {}\n"
    path = desk.write(text.format("9", "9"), "page.rst")
    ran = desk.run("check", "--update", "--write", "page.rst")
    assert ran.error_lines == ["page.rst:7 keeps its output: change it by hand.", "Updated 1 output in page.rst."]
    assert path.read_text("utf-8") == text.format("9", "2")


def test_a_program_is_judged_by_the_blocks_of_its_docstring(desk: Desk) -> None:
    docstring = ".. testcode::\n\n        y = f(2)\n        print(y)\n\n    .. testoutput::\n\n        4\n    "
    desk.write(f'def f(x):\n    """\n    {docstring}"""\n', "a.py")
    for body, status in (("2 * x", "verified"), ("x", "failed")):
        reply = desk.write(f"```python\ndef f(x):\n    return {body}\n```\n", "reply.md")
        (found,) = desk.run("apply", "a.py::f", "--reply", reply, "--json").objects
        assert found["status"] == status
