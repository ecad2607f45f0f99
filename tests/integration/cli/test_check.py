"""`adacoder check` gives the same verdicts on docstrings as doctest, but isolated."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from adacoder.project import python_files
from support.commandline import HEEDING, SOLVED, STUB, WRONG, Desk
from support.standins.ollama import PATIENCE

pytestmark = pytest.mark.isolation

RAISING = '''def parse(text):
    """A number.

    >>> parse("7")
    7
    >>> parse("x")
    Traceback (most recent call last):
    ValueError: no number
    """
    return {"7": 7}[text]
'''
MIXED = '''"""Numbers.

>>> double(2) + 1
5
>>> 1 + 1
3
"""


class Counter:
    """Counts.

    >>> Counter().count
    0
    """

    count = 0

    def more(self):
        """One more.

        >>> counter = Counter()
        >>> counter.more()
        1
        """
        self.count += 1
        return self.count


def double(x):
    """Twice.

    >>> double(2)
    4
    """
    return 2 * x


def unreadable(x):
    """Nobody's.

    >>>unreadable(1)
    1
    """


def skipped():
    """Not now.

    >>> skipped()  # doctest: +SKIP
    1
    """


def undocumented(): ...
'''


def test_check_of_what_passes_is_one_line(desk: Desk) -> None:
    desk.write(SOLVED)
    ran = desk.run("check", "shapes.py")
    assert (ran.code, ran.err) == (0, "")
    (line,) = ran.out.splitlines()
    assert line.startswith("Verified 'hypotenuse': 2/2 examples passed")


def test_check_shows_every_failure_as_doctest_does(desk: Desk) -> None:
    path = desk.write(WRONG)
    ran = desk.run("check", "shapes.py::hypotenuse")
    assert (ran.code, ran.err) == (1, "")
    *shown, summary = ran.out.splitlines()
    assert shown == [
        "*" * 70,
        'File "shapes.py", line 7, in shapes.hypotenuse',
        "Failed example:",
        "    hypotenuse(3, 4)",
        "Expected:",
        "    5.0",
        "Got:",
        "    7.0",
        "*" * 70,
        'File "shapes.py", line 9, in shapes.hypotenuse',
        "Failed example:",
        "    hypotenuse(5, 12)",
        "Expected:",
        "    13.0",
        "Got:",
        "    17.0",
    ]
    assert summary.startswith("Not verified: 'hypotenuse'")
    assert path.read_text("utf-8") == WRONG


def test_check_shows_exceptions(desk: Desk) -> None:
    desk.write(RAISING)
    ran = desk.run("check", "shapes.py::parse")
    assert ran.code == 1
    assert "Exception raised:\n    KeyError: 'x'\n" in ran.out


def test_check_of_a_stub_shows_what_came_instead(desk: Desk) -> None:
    desk.write(STUB)
    ran = desk.run("check", "shapes.py")
    assert ran.code == 1
    assert "Got nothing\n" in ran.out


def test_check_of_what_does_not_run_shows_why(desk: Desk) -> None:
    desk.write(STUB.replace("    pass\n", "    return a +\n"))
    ran = desk.run("check", "shapes.py")
    assert (ran.code, ran.out) == (2, "")
    assert ran.error_lines == [
        (
            f"{desk.folder}/shapes.py, line 12: invalid syntax. "
            "Fix this syntax error first: until then nothing in the file can run."
        )
    ]


def test_check_of_a_directory_takes_all_files_that_are_ours(desk: Desk) -> None:
    desk.write(SOLVED, "pkg/shapes.py")
    desk.write(WRONG, "other.py")
    for elsewhere in (".hidden/x.py", ".venv/x.py", "node_modules/x.py", "env/x.py", "__pycache__/x.py"):
        desk.write(WRONG, elsewhere)
    desk.write("home = /usr\n", "env/pyvenv.cfg")
    ran = desk.run("check", ".", "--json")
    assert [(result["target"], result["status"]) for result in ran.objects] == [
        ("other.py::hypotenuse", "failed"),
        ("pkg/shapes.py::hypotenuse", "verified"),
        (".hidden", "skipped"),
        (".venv", "skipped"),
        ("__pycache__", "skipped"),
        ("env", "skipped"),
        ("node_modules", "skipped"),
    ]
    assert ran.code == 1
    assert ran.error_lines == [
        (
            "Skipped: .hidden (1 file), .venv (1 file), __pycache__ (1 file), env (a virtual environment, 1 file), "
            "node_modules (1 file). To check one, name it."
        )
    ]


def test_check_of_a_directory_goes_on_after_a_file_that_is_no_python(desk: Desk) -> None:
    desk.write(SOLVED)
    (desk.folder / "broken.py").write_bytes(b"\xff\xfe\0")
    ran = desk.run("check", ".")
    assert ran.code == 2
    assert len(ran.error_lines) == 1
    assert "broken.py is not Python text" in ran.err
    assert "Verified 'hypotenuse'" in ran.out


def test_check_needs_no_project_around_the_file(desk: Desk) -> None:
    (desk.folder / "pyproject.toml").unlink()
    desk.write("FACTOR = 10\n", "units.py")
    desk.write(
        '''\
        from units import FACTOR


        def scale(x):
            """Scaled x.

            >>> scale(2)
            20
            """
            return x * FACTOR
        '''
    )
    assert desk.run("check", "shapes.py").code == 0


def test_functions_of_one_name_are_each_checked(desk: Desk) -> None:
    desk.write(
        '''\
        class Box:
            _side = 2

            @property
            def side(self):
                """The side.

                >>> Box().side
                2
                """
                return self._side

            @side.setter
            def side(self, side):
                """Set the side."""
                self._side = side
        '''
    )
    ran = desk.run("check", "shapes.py", "--json")
    assert [(result["status"], result["examples"]["total"]) for result in ran.objects] == [("verified", 1)]


def test_every_docstring_counts_and_what_is_unreadable_is_that_function_s_failure(desk: Desk) -> None:
    desk.write(MIXED, "numbers_.py")
    ran = desk.run("check", "numbers_.py", "--json")
    assert {result["target"]: (result["status"], result["examples"]) for result in ran.objects} == {
        "numbers_.py::__doc__": ("partial", {"passed": 1, "total": 2}),
        "numbers_.py::Counter": ("verified", {"passed": 1, "total": 1}),
        "numbers_.py::Counter.more": ("verified", {"passed": 1, "total": 1}),
        "numbers_.py::double": ("verified", {"passed": 1, "total": 1}),
        "numbers_.py::unreadable": ("failed", {"passed": 0, "total": 0}),
        "numbers_.py::skipped": ("unverified", {"passed": 0, "total": 0}),
    }
    assert ran.code == 1


def test_a_file_shows_its_failures_and_one_line_at_the_end(desk: Desk) -> None:
    desk.write(MIXED, "numbers_.py")
    ran = desk.run("check", "numbers_.py")
    assert (ran.code, ran.err) == (1, "")
    assert "double(2) + 1" not in ran.out
    assert (
        'File "numbers_.py", line 5, in numbers_\nFailed example:\n    1 + 1\nExpected:\n    3\nGot:\n    2' in ran.out
    )
    assert 'File "numbers_.py", line 42, in numbers_.unreadable\nFailed example:\n    >>>unreadable(1)' in ran.out
    *_, first, second, total = ran.out.splitlines()
    assert (first, second) == (
        "numbers_.py::__doc__  1/2 examples passed",
        "numbers_.py::unreadable  examples unreadable",
    )
    assert total.startswith("Failed: 2 of 6 docstrings in 1 file, 4/5 examples passed, 1 example skipped (")
    assert re.search(r"isolation (full|lsm)\)\. 1 of them proves nothing; -v shows why\.\Z", total)


def test_what_passes_is_quiet_unless_asked_for(desk: Desk) -> None:
    desk.write(SOLVED, "a.py")
    desk.write(SOLVED, "sub/b.py")
    quiet, verbose = desk.run("check"), desk.run("check", "--verbose")
    (total,) = quiet.out.splitlines()
    assert total.startswith("Passed: 2 docstrings in 2 files, 4/4 examples passed (")
    assert (quiet.code, quiet.err, verbose.code) == (0, "", 0)
    assert len(verbose.out.splitlines()) == 3
    assert verbose.out.count("Verified 'hypotenuse': 2/2 examples passed") == 2


def test_by_default_it_checks_the_workspace_around(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write(SOLVED, "a.py")
    desk.write(WRONG, "sub/b.py")
    monkeypatch.chdir(desk.folder / "sub")
    ran = desk.run("check", "--json")
    assert [result["target"] for result in ran.objects] == ["a.py::hypotenuse", "sub/b.py::hypotenuse"]


def test_several_places_are_checked_each_once(desk: Desk) -> None:
    desk.write(SOLVED, "a.py")
    desk.write(MIXED, "b.py")
    ran = desk.run("check", "b.py::double", "a.py", "b.py::double", ".", "nowhere.py", "--json")
    targets = [result["target"] for result in ran.objects]
    assert targets[:3] == ["b.py::double", "a.py::hypotenuse", "b.py::__doc__"]
    assert targets[-1] == "nowhere.py"
    assert len(targets) == len(set(targets)) == 8
    assert ran.code == 2
    assert len(ran.error_lines) == 1


@pytest.mark.parametrize(
    ("place", "target", "status", "code"),
    [
        ("double", "b.py::double", "verified", 0),
        ("Counter", "b.py::Counter", "verified", 0),
        ("__doc__", "b.py::__doc__", "partial", 1),
        ("unreadable", "b.py::unreadable", "failed", 1),
        ("skipped", "b.py::skipped", "unverified", 1),
    ],
)
def test_one_docstring_is_one_object(place: str, target: str, status: str, code: int, desk: Desk) -> None:
    desk.write(MIXED, "b.py")
    ran = desk.run("check", f"b.py::{place}", "--json")
    (result,) = ran.objects
    assert (result["target"], result["status"], ran.code) == (target, status, code)
    assert (result["status"] == "verified") == (result["reason"] is None)


@pytest.mark.parametrize(
    ("line", "target"), [(3, "__doc__"), (13, "Counter"), (20, "Counter.more"), (43, "unreadable")]
)
def test_a_line_is_as_good_as_a_name(line: int, target: str, desk: Desk) -> None:
    desk.write(MIXED, "b.py")
    (result,) = desk.run("check", f"b.py:{line}", "--json").objects
    assert result["target"] == f"b.py::{target}"


def test_an_example_that_does_not_use_the_function_counts_too(desk: Desk) -> None:
    text = SOLVED.replace(">>> hypotenuse(5, 12)\n    13.0", ">>> 1 + 1\n    {}")
    desk.write(text.format(2), "good.py")
    desk.write(text.format(3), "bad.py")
    good, bad = desk.run("check", "good.py", "--json"), desk.run("check", "bad.py", "--json")
    assert [result["status"] for result in good.objects + bad.objects] == ["verified", "partial"]
    assert (good.code, bad.code) == (0, 1)


def test_no_example_runs_the_function_so_nothing_is_proved(desk: Desk) -> None:
    desk.write('def f():\n    """Doc.\n\n    >>> 1 + 1\n    2\n    """\n', "f.py")
    named, whole = desk.run("check", "f.py::f", "--json"), desk.run("check", "f.py", "--json")
    assert [result["status"] for result in named.objects + whole.objects] == ["unverified", "unverified"]
    assert (named.code, whole.code) == (1, 0)


def test_a_function_that_has_its_examples_by_heart_proves_nothing_and_fails_nothing(desk: Desk) -> None:
    by_heart = 'def {0}(n):\n    """It.\n\n    {0}(3) == 7\n    """\n    return {{3: 7}}[n]\n\n\n'
    wrong = 'def h(n):\n    """It.\n\n    h(3) == 7\n    """\n    return n\n'
    desk.write(by_heart.format("f") + by_heart.format("g"), "heart.py")
    quiet, verbose, named = (desk.run("check", *rest, "heart.py") for rest in ([], ["-v"], ["heart.py::f"]))
    assert (quiet.code, verbose.code, named.code) == (0, 0, 1)
    assert quiet.out.startswith("Passed: 2 docstrings in 1 file, 2/2 examples passed (")
    assert quiet.out.endswith(" 2 of them prove nothing; -v shows why.\n")
    told = "The only example is answered by a constant"
    starts = [f"Unverified 'f': {told}", f"Unverified 'g': {told}", "Passed: 2"]
    assert [line.startswith(start) for line, start in zip(verbose.out.splitlines(), starts, strict=True)] == [True] * 3
    desk.write(by_heart.format("f") + wrong, "heart.py")
    mixed = desk.run("check", "heart.py")
    assert mixed.code == 1
    assert "in heart.h\nFailed example:\n    h(3)\nExpected:\n    7\nGot:\n    3\n" in mixed.out
    assert "heart.f" not in mixed.out


def test_a_file_with_no_other_example_than_an_input_and_its_output_is_checked(desk: Desk) -> None:
    twice = 'def double(x):\n    """Twice x.\n\n    Input: 3\n    Output: {}\n    """\n    return x + x\n'
    desk.write(twice.format(6), "right.py")
    desk.write(twice.format(7), "wrong.py")
    right, wrong = desk.run("check", "right.py"), desk.run("check", "wrong.py")
    assert (right.code, wrong.code) == (0, 1)
    assert right.out.startswith("Verified 'double': 1/1 examples passed")
    assert "Failed example:\n    double(3)\nExpected:\n    7\nGot:\n    6\n" in wrong.out


def test_without_examples_there_is_nothing_to_complain_about(desk: Desk) -> None:
    desk.write("def f():\n    '''Doc.'''\n", "f.py")
    (desk.folder / "empty").mkdir()
    for place in (["."], ["f.py", "--allow-empty"], ["empty", "--allow-empty"]):
        ran = desk.run("check", *place)
        assert (ran.code, ran.out) == (0, "")
        assert ran.error_lines == ["No examples found, so nothing was checked."]


def test_a_module_that_cannot_be_imported_is_told_once(desk: Desk) -> None:
    again = WRONG.partition("\n\n\n")[2].replace("hypotenuse", "longest")
    desk.write(f"import nowhere_to_be_found\n\n\n{SOLVED}\n\n{again}")
    ran = desk.run("check", "shapes.py")
    assert ran.code == 1
    assert ran.out.count("The module cannot be imported: ModuleNotFoundError: No module named 'nowhere_to_be_") == 1
    assert "Failed: 2 of 2 docstrings" in ran.out


@pytest.mark.parametrize(
    ("statement", "need"),
    [
        ('import socket; socket.create_connection(("127.0.0.1", 9))', "the network"),
        ('import subprocess; subprocess.run(["true"])', "processes"),
    ],
    ids=["network", "processes"],
)
def test_an_import_that_isolation_denies_is_told_as_such_and_once(statement: str, need: str, desk: Desk) -> None:
    again = SOLVED.partition("\n\n\n")[2].replace("hypotenuse", "longest")
    desk.write(f"{statement}\n\n\n{SOLVED}\n\n{again}")
    ran = desk.run("check", "shapes.py")
    assert ran.code == 1
    assert ran.out.count(f"The import of the module needs {need}, which isolation denies: ") == 1
    assert "cannot be imported" not in ran.out
    results = desk.run("check", "shapes.py", "--json").objects
    assert [(result["status"], result["failure"]["kind"]) for result in results] == [("denied", "denied")] * 2


@pytest.mark.parametrize(
    ("examples", "status", "counted", "code"),
    [
        (">>> double(2)\n    4\n    >>> double(3)", "partial", {"passed": 1, "total": 1}, 1),
        (">>> double(3)", "failed", {"passed": 0, "total": 0}, 1),
        (">>> print('Hello!')", "failed", {"passed": 0, "total": 0}, 1),
        (">>> double('x' * double)", "failed", {"passed": 0, "total": 0}, 1),
        (">>> four = double(2)\n    >>> four\n    4", "verified", {"passed": 1, "total": 1}, 0),
        (">>> four = double(2)", "unverified", {"passed": 0, "total": 0}, 0),
    ],
)
def test_an_example_that_shows_no_output_must_give_none(
    examples: str, status: str, counted: dict[str, int], code: int, desk: Desk
) -> None:
    path = desk.write(f'def double(x):\n    """Twice.\n\n    {examples}\n    """\n    return 2 * x\n', "a.py")
    (result,) = desk.run("check", "a.py", "--json").objects
    assert (result["status"], result["examples"]) == (status, counted)
    assert desk.run("check", "a.py").code == code == doctest(path), "doctest finds the same"


def doctest(path: Path) -> int:
    return subprocess.run(
        [sys.executable, "-m", "doctest", path], stdout=subprocess.DEVNULL, timeout=PATIENCE
    ).returncode


def test_what_an_example_gives_and_does_not_show_is_told(desk: Desk) -> None:
    text = 'def f{0}():\n    """\n    >>> f{0}()\n    """\n    return {0}\n\n\n'
    desk.write("".join(text.format(number) for number in (1, 2)), "a.py")
    ran = desk.run("check", "a.py")
    assert 'File "a.py", line 3, in a.f1\nFailed example:\n    f1()\nExpected nothing\nGot:\n    1\n' in ran.out
    assert "a.py::f2  an example that shows no output failed\n" in ran.out
    (line,) = desk.run("check", "a.py::f2", "--json").objects
    assert line["failure"]["kind"] == "wrong_output"
    assert line["reason"].startswith("The example on line 10 gives an output that the docstring does not show")


def test_a_folder_that_may_be_listed_but_not_entered_is_told_and_left_out(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.write(SOLVED, "locked/in/a.py")
    desk.write(SOLVED, "locked/a.py")
    desk.write(SOLVED, "open/a.py")
    assert len(desk.run("check", "--json").objects) == 3
    lock(desk.folder / "locked", monkeypatch)
    ran = desk.run("check", "--json")
    assert [(result["target"], result["status"]) for result in ran.objects] == [
        ("open/a.py::hypotenuse", "verified"),
        ("locked/a.py", "error"),
        (None, "error"),
    ]
    assert ran.code == 2
    assert ran.error_lines == [
        f"{desk.folder}/locked/a.py cannot be read (Permission denied): check its permissions.",
        f"{desk.folder}/locked/in cannot be read (Permission denied): check its permissions.",
    ]
    for place in ("locked/in", "locked/in/a.py::hypotenuse"):
        named = desk.run("check", place)
        assert (named.code, named.out, len(named.error_lines)) == (2, "", 1)


def lock(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make everything in `folder` inaccessible, also for root."""

    def locked(function: Callable[..., object]) -> Callable[..., object]:
        def call(path: object, *arguments: object, **options: object) -> object:
            if isinstance(path, str | os.PathLike) and folder in Path(path).parents:
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return function(path, *arguments, **options)

        return call

    for name in ("stat", "lstat", "scandir", "listdir", "open"):
        monkeypatch.setattr(os, name, locked(getattr(os, name)))


