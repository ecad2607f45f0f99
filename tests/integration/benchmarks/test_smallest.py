"""Each benchmark that installs nothing runs at its smallest size."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from support.paths import ROOT

DATA = os.environ.get("ADACODER_DATA")
BENCHMARKS = ROOT / "benchmarks"
SMALLEST = {
    "arena": ("--passes", "1", "--cells", "20"),
    "cancel": ("--rounds", "1"),
    "context": ("--rounds", "1"),
    "house": (),
    "imports": ("--rounds", "1"),
    "locate": ("--calls", "8"),
    "request": ("--rounds", "1"),
    "server": ("--rounds", "1"),
    "start": ("--rounds", "1"),
    "tokens": ("--tasks", "2"),
    "wedge": ("--replies", "3"),
}
pytestmark = [
    pytest.mark.rest,
    pytest.mark.isolation,
    pytest.mark.skipif(DATA is None, reason="ADACODER_DATA names no folder with recorded replies"),
]


@pytest.mark.parametrize("name", SMALLEST)
def test_a_benchmark_runs(name: str) -> None:
    paths = os.pathsep.join(map(str, (BENCHMARKS, ROOT / "tests")))
    result = subprocess.run(
        [sys.executable, str(BENCHMARKS / f"{name}.py"), *SMALLEST[name]],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert result.returncode == 0, result.stderr
    assert [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
