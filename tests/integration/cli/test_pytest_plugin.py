"""`pytest --adacoder`: docstrings as items of pytest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from support.commandline import Desk

pytestmark = pytest.mark.isolation

CODE = '''"""Numbers.

>>> 1 + 1
2
"""


class Stack:
    def push(self, item):
        """
        >>> Stack().push(2)
        3
        """
        return item

    @property
    def size(self):
        """
        >>> Stack().size
        0
        """
        return 0

    @size.setter
    def size(self, value):
        """
        >>> stack = Stack(); stack.size = 1; stack.size
        0
        """


def spaced():
    """
    >>> spaced()
    'a b'
    """
    return "a  b"


def unproved():
    """
    >>> 1 + 1
    2
    """


def skipped():
    """
    >>> skipped()  # doctest: +SKIP
    1
    """


def denied():
    """
    >>> denied()
    1
    """
    import socket

    socket.create_connection(("127.0.0.1", 9))
'''
TESTS = '''
import sys


def test_one():
    """
    >>> test_one()
    """


def test_package():
    assert not any(name.startswith("shop") for name in sys.modules)
'''
SETTINGS = '[tool.pytest.ini_options]\nfilterwarnings = ["error"]\n'
PASSES = 'def one():\n    """\n    >>> one()\n    1\n    """\n    return 1\n'
FAILS = PASSES.replace("return 1", "return 2")
BROKEN = "def one(:\n"
TOKENS = """
import os

TOKEN = os.urandom(8).hex()


def one():
    '''
    >>> TOKEN, one()
    '''


def other():
    '''
    >>> TOKEN, other()
    '''
"""
"""The outputs of two docstrings, which are equal if both use the same import of the module."""
NOT_OURS = tuple(
    f"-pno:{name}" for name in ("asyncio", "randomly", "anyio", "hypothesispytest", "xdist", "xdist.looponfail")
)
"""Plug-ins that may be installed here. They would print warnings, reorder tests or slow them down."""


@dataclass(frozen=True)
class RanPytest:
    code: int
    out: str
    report: Path

    @property
    def items(self) -> dict[str, str]:
        """Return each item's outcome from the JUnit report, by class and name. A file that is left out has no class."""
        cases = ET.parse(self.report).getroot().iter("testcase")
        found = ((case.get("classname"), case.get("name"), case[0].tag if len(case) else "passed") for case in cases)
        return {f"{place}::{name}": outcome for place, name, outcome in found if place}