def test_other_people_s_code_is_left_out_unless_it_is_named(desk: Desk) -> None:
    for folder in ("vendor", "third_party", "build", ".tox"):
        desk.write(SOLVED, f"{folder}/shapes.py")
    ran = desk.run("check", ".")
    assert (ran.code, ran.out) == (2, "")
    skipped = ".tox (1 file), build (1 file), third_party (1 file), vendor (1 file)"
    assert ran.error_lines[-1] == f"Skipped: {skipped}. To check one, name it."
    assert len(desk.run("check", "vendor", "--json").objects) == 1
    assert desk.run("check", "vendor").err == ""


def test_the_order_is_that_of_the_files_however_long_each_takes(desk: Desk) -> None:
    one = '''
def f{0}():
    """Doc.

    >>> f{0}()
    {0}
    """
    import time
    time.sleep({1})
    return {0}
'''
    desk.write("\n".join(one.format(number, 0.3 if number % 4 == 0 else 0) for number in range(12)))
    ran = desk.run("check", "--json")
    assert [result["target"] for result in ran.objects] == [f"shapes.py::f{number}" for number in range(12)]
    assert ran.code == 0


def test_an_interpreter_by_name(desk: Desk) -> None:
    desk.write(SOLVED)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", path)
        assert desk.run("check", "--interpreter", Path(sys.executable).name).code == 0
    ran = desk.run("check", "--interpreter", "python0.1")
    assert (ran.code, ran.out) == (2, "")
    assert ran.error_lines == ["There is no Python interpreter 'python0.1' on PATH: correct --interpreter."]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupted_check_ends_at_once_and_leaves_nothing_running(number: signal.Signals, tmp_path: Path) -> None:
    slow = "\n\n".join(
        f'def f{each}():\n    """\n    >>> f{each}()\n    """\n    import time; time.sleep(600)' for each in range(4)
    )
    (tmp_path / "a.py").write_text(SOLVED, encoding="utf-8")
    (tmp_path / "slow.py").write_text(slow, encoding="utf-8")
    (tmp_path / "pyproject.toml").touch()
    process = subprocess.Popen(
        [*HEEDING, sys.executable, "-m", "adacoder", "check", "-v", "--timeout", "500"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"Verified 'hypotenuse'")
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert errors.decode().splitlines() == ["Interrupted; nothing was written."]


def test_what_isolation_denies_and_what_takes_too_long_is_told_as_such(desk: Desk) -> None:
    desk.write(
        'def fetch():\n    """\n    >>> fetch()\n    200\n    """\n    import socket\n    return socket.socket()\n\n\n'
        'def spin():\n    """\n    >>> spin()\n    1\n    """\n    while True: pass\n'
    )
    ran = desk.run("check", "shapes.py", "--timeout", "1")
    assert ran.code == 1
    assert "The example on line 3 needs the network, which isolation denies: " in ran.out
    assert "The example on line 12 was still running after the 1 s that an evaluation may take." in ran.out


def test_folders_within_folders_without_end_are_walked(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(1500):  # more levels than Python's recursion limit
        deep = deep / "d"
        deep.mkdir()
    (deep / "m.py").touch()
    (tmp_path / "a.py").touch()
    (tmp_path / "e.py").touch()
    told: list[str] = []
    try:
        assert list(python_files(tmp_path, told.append)) == [tmp_path / "a.py", tmp_path / "e.py", deep / "m.py"]
        assert told == []
    finally:  # pytest's recursive removal would fail here
        (deep / "m.py").unlink()
        while deep != tmp_path:
            deep.rmdir()
            deep = deep.parent


@pytest.mark.parametrize(
    "imported",
    [
        pytest.param("", id="docstrings share a process"),
        pytest.param("import threading, time; threading.Thread(target=time.sleep, args=(9,)).start()", id="alone"),
    ],
)
def test_later_examples_show_their_values_by_a_new_displayhook(desk: Desk, imported: str) -> None:
    path = desk.write(
        '''
        import sys

        def shout(value):
            print("value:", value)

        def double(n):
            """
            >>> double(2)
            4
            >>> sys.displayhook = shout
            >>> double(2)
            value: 4
            >>> None
            value: None
            >>> sys.displayhook = sys.__displayhook__
            >>> double(2)
            4
            """
            return 2 * n

        def triple(n):
            """
            >>> triple(2)
            6
            """
            return 3 * n

        def lie(n):
            """
            >>> lie(2)
            5
            >>> lie(2)
            4
            """
            sys.displayhook = lambda value: print(4)
            return 5

        def lie_late(n):
            """
            >>> [*map(lambda n: n, range(100_000))] and lie_late(2)
            5
            >>> lie_late(2)
            4
            """
            sys.displayhook = lambda value: print(4)
            return 5

        def break_display():
            """
            >>> sys.displayhook = 3
            >>> break_display()
            1
            """
            return 1
        '''
    )
    path.write_text(imported + path.read_text())
    ran = desk.run("check", "--json", "shapes.py")
    assert {each["target"]: each["status"] for each in ran.objects} == {
        "shapes.py::double": "verified",
        "shapes.py::triple": "verified",
        "shapes.py::lie": "partial",
        "shapes.py::lie_late": "partial",
        "shapes.py::break_display": "failed",
    }
