"""`adacoder check` reads the doctest options of libraries, skips what they skip, and selects docstrings with `-k`."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from support.commandline import MODEL, Desk
from support.evaluating import other_pythons
from support.standins.ollama import StandIn

pytestmark = pytest.mark.isolation


def by_name(desk: Desk, *arguments: object) -> dict[str, dict[str, Any]]:
    """Run `check --json`. Return the JSON objects by the name of the docstring."""
    return {each["target"].rpartition("::")[2]: each for each in desk.run("check", "--json", *arguments).objects}


def one(want: str, comment: str = "", name: str = "f", result: str = "1") -> str:
    return f'def {name}():\n    """\n    >>> {name}()  {comment}\n    {want}\n    """\n    return {result}\n\n\n'


THIRD = "1 / 3"


@pytest.mark.parametrize(
    ("want", "comment", "result", "status"),
    [
        ("0.333", "# doctest: +NUMBER", THIRD, "verified"),
        ("0.333333333", "# doctest: +FLOAT_CMP", THIRD, "verified"),
        ("['head', 0.33, ...]", "# doctest: +ELLIPSIS, +NUMBER", "['head', 1 / 3, 'tail']", "verified"),
        ("0.36", "# doctest: +NUMBER", THIRD, "failed"),
        ("2", "# doctest: +IGNORE_OUTPUT", "1", "unverified"),
        ("2", "# xdoctest: +IGNORE_WANT", "1", "unverified"),
        ("2", "# doctest: +REQUIRES(env:X)", "1", "unverified"),
        ("1 ...", "# doctest: +FLOAT_CMP, +ELLIPSIS", "17", "failed"),
        ("1e999", "# doctest: +FLOAT_CMP", "5", "failed"),
        ("2", "# doctest: +REMOTE_DATA", "1", "unverified"),
        ("2", "# doctest: +REQUIRES(module:surely_not)", "1", "unverified"),
        ("1", "# doctest: +REQUIRES(module:json)", "1", "verified"),
        ("2", "# doctest: +REQUIRES(module:json)", "1", "failed"),
        ("1", "# xdoctest: +REQUIRES(env:X)", "1", "unverified"),
    ],
)
def test_an_option_of_another_runner(want: str, comment: str, result: str, status: str, desk: Desk) -> None:
    desk.write(one(want, comment, result=result), "a.py")
    assert by_name(desk, "a.py")["f"]["status"] == status


def test_an_unknown_option_fails_only_its_example(desk: Desk) -> None:
    desk.write(
        'def f(x):\n    """\n    >>> f(1)\n    1\n    >>> f(2)  # doctest: +NUMBERS\n    2\n    """\n    return x\n',
        "a.py",
    )
    found = by_name(desk, "a.py")["f"]
    assert (found["status"], found["examples"]) == ("partial", {"passed": 1, "total": 2})
    assert found["reason"].endswith("The example on line 5 has the unknown option '+NUMBERS': write '+NUMBER'.")


def test_no_model_is_asked_about_an_example_with_an_unknown_option(desk: Desk) -> None:
    desk.write('def f(x):\n    """\n    >>> f(1)  # doctest: +NUMBERS\n    1\n    """\n', "a.py")
    with StandIn([]).in_thread() as standin:
        ran = desk.run("generate", "a.py::f", "--model", MODEL, "--host", standin.host)
        assert not standin.requests
    assert (ran.code, ran.error_lines[-1]) == (
        2,
        "The example on line 3 has the unknown option '+NUMBERS': write '+NUMBER'.",
    )


def test_a_program_is_compared_by_the_options_of_its_examples(desk: Desk) -> None:
    stub = 'def f():\n    """\n    >>> f()  # doctest: +NUMBER\n    0.333\n    """\n'
    path = desk.write(stub, "a.py")
    with StandIn(["```python\ndef f():\n    return 1 / 3\n```"]).in_thread() as standin:
        ran = desk.run("generate", "a.py::f", "--write", "--model", MODEL, "--host", standin.host)
    assert (ran.code, path.read_text("utf-8")) == (0, stub + "    return 1 / 3\n")


