"""`adacoder check` reports everything that it leaves out, and claims nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from support.commandline import SOLVED, Desk

pytestmark = pytest.mark.isolation

UNPARSED = {
    "colon": ('def f(x)\n    """\n    >>> f(1)\n    1\n    """\n    return x\n', 1),
    "docstring": ('A = 1\n\n\ndef f(x):\n    """Doc.\n\n    >>> f(1)\n    1\n    return x\n', 5),
    "merge": ("<<<<<<< HEAD\nA = 1\n=======\nA = 2\n>>>>>>> other\n\n\n" + SOLVED, 1),
    "merge in a body": (SOLVED + "<<<<<<< HEAD\n    return 1\n", 13),
    "bracket": (SOLVED + "\n\nA = [1,\n", 15),
    "tabs": (SOLVED + "\n\ndef g():\n    x = 1\n\treturn x\n", 17),
    "beside": (SOLVED + "\n\nB = = 2\n", 15),
    "in a class": (SOLVED + "\n\nclass C:\n    def g(self:\n        pass\n", 16),
    "outside": (SOLVED + "\n\nreturn 1\n", 15),
    "all skipped": ('def f():\n    """\n    >>> f()  # doctest: +SKIP\n    1\n    """\n\n\nB = = 2\n', 8),
    "no example": ("x = 1\n  y = 2\n", 2),
    "form feed and CR": ("A = 1\r\n\f\r\nB = = 2\r\n", 3),
    "BOM": ("\ufeff# coding: utf-8\nB = = 2\n", 2),
    "NUL": ("A = 1\n\0", 2),
    "encoding": ("A = 1\nB = '\udcff'\n", 2),
}
CALLS = {
    "multiprocessing.Pool(2)": "processes",
    "multiprocessing.Manager()": "processes",
    "multiprocessing.Value('i')": "memory that processes share",
    "multiprocessing.shared_memory.SharedMemory(create=True, size=1)": "memory that processes share",
    "concurrent.futures.ProcessPoolExecutor().submit(int).result()": "processes",
    "os.posix_spawn('/bin/true', ['true'], {})": "processes",
    "asyncio.run(asyncio.create_subprocess_exec('true'))": "processes",
    "pty.fork()": "a terminal",
    "socketserver.TCPServer(('127.0.0.1', 0), None)": "the network",
    "socket.socket(socket.AF_UNIX)": "the network",
    "open('/etc/adacoder', 'w')": "files",
    "open('/proc/self/maps')": "files",
    "open('/dev/tty')": "files",
}
WRAPPING = '''
def f(value):
    """
    >>> f(2)
    2
    >>> f(1)
    1
    """
    if value == 2:
        return value
    import os
    try:
        return os.fork()
    except OSError as error:
        raise ValueError("no process") from error


def g(value):
    """
    >>> g("a")
    0
    """
    try:
        return int(value)
    except ValueError:
        raise KeyError(value)
'''
LOCKS = '''
import multiprocessing
from threading import Thread

LOCK, RECURSIVE = multiprocessing.Lock(), multiprocessing.RLock()


def f(lock):
    """
    >>> f(LOCK)
    1
    >>> LOCK.acquire(timeout=0.01), LOCK.acquire(block=False), LOCK.acquire(timeout=0.01)
    (True, False, False)
    >>> LOCK.release()
    >>> LOCK.release()
    Traceback (most recent call last):
    ValueError: semaphore or lock released too many times
    >>> with RECURSIVE:
    ...     f(RECURSIVE)
    1
    >>> RECURSIVE.release()
    Traceback (most recent call last):
    AssertionError: attempt to release recursive lock not owned by thread
    >>> thread = Thread(target=LOCK.release)
    >>> LOCK.acquire(), thread.start(), f(LOCK)
    (True, None, 1)
    >>> queue = multiprocessing.Queue()
    >>> queue.put("a")
    >>> queue.get(timeout=10)
    'a'
    """
    with lock:
        return 1
'''
ECHO = '''
class C(str):
    __repr__ = str.__str__


def f(value):
    """
    {0}
    """
    return value
'''


