"""`adacoder check --changed` checks the changes since a commit, also with the examples of that commit."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from support.commandline import Desk
from support.repository import commit
from support.shop import BROKEN, GOOD, OTHERS, SHOP, checked, edited, replaced

pytestmark = pytest.mark.isolation


@pytest.fixture
def shop(desk: Desk) -> Desk:
    """A workspace whose file `shop.py` is committed."""
    desk.write(SHOP, "shop.py")
    commit(desk.folder)
    return desk


@pytest.mark.parametrize(
    "pair",
    [("", ""), ("    return sum(values)", "    # all of them\n\n    return (sum(values))"), ("\n\ndef ", "\n\n\ndef ")],
    ids=["nothing", "a comment", "lines"],
)
def test_what_is_the_same_is_not_checked(shop: Desk, pair: tuple[str, str]) -> None:
    edited(shop, pair)
    ran = shop.run("check", "--changed")
    assert (ran.code, ran.out) == (0, "")
    assert "Nothing to check: no docstring with examples changed since HEAD (" in ran.err


@pytest.mark.parametrize("line_end", [b"\r\n", b"\n"])
def test_line_endings_of_windows_are_no_change(shop: Desk, line_end: bytes) -> None:
    path = shop.folder / "shop.py"
    path.write_bytes(path.read_bytes().replace(b"\n", line_end))
    assert checked(shop) == {}
    path.write_bytes(path.read_bytes().replace(b"return sum(values)", b"return sum(values) * 1"))
    assert "total" in checked(shop)


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (
            ("sum(values)", "sum(values, 0)"),
            {"__doc__": "reached", "total": "changed", "doubled": "reached", "__test__.more": "reached"},
        ),
        (("RATE = 2", "RATE = 1 + 1"), {"doubled": "reached"}),
        (("Twice the sum.", "2 x"), {"doubled": "changed"}),
        (("len(self.things)", "len([*self.things])"), {"Basket": "reached", "Basket.size": "changed"}),
        (("self.things = things", "self.things = [*things]"), {"Basket": "reached", "Basket.size": "reached"}),
        (("class Basket:", "class Basket(object):"), {"Basket": "changed", "Basket.size": "reached"}),
        (("def named(", "def name("), {"name": "new"}),
        (('"""Prices.', '"""All prices.'), {"__doc__": "changed"}),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else "",
)
def test_a_change_reaches_its_users_in_the_file(shop: Desk, pair: tuple[str, str], expected: dict[str, str]) -> None:
    edited(shop, pair)
    assert checked(shop) == expected
    assert checked(shop, "--reach", "none") == {name: why for name, why in expected.items() if why != "reached"}


def test_a_statement_that_may_change_anything_reaches_all(shop: Desk) -> None:
    edited(shop, ("RATE = 2\n", "RATE = 2\nprint(end='')\n"))
    assert set(checked(shop).values()) == {"reached"}
    assert len(checked(shop)) == 7


def test_a_new_file_counts_and_a_path_restricts(shop: Desk) -> None:
    edited(shop, BROKEN)
    shop.write(
        'def f():\n    """F.\n\n    >>> f()\n    1\n    """\n    return 1\n\n\ndef g():\n    return 2\n', "new.py"
    )
    ran = shop.run("check", "--changed", "new.py")
    assert ran.code == 0
    assert "new.py: Changed without examples: g." in ran.err
    assert checked(shop, "new.py") == {"f": "new"}
    assert checked(shop, "shop.py::doubled") == {"doubled": "reached"}


def test_pages_count_with_pages(desk: Desk) -> None:
    desk.write("# Page\n\n    >>> 1 + 1\n    2\n", "page.md")
    commit(desk.folder)
    desk.write("# Page\n\n    >>> 1 + 1\n    3\n", "page.md")
    assert desk.run("check", "--changed").code == 0
    assert desk.run("check", "--changed", "--pages").code == 1


def test_a_failure_from_before_fails_only_if_the_function_changed(desk: Desk) -> None:
    desk.write(SHOP.replace("'one'", "'two'").replace('{1: "one"}', "NAMES") + 'NAMES = {1: "one"}\n', "shop.py")
    commit(desk.folder)
    edited(desk, ('NAMES = {1: "one"}', 'NAMES = {1: "one", 2: "two"}'))
    ran = desk.run("check", "--changed")
    assert ran.code == 0
    assert "It failed before as well." in ran.out
    (found,) = desk.run("check", "--changed", "--json").objects
    assert (found["change"]["failed_before"], found["change"]["fails"]) == (True, False)
    edited(desk, (".get(value)", ".get(value, '')"))
    (found,) = desk.run("check", "--changed", "--json").objects
    assert (found["change"]["failed_before"], found["change"]["fails"]) == (True, True)


def test_a_failure_is_new_if_another_file_that_changed_causes_it(desk: Desk) -> None:
    desk.write("ONE = 1\n", "helper.py")
    desk.write(
        'import helper\n\nX = 1\n\n\ndef f():\n    """F.\n\n    >>> f()\n    2\n    """\n    return helper.ONE + X\n',
        "a.py",
    )
    commit(desk.folder)
    edited(desk, ("ONE = 1", "ONE = 5"), name="helper.py")
    edited(desk, ("X = 1", "X = 0 + 1"), name="a.py")
    (found,) = desk.run("check", "--changed", "--json").objects
    assert (found["change"]["failed_before"], found["change"]["fails"]) == (False, True)


def test_a_new_file_does_not_make_the_earlier_code_fail(desk: Desk) -> None:
    desk.write(
        'import colorsys\n\nX = 1\n\n\ndef f():\n    """F.\n\n    >>> f()\n    1\n    """\n    return X\n', "a.py"
    )
    commit(desk.folder)
    edited(desk, ("X = 1", "X = 2"), name="a.py")
    desk.write("raise RuntimeError\n", "colorsys.py")
    (found,) = desk.run("check", "--changed", "--json", "a.py").objects
    assert (found["change"]["failed_before"], found["change"]["fails"]) == (False, True)


READS = """X = 1