WHITESPACE = '[tool.pytest.ini_options]\ndoctest_optionflags = "NORMALIZE_WHITESPACE"'


@pytest.mark.parametrize(
    ("project", "options", "code"),
    [
        ('[tool.pytest.ini_options]\ndoctest_optionflags = ["NORMALIZE_WHITESPACE", "ELLIPSIS", "OTHER"]', (), 0),
        ('[tool.pytest.ini_options]\ndoctest_optionflags = "NORMALIZE_WHITESPACE ELLIPSIS"', (), 0),
        ('[tool.adacoder]\ndoctestOptions = ["NORMALIZE_WHITESPACE", "ELLIPSIS"]', (), 0),
        ('[tool.adacoder]\ndoctestOptions = "ELLIPSIS"\n' + WHITESPACE, (), 0),
        ("", ("--doctest-options", "ELLIPSIS", "--doctest-options", "NORMALIZE_WHITESPACE"), 0),
        ('[tool.pytest]\ndoctest_optionflags = ["NORMALIZE_WHITESPACE", "ELLIPSIS"]', (), 0),
        ("", ("--doctest-options", "ELLIPSIS, NORMALIZE_WHITESPACE"), 0),
        ('[tool.pytest.ini_options]\ndoctest_optionflags = "ELLIPSIS"', (), 1),
        ('[tool.pytest.ini_options]\ndoctest_optionflags = "IGNORE_OUTPUT SKIP"', (), 1),
        ("[tool.pytest.ini_options]\ndoctest_optionflags = 3", (), 1),
        ("", (), 1),
    ],
)
def test_options_for_all_examples(project: str, options: tuple[str, ...], code: int, desk: Desk) -> None:
    desk.write(project, "pyproject.toml")
    desk.write(
        'def f():\n    """\n    >>> print("a   b   c   z", f())\n    a b ... z 1\n    """\n    return 1\n', "a.py"
    )
    assert desk.run("check", "a.py", *options).code == code


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("FLOAT_COMP", "'FLOAT_COMP' is not an option of doctest, but 'FLOAT_CMP' is one"),
        ("IGNORE_OUTPUT", "'IGNORE_OUTPUT' cannot be on for all examples: write it at the examples that need it"),
        ("SKIP", "'SKIP' cannot be on for all examples"),
    ],
)
def test_an_option_that_cannot_hold_for_all_examples_is_a_usage_error(name: str, told: str, desk: Desk) -> None:
    ran = desk.run("check", "--doctest-options", name)
    assert (ran.code, told in ran.err) == (2, True)


@pytest.mark.parametrize("comment", ["# doctest: +IGNORE_OUTPUT", "# xdoctest: +IGNORE_WANT"])
def test_an_example_whose_output_is_ignored_verifies_no_program(comment: str, desk: Desk) -> None:
    desk.write(f'def f(x):\n    """\n    >>> f(2)  {comment}\n    4\n    """\n', "a.py")
    desk.write('[tool.pytest.ini_options]\ndoctest_optionflags = "IGNORE_OUTPUT"\n', "pyproject.toml")
    reply = desk.write("```python\ndef f(x):\n    return 99\n```\n", "reply.md")
    (found,) = desk.run("apply", "a.py::f", "--reply", reply, "--json").objects
    assert found["status"] == "unverified"


@pytest.mark.parametrize("way", ["directive", "module"])
def test_a_program_is_not_judged_by_examples_without_their_package(way: str, desk: Desk) -> None:
    said = "__doctest_requires__ = {'f': ['surely_not>=1.0']}" if way == "module" else ""
    comment = "# doctest: +REQUIRES(module:surely_not)" if way == "directive" else ""
    second = "    >>> f(3)  # doctest: +SKIP\n    6\n" if said else "    >>> f(3)\n    6\n"
    stub = f'{said}\n\ndef f(x):\n    """\n    >>> f(2)  {comment}\n    60\n{second}    """\n'
    desk.write(stub, "a.py")
    reply = desk.write("```python\ndef f(x):\n    return 2 * x\n```\n", "reply.md")
    (found,) = desk.run("apply", "a.py::f", "--reply", reply, "--json").objects
    assert found["status"] == ("verified" if way == "directive" else "unverified")
    assert found["failure"] is None


