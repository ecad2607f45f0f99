"""`--cross-check` compares a verified function with a second program."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress

import pytest

from support.commandline import BODY, GOOD_REPLY, LUCKY_REPLY, MODEL, PLAN, SOLVED, STUB, WRONG, WRONG_REPLY, Desk
from support.standins.ollama import PATIENCE, Model, StandIn

pytestmark = pytest.mark.isolation

OTHER = "```python\ndef hypotenuse(a, b):\n    return pow(a**2 + b**2, 1 / 2)\n```"


def test_a_second_program_that_agrees_is_told_after_the_function_is_written(desk: Desk) -> None:
    path = desk.write(STUB)
    with StandIn([GOOD_REPLY, OTHER]).in_thread() as standin:
        options = ("--write", "--cross-check", "--model", MODEL, "--host", standin.host)
        ran = desk.run("generate", "shapes.py::hypotenuse", *options)
        _, second = standin.requests
    assert ran.code == 0
    assert path.read_text("utf-8") == SOLVED
    wrote, *_, told = ran.error_lines[ran.error_lines.index("Wrote shapes.py::hypotenuse.") :]
    assert wrote
    assert told.startswith("A second program agrees on ")
    assert second["options"]["temperature"] == 0.8
    assert BODY.strip() not in json.dumps(second["messages"])


def test_a_difference_is_told_and_leaves_the_function_verified(desk: Desk) -> None:
    desk.write(STUB)
    with StandIn([GOOD_REPLY, LUCKY_REPLY]).in_thread() as standin:
        options = ("--json", "--cross-check", "--model", MODEL, "--host", standin.host)
        ran = desk.run("generate", "shapes.py::hypotenuse", *options)
    (found,) = ran.objects
    assert (ran.code, found["status"]) == (0, "verified")
    checked = found["crossCheck"]
    assert (checked["model"], checked["reason"]) == (f"ollama:{MODEL}", None)
    assert checked["inputs"] - len(checked["differs"]) == checked["agreed"]
    assert {"call": "hypotenuse(0, 4)", "here": "4.0", "there": "5.0"} in checked["differs"]
    assert found["modelCalls"] == 2


def test_the_shortest_difference_is_shown_with_what_to_do(desk: Desk) -> None:
    desk.write(STUB)
    with StandIn([LUCKY_REPLY, GOOD_REPLY]).in_thread() as standin:
        options = ("--cross-check", "--model", MODEL, "--host", standin.host)
        told = desk.run("generate", "shapes.py::hypotenuse", *options).error_lines[-1]
    assert told.startswith("A second program agrees only on ")
    assert told.endswith("Add the right one to the docstring, then run `fix`.")


@pytest.mark.parametrize(
    ("replies", "options", "requests", "why"),
    [
        ([GOOD_REPLY, WRONG_REPLY], (), 2, "No second program was verified, so nothing was compared: "),
        ([GOOD_REPLY, OTHER], ("--budget-calls", "1"), 1, "No second program was verified, so nothing was compared: "),
    ],
)
def test_why_nothing_was_compared_is_told(
    replies: list[str], options: tuple[str, ...], requests: int, why: str, desk: Desk
) -> None:
    desk.write(STUB)
    with StandIn(replies).in_thread() as standin:
        shared = ("--cross-check", "--model", MODEL, "--host", standin.host)
        ran = desk.run("generate", "shapes.py::hypotenuse", *shared, *options)
        assert len(standin.requests) == requests
    assert ran.code == 0
    assert ran.error_lines[-1].startswith(why)


def answered(
    desk: Desk, host: str, answer: str, place: str = "shapes.py::hypotenuse", *options: str
) -> tuple[int, str]:
    """Run `generate` in a terminal, and answer its question. Return the exit code and the output."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "adacoder", "generate", place, "--write", "--cross-check"]
    ran = subprocess.Popen(
        [*command, "--model", MODEL, "--host", host, *options],
        cwd=desk.folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "NO_COLOR": "1"},
    )
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # the terminal closed when the process ended
        while part := os.read(ours, 4096):
            shown += part
            if b"to skip: " in shown and answer:
                os.write(ours, f"{answer}\n".encode())
                answer = ""
    os.close(ours)
    return ran.wait(PATIENCE), shown.decode()


