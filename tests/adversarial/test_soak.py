"""Thousands of evaluations, a tenth of them hostile, leave the evaluator unchanged."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import Level
from support.levels import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent


@pytest.mark.parametrize("best", LEVELS)
async def test_nothing_grows(best: Level, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    evaluations = 5000 if best is Level.FULL else 1000
    soak = await asyncio.create_subprocess_exec(
        *(sys.executable, str(HERE / "soak.py"), str(tmp_path), best, str(evaluations)),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
    )
    output, _ = await soak.communicate()
    assert soak.returncode == 0
    told = json.loads(output)
    before, after = told["before"], told["after"]
    growth = after["resident"] / before["resident"] - 1
    record_property("figure", f"soak at {best}: {evaluations} evaluations, memory of the host {growth:+.1%}")
    for what in ("processes", "descriptors", "files", "tasks"):
        assert after[what] <= before[what], what
    assert growth < 0.05
    assert (told["left"]["processes"], told["left"]["files"]) == (0, 0)
