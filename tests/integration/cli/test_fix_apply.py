"""`adacoder fix` and `apply`."""

from __future__ import annotations

import io
import sys

import pytest

from support.commandline import GOOD_REPLY, MODEL, PLAN, SOLVED, STUB, WRONG, WRONG_REPLY, Desk
from support.standins.ollama import StandIn

pytestmark = pytest.mark.isolation

UNIMPORTED = STUB.replace("    pass\n", "    return math.hypot(a, b)\n")


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
        options = ("--strategy", "adacoder", "--model", MODEL, "--host", standin.host)
        ran = desk.run("fix", "shapes.py::hypotenuse", "--write", *options)
        assert len(standin.requests) == 2
    assert ran.code == 0
    assert path.read_text("utf-8") == SOLVED


def test_what_a_new_body_changes_is_told(desk: Desk) -> None:
    """A comparison needs an earlier body, and a new body that is verified."""
    replies = {name: desk.write(text, name) for name, text in (("good", GOOD_REPLY), ("wrong", WRONG_REPLY))}
    desk.write(WRONG)
    (found,) = desk.run("apply", "shapes.py::hypotenuse", "--reply", replies["good"], "--json").objects
    assert {"call": "hypotenuse(3, 4)", "here": "5.0", "there": "7.0"} in found["behaviour"]["differs"]
    assert " and now gives " in found["summary"]
    (found,) = desk.run("apply", "shapes.py::hypotenuse", "--reply", replies["wrong"], "--json").objects
    assert (found["status"], found["behaviour"]) == ("failed", None)
    desk.write(STUB)
    (found,) = desk.run("apply", "shapes.py::hypotenuse", "--reply", replies["good"], "--json").objects
    assert (found["status"], found["behaviour"]) == ("verified", None)


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


@pytest.mark.parametrize("place", ["shapes.py::hypotenuse", "shapes.py"])
def test_apply_puts_a_reply_in_place_without_a_model(desk: Desk, place: str) -> None:
    path = desk.write(STUB)
    desk.write(f"Sure!\n\n{GOOD_REPLY}", "reply.txt")
    shown = desk.run("apply", place, "--reply", "reply.txt")
    assert shown.code == 0
    assert "+    return (a * a + b * b) ** 0.5" in shown.out
    assert desk.run("apply", place, "--reply", "reply.txt", "--write").code == 0
    assert path.read_text("utf-8") == SOLVED


def test_what_cannot_be_read_of_a_file_keeps_nothing_else_from_being_fixed(desk: Desk) -> None:
    unreadable = 'def odd(x):\n    """Odd.\n\n    >>>odd(1)\n    """\n    return x\n'
    path = desk.write(f"{UNIMPORTED}\n\n{unreadable}")
    ran = desk.run("fix", "shapes.py", "--write")
    assert ran.code == 2
    assert "import math\n" in path.read_text("utf-8")
    assert [line for line in ran.error_lines if "cannot be read" in line]
    assert unreadable in path.read_text("utf-8")


def test_apply_reads_stdin(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write(STUB)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD_REPLY.encode()), encoding="utf-8"))
    ran = desk.run("apply", "shapes.py::hypotenuse", "--reply", "-", "--json")
    assert (ran.code, ran.objects[0]["status"], ran.objects[0]["modelCalls"]) == (0, "verified", 0)


LETTERS = '''def letters(text):
    """```python
    >>> letters("abca")
    {'a', 'b', 'c'}
    ```"""
'''


@pytest.mark.parametrize("body", ["set(text)", "frozenset(text) | set()", "{*text, 'x'}"])
def test_a_set_is_judged_by_its_value_and_a_fence_below_it_is_no_output(body: str, desk: Desk) -> None:
    desk.write(LETTERS, "letters.py")
    desk.write(f"```python\ndef letters(text):\n    return {body}\n```\n", "reply.txt")
    for _ in range(3):
        ran = desk.run("apply", "letters.py", "--reply", "reply.txt")
        assert ran.code == (0 if body == "set(text)" else 1)
        assert ("Verified 'letters': 1/1 examples passed" in ran.err) is (body == "set(text)")


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