@dataclass(frozen=True)
class Folder:
    """A project in which pytest runs in its own process."""

    path: Path

    def write(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(self, *options: str) -> RanPytest:
        report = self.path / "report.xml"
        report.unlink(missing_ok=True)
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-ra", f"--junitxml={report}", *NOT_OURS, *options],
            cwd=self.path,
            env={**os.environ, "PYTHONPATH": str(self.path), "COLUMNS": "200"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        return RanPytest(ran.returncode, ran.stdout, report)

    def collected(self, *options: str) -> list[str]:
        """Return the ids that `--collect-only` lists."""
        return [line for line in self.run("--adacoder", "--co", "-q", *options).out.splitlines() if "::" in line]


def new_folder(path: Path, **files: str) -> Folder:
    folder = Folder(path)
    folder.write("pyproject.toml", SETTINGS)
    for name, text in files.items():
        folder.write(f"{name}.py", text)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return new_folder(tmp_path, good=PASSES, wrong=FAILS)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    files = {"src/shop/__init__": "", "src/shop/numbers_": CODE, "tests/test_shop": TESTS}
    return new_folder(tmp_path_factory.mktemp("shop"), **files)


@pytest.fixture(scope="module")
def ran(shop: Folder) -> RanPytest:
    return shop.run("--adacoder", "-v")


NUMBERS = {
    "__doc__": "passed",
    "Stack.push": "failure",
    "Stack.size": "passed",
    "Stack.size[2]": "passed",
    "spaced": "failure",
    "unproved": "skipped",
    "skipped": "skipped",
    "denied": "failure",
}
OUTCOMES = {
    **{f"src.shop.numbers_::{name}": outcome for name, outcome in NUMBERS.items()},
    "tests.test_shop::test_one": "passed",
    "tests.test_shop::test_one[docstring]": "skipped",
    "tests.test_shop::test_package": "passed",
}


def test_docstrings_and_tests_are_items(ran: RanPytest) -> None:
    assert ran.items == OUTCOMES
    assert ran.code == 1
    assert "src/shop/numbers_.py::Stack.push FAILED" in ran.out


def test_docstrings_have_the_verdicts_of_check(shop: Folder, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop.path)
    kinds = {"verified": "passed", "unverified": "skipped", "partial": "failure", "failed": "failure"}
    found = [kinds.get(each["status"], "failure") for each in desk.run("check", "--json", "src").objects]
    assert found == list(NUMBERS.values())


def test_a_failure_shows_the_example_both_outputs_and_the_hint(ran: RanPytest) -> None:
    assert "Failed example:\n    Stack().push(2)\nExpected:\n    3\nGot:\n    2\n" in ran.out
    assert "NORMALIZE_WHITESPACE" in ran.out
    assert 'File "src/shop/numbers_.py", line' in ran.out


def test_a_skipped_item_has_its_reason_and_place(ran: RanPytest) -> None:
    skips = [line for line in ran.out.splitlines() if line.startswith("SKIPPED [1] src/shop/numbers_.py:")]
    assert any("ran 'unproved'" in line for line in skips)
    assert any("All examples of 'skipped' are skipped" in line for line in skips)


def test_a_denied_item_names_the_resource(ran: RanPytest) -> None:
    assert "Denied: 'denied': " in ran.out
    assert "network" in ran.out


def test_the_isolation_is_shown(ran: RanPytest) -> None:
    assert "adacoder: docstrings run with isolation " in ran.out


def test_workers_of_xdist_give_the_same_verdicts(shop: Folder) -> None:
    ran = shop.run("--adacoder", "-p", "xdist.plugin", "-n", "2")
    assert ran.items == OUTCOMES
    assert ran.code == 1


def test_x_stops_at_the_first_failure_and_lf_runs_it_again(folder: Folder) -> None:
    folder.write("later.py", FAILS)
    assert folder.run("--adacoder").items == {"good::one": "passed", "later::one": "failure", "wrong::one": "failure"}
    assert folder.run("--adacoder", "-x").items == {"good::one": "passed", "later::one": "failure"}
    folder.write("later.py", PASSES)
    assert folder.run("--adacoder", "--lf").items == {"later::one": "passed", "wrong::one": "failure"}


def test_the_docstrings_of_a_module_share_its_import(folder: Folder) -> None:
    folder.write("tokens.py", TOKENS)
    ran = folder.run("--adacoder", "tokens.py")
    assert ran.items == {"tokens::one": "failure", "tokens::other": "failure"}
    found = re.findall(r"\('([0-9a-f]{16})', None\)", ran.out)
    assert (len(found) >= 2, len(set(found))) == (True, 1)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["wrong.py::one"], ["wrong.py::one"]),
        (["-k", "good"], ["good.py::one"]),
        (["--deselect", "good.py::one"], ["wrong.py::one"]),
        (["-m", "not adacoder"], []),
        (["--ignore", "good.py"], ["wrong.py::one"]),
    ],
)
def test_items_are_selected_as_pytest_does(folder: Folder, options: list[str], expected: list[str]) -> None:
    assert folder.collected(*options) == expected


def test_both_docstrings_of_a_property_have_ids(shop: Folder) -> None:
    path = "src/shop/numbers_.py::Stack.size"
    assert shop.collected(path) == [path, f"{path}[2]"]


def test_what_pytest_ignores_is_not_read(folder: Folder) -> None:
    folder.write("conftest.py", 'collect_ignore = ["wrong.py"]\ncollect_ignore_glob = ["b*.py"]\n')
    folder.write("broken.py", BROKEN)
    folder.write("build/broken.py", BROKEN)
    assert folder.collected() == ["good.py::one"]


def test_an_excluded_file_is_skipped_unless_it_is_named(folder: Folder) -> None:
    folder.write("pyproject.toml", f'{SETTINGS}[tool.adacoder]\nexclude = ["wrong.py"]\n')
    ran = folder.run("--adacoder")
    assert ran.items["good::one"] == "passed"
    assert "Excluded, as `exclude` says." in ran.out
    assert ran.code == 0
    assert folder.collected("wrong.py") == ["wrong.py::one"]


@pytest.mark.parametrize("text", [BROKEN, BROKEN + PASSES.replace("def one", "def two")], ids=["bare", "examples"])
def test_a_file_that_does_not_parse_is_a_collection_error(folder: Folder, text: str) -> None:
    folder.write("broken.py", text)
    ran = folder.run("--adacoder")
    assert "ERROR collecting broken.py" in ran.out
    assert "broken.py, line 1: " in ran.out
    assert ran.code == 2
    assert folder.run("--adacoder", "good.py").code == 0