AWAITS = '''
import asyncio


async def hello(name):
    """
    >>> await hello("Ann")
    'hello Ann'
    >>> queue = asyncio.Queue()
    >>> await queue.put(await hello("Bo"))
    >>> async with asyncio.Lock():
    ...     print(await queue.get())
    hello Bo
    >>> [await hello(name) async for name in letters("ab")]
    ['hello a', 'hello b']
    >>> await hello(1)
    Traceback (most recent call last):
    TypeError: can only concatenate str (not "int") to str
    """
    await asyncio.sleep(0)
    return "hello " + name


async def letters(text):
    """
    >>> [each async for each in letters("ab")]
    ['a', 'c']
    """
    for letter in text:
        yield letter
'''


def test_examples_can_await(desk: Desk) -> None:
    """All examples of a docstring share an event loop, as the queue proves."""
    desk.write(AWAITS, "a.py")
    found = by_name(desk, "a.py")
    assert (found["hello"]["status"], found["hello"]["examples"]["passed"]) == ("verified", 4)
    assert (found["letters"]["status"], found["letters"]["failure"]["got"]) == ("failed", "['a', 'b']\n")


def test_examples_can_await_in_every_python(desk: Desk) -> None:
    desk.write(AWAITS, "a.py")
    for python in other_pythons():
        found = by_name(desk, "a.py", "--interpreter", python)
        assert [found[name]["status"] for name in ("hello", "letters")] == ["verified", "failed"]


def test_pathlib_changes_files_in_every_python(desk: Desk) -> None:
    """Before Python 3.11, pathlib stores functions of `os` in a class, so patches of `os` do not reach it."""
    example = ">>> path = pathlib.Path('x'); path.touch(); path.touch()\n    >>> path.read_text() or f()\n    1\n"
    desk.write(f'import pathlib\n\n\ndef f():\n    """\n    {example}    """\n    return 1\n', "a.py")
    for python in other_pythons():
        assert by_name(desk, "a.py", "--interpreter", python)["f"]["status"] == "verified"


def test_a_program_can_be_a_coroutine_function(desk: Desk) -> None:
    desk.write('async def f(x):\n    """\n    >>> await f(1)\n    2\n    """\n', "a.py")
    with StandIn(["```python\nasync def f(x):\n    return x + 1\n```"]).in_thread() as standin:
        ran = desk.run("generate", "a.py::f", "--write", "--model", MODEL, "--host", standin.host)
    assert ran.code == 0


SKIPPED = '''
def f(x):
    """
    >>> f(1)
    1
    >>> import unittest
    >>> raise unittest.SkipTest("no network")
    >>> f(2)
    3
    """
    return x


def g(x):
    """
    >>> f(1)
    2
    """
    return x
'''


def test_an_example_that_skips_ends_its_docstring(desk: Desk) -> None:
    desk.write(SKIPPED, "a.py")
    ran = desk.run("check", "-v", "a.py")
    assert "Unverified 'f': Some examples of 'f' were skipped while they ran, so nothing could be verified." in ran.out
    assert "Skipped: no network." in ran.out
    assert ran.out.splitlines()[-1].startswith("Failed: 1 of 2 docstrings in 1 file, 1/2 examples passed, 2 examples")
    assert ran.code == 1


