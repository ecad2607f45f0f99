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


BYTES, BLOCKS = 100, 0.7
"""Maximum that an evaluation may leave behind: bytes from `malloc`, and small blocks of Python. More is a leak."""


@pytest.mark.parametrize("best", LEVELS)
async def test_nothing_grows(best: Level, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    evaluations = 5000 if best is Level.FULL else 1000
    states, left = await soak(tmp_path, best, evaluations)
    before, after = states[0], states[-1]
    total = after["resident"] / before["resident"] - 1
    bytes_, blocks = left_by_one(states, evaluations)
    figure = f"{evaluations} evaluations, each leaves {bytes_:.0f} bytes and {blocks:.2f} blocks"
    record_property("figure", f"soak at {best}: {figure}; memory of the host {total:+.1%}")
    for what in ("processes", "descriptors", "files", "tasks"):
        assert after[what] <= before[what], what
    assert bytes_ < BYTES
    assert blocks < BLOCKS
    assert total < 0.15
    assert (left["processes"], left["files"]) == (0, 0)


@pytest.mark.isolation(Level.LSM)
@pytest.mark.parametrize("leaked", [20, 2000])
async def test_a_leak_is_seen(tmp_path: Path, leaked: int) -> None:
    states, _ = await soak(tmp_path, Level.LSM, 200, leaked)
    bytes_, blocks = left_by_one(states, 200)
    assert (blocks > BLOCKS) if leaked < 512 else (bytes_ > BYTES)


def left_by_one(states: list[dict[str, int]], evaluations: int) -> tuple[float, float]:
    """Return the bytes and blocks that an evaluation leaves behind, as the median over the parts."""
    bytes_, blocks = (
        median(after[what] - before[what] for before, after in pairwise(states)) / evaluations * (len(states) - 1)
        for what in ("large", "blocks")
    )
    return bytes_, blocks


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
