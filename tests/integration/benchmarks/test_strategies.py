"""`benchmarks/strategies.py` gives every strategy the same random choices. Every benchmark can be imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from support.paths import ROOT

BENCHMARKS = ROOT / "benchmarks"
DATA = os.environ.get("ADACODER_DATA")


def ran(*command: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join(map(str, (BENCHMARKS, ROOT / "tests")))
    return subprocess.run(
        [sys.executable, *command],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": paths},
    )


def test_every_benchmark_can_be_imported() -> None:
    names = sorted(path.stem for path in BENCHMARKS.glob("*.py"))
    missing = "ModuleNotFoundError"
    code = (
        "import importlib, json, sys\n"
        "found = {}\n"
        "for name in sys.argv[1:]:\n"
        "    try: importlib.import_module(name)\n"
        "    except ImportError as error: found[name] = [type(error).__name__, error.name]\n"
        "print(json.dumps(found))\n"
    )
    result = ran("-c", code, *names)
    assert result.returncode == 0, result.stderr
    failed = json.loads(result.stdout.splitlines()[-1])
    own = {"adacoder", "support", *names}
    assert [name for name, (kind, of) in failed.items() if kind != missing or str(of).split(".")[0] in own] == []
    assert "strategies" not in failed


@pytest.mark.isolation
@pytest.mark.skipif(DATA is None, reason="ADACODER_DATA names no folder with recorded replies")
def test_luck_is_the_same_for_every_strategy() -> None:
    """`direct` and `adacoder:neither` write the same first program, because neither has feedback in that round."""
    options = ["--tasks", "4", "--seeds", "2", "--chance", "0.5", "--only"]
    result = ran(str(BENCHMARKS / "strategies.py"), *options, "resample", "adacoder:neither", "direct")
    assert result.returncode == 0, result.stderr
    lines = {line["strategy"]: line for line in map(json.loads, result.stdout.splitlines())}
    resample, neither, direct = lines["resample"], lines["adacoder:neither"], lines["direct"]
    assert (resample["tasks"], resample["worse"]) == (4, 0)
    assert neither["verified"] >= direct["verified"], "more programs of the same luck"
    assert resample["verified"] >= neither["verified"]
    for name in ("verified", "right"):
        low, high = direct[f"{name}_interval"]
        assert low <= direct[name] <= high
