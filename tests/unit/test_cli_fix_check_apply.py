"""`adacoder fix`, `check` and `apply`."""

from __future__ import annotations

import io
import sys

import pytest

from commandline import GOOD_REPLY, MODEL, PLAN, SOLVED, STUB, WRONG, WRONG_REPLY, Desk, new_desk
from standin_ollama import StandIn

pytestmark = pytest.mark.isolation
desk = pytest.fixture(new_desk)

UNIMPORTED = STUB.replace("    pass\n", "    return math.hypot(a, b)\n")
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


def test_fix_of_what_passes_asks_no_model_and_changes_nothing(desk: Desk) -> None:
    path = desk.write(SOLVED)
    ran = desk.run("fix", "shapes.py::hypotenuse", "--write")
    assert (ran.code, ran.out) == (0, "")
    assert "Verified 'hypotenuse'" in ran.err
    assert "Wrote" not in ran.err
    assert path.read_text("utf-8") == SOLVED


def test_fix_mends_by_rule_without_a_model(desk: Desk) -> None:
    path = desk.write(UNIMPORTED)
    ran = desk.run("fix", "shapes.py::hypotenuse", "--write")
    assert ran.code == 0
    assert "import math\n" in path.read_text("utf-8")


def test_fix_plans_from_the_error_of_what_stands_there(desk: Desk) -> None:
    path = desk.write(WRONG)
    with StandIn([PLAN, GOOD_REPLY]).in_thread() as standin:
        ran = desk.run("fix", "shapes.py::hypotenuse", "--write", "--model", MODEL, "--host", standin.host)
        assert len(standin.requests) == 2
    assert ran.code == 0
    assert path.read_text("utf-8") == SOLVED


def test_fix_of_a_file_takes_only_what_fails(desk: Desk) -> None:
    renamed = WRONG.partition("\n\n\n")[2].replace("hypotenuse", "longest")
    desk.write(f"{SOLVED}\n\n{renamed}")
    reply = GOOD_REPLY.replace("hypotenuse", "longest")
    with StandIn([PLAN, reply]).in_thread() as standin:
        ran = desk.run("fix", "shapes.py", "--json", "--model", MODEL, "--host", standin.host)
    assert [(result["target"], result["status"]) for result in ran.objects] == [("shapes.py::longest", "verified")]
    assert ran.code == 0


def test_fix_of_a_file_where_all_passes_says_so(desk: Desk) -> None:
    desk.write(SOLVED)
    ran = desk.run("fix", "shapes.py")
    assert (ran.code, ran.out) == (0, "")
    assert "there is nothing to fix" in ran.error_lines[-1]


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
    assert ran.code == 1
    assert 'File "shapes.py", in shapes.hypotenuse' in ran.out
    assert "syntax error" in ran.out


def test_check_of_a_directory_takes_all_files_that_are_ours(desk: Desk) -> None:
    desk.write(SOLVED, "pkg/shapes.py")
    desk.write(WRONG, "other.py")
    for elsewhere in (".hidden/x.py", ".venv/x.py", "node_modules/x.py", "env/x.py", "__pycache__/x.py"):
        desk.write(WRONG, elsewhere)
    desk.write("home = /usr\n", "env/pyvenv.cfg")
    ran = desk.run("check", ".", "--json")
    assert [result["target"] for result in ran.objects] == ["other.py::hypotenuse", "pkg/shapes.py::hypotenuse"]
    assert [result["status"] for result in ran.objects] == ["failed", "verified"]
    assert ran.code == 1


def test_check_of_a_directory_goes_on_after_a_file_that_is_no_python(desk: Desk) -> None:
    desk.write(SOLVED)
    (desk.folder / "broken.py").write_bytes(b"\xff\xfe\0")
    ran = desk.run("check", ".")
    assert ran.code == 2
    assert len(ran.error_lines) == 1
    assert "broken.py is no Python text" in ran.err
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


@pytest.mark.parametrize("place", ["shapes.py::hypotenuse", "shapes.py"])
def test_apply_puts_a_reply_in_place_without_a_model(desk: Desk, place: str) -> None:
    path = desk.write(STUB)
    desk.write(f"Sure!\n\n{GOOD_REPLY}", "reply.txt")
    shown = desk.run("apply", place, "--reply", "reply.txt")
    assert shown.code == 0
    assert "+    return (a * a + b * b) ** 0.5" in shown.out
    assert desk.run("apply", place, "--reply", "reply.txt", "--write").code == 0
    assert path.read_text("utf-8") == SOLVED


def test_apply_reads_stdin(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write(STUB)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD_REPLY.encode()), encoding="utf-8"))
    ran = desk.run("apply", "shapes.py::hypotenuse", "--reply", "-", "--json")
    assert (ran.code, ran.objects[0]["status"], ran.objects[0]["modelCalls"]) == (0, "verified", 0)


def test_apply_refuses_what_fails(desk: Desk) -> None:
    path = desk.write(STUB)
    desk.write(WRONG_REPLY, "reply.txt")
    assert desk.run("apply", "shapes.py::hypotenuse", "--reply", "reply.txt", "--write").code == 1
    assert path.read_text("utf-8") == STUB


def test_apply_needs_to_know_which_function(desk: Desk) -> None:
    desk.write(STUB + STUB.partition("\n\n\n")[2].replace("hypotenuse", "longest"))
    desk.write(GOOD_REPLY, "reply.txt")
    ran = desk.run("apply", "shapes.py", "--reply", "reply.txt")
    assert (ran.code, len(ran.error_lines)) == (2, 1)
    assert "name one" in ran.err


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
