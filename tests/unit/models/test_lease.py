"""One request at a time holds a model's lease, in the order of arrival."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from adacoder.models.base import Leases


class Request:
    """Hold the lease until told to end."""

    def __init__(self, leases: Leases, key: str, began: list[Request]) -> None:
        self.heard: list[str] = []
        self.end = asyncio.Event()
        self.task = asyncio.create_task(self._run(leases, key, began))

    async def _run(self, leases: Leases, key: str, began: list[Request]) -> None:
        async with leases.lease(key, self.heard.append):
            began.append(self)
            await self.end.wait()


async def settle() -> None:
    """Let every task run until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


def starter() -> tuple[list[Request], Callable[[str], Request]]:
    leases, began = Leases(), list[Request]()
    return began, lambda key: Request(leases, key, began)


async def test_requests_are_served_in_order_and_hear_their_place() -> None:
    began, start = starter()
    first, second, third = (start("m") for _ in range(3))
    await settle()
    assert began == [first]
    assert first.heard == []
    assert second.heard == ["waiting for the model, 1 ahead"]
    assert third.heard == ["waiting for the model, 2 ahead"]
    first.end.set()
    await settle()
    assert began == [first, second]
    assert third.heard == ["waiting for the model, 2 ahead", "waiting for the model, 1 ahead"]
    second.end.set()
    third.end.set()
    await asyncio.gather(first.task, second.task, third.task)
    assert began == [first, second, third]
    assert second.heard == ["waiting for the model, 1 ahead"]


async def test_models_do_not_wait_for_each_other() -> None:
    began, start = starter()
    one, other = start("m"), start("n")
    await settle()
    assert began == [one, other]
    one.task.cancel()
    other.task.cancel()
    await asyncio.gather(one.task, other.task, return_exceptions=True)


async def test_a_wait_can_be_cancelled_and_those_behind_move_up() -> None:
    began, start = starter()
    first, second, third = (start("m") for _ in range(3))
    await settle()
    second.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second.task
    await settle()
    assert began == [first]
    assert third.heard[-1] == "waiting for the model, 1 ahead"
    first.end.set()
    third.end.set()
    await asyncio.gather(first.task, third.task)
    assert began == [first, third]


async def test_the_holder_can_be_cancelled() -> None:
    began, start = starter()
    first, second = start("m"), start("m")
    await settle()
    first.task.cancel()
    second.end.set()
    await second.task
    assert began == [first, second]


async def test_one_who_is_told_the_wrong_way_does_not_block_the_others() -> None:
    leases = Leases()

    def fail(place: str) -> None:
        raise ZeroDivisionError

    async with leases.lease("m", fail):
        with pytest.raises(ZeroDivisionError):
            async with leases.lease("m", fail):
                pass
    async with asyncio.timeout(10), leases.lease("m", fail):
        pass


async def test_fifty_requests_are_all_served_in_order() -> None:
    began, start = starter()
    requests = [start("m") for _ in range(50)]
    await settle()
    cancelled = set(requests[5:50:7])
    for request in requests:
        request.end.set()
        if request in cancelled:
            request.task.cancel()
    await asyncio.gather(*(request.task for request in requests), return_exceptions=True)
    assert began == [request for request in requests if request not in cancelled]