def f():
    '''F.

    >>> f()
    2
    '''
    return X + (1 if open(__file__[:-4] + DATA).read() == "old" else 2)


DATA = "d.txt"
"""


@pytest.mark.parametrize(("new", "is_known"), [("new", False), ("old", True)])
def test_a_failure_counts_as_new_if_a_file_with_data_changed(desk: Desk, new: str, *, is_known: bool) -> None:
    desk.write("old", "d.txt")
    desk.write(READS.replace("    2\n", "    3\n" if is_known else "    2\n"), "a.py")
    commit(desk.folder)
    desk.write(new, "d.txt")
    edited(desk, ("X = 1", "X = 0 + 1"), name="a.py")
    (found,) = desk.run("check", "--changed", "--json").objects
    assert (found["status"], found["change"]["failed_before"]) == ("failed", is_known)


@pytest.mark.parametrize(("new", "is_known"), [("raise OSError", False), ("X = 2\nraise ValueError", True)])
def test_a_module_that_fails_in_another_way_is_a_new_failure(desk: Desk, new: str, *, is_known: bool) -> None:
    text = 'X = 1\n\n\ndef f():\n    """F.\n\n    >>> f()\n    1\n    """\n    return X\n\n\nraise ValueError\n'
    desk.write(text, "a.py")
    commit(desk.folder)
    edited(desk, ("raise ValueError", new), name="a.py")
    (found,) = desk.run("check", "--changed", "--json").objects
    assert found["change"]["failed_before"] is is_known


@pytest.mark.parametrize("is_known", [False, True])
def test_a_test_of_the_project_that_fails_is_new_unless_it_failed_before(desk: Desk, *, is_known: bool) -> None:
    desk.write('LAST = [2]\n\n\ndef f(values):\n    """F."""\n    return values == LAST\n', "a.py")
    tests = "".join(f"def test_{n}():\n    assert not a.f([{n}])\n\n\n" for n in (1, 2))
    desk.write(f"import a\n\n\n{tests}", "tests/test_a.py")
    desk.write("", "pyproject.toml")
    commit(desk.folder)
    edited(desk, ("LAST = [2]", "LAST = [1 + 1]" if is_known else "LAST = [1]"), name="a.py")
    (found,) = desk.run("check", "--changed", "--json", "--tests").objects
    assert [each["status"] for each in found["tests"]].count("failed") == 1
    assert found["change"]["failed_before"] is is_known


@pytest.mark.parametrize(("code", "exits"), [("return value", 1), ("return min(value, 100)", 0)])
def test_an_earlier_example_without_output_is_lost_if_it_fails(desk: Desk, code: str, exits: int) -> None:
    examples = "    >>> clamp(5)\n    5\n    >>> assert clamp(500) == 100\n"
    desk.write(f'def clamp(value):\n    """Clamp.\n\n{examples}    """\n    return min(100, value)\n', "a.py")
    commit(desk.folder)
    edited(desk, ("    >>> assert clamp(500) == 100\n", ""), ("return min(100, value)", code), name="a.py")
    ran = desk.run("check", "--changed", "--keep-examples")
    assert ran.code == exits
    assert ("The code does not pass 1 example of HEAD: line 6, `assert" in ran.out) is bool(exits)


def test_a_removed_docstring_whose_examples_show_no_output_is_reported(desk: Desk) -> None:
    desk.write('def f():\n    """F.\n\n    >>> assert f()\n    """\n    return 1\n', "a.py")
    commit(desk.folder)
    assert desk.run("check", "--changed", "--keep-examples").code == 0
    edited(desk, ("    >>> assert f()\n", ""), ('"""F.', '"no" """F.'), name="a.py")
    desk.write("", "a.py")
    ran = desk.run("check", "--changed", "--keep-examples")
    assert (ran.code, "f was removed with 1 example" in ran.err) == (1, True)


def test_a_wrong_example_may_be_corrected(desk: Desk) -> None:
    desk.write(SHOP.replace("    3\n    >>> total([4])", "    33\n    >>> total([4])"), "shop.py")
    commit(desk.folder)
    edited(desk, ("    33\n", "    3\n"))
    ran = desk.run("check", "--changed", "--keep-examples")
    assert ran.code == 0
    assert (
        "The code does not pass 1 example of HEAD: line 13, `total([1, 2])`. The earlier code does not pas" in ran.out
    )
    edited(desk, ("    >>> total([4])\n    4\n", "    >>> total([4])\n    5\n"), BROKEN, ("    3\n", "    4\n"))
    assert desk.run("check", "--changed", "--keep-examples", "shop.py::total").code == 1


RENAMED = (("def total(", "def sum_up("), ("total([", "sum_up(["), ("RATE * total(", "RATE * sum_up("))
OTHER = "def total(values):\n    return 9\n\n\n"


@pytest.mark.parametrize(
    ("name", "pairs", "also", "exits"),
    [
        ("shop.py", RENAMED, "", 0),
        ("prices.py", (), "", 0),
        ("prices.py", (("named(", "called("),), "", 0),
        ("shop.py", (("Basket", "Cart"),), "", 0),
        ("shop.py", (("def size", "def length"), (".size()", ".length()")), "", 0),
        ("shop.py", (*RENAMED, BROKEN), "", 1),
        ("shop.py", (*RENAMED, ("    4\n", "    4.0\n"), ("sum(values)", "sum(values) * 1.0")), "", 1),
        ("shop.py", (*RENAMED, ("RATE = 2\n", "RATE = 2\ntotal = len\n")), "", 1),
        ("shop.py", (*RENAMED, ("RATE = 2\n", "RATE = 2\n__doctest_skip__ = ['sum_up']\n")), "", 1),
        ("prices.py", (), OTHER, 1),
        ("prices.py", (), "X = 1\n", 1),
    ],
)
def test_a_renamed_or_moved_function_keeps_its_examples(
    shop: Desk, name: str, pairs: tuple[tuple[str, str], ...], also: str, exits: int
) -> None:
    edited(shop, *pairs)
    (shop.folder / "shop.py").rename(shop.folder / name)
    if also:
        shop.write(also, "shop.py")
    ran = shop.run("check", "--changed", "--keep-examples")
    assert ran.code == exits
    assert ("was removed" in ran.err) is (exits == 1 and BROKEN not in pairs)


@dataclass(frozen=True)
class Cheat:
    """A way to make a failing check pass without correcting the code."""

    name: str
    pairs: tuple[tuple[str, str], ...] = ()
    """Replacements in `shop.py`, whose `total` is wrong."""
    told: str = ""
    """Expected part of the output."""
    code: int = 0
    """Exit code without `--keep-examples`. With this option it is never 0."""
    files: Mapping[str, str | None] = field(default_factory=dict)
    """Other files to write; None to remove a file."""
    also: Callable[[Path], object] = str


CHEATS = [
    Cheat("break only", (), "shop.py::total  0/2 examples passed", 1),
    Cheat("edit an output", replaced(GOOD.replace("    3", "    4")), "1 example edited", 1),
    Cheat(
        "edit all outputs",
        replaced("    >>> total([1, 2])\n    4\n    >>> total([4])\n    5\n"),
        "Since HEAD: 2 examples edited. The code does not pass 2 examples of HEAD",
    ),
    Cheat("edit the call", replaced("    >>> total([1, 2]) - 1\n    3\n"), "1 example removed, 1 example edited"),
    Cheat("remove all", replaced(""), "Since HEAD: 2 examples removed."),
    Cheat("skip", replaced(GOOD.replace(")\n", ")  # doctest: +SKIP\n")), "The code does not pass 2 examples of HEAD"),
    Cheat("ellipsis", replaced("    >>> total([1, 2])  # doctest: +ELLIPSIS\n    4...\n"), "does not pass 2 examples"),
    Cheat(
        "ignore the output", replaced(GOOD.replace(")\n", ")  # doctest: +IGNORE_OUTPUT\n")), "does not pass 2 examples"
    ),
    Cheat(
        "shadow", replaced("    >>> total = sum\n" + GOOD), "an example was put before the others. The code does not"
    ),
    Cheat("reorder", replaced("    >>> total([4])\n    5\n    >>> total([1, 2])\n    4\n"), "does not pass 2 examples"),
    Cheat(
        "memorise",
        (("return sum(values) + 1", "return {(1, 2): 3, (4,): 4}[tuple(values)]"), *OTHERS),
        "does not pass 2 examples of HEAD",
    ),
    Cheat(
        "a string that is no docstring", (('"""The sum.', 'text = """The sum.'), *OTHERS), "total was removed with 2 ex"
    ),
    Cheat("an f-string", (('"""The sum.', 'f"""The sum.'), *OTHERS), "total was removed with 2 examples"),
    Cheat(
        "a statement before it", (('    """The sum.', '    pass\n    """The sum.'), *OTHERS), "total was removed with 2"
    ),
    Cheat(
        "rename",
        (
            ("def total(values):", "def total_of(values):"),
            *replaced(""),
        ),
        "total was removed with 2 examples",
    ),
    Cheat(
        "nest",
        (
            (
                'def total(values):\n    """The sum.',
                'def total(values):\n    return 1\n\n\ndef hide():\n  def total(values):\n    """The sum.',
            ),
            *OTHERS,
        ),
        "total was removed with 2",
    ),
    Cheat(
        "overload",
        (
            ("def total(", "import typing\n\n\n@typing.overload\ndef total("),
            ("def doubled(", "def total(values):\n    return 9\n\n\ndef doubled("),
            *OTHERS,
        ),
        "total was removed with 2",
    ),
    Cheat("never define", (("def total(values):", "if False:\n  def total(values):"), *OTHERS), "total"),
    Cheat(
        "delete the name",
        (("def doubled(", "def _hidden(): pass\n\n\ndel total\n\n\ndef doubled("), *OTHERS),
        "The imported module does not define 'total'",
    ),
    Cheat(
        "define it again",
        (("def doubled(", "def total(values):\n    return {2: 3, 1: 4}[len(values)]\n\n\ndef doubled("), *OTHERS),
        "shop.py::total",
    ),
    Cheat(
        "replace it",
        (
            ("def doubled(", "total = {2: 3, 1: 4}.__getitem__ and (lambda v: {2: 3, 1: 4}[len(v)])\n\n\ndef doubled("),
            *OTHERS,
        ),
        "shop.py::total",
    ),
    Cheat(
        "raise SkipTest",
        (("return sum(values) + 1", "import unittest\n    raise unittest.SkipTest('later')"), *OTHERS),
        "All examples of 'total' are skipped",
    ),
    Cheat(
        "__doctest_skip__",
        (("RATE = 2", 'RATE = 2\n__doctest_skip__ = ["*"]'),),
        "The code does not pass 2 examples of HEAD",
    ),
    Cheat(
        "__doctest_requires__",
        (("RATE = 2", 'RATE = 2\n__doctest_requires__ = {"*": ["no_such_package"]}'),),
        "The code does not pass 2 examples of HEAD",
    ),
    Cheat("empty __test__", ((">>> total([5])\n5\n", ""),), "__test__", 1),
    Cheat("end the file early", (("RATE = 2", "RATE = 2\nraise SystemExit"),), "shop.py", 1),
    Cheat("do not parse", (("RATE = 2", "RATE = ("),), "Fix this syntax error first", 1),
    Cheat("no UTF-8", also=lambda folder: (folder / "shop.py").write_bytes(b"\xff"), told="is not Python text", code=1),
    Cheat("too long", also=lambda folder: (folder / "shop.py").write_text("#" * 1_000_001), told="characters", code=1),
    Cheat("remove the file", files={"shop.py": None}, told="total was removed with its file and 2 examples."),
    Cheat(
        "rename the file",
        also=lambda folder: (folder / "shop.py").rename(folder / "shop.txt"),
        told="was removed with its file and 2",
    ),
    Cheat(
        "hide the file",
        also=lambda folder: (folder / "shop.py").rename(folder / ".shop.py"),
        told="was removed with its file and 2",
    ),
    Cheat(
        "make it a link",
        also=lambda folder: (
            (folder / "shop.py").rename(folder / "shop.txt"),
            (folder / "shop.py").symlink_to("shop.txt"),
        ),
        told="total is no longer checked, with 2 examples.",
    ),
    Cheat(
        "make it a folder",
        also=lambda folder: ((folder / "shop.py").unlink(), (folder / "shop.py").mkdir()),
        told="total is no longer checked, with 2",
    ),
    Cheat("a virtual environment", files={"pyvenv.cfg": ""}, told="shop.py", code=1),
    Cheat(
        "exclude",
        files={"pyproject.toml": '[tool.adacoder]\nexclude = ["shop.py"]\n'},
        told="It changed settings of the examples since HEAD: exclude.",
    ),
    Cheat(
        "hide",
        files={"pyproject.toml": '[tool.adacoder]\nhide = ["shop.py"]\n'},
        told="It changed settings of the examples since HEAD: hide.",
        code=1,
    ),
    Cheat(
        "options",
        files={"pyproject.toml": '[tool.adacoder]\ndoctestOptions = ["ELLIPSIS"]\n'},
        told="since HEAD: doctest_options.",
        code=1,
    ),
    Cheat(
        "options of pytest",
        files={"pyproject.toml": '[tool.pytest.ini_options]\ndoctest_optionflags = "ELLIPSIS NUMBER"\n'},
        told="since HEAD: doctest_options.",
        code=1,
    ),
    Cheat(
        "setup",
        OTHERS,
        files={"pyproject.toml": '[tool.adacoder]\ndoctestSetup = "total = sum"\n'},
        told="since HEAD: doctest_setup.",
    ),
    Cheat(
        "conftest",
        files={"conftest.py": 'collect_ignore = ["shop.py"]\n'},
        told="conftest.py: It changed since HEAD, and it decides",
    ),
]


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)
@pytest.mark.parametrize("keeps", [False, True], ids=["", "keep"])
def test_a_cheat_is_reported_or_fails(shop: Desk, cheat: Cheat, *, keeps: bool) -> None:
    edited(shop, BROKEN)
    edited(shop, *cheat.pairs)
    for name, text in cheat.files.items():
        (shop.folder / name).unlink() if text is None else shop.write(text, name)
    cheat.also(shop.folder)
    ran = shop.run("check", "--changed", *(["--keep-examples"] if keeps else []))
    assert cheat.told in ran.out + ran.err
    assert ran.code == (cheat.code or int(keeps))