@pytest.mark.parametrize("case", UNPARSED)
def test_a_file_that_does_not_parse_is_an_error_wherever_it_is_found(case: str, desk: Desk) -> None:
    text, line = UNPARSED[case]
    (desk.folder / "broken.py").write_bytes(text.encode("utf-8", "surrogateescape"))
    desk.write(SOLVED, "good.py")
    start = f"{desk.folder}/broken.py"
    named = desk.run("check", "broken.py")
    assert (named.code, named.out, len(named.error_lines)) == (2, "", 1)
    assert named.err.startswith(start)
    assert f"line {line}" in named.err
    whole = desk.run("check", "--junit", "report.xml")
    assert (whole.code, whole.err) == (2, named.err)
    assert "broken" not in whole.out
    errors = list(ET.parse("report.xml").iter("error"))
    assert errors
    assert all(error.attrib["message"].startswith(start) for error in errors)
    results = desk.run("check", "--json").objects
    good, broken = ([each for each in results if each["target"].startswith(name)] for name in ("good.py", "broken.py"))
    assert [each["status"] for each in good] == ["verified"]
    assert any(each["status"] == "error" and f"{each['reason']}\n" == named.err for each in broken)
    assert not any(each["status"] == "verified" for each in broken)


def test_a_name_in_a_file_that_does_not_parse_is_told_the_line(desk: Desk) -> None:
    desk.write(UNPARSED["colon"][0] + "\n\n" + SOLVED, "a.py")
    for name in ("f", "hypotenuse", "nowhere"):
        ran = desk.run("check", f"a.py::{name}")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"{desk.folder}/a.py, line 1: ")
    desk.write(SOLVED, "b.py")
    gone = desk.run("check", "b.py::gone")
    assert (gone.code, gone.error_lines) == (2, [f"There is no function 'gone' in {desk.folder}/b.py: check its name."])


@pytest.mark.parametrize(("number", "broken"), [("3.9", {"newer.py", "newest.py"}), ("3.12", set[str]())])
def test_only_the_interpreter_of_the_user_calls_something_a_syntax_error(
    number: str, broken: set[str], desk: Desk
) -> None:
    found = next(Path.home().glob(f".pyenv/versions/{number}.*/bin/python"), None) or shutil.which(f"python{number}")
    if found is None:
        pytest.skip(f"there is no Python {number} here")
    desk.write("match = 1\nmatch 1:\n    case 1:\n        pass\n", "newer.py")
    desk.write("def first[T](x: T) -> T:\n    return x\n", "newest.py")
    desk.write(SOLVED)
    ran = desk.run("check", "--interpreter", str(found))
    assert {line.split(",")[0].rpartition("/")[2] for line in ran.error_lines} == broken
    assert ran.code == (2 if broken else 0)
    assert ran.out.startswith("Verified 'hypotenuse'")


def test_a_file_or_folder_that_is_named_must_have_something_to_check(desk: Desk) -> None:
    desk.write("def f():\n    '''Doc.'''\n", "f.py")
    desk.write(SOLVED)
    (desk.folder / "empty.py").mkdir()
    (desk.folder / "gone.py").symlink_to("nowhere")
    for name in ("book.ipynb", "notes.txt"):
        (desk.folder / name).write_text(">>> 1 + 1\n3\n", encoding="utf-8")
        no_python = f"{desk.folder}/{name} is not a Python file: name a .py, .md or .rst file, or a folder."
        for options in ([], ["--allow-empty"]):
            ran = desk.run("check", name, *options)
            assert (ran.code, ran.out, ran.error_lines) == (2, "", [no_python])
    no_file = f"There is no Python file in {desk.folder}/empty.py: name another folder."
    no_example = f"No docstring in {desk.folder}/f.py has an example: write one, such as `>>> f(2)` above its output."
    no_link = f"There is no file {desk.folder}/gone.py: check the path."
    for place, why in (("empty.py", no_file), ("f.py", no_example), ("gone.py", no_link)):
        ran = desk.run("check", place)
        assert (ran.code, ran.out, ran.error_lines) == (2, "", [why])
        mixed = desk.run("check", "shapes.py", place)
        assert (mixed.code, mixed.error_lines) == (2, [why])
        assert mixed.out.startswith("Verified 'hypotenuse'")
    for place in ("empty.py", "f.py"):
        assert desk.run("check", "shapes.py", place, "--allow-empty").code == 0


