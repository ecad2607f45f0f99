"""The command line while another program's abandoned stream blocks the model."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from adacoder.models.waiting import Reloaded
from support.commandline import GOOD_REPLY, MODEL, STUB, Desk
from support.standins.ollama import StandIn
from support.standins.server import PATIENCE, Body, Script

PROSE = Script("".join(f"word{number} " for number in range(1000)), pause=0.01)
COUNTING = Script("61, 62, 63, 64")
IN_CIRCLES = Script("word w " * 120, token=7)


@contextmanager
def abandoned(reply: str | Script, *, wedges: bool) -> Iterator[StandIn]:
    """Run a server with an abandoned stream. If it `wedges`, the stream keeps the model's only slot."""
    which = iter([wedges])

    def answer(body: Body) -> str | Script:
        return PROSE if body["messages"] == [{"role": "user", "content": "Talk."}] else reply

    with StandIn(answer, wedges=lambda: next(which, False)).in_thread() as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        talk = {"role": "user", "content": "Talk."}
        asked = {"model": MODEL, "messages": [talk], "keep_alive": "10m", "options": {"num_ctx": 8192}}
        connection.request("POST", "/api/chat", json.dumps(asked))
        response = connection.getresponse()
        response.read(1)
        response.close()
        connection.close()
        until = time.monotonic() + PATIENCE
        while "disconnected 1" not in server.events and time.monotonic() < until:
            time.sleep(0.01)
        yield server


@pytest.mark.isolation
@pytest.mark.parametrize("wedges", [True, False])
def test_generate_mends_it_and_goes_on(desk: Desk, *, wedges: bool) -> None:
    desk.write(STUB)
    with abandoned(GOOD_REPLY, wedges=wedges) as server:
        ran = desk.run("generate", "shapes.py::hypotenuse", "--model", MODEL, "--host", server.host, "--json")
    assert (ran.code, ran.objects[0]["status"]) == (0, "verified")
    assert (Reloaded.note(MODEL) in ran.objects[0]["notes"]) is wedges
    unloads = [body for body in server.requests if not body["messages"]]
    assert unloads == [{"model": MODEL, "messages": [], "keep_alive": 0}] * wedges


@pytest.mark.parametrize("wedges", [True, False])
def test_doctor_tells_and_mends_it(desk: Desk, *, wedges: bool) -> None:
    with abandoned(COUNTING, wedges=wedges) as server:
        ran = desk.run("doctor", "--model", MODEL, "--host", server.host, "--json")
    (speed,) = (found for found in ran.objects[0]["findings"] if found["name"] == "Speed")
    assert speed["ok"] is True
    assert ("after it was unloaded" in speed["text"], "ollama#17131" in speed["advice"]) == (wedges, wedges)
    assert sum(not body["messages"] for body in server.requests) == wedges


def test_doctor_unloads_nothing_where_it_does_not_probe(desk: Desk) -> None:
    with abandoned(COUNTING, wedges=True) as server:
        ran = desk.run("doctor", "--model", MODEL, "--host", server.host, "--json", "--no-probe")
        assert len(server.requests) == 1
    assert "Speed" not in [found["name"] for found in ran.objects[0]["findings"]]


@pytest.mark.isolation
@pytest.mark.parametrize("version", ["0.24.0", "0.33.0", "0.34.0"])
def test_a_reply_that_goes_in_circles_is_a_failed_round(desk: Desk, version: str) -> None:
    desk.write(STUB)
    with StandIn([IN_CIRCLES, GOOD_REPLY], version=version).in_thread() as server:
        ran = desk.run("generate", "shapes.py::hypotenuse", "--model", MODEL, "--host", server.host, "--json")
    assert (ran.code, ran.objects[0]["status"], ran.objects[0]["rounds"]) == (0, "verified", 2)


@pytest.mark.isolation
def test_a_model_that_only_goes_in_circles_ends_without_a_function(desk: Desk) -> None:
    desk.write(STUB)
    with StandIn(lambda _: IN_CIRCLES).in_thread() as server:
        ran = desk.run("generate", "shapes.py::hypotenuse", "--model", MODEL, "--host", server.host, "--json")
    assert (ran.code, ran.objects[0]["status"], ran.objects[0]["rounds"]) == (1, "failed", 6)
