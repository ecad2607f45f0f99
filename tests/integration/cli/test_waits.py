"""Without a terminal, a slow step is reported once on stderr, and a fast one is not reported."""

from __future__ import annotations

import json

import pytest

from adacoder.cli import terminal
from support.commandline import GOOD_REPLY, MODEL, STUB, Desk, Ran
from support.standins.ollama import Script, StandIn

pytestmark = pytest.mark.isolation
LOADING = f"hypotenuse · loading {MODEL}"
SLOW = Script(GOOD_REPLY, load=0.5)


@pytest.fixture
def long() -> float:
    """Return the number of seconds after which a step is reported.

    The default is so small that nearly every step is.
    """
    return 0.01


@pytest.fixture(autouse=True)
def _is_long(long: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_LONG", long)


def generate(desk: Desk, *options: str, reply: Script = SLOW, is_loaded: bool = False) -> Ran:
    desk.write(STUB)
    running = {"/api/ps": Script(body=json.dumps({"models": [{"name": MODEL}]}))} if is_loaded else {}
    with StandIn([reply], instead=running).in_thread() as standin:
        return desk.run("generate", "shapes.py", "--host", standin.host, "--model", MODEL, *options)


def test_a_long_wait_is_told_once(desk: Desk) -> None:
    ran = generate(desk)
    assert ran.code == 0
    assert [line for line in ran.error_lines if "loading" in line] == [LOADING]
    assert "loading" not in ran.out


def test_with_json_it_is_told_beside_the_object(desk: Desk) -> None:
    ran = generate(desk, "--json")
    assert [json.loads(line)["status"] for line in ran.out.splitlines()] == ["verified"]
    assert ran.error_lines == [LOADING]


@pytest.mark.parametrize("long", [600.0])
def test_what_does_not_take_long_is_not_told(desk: Desk) -> None:
    assert generate(desk, "--json", reply=Script(GOOD_REPLY)).err == ""
    assert not any("loading" in line for line in generate(desk, reply=Script(GOOD_REPLY)).error_lines)


def test_a_reply_that_is_being_written_is_not_waited_for(desk: Desk) -> None:
    ran = generate(desk, "--json", reply=Script(GOOD_REPLY, pause=0.05), is_loaded=True)
    assert (ran.code, ran.err) == (0, "")


def test_doctor_tells_it_too(desk: Desk) -> None:
    numbers = ", ".join(map(str, range(61, 201)))
    with StandIn([Script(numbers, load=0.5)]).in_thread() as standin:
        ran = desk.run("doctor", "--json", "--host", standin.host)
    assert json.loads(ran.out)["ok"]
    assert len([line for line in ran.error_lines if MODEL in line]) == 1
