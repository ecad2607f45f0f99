"""`adacoder check` runs fixtures that add names to examples, and leaves out the files that `conftest.py` ignores."""

from __future__ import annotations

import venv
from typing import Any

import pytest

from support.commandline import GOOD_REPLY, MODEL, Desk
from support.standins.ollama import StandIn

pytestmark = pytest.mark.isolation

NAMES = """import math
import pytest


@pytest.fixture(autouse=True, scope="session")
def whole(doctest_namespace):
    doctest_namespace["roots"] = math.sqrt


@pytest.fixture
def start():
    return [7]


@pytest.fixture(autouse=True)
def account(doctest_namespace, start):
    doctest_namespace["account"] = start
    yield
    start.clear()
"""
FAILING = """import pytest


@pytest.fixture
def inner():
    {}


@pytest.fixture(autouse=True)
def outer(doctest_namespace, inner):
    pass
"""
ONE = 'def f():\n    """\n    >>> f()\n    1\n    """\n    return 1\n'


def docstring(name: str, *examples: str, result: str = "1") -> str:
    lines = "\n    ".join(examples)
    return f'def {name}():\n    """\n    {lines}\n    """\n    return {result}\n\n\n'


def by_name(desk: Desk, *arguments: object) -> dict[str, dict[str, Any]]:
    """Run `check --json`. Return the JSON objects by the name of the docstring."""
    return {each["target"].rpartition("::")[2]: each for each in desk.run("check", "--json", *arguments).objects}


def test_examples_have_the_names_and_the_module_has_not(desk: Desk) -> None:
    desk.write(NAMES, "conftest.py")
    module = docstring("f", ">>> roots(f() + 3)", "2.0")
    module += docstring(
        "inside", ">>> inside(), 'account' in globals()", "(False, True)", result="'account' in globals()"
    )
    desk.write(module, "pkg/sub/a.py")
    desk.write(">>> roots(9)\n3.0\n", "README.md")
    found = by_name(desk, "--pages")
    assert {name: each["status"] for name, each in found.items()} == dict.fromkeys(
        ("f", "inside", "__doc__"), "verified"
    )
    (desk.folder / "conftest.py").unlink()
    without = by_name(desk, "--pages")
    assert [each["status"] for each in without.values()] == ["failed"] * 3


def test_each_docstring_gets_values_of_its_own(desk: Desk) -> None:
    desk.write(NAMES, "conftest.py")
    adding = [docstring(name, f">>> account.append({name}()); account", "[7, 1]") for name in "fgh"]
    desk.write("".join(adding) + docstring("still", ">>> still(), account", "(1, [7])"), "a.py")
    ran = desk.run("check", "-v")
    assert ran.code == 0
    assert "change" not in ran.out, "pytest makes a value for each docstring as well"


@pytest.mark.parametrize(("folder", "changes"), [("~/.config/fonts", 0), ("~/.cache", 0), ("~/fonts", 0), ("", 1)])
def test_files_of_a_conftest_are_no_change_by_the_examples(folder: str, changes: int, desk: Desk) -> None:
    """Matplotlib, for example, makes such a folder when a conftest.py imports it."""
    making = f"import os\nos.makedirs(os.path.expanduser('{folder}'))\n" if folder else ""
    desk.write(making + NAMES.partition("@pytest.fixture\n")[0], "conftest.py")
    own = "" if folder else ">>> import os; open(os.path.expanduser('~/.cache'), 'w').close()"
    desk.write(docstring("f", own, ">>> roots(f())", "1.0") + docstring("g", ">>> roots(g())", "1.0"), "a.py")
    found = by_name(desk)
    assert [each["status"] for each in found.values()] == ["verified"] * 2
    assert sum("files in its folder" in note for each in found.values() for note in each["notes"]) == changes