def test_a_hook_passes_files_without_examples_and_no_broken_ones(desk: Desk) -> None:
    hooks = Path(__file__).parents[3] / ".pre-commit-hooks.yaml"
    (entry,) = [line.partition("#")[0].split()[1:] for line in hooks.read_text().splitlines() if " entry:" in line]
    assert entry[0] == "adacoder"
    desk.write("A = 1\n", "a.py")
    desk.write(SOLVED, "b.py")
    desk.write("A = = 1\n", "c.py")
    assert desk.run(*entry[1:], "a.py").code == 0
    assert desk.run(*entry[1:], "a.py", "b.py").code == 0
    assert desk.run(*entry[1:], "a.py", "b.py", "c.py").code == 2


def test_a_package_that_is_called_as_built_files_are_is_checked(desk: Desk) -> None:
    desk.write(SOLVED, "src/build/shapes.py")
    desk.write("", "src/build/__init__.py")
    desk.write(SOLVED, "build/lib/build/shapes.py")
    desk.write("", "vendor/__init__.py")
    ran = desk.run("check")
    assert (ran.code, ran.error_lines) == (0, ["Skipped: build (1 file), vendor (1 file). To check one, name it."])
    assert ran.out.startswith("Verified 'hypotenuse'")


def test_links_and_what_is_not_counted_are_named(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write(SOLVED, "own/a.py")
    for number in range(9):
        desk.write(SOLVED, f"dist/{number}.py")
    for name, target in (("linked", "own"), ("b.py", "own/a.py"), ("gone.py", "nowhere"), ("notes", "nowhere")):
        (desk.folder / name).symlink_to(target)
    (desk.folder / ".git").mkdir()
    (desk.folder / ".secret.py").touch()
    monkeypatch.setattr("adacoder.project._MOST_COUNTED", 5)
    ran = desk.run("check", "--junit", "report.xml")
    assert ran.code == 0
    assert ran.error_lines == [
        (
            "Skipped: .secret.py (hidden, or not a regular file), b.py (a link), dist (over 5 files), gone.py (a link),"
            " linked (a link). To check one, name it."
        )
    ]
    skipped = [case for case in ET.parse("report.xml").iter("testcase") if case.find("skipped") is not None]
    assert [case.attrib["name"] for case in skipped] == [".secret.py", "b.py", "dist", "gone.py", "linked"]


def test_a_line_of_v_names_its_file(desk: Desk) -> None:
    desk.write(SOLVED, "a.py")
    desk.write(SOLVED, "sub/a.py")
    one, other, _ = desk.run("check", "-v").out.splitlines()
    assert (one[-18:], other[-22:]) == (" [a.py::hypotenuse]"[1:], "[sub/a.py::hypotenuse]")


def test_what_isolation_denies_is_a_status_of_its_own(desk: Desk) -> None:
    desk.write('def f():\n    """\n    >>> f()\n    1\n    """\n    import os\n    return os.fork()\n', "a.py")
    desk.write(SOLVED, "b.py")
    ran = desk.run("check", "--junit", "report.xml")
    assert ran.code == 1
    assert "a.py::f  denied\n" in ran.out
    assert ran.out.splitlines()[-1].startswith("Denied: 1 of 2 docstrings")
    (case,) = [case for case in ET.parse("report.xml").iter("testcase") if case.attrib["name"] == "f"]
    error = case.find("error")
    assert error is not None
    assert error.attrib["type"] == "denied"
    assert case.find("failure") is None
    denied, verified = desk.run("check", "--json").objects
    assert (denied["status"], verified["status"]) == ("denied", "verified")
    assert denied["reason"].startswith("The example on line 3 needs processes, which isolation denies")


def test_what_isolation_denies_is_named(desk: Desk) -> None:
    imports = "import asyncio, concurrent.futures, multiprocessing.shared_memory, os, pty, socket, socketserver\n\n\n"
    one = 'def f{0}():\n    """\n    >>> f{0}()\n    1\n    """\n    {1}\n    return 1\n\n\n'
    desk.write(imports + "".join(one.format(number, call) for number, call in enumerate(CALLS)), "a.py")
    results = desk.run("check", "a.py", "--json").objects
    assert [result["status"] for result in results] == ["denied"] * len(CALLS)
    needs = [result["reason"].partition(" needs ")[2].partition(", which isolation denies")[0] for result in results]
    assert dict(zip(CALLS, needs, strict=True)) == CALLS


def test_what_isolation_denies_is_named_if_other_code_wraps_the_error(desk: Desk) -> None:
    desk.write(WRAPPING, "a.py")
    wrapped, own = desk.run("check", "a.py", "--json").objects
    assert (wrapped["status"], own["status"]) == ("denied", "failed")
    assert wrapped["reason"].startswith("The example on line 6 needs processes, which isolation denies: ValueError: no")


def test_locks_of_multiprocessing_work_within_one_process(desk: Desk) -> None:
    desk.write(LOCKS, "a.py")
    (result,) = desk.run("check", "a.py", "--json").objects
    assert result["status"] == "verified", result["reason"]


@pytest.mark.parametrize(
    ("example", "passes"),
    [
        (">>> f(set('cab'))\n    {'a', 'b', 'c'}", True),
        (">>> f(set('cab'))\n    {\"a\", 'b','c'}", True),
        (">>> print(f(set('cab')))\n    {'a', 'b', 'c'}", True),
        (">>> f([frozenset('cab'), {'k': set('ab')}])\n    [frozenset({'a', 'b', 'c'}), {'k': {'a', 'b'}}]", True),
        (">>> for s in f(['abc', 'xyz']): print(set(s))\n    {'a', 'b', 'c'}\n    {'x', 'y', 'z'}", True),
        (">>> f(set('cab'))\n    {'a', 'b'}", False),
        (">>> f({1})\n    {True}", False),
        (">>> f({1})\n    {1.0}", False),
        (">>> f(set())\n    {}", False),
        (">>> f([2, 1])\n    [1, 2]", False),
    ],
)
def test_sets_are_compared_by_value(example: str, passes: bool, desk: Desk) -> None:
    desk.write(ECHO.replace("{0}", example), "a.py")
    (result,) = desk.run("check", "a.py", "--json").objects
    assert (result["examples"] == {"passed": 1, "total": 1}) is passes
    assert "order" not in (result["reason"] or "")


@pytest.mark.parametrize(
    "example",
    [
        ">>> f(dict(a=1, b=2))\n    {'b': 2, 'a': 1}",
        ">>> f(C('{a, b}'))\n    {b, a}",
        ">>> print('tags:', f('{1, 2}'))\n    tags: {2, 1}",
        ">>> f(C('Point(tags=frozenset({1, 2}))'))\n    Point(tags=frozenset({2, 1}))",
    ],
)
def test_where_only_the_order_differs_that_is_told(example: str, desk: Desk) -> None:
    desk.write(ECHO.replace("{0}", example), "a.py")
    ran = desk.run("check", "a.py")
    assert ran.code == 1
    assert "Only the order inside braces differs: show `sorted(...)`, or compare with `==`.\n" in ran.out


@pytest.mark.parametrize(
    ("example", "is_told"),
    [
        (">>> f(2)\n    2\n    This is more text.", True),
        (">>> x = f(2)\n    Now x is two.", True),
        (">>> f(3)\n    2\n    This is more text.", False),
        (">>> f(1)\n    1\n    2", False),
        (">>> f(None)\n    some words", False),
    ],
)
def test_text_right_below_an_output_is_told_where_it_explains_the_failure(
    example: str, is_told: bool, desk: Desk
) -> None:
    desk.write(ECHO.replace("{0}", example), "a.py")
    ran = desk.run("check", "a.py")
    assert ran.code == 1
    assert ("leave a blank line above it.\n" in ran.out) is is_told
