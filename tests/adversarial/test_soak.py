"""Thousands of evaluations, a tenth of them hostile, leave the evaluator unchanged."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import Level
from support.levels import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent


STEADY = 0.003
"""The growth of a part, as a share of the memory, that is not a leak: about 100 bytes for each of 1,000 evaluations."""


@pytest.mark.parametrize("best", LEVELS)
async def test_nothing_grows(best: Level, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    evaluations = 5000 if best is Level.FULL else 1000
    states, left = await soak(tmp_path, best, evaluations)
    before, after = states[0], states[-1]
    total = after["resident"] / before["resident"] - 1
    typical = typical_growth(states)
    figure = f"{evaluations} evaluations, memory of the host {total:+.1%}, in a typical fifth {typical:+.2%}"
    record_property("figure", f"soak at {best}: {figure}")
    for what in ("processes", "descriptors", "files", "tasks"):
        assert after[what] <= before[what], what
    assert typical < STEADY
    assert total < 0.15
    assert (left["processes"], left["files"]) == (0, 0)


@pytest.mark.isolation(Level.LSM)
async def test_a_leak_is_seen(tmp_path: Path) -> None:
    states, _ = await soak(tmp_path, Level.LSM, 500, leaked=2000)
    assert typical_growth(states) > STEADY


def typical_growth(states: list[dict[str, int]]) -> float:
    """Return the median growth of the memory between two neighbouring states, as a share."""
    return median(after["resident"] / before["resident"] - 1 for before, after in pairwise(states))


async def soak(
    folder: Path, best: Level, evaluations: int, leaked: int = 0
) -> tuple[list[dict[str, int]], dict[str, int]]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(HERE / "soak.py"), str(folder), best, str(evaluations), str(leaked)),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
    )
    output, _ = await process.communicate()
    assert process.returncode == 0
    told = json.loads(output)
    return told["states"], told["left"]
