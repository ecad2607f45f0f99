"""Wait for non-blocking descriptors."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


async def readable(descriptor: int) -> None:
    """Wait until there is something to read, or the other end is closed."""
    loop = asyncio.get_running_loop()
    await _until(loop.add_reader, loop.remove_reader, descriptor)


async def writable(descriptor: int) -> None:
    """Wait until writing is possible, or the other end is closed."""
    loop = asyncio.get_running_loop()
    await _until(loop.add_writer, loop.remove_writer, descriptor)


async def _until(
    watch: Callable[[int, Callable[[], None]], object], unwatch: Callable[[int], object], descriptor: int
) -> None:
    ready = asyncio.Event()
    watch(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        unwatch(descriptor)