def test_only_the_files_below_have_the_names(desk: Desk) -> None:
    desk.write(NAMES, "inner/conftest.py")
    desk.write(docstring("f", ">>> f(), account", "(1, [7])"), "inner/a.py")
    desk.write(docstring("g", ">>> g(), account", "(1, [7])"), "b.py")
    assert {name: each["status"] for name, each in by_name(desk).items()} == {"f": "verified", "g": "failed"}


def test_the_examples_of_a_candidate_have_the_names(desk: Desk) -> None:
    desk.write(NAMES, "conftest.py")
    desk.write('def hypotenuse(a, b):\n    """\n    >>> hypotenuse(3, roots(16))\n    5.0\n    """\n', "shapes.py")
    with StandIn([GOOD_REPLY]).in_thread() as standin:
        ran = desk.run("generate", "shapes.py::hypotenuse", "--model", MODEL, "--host", standin.host)
    assert ran.code == 0


@pytest.mark.parametrize(
    ("conftest", "status", "reason"),
    [
        (
            FAILING.format("raise ValueError('no')"),
            "failed",
            "Before the examples, the fixture 'inner' raised ValueError: no: correct the conftest.py.",
        ),
        (
            FAILING.format("import socket; socket.create_connection(('127.0.0.1', 9))"),
            "denied",
            "Before the examples, the fixture 'inner' needs the network, which isolation denies: ",
        ),
        (FAILING.format("pytest.skip('later')"), "unverified", "All examples of 'f' are skipped"),
        (
            "import nonesuch  # doctest_namespace",
            "failed",
            "Before the examples, pytest raised ModuleNotFoundError: No module named 'nonesuch': correct",
        ),
        (FAILING.format("import os; os._exit(3)"), "failed", "The import or a fixture ended Python (exit status 3)."),
        (FAILING.format("return 1"), "verified", ""),
    ],
)
def test_a_failing_fixture_is_named(conftest: str, status: str, reason: str, desk: Desk) -> None:
    desk.write(conftest, "conftest.py")
    desk.write(ONE + docstring("g", ">>> g()", "1"), "a.py")
    found = by_name(desk, "a.py")
    assert {each["status"] for each in found.values()} == {status}
    assert (found["f"]["reason"] or "").startswith(reason)


def test_examples_can_ask_for_fixtures(desk: Desk) -> None:
    desk.write(NAMES, "inner/conftest.py")
    path = ">>> path = getfixture('tmp_path')"
    listed = "[each.name for each in path.iterdir()]"
    module = docstring("write", path, f">>> write(), (path / 'a').write_text('x'), {listed}", "(1, 1, ['a'])")
    module += docstring("look", path, f">>> look(), {listed}", "(1, [])")
    patched = ">>> getfixture('monkeypatch').setattr('sys.platform', 'x')"
    module += docstring("patch", patched, ">>> import sys; patch(), sys.platform", "(1, 'x')")
    module += docstring("see", ">>> import sys; see(), sys.platform == 'x'", "(1, False)")
    start = docstring("start", ">>> start(), getfixture('start')", "(1, [7])")
    desk.write(module + start, "inner/a.py")
    desk.write(f"{path}\n>>> {listed}\n[]\n", "README.md")
    for place in ("inner/a.py", "README.md"):
        found = by_name(desk, place)
        assert {(each["status"], *each["notes"]) for each in found.values()} == {("verified",)}
    desk.write(module + start, "b.py")
    found = by_name(desk, "b.py")
    assert [name for name, each in found.items() if each["status"] != "verified"] == ["start"]
    told = "pytest has no fixture 'start' here: define it in a conftest.py, or install its plug-in"
    assert told in found["start"]["reason"]


def test_the_examples_of_a_candidate_can_ask_for_fixtures(desk: Desk) -> None:
    desk.write(
        'def hypotenuse(a, b):\n    """\n    >>> hypotenuse(3, getfixture("b"))\n    5.0\n    """\n', "shapes.py"
    )
    desk.write("import pytest\n\n\n@pytest.fixture\ndef b():\n    return 4\n", "conftest.py")
    with StandIn([GOOD_REPLY]).in_thread() as standin:
        ran = desk.run("generate", "shapes.py::hypotenuse", "--model", MODEL, "--host", standin.host)
    assert ran.code == 0


