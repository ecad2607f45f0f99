"""Test parameters for isolation levels.

Tests without these parameters use the strongest level that works here.
"""

from __future__ import annotations

import asyncio
import functools

import pytest

from adacoder.domain import Level
from adacoder.sandbox.probe import probe

needs_full = pytest.mark.isolation(Level.FULL)
FULL = pytest.param(Level.FULL, marks=needs_full, id=Level.FULL)
LSM = pytest.param(Level.LSM, marks=pytest.mark.isolation(Level.LSM), id=Level.LSM)
NONE = pytest.param(Level.NONE, id=Level.NONE)
"""The level without isolation. It has no mark, because every machine can run code unconfined."""
LEVELS = [FULL, LSM]


def skip_what_needs_more(items: list[pytest.Item]) -> None:
    """Skip tests with the mark `isolation` on machines where their level does not work."""
    for item in items:
        needed = [mark.args[0] if mark.args else None for mark in item.iter_markers("isolation")]
        missing = [level for level in needed if not _works(level)]
        if missing:
            how = f" at the level '{missing[0]}'" if missing[0] else ""
            item.add_marker(pytest.mark.skip(reason=f"nothing here isolates code{how}"))


@functools.cache
def _works(level: Level | None) -> bool:
    found = asyncio.run(probe(level or Level.FULL)).isolation.level
    return found is level if level else found is not Level.NONE
