"""The levels at which attacks are let loose on the evaluator."""

from __future__ import annotations

import asyncio
import functools

import pytest

from adacoder.domain import Level
from adacoder.sandbox.probe import probe


@functools.cache
def works(level: Level) -> bool:
    """Whether code can be isolated here at `level`."""
    return asyncio.run(probe(best=level)).isolation.level is level


@pytest.fixture(scope="module", params=[Level.FULL, Level.LSM], ids=str)
def level(request: pytest.FixtureRequest) -> Level:
    wanted: Level = request.param
    if not works(wanted):
        pytest.skip(f"nothing here isolates code at the level '{wanted}'")
    return wanted
