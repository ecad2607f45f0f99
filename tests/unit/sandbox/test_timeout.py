"""The timeout of an evaluation, and the time that it counts."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from adacoder.sandbox.host import _timeout

if TYPE_CHECKING:
    from adacoder.sandbox.process import Evaluation

SECONDS = 0.05


class Counted:
    """An evaluation for which the kernel has counted these seconds of running and of waiting."""

    def __init__(self, *, waited: float = 0, computed: float = 0) -> None:
        self._waited, self._computed = waited, computed

    def waited(self) -> float:
        return self._waited

    def computed(self) -> float:
        return self._computed


async def works(counted: Counted, seconds: float = 4 * SECONDS, most_times: int = 10_000) -> bool:
    """Return True if work of `seconds` ends before the timeout."""
    try:
        async with _timeout(cast("Evaluation", counted), SECONDS, most_times):
            await asyncio.sleep(seconds)
    except TimeoutError:
        return False
    return True


async def test_waits_for_a_processor_do_not_count() -> None:
    assert await works(Counted(waited=600))
    assert not await works(Counted(waited=0), 60)


async def test_waits_count_after_most_timeouts() -> None:
    assert not await works(Counted(waited=600), 60, most_times=2)


async def test_code_that_used_its_time_gets_no_more() -> None:
    assert not await works(Counted(waited=600, computed=SECONDS), 60)
    assert await works(Counted(waited=600, computed=SECONDS / 2))
