"""Fifty simultaneous requests to one model run in order. Each can be cancelled, and waiting costs nothing."""

from __future__ import annotations

import asyncio
import tracemalloc

from adacoder.domain import Message, Reply
from adacoder.models.base import Enough, Leases
from adacoder.models.window import Calibration
from support.serving import ServerKind, ask, every_kind, fate, model_at
from support.standins.server import PATIENCE, Body, Script

pytestmark = every_kind

CROWD = 50
GIVEN_UP_WAITING = range(5, CROWD, 7)
GIVEN_UP_SPEAKING = 17
BYTES_A_WAIT = 20_000
"""Maximum memory of a waiting request in bytes. The real size is about a fifth."""


def answer(body: Body) -> Script:
    """Return the reply to `Task 3.`: `Reply 3.`. One task gets an endless reply."""
    messages = body["messages"]
    assert isinstance(messages, list)
    number = str(messages[0]["content"]).removeprefix("Task ").removesuffix(".")
    if number == str(GIVEN_UP_SPEAKING):
        return Script("All work and no play. " * 1000, pause=0.01)
    return Script(f"Reply {number}.")


async def settle() -> None:
    """Let every task run until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


class Crowd:
    """Requests that share a model, as in a service."""

    def __init__(self, host: str, kind: ServerKind) -> None:
        self._host = host
        self._kind = kind
        self._leases = Leases()
        self._calibration = Calibration()
        self.heard: dict[int, list[str]] = {number: [] for number in range(CROWD)}
        self.speaks = asyncio.Event()
        """Event that is set when the reply to the request begins that will be cancelled."""

    async def request(self, number: int) -> Reply:
        """Make one request, from waiting in line to its reply."""
        told = self.heard[number].append
        model = model_at(self._host, kind=self._kind, calibration=self._calibration)
        async with self._leases.lease(model.lease_key, told):
            try:
                return await ask(model, (Message("user", f"Task {number}."),), enough=self._notice(number))
            finally:
                await model.close()

    def _notice(self, number: int) -> Enough:
        def enough(text: str) -> bool:
            if number == GIVEN_UP_SPEAKING:
                self.speaks.set()
            return False

        return enough


async def test_fifty_requests_to_one_model(kind: ServerKind) -> None:
    async with kind.stand_in(answer) as server:
        crowd = Crowd(server.host, kind)
        async with server._slot:  # the server is busy with another request
            tasks = [asyncio.create_task(crowd.request(0))]
            await server.until("request 1")
            at_work = server.connections

            tracemalloc.start()
            tasks += [asyncio.create_task(crowd.request(number)) for number in range(1, CROWD)]
            await settle()
            taken, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert [crowd.heard[number] for number in range(1, CROWD)] == [
                [f"waiting for the model, {number} ahead"] for number in range(1, CROWD)
            ]
            assert (server.connections, len(server.requests)) == (at_work, 1)
            assert taken < BYTES_A_WAIT * CROWD

            for number in GIVEN_UP_WAITING:
                tasks[number].cancel()
            await settle()
            assert all(tasks[number].cancelled() for number in GIVEN_UP_WAITING)
        async with asyncio.timeout(PATIENCE):
            await crowd.speaks.wait()
            tasks[GIVEN_UP_SPEAKING].cancel()
            replies = await asyncio.gather(*tasks, return_exceptions=True)
        await server.until_idle()

        served = [number for number in range(CROWD) if number not in GIVEN_UP_WAITING]
        assert [str(body["messages"]) for body in server.requests] == [
            str([{"role": "user", "content": f"Task {number}."}]) for number in served
        ]
        for place, number in enumerate(served, 1):
            reply = replies[number]
            if number == GIVEN_UP_SPEAKING:
                assert isinstance(reply, asyncio.CancelledError)
                assert fate(server, place) == ["request", "first byte", "disconnected"]
            else:
                assert isinstance(reply, Reply)
                assert reply.text == f"Reply {number}."
                assert fate(server, place) == ["request", "first byte", "done"]
        begun = [event for event in server.events if event.startswith("first byte")]
        assert begun == [f"first byte {place}" for place in range(1, len(served) + 1)]
        places = [int(said.split()[4]) for said in crowd.heard[CROWD - 1] if said.startswith("waiting for the model")]
        assert (places[0], places[-1]) == (CROWD - 1, 1)
        assert places == sorted(set(places), reverse=True)
