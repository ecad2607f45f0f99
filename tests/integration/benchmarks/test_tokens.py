"""`benchmarks/tokens.py` gives figures for a few tasks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from support.paths import ROOT

SCRIPT = ROOT / "benchmarks" / "tokens.py"
DATA = os.environ.get("ADACODER_DATA")


def line(*arguments: str, **environment: str) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
        env={**{name: value for name, value in os.environ.items() if name != "ADACODER_DATA"}, **environment},
    )
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


@pytest.mark.isolation
@pytest.mark.skipif(DATA is None, reason="ADACODER_DATA names no folder with recorded replies")
def test_every_task_takes_several_rounds_and_ends_verified() -> None:
    found = line("--tasks", "3", ADACODER_DATA=str(DATA))
    ours, direct = found["loop"]["adacoder"], found["loop"]["direct"]
    assert (ours["verified"], ours["calls"]) == (3, 15)
    assert (direct["verified"], direct["calls"]) == (0, 3)
    assert 0 < ours["uncached_prompt_tokens"] < ours["prompt_tokens"]
    stopped = found["early_stop"]
    assert 0 < stopped["prompt_engineer_tokens_with"] <= stopped["prompt_engineer_tokens_without"]
    assert found["prefix"]["n"] == 12


def test_without_replies_it_says_so() -> None:
    assert "ADACODER_DATA" in str(line()["skipped"])