@pytest.mark.parametrize("way", ["raise unittest.SkipTest('not here')", "pytest.importorskip('surely_not_there')"])
def test_a_module_that_skips_itself_proves_nothing(way: str, desk: Desk) -> None:
    desk.write(f"import pytest, unittest\n{way}\n\n\n{one('2')}", "a.py")
    found = by_name(desk, "a.py")["f"]
    assert (found["status"], found["notes"][0].partition(":")[0]) == ("unverified", "Skipped")
    desk.write(f"import pytest, unittest\n\n\n{one('2')}", "a.py")
    assert by_name(desk, "a.py")["f"]["status"] == "failed"


def test_a_program_cannot_skip_its_examples(desk: Desk) -> None:
    desk.write('def f(x):\n    """\n    >>> f(1)\n    2\n    >>> f(2)\n    3\n    """\n', "a.py")
    skipping = "import unittest\ndef f(x):\n    if x == 2:\n        raise unittest.SkipTest('no')\n    return x + 1"
    with StandIn([f"```python\n{skipping}\n```"]).in_thread() as standin:
        shared = ("--max-iterations", "0", "--json", "--model", MODEL, "--host", standin.host)
        (found,) = desk.run("generate", "a.py::f", *shared).objects
    assert (found["status"], found["examples"]) == ("partial", {"passed": 1, "total": 2})


@pytest.mark.parametrize(
    ("said", "skipped"),
    [
        ("__doctest_skip__ = ['f']", {"f"}),
        ("__doctest_skip__ = ['*']", {"f", "C", "m"}),
        ("__doctest_skip__ = ['C.*']", {"m"}),
        ("__doctest_requires__ = {('f', 'C*'): ['surely_not', 'json'], 'C': ['json']}", {"f", "C", "m"}),
        ("__doctest_requires__ = {'*': ['json']}", set()),
        ("__doctest_requires__ = {'*': ['pytest >= 1.0']}", set()),
        ("__doctest_requires__ = {'*': ['pytest>=9999']}", {"f", "C", "m"}),
        ("__doctest_requires__ = {'f': ['json.surely_not']}", {"f"}),
        ("__doctest_skip__: list = ['f']", {"f"}),
        ("__doctest_skip__ = names()", set()),
        ("if 1:\n    __doctest_skip__ = ['*']", set()),
    ],
)
def test_a_module_names_the_docstrings_to_skip(said: str, skipped: set[str], desk: Desk) -> None:
    method = indent(one("1", name="m").replace("()", "(self)", 1).replace(">>> m()", ">>> C().m()"), "    ")
    text = f'names = lambda: [\'*\']\n{said}\n\n{one("1")}class C:\n    """\n    >>> f()\n    1\n    """\n\n{method}'
    desk.write(text, "a.py")
    found = by_name(desk, "a.py")
    assert set(found) == {"f", "C", "C.m"}
    assert {name.rpartition(".")[2] for name, each in found.items() if each["status"] == "unverified"} == skipped


PAIR = one("1", name="parse") + one("2", name="build") + one("2", name="url")


@pytest.mark.parametrize(
    ("expression", "chosen"),
    [
        ("parse", ["parse"]),
        ("PARSE or url", ["parse", "url"]),
        ("not url and not build", ["parse"]),
        ("a.py and (url or build)", ["build", "url"]),
        ("not (parse)", ["build", "url"]),
        ("a.py::url", ["url"]),
        ("l", ["build", "url"]),
    ],
)
def test_docstrings_are_selected_by_name(expression: str, chosen: list[str], desk: Desk) -> None:
    desk.write(PAIR, "a.py")
    assert list(by_name(desk, "a.py", "-k", expression)) == chosen


def test_the_number_of_docstrings_that_were_not_selected_is_told(desk: Desk) -> None:
    desk.write(PAIR, "a.py")
    ran = desk.run("check", "-k", "parse", "a.py")
    assert (ran.code, ran.error_lines) == (0, ["Left out by -k: 2 docstrings."])


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("nothing", "-k matches none of 3 docstrings: change it."),
        ("a b", "it must be words with 'and', 'or', 'not' and brackets"),
        ("(parse", "it must be words with 'and', 'or', 'not' and brackets"),
        ("parse and", "it must be words with 'and', 'or', 'not' and brackets"),
        ("not " * 1000 + "a", "it must be words with 'and', 'or', 'not' and brackets"),
        ("(" * 100_000, "it must be words with 'and', 'or', 'not' and brackets"),
        ("", "it must be words with 'and', 'or', 'not' and brackets"),
    ],
)
def test_an_expression_that_selects_nothing_is_told(expression: str, told: str, desk: Desk) -> None:
    desk.write(PAIR, "a.py")
    ran = desk.run("check", "a.py", "-k", expression)
    assert (ran.code, told in ran.err) == (2, True)