@pytest.mark.parametrize(("data", "fails"), [(b"\xff", True), (b"x = (", True), (b"x = 1", False)])
def test_a_changed_file_that_cannot_be_read_is_a_failure(shop: Desk, data: bytes, *, fails: bool) -> None:
    (shop.folder / "other.py").write_bytes(data)
    ran = shop.run("check", "--changed", "--json")
    assert ran.code == fails
    assert [each["status"] for each in ran.objects] == ["failed"] * fails


def test_reports_have_the_same_results(shop: Desk) -> None:
    edited(shop, BROKEN, *replaced("    >>> total([1, 2])\n    4\n"))
    reports = ["--junit", "out.xml", "--sarif", "out.sarif"]
    for options, kind, level in (([], None, "note"), (["--keep-examples"], "failure", "error")):
        ran = shop.run("check", "--changed", "--format", "github", *reports, *options)
        assert f"::{'error' if options else 'warning'} file=shop.py,line=9,title=shop.total::Since HEAD" in ran.out
        case = ET.parse(shop.folder / "out.xml").find(".//testcase[@name='total']")
        assert case is not None
        assert [each.tag for each in case] == [*([kind] if kind else []), "system-out"]
        assert "does not pass 2 examples of HEAD" in (case.findtext("system-out") or "")
        results = json.loads((shop.folder / "out.sarif").read_text("utf-8"))["runs"][0]["results"]
        assert (results[-1]["level"], results[-1]["ruleId"]) == (level, "lost_example")
    objects = shop.run("check", "--changed", "--keep-examples", "--json").objects
    (change,) = [each["change"] for each in objects if each["target"] == "shop.py::total"]
    assert change["examples"] | {"lost": len(change["examples"]["lost"])} == {"removed": 1, "edited": 1, "lost": 2}
    assert change["fails"]