def test_the_answer_to_the_question_becomes_an_example(desk: Desk) -> None:
    path = desk.write(STUB)
    with StandIn([GOOD_REPLY, LUCKY_REPLY]).in_thread() as standin:
        code, shown = answered(desk, standin.host, "1")
    assert code == 0
    assert "as in the written function" in shown
    assert " to the docstring of shapes.py::hypotenuse." in shown
    (example,) = [
        line for line in path.read_text("utf-8").splitlines() if line not in SOLVED.splitlines() and ">>>" in line
    ]
    assert example.strip().startswith(">>> hypotenuse(")
    assert desk.run("check", "shapes.py").code == 0


def test_an_answer_that_the_function_does_not_give_is_fixed_from_the_second_program(desk: Desk) -> None:
    path = desk.write(STUB)
    with StandIn([LUCKY_REPLY, GOOD_REPLY]).in_thread() as standin:
        code, shown = answered(desk, standin.host, "2")
        assert len(standin.requests) == 2
    assert code == 0
    assert "Verified 'hypotenuse': 3/3 examples passed" in shown
    assert BODY in path.read_text("utf-8")
    assert desk.run("check", "shapes.py").code == 0


def test_a_wish_also_holds_for_the_second_program_and_the_fix(desk: Desk) -> None:
    desk.write(STUB)
    raising = GOOD_REPLY.replace("    return", "    if a < 3:\n        raise ValueError\n    return")
    with StandIn([GOOD_REPLY, LUCKY_REPLY, PLAN, raising]).in_thread() as standin:
        _, shown = answered(desk, standin.host, "3", "shapes.py::hypotenuse", "--wish", "use a power")
        wished = ["wishes for this function: use a power" in str(each["messages"]) for each in standin.requests]
    assert len(wished) > 2
    assert all(wished)
    assert "had no effect" not in shown


def test_a_second_program_that_knew_the_wish_has_used_it(desk: Desk) -> None:
    desk.write(STUB)
    with StandIn([LUCKY_REPLY, GOOD_REPLY]).in_thread() as standin:
        _, shown = answered(desk, standin.host, "2", "shapes.py::hypotenuse", "--wish", "use a power")
        assert len(standin.requests) == 2
    assert "Verified 'hypotenuse': 3/3 examples passed" in shown
    assert "had no effect" not in shown


def test_the_answer_is_about_the_function_on_the_line_although_lines_have_moved(desk: Desk) -> None:
    path = desk.write(STUB + STUB.partition('"""Shapes."""\n')[2].replace("hypotenuse", "other"))
    line = path.read_text("utf-8").splitlines().index("def other(a, b):") + 1
    importing = "```python\nimport math\n\n\ndef other(a, b):\n    return math.hypot(a, b)\n```"
    with StandIn([importing, LUCKY_REPLY.replace("hypotenuse", "other")]).in_thread() as standin:
        _, shown = answered(desk, standin.host, "1", f"shapes.py:{line}")
    assert " to the docstring of shapes.py::other." in shown
    first, _, second = path.read_text("utf-8").partition("def other")
    assert "import math" in first
    assert (first.count(">>>"), second.count(">>>")) == (2, 3)


def test_without_an_answer_nothing_changes(desk: Desk) -> None:
    path = desk.write(STUB)
    with StandIn([GOOD_REPLY, LUCKY_REPLY]).in_thread() as standin:
        code, _ = answered(desk, standin.host, "0")
    assert (code, path.read_text("utf-8")) == (0, SOLVED)


def test_the_next_model_of_a_ladder_writes_the_second_program(desk: Desk) -> None:
    desk.write(WRONG)
    larger = "qwen2.5-coder:32b"
    with StandIn([PLAN, GOOD_REPLY, OTHER], models=[Model(MODEL), Model(larger)]).in_thread() as standin:
        options = ("--json", "--cross-check", "--model", MODEL, "--model", larger, "--host", standin.host)
        (found,) = desk.run("fix", "shapes.py::hypotenuse", *options).objects
    assert (found["model"], found["crossCheck"]["model"]) == (f"ollama:{MODEL}", f"ollama:{larger}")


def test_without_the_option_or_a_verified_function_there_is_no_second_program(desk: Desk) -> None:
    desk.write(STUB)
    for replies, option in (([GOOD_REPLY, OTHER], "--no-cross-check"), ([WRONG_REPLY], "--cross-check")):
        with StandIn(replies).in_thread() as standin:
            options = ("--json", option, "--max-iterations", "0", "--model", MODEL, "--host", standin.host)
            (found,) = desk.run("generate", "shapes.py::hypotenuse", *options).objects
            assert len(standin.requests) == 1
        assert found["crossCheck"] is None