def test_a_check_stops_at_the_first_failure_if_asked(desk: Desk) -> None:
    desk.write(PAIR, "a.py")
    ran = desk.run("check", "-x", "a.py")
    assert (ran.code, ran.out.count("Failed example:")) == (1, 1)
    assert ran.error_lines == ["Stopped at the first failure: to check the other docstrings, leave out -x."]
    assert desk.run("check", "-x", "a.py::url").error_lines == []
    assert desk.run("check", "a.py").out.count("Failed example:") == 2


@pytest.mark.parametrize("way", ["option", "project"])
def test_files_are_excluded(way: str, desk: Desk) -> None:
    for name in ("good.py", "old/bad.py", "gen_bad.py"):
        desk.write(one("2" if "bad" in name else "1"), name)
    if way == "project":
        desk.write('[tool.adacoder]\nexclude = ["old/*", "gen_*.py"]\n', "pyproject.toml")
    options = ("--exclude", "old/*", "--exclude", "gen_*.py") if way == "option" else ()
    ran = desk.run("check", ".", *options)
    assert (ran.code, ran.error_lines) == (0, ["Excluded: 2 files."])
    assert desk.run("check", "gen_bad.py", *options).code == 1
    (desk.folder / "pyproject.toml").unlink()
    if way == "option":
        assert desk.run("check", ".", *options).error_lines == ["Excluded: 2 files."]
        assert desk.run("check", "old", "--exclude", "*.py").error_lines[0] == "Excluded: 1 file."


def test_annotations_for_github(desk: Desk) -> None:
    """No output of an example, and no name of a file, can become a command for GitHub."""
    name = "::error title=x::pwned.py"
    examples = '    >>> print("::error::forged", f())\n    a, b: 100%\n    >>> f()\n    2\n'
    desk.write(f'def f():\n    """\n{examples}    """\n    return 1\n', name)
    desk.write("def g(:\n", "broken.py")
    out = desk.run("check", "--format", "github", ".").out
    token = out.partition("\n")[0].removeprefix("::stop-commands::")
    assert len(token) == 32
    open_parts = [part.partition(f"::stop-commands::{token}\n")[0] for part in out.split(f"::{token}::\n")[1:]]
    assert open_parts[-1] == ""
    assert [part.partition(",title")[0].partition("::The")[0] for part in open_parts[:2]] == [
        "::error file=%3A%3Aerror title=x%3A%3Apwned.py,line=3",
        "::error file=%3A%3Aerror title=x%3A%3Apwned.py,line=5",
    ]
    assert "gave ::error::forged 1 instead of a, b: 100%25." in open_parts[0]
    assert open_parts[2].startswith(f"::error file=broken.py::{desk.folder}/broken.py, line 1: ")
    assert len(open_parts) == 4


@pytest.mark.parametrize(
    ("path", "is_told"), [("pkg/data.txt", True), ("gone.txt", False), ("../pkg/data.txt", False), ("/pkg/x", False)]
)
def test_a_relative_path_in_an_example_is_explained(path: str, is_told: bool, desk: Desk) -> None:
    desk.write("1", "pkg/data.txt")
    desk.write(f'def f(path):\n    """\n    >>> f("{path}")\n    1\n    """\n    return open(path)\n', "a.py")
    ran = desk.run("check", "a.py")
    assert ("Examples run in a folder of their own: build the path from `__file__`." in ran.out) is is_told