def test_without_pytest_a_fixture_is_told_to_need_it(desk: Desk) -> None:
    venv.create(desk.folder / ".venv", with_pip=False)
    desk.write(docstring("f", ">>> f(), getfixture('tmp_path')", "1"), "a.py")
    (found,) = desk.run("check", "--json", "a.py").objects
    assert found["reason"] == (
        "The example on line 3 uses 'getfixture', which only pytest defines: install pytest in the project's Python."
    )


def test_without_pytest_the_names_are_missing(desk: Desk) -> None:
    venv.create(desk.folder / ".venv", with_pip=False)
    desk.write(NAMES, "conftest.py")
    desk.write(ONE, "a.py")
    (found,) = desk.run("check", "--json", "a.py").objects
    assert found["status"] == "verified"
    assert found["notes"] == [
        "The examples lack the names that pytest adds, because pytest is not installed: install it."
    ]


def test_ignored_files_are_left_out_and_told(desk: Desk) -> None:
    desk.write(
        "collect_ignore = ['skipped', *(['b' + 'ad.py'] if True else [])]\ncollect_ignore_glob = ['*_old.py']\n",
        "conftest.py",
    )
    desk.write("collect_ignore = ['d.py']\ncollect_ignore_glob = []\n", "sub/conftest.py")
    for name in ("a.py", "bad.py", "b_old.py", "skipped/c.py", "sub/c_old.py", "sub/d.py", "sub/bad.py"):
        desk.write(ONE, name)
    ran = desk.run("check", "--json")
    found = {each["target"]: each["reason"] for each in ran.objects}
    outer, inner = "Excluded, as conftest.py says.", "Excluded, as sub/conftest.py says."
    assert found == {
        **dict.fromkeys(["a.py::f", "sub/c_old.py::f", "sub/bad.py::f"]),
        **dict.fromkeys(["bad.py", "b_old.py", "skipped/c.py"], outer),
        "sub/d.py": inner,
    }
    assert "Excluded: 4 files." in ran.error_lines
    assert desk.run("check", "bad.py").code == 0, "a named file is checked"


@pytest.mark.parametrize("text", ["import nonesuch\ncollect_ignore = ['a.py']\n", "collect_ignore = 3\n"])
def test_a_conftest_that_cannot_be_read_leaves_no_file_out(text: str, desk: Desk) -> None:
    desk.write(text, "conftest.py")
    desk.write(ONE, "a.py")
    ran = desk.run("check")
    assert (ran.code, ran.out.partition(":")[0]) == (0, "Verified 'f'")
    assert "conftest.py could not be run (" in ran.err
    assert "so it leaves no file out: correct it." in ran.err


def test_a_docstring_never_sees_what_another_did_to_a_value_of_a_fixture(desk: Desk) -> None:
    """Attributes with a leading underscore are excepted."""
    counter = (
        "class Counter:\n    _total = 0\n\n    def next(self):\n        self._total += 1\n        return self._total\n"
    )
    fixture = "@pytest.fixture(autouse=True)\ndef add(doctest_namespace):\n    doctest_namespace['count'] = Counter()\n"
    desk.write(f"import pytest\n\n\n{counter}\n\n{fixture}", "conftest.py")
    desk.write(docstring("f", ">>> f() + count.next()", "2") + docstring("g", ">>> g() + count.next()", "2"), "a.py")
    results = by_name(desk)
    assert {name: (each["status"], each["notes"]) for name, each in results.items()} == {
        "f": ("verified", []),
        "g": ("verified", []),
    }
    desk.write(docstring("f", ">>> f() + count.next()", "2") + docstring("g", ">>> g() + count.next()", "3"), "a.py")
    assert by_name(desk)["g"]["status"] == "failed"