def test_a_run_without_docstrings_says_so(folder: Folder) -> None:
    folder.write("test_a.py", "def test_a():\n    pass\n")
    told = "adacoder: no docstring was checked."
    ran = folder.run("--adacoder", "-q", "test_a.py")
    assert told in ran.out
    assert ran.code == 0
    assert told not in folder.run("--adacoder", "-q", "good.py", "test_a.py").out


def test_examples_that_are_no_docstring_are_named(folder: Folder) -> None:
    folder.write("loose.py", f'{PASSES}TEXT = """\\n>>> one()\\n2\\n"""\n')
    ran = folder.run("--adacoder", "--ignore=wrong.py")
    assert ran.items == {"good::one": "passed", "loose::one": "passed"}
    assert "Not checked: 1 text with examples that are not docstrings, in loose.py." in ran.out


@pytest.mark.parametrize("options", [["--adacoder"], ["--doctest-modules"]])
def test_docstrings_never_run_twice(folder: Folder, options: list[str]) -> None:
    both = folder.run("--adacoder", "--doctest-modules")
    assert both.code == 4
    assert "--adacoder and --doctest-modules would both run the docstrings: leave out one of them." in both.out
    assert folder.run(*options).code == 1


def test_nothing_runs_without_isolation(folder: Folder) -> None:
    folder.write(
        "refusing.py",
        "from adacoder.cli import pytest_items\n"
        "prober = 'from adacoder.sandbox.probe import PROBER; PROBER.locks = lambda: None; '\n"
        "start, _, end = pytest_items._MAIN.partition('from')\n"
        "pytest_items._MAIN = f'{start}{prober}from{end}'\n",
    )
    ran = folder.run("--adacoder", "-p", "refusing")
    assert ran.code == 4
    assert "ERROR: Nothing on this machine can isolate code (" in ran.out
    assert "collected" not in ran.out
    assert folder.run("--adacoder", "good.py").code == 0


LOADED = """
import sys

def pytest_sessionfinish():
    print("ours:", sorted(name for name in sys.modules if name.startswith("adacoder")))
    print("theirs:", "good" in sys.modules)
"""


def test_without_the_option_only_the_entry_point_is_imported(folder: Folder) -> None:
    folder.write("conftest.py", LOADED)
    assert "ours: ['adacoder', 'adacoder.cli', 'adacoder.cli.pytest_plugin']" in folder.run("-s").out
    assert "ours: []" in folder.run("-s", "-p", "no:adacoder").out
    assert "'adacoder.cli.pytest_items'" in folder.run("-s", "--adacoder").out


def test_a_named_file_is_not_imported_outside_the_sandbox(folder: Folder) -> None:
    folder.write("conftest.py", LOADED)
    ran = folder.run("-s", "--adacoder", "good.py::one")
    assert "theirs: False" in ran.out
    assert ran.items == {"good::one": "passed"}
    assert "With --adacoder, tests in good.py run only if `python_files` matches it." in ran.out
    assert "theirs: True" in folder.run("-s", "good.py").out
    assert folder.run("--adacoder", "-o", "python_files=good.py", "good.py").items == {"good::one": "passed"}


def test_a_blocked_plugin_has_no_option(folder: Folder) -> None:
    ran = folder.run("-p", "no:adacoder", "--adacoder")
    assert ran.code == 4
    assert "unrecognized arguments: --adacoder" in ran.out


NAMES = """
import pytest

@pytest.fixture(autouse=True)
def names(request, doctest_namespace):
    doctest_namespace["strict"] = request.config.option.strict_markers
"""


def test_fixtures_add_names_with_the_projects_options(folder: Folder) -> None:
    folder.write("good.py", PASSES.replace(">>> one()\n    1", ">>> (strict, one())\n    (True, 1)"))
    folder.write("pyproject.toml", f'{SETTINGS}addopts = "--adacoder --strict-markers"\n')
    assert folder.run("--deselect=wrong.py").items == {"good::one": "failure"}
    folder.write("conftest.py", NAMES)
    assert folder.run("--deselect=wrong.py").items == {"good::one": "passed"}


TESTED = """
import sys

from good import one


def test_one():
    assert one() == 1
    assert not [name for name in sys.modules if name.startswith("adacoder.cli")]
"""


@pytest.mark.parametrize("options", ["", 'addopts = "--adacoder"\n'])
def test_the_projects_tests_run_without_the_plugin(desk: Desk, options: str) -> None:
    desk.write(SETTINGS + options, "pyproject.toml")
    desk.write(PASSES, "good.py")
    desk.write(TESTED, "test_good.py")
    [found] = desk.run("check", "--tests", "--json", "good.py").objects
    assert json.dumps(found["tests"]).count("passed") == 1
    assert found["status"] == "verified"