@pytest.mark.parametrize("way", ["option", "project"])
def test_statements_run_before_the_examples(way: str, desk: Desk) -> None:
    desk.write('def f(x):\n    """\n    >>> f(math.floor(2.5)) + ONE\n    3\n    """\n    return x\n', "a.py")
    desk.write(">>> math.floor(2.5) + ONE\n3\n", "README.md")
    assert desk.run("check", "a.py", "README.md").code == 1
    if way == "project":
        desk.write('[tool.adacoder]\ndoctestSetup = """\nimport math\nONE = 1\n"""\n', "pyproject.toml")
    options = ("--doctest-setup", "import math; ONE = 1") if way == "option" else ()
    assert desk.run("check", "a.py", "README.md", *options).code == 0


def test_a_module_cannot_use_the_names_of_statements_before_the_examples(desk: Desk) -> None:
    desk.write('def f(x):\n    """\n    >>> f(2)\n    3\n    """\n    return x + ONE\n', "a.py")
    ran = desk.run("check", "a.py", "--doctest-setup", "ONE = 1")
    assert (ran.code, "NameError: name 'ONE' is not defined" in ran.out) == (1, True)


def test_a_statement_before_the_examples_that_fails_is_told(desk: Desk) -> None:
    desk.write(one("1"), "a.py")
    ran = desk.run("check", "a.py", "--doctest-setup", "import surely_not")
    told = "The statements that run before the examples raised ModuleNotFoundError: No module named 'surely_not'"
    assert (ran.code, told in ran.out) == (1, True)


def test_a_program_is_judged_after_these_statements(desk: Desk) -> None:
    desk.write('def f(x):\n    """\n    >>> f(ONE)\n    2\n    """\n', "a.py")
    reply = desk.write("```python\ndef f(x):\n    return x + 1\n```\n", "reply.md")
    ran = desk.run("apply", "a.py::f", "--reply", reply, "--doctest-setup", "ONE = 1", "--json")
    assert ran.objects[0]["status"] == "verified"


def test_an_unknown_option_of_an_example_without_output_is_the_reason(desk: Desk) -> None:
    desk.write(
        'def f():\n    """\n    >>> x = f()  # doctest: +NOPE\n    >>> f()\n    1\n    """\n    return 1\n', "a.py"
    )
    (found,) = desk.run("check", "--json").objects
    assert (found["status"], found["reason"]) == (
        "partial",
        "The example on line 3 has the unknown option '+NOPE': remove it.",
    )


@pytest.mark.parametrize(
    ("project", "code"),
    [
        ('[tool.pytest.ini_options]\npythonpath = ["lib", "parts"]', 0),
        ('[tool.pytest.ini_options]\npythonpath = "lib parts"', 0),
        ('[tool.pytest]\npythonpath = ["./lib/../parts"]', 0),
        ('[tool.adacoder]\nenv = {PYTHONPATH = "lib:parts"}', 0),
        ('[tool.adacoder]\nenv = {PYTHONPATH = "lib"}\n[tool.pytest]\npythonpath = ["parts"]', 1),
        ('[tool.pytest]\npythonpath = ["parts\\u0000A=1"]', 1),
        ('[tool.pytest]\npythonpath = ["../outside"]', 1),
        ("[tool.pytest]\npythonpath = 3", 1),
        ("", 1),
    ],
)
def test_modules_are_found_in_the_folders_that_the_configuration_names(
    project: str, code: int, desk: Desk, tmp_path: Path
) -> None:
    desk.write(project, "pyproject.toml")
    desk.write("SIDES = 3\n", "parts/shapes_of/triangle.py")
    (tmp_path.parent / "outside").mkdir(exist_ok=True)
    desk.write("SIDES = 3\n", "../outside/shapes_of/triangle.py")
    desk.write("# Triangles\n\n```pycon\n>>> from shapes_of.triangle import SIDES\n>>> SIDES\n3\n```\n", "README.md")
    assert desk.run("check", "README.md").code == code
