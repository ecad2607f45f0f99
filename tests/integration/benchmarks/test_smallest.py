"""Each benchmark that installs nothing runs with its smallest size."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.commandline import MODEL
from support.paths import ROOT
from support.standins.ollama import StandIn

DATA = os.environ.get("ADACODER_DATA")
BENCHMARKS = ROOT / "benchmarks"
SMALLEST = {
    "arena": ("--passes", "1", "--cells", "20"),
    "blocking": ("--rounds", "1", "--cases", "writing", "idle"),
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


def _lines(name: str, *options: str) -> list[dict[str, object]]:
    paths = os.pathsep.join(map(str, (BENCHMARKS, ROOT / "tests")))
    result = subprocess.run(
        [sys.executable, str(BENCHMARKS / f"{name}.py"), *options],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("name", SMALLEST)
def test_a_benchmark_runs(name: str) -> None:
    assert _lines(name, *SMALLEST[name])


def test_each_next_step_begins_at_the_failed_program() -> None:
    right = "return any(abs(a - b) < threshold for i, a in enumerate(numbers) for b in numbers[:i])"
    bodies = iter(["return None"] * 2)
    with StandIn(
        lambda _: f"```python\ndef has_close_elements(numbers, threshold):\n    {next(bodies, right)}\n```"
    ).in_thread() as server:
        options = ("--model", MODEL, "--host", server.host, "--tasks", "1")
        first, *steps = _lines("next_step", str(Path(str(DATA), "HumanEval.jsonl.gz")), *options)
    assert (first["tried"], first["passed"], first["left_out"]) == (1, 0, 0)
    assert [(each["tried"], each["passed"], each["same"]) for each in steps] == [(1, 0, 1), *[(1, 1, 0)] * 5]


def test_two_programs_that_agree_and_two_that_differ_are_counted(tmp_path: Path) -> None:
    """The third program passes the examples but not the hidden tests."""
    bodies = {
        "a": "return any(abs(a - b) < threshold for i, a in enumerate(numbers) for b in numbers[:i])",
        "b": "pairs = ((a, b) for i, a in enumerate(numbers) for b in numbers[:i])\n"
        "    return any(abs(a - b) < threshold for a, b in pairs)",
        "c": "return len(numbers) > 3 and threshold < 1",
    }
    replies = tmp_path / "replies.jsonl"
    rows = [
        {
            "task_id": "HumanEval/0",
            "model": name,
            "reply": f"def has_close_elements(numbers, threshold):\n    {body}\n",
        }
        for name, body in bodies.items()
    ]
    replies.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    pairs = ("--replies", str(replies), "--data", str(DATA), "--pairs", "6")
    (found,) = _lines("agreement", *pairs)
    assert (found["pairs"], found["wrong"]) == (6, 2)
    assert (found["wrong_flagged"], found["right_flagged"], found["right_if_agreed"]) == (1.0, 0.5, 1.0)
    assert (found["wrong_or_raising"], found["right_or_raising"], found["wrong_beside_right"]) == (1.0, 0.5, 1.0)
    (found,) = _lines("agreement", *pairs, "--hidden-inputs")
    assert (found["wrong_flagged"], found["right_flagged"]) == (1.0, 0.5)
    (found,) = _lines("agreement", "--replies", str(replies), "--data", str(DATA), "--triples", "6")
    assert (found["triples"], found["questions"]) == (6, pytest.approx(4 / 3, abs=1e-3))
    shares = [found[name]["share"] for name in ("wrong", "wrong_by_majority", "wrong_after_answers")]  # type: ignore[index]
    assert shares == [pytest.approx(1 / 3, abs=1e-3), 0.0, 0.0]


def test_planted_faults_are_found() -> None:
    (found,) = _lines("planted", "--only", "statistics:median")
    assert found == {"found": 2, "of": 2, "missed": [], "left_out": []}


def test_mutants_are_refused_by_tests(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "two.py").write_text('def double(x):\n    """Double."""\n    return 2 * x\n', encoding="utf-8")
    test = "from two import double\n\ndef test_two():\n    assert double(3) == 6\n"
    (tmp_path / "test_two.py").write_text(test, encoding="utf-8")
    (found,) = _lines("mutants", "--functions", "1", str(tmp_path))
    assert (found["functions"], found["tested"], found["right_refused"]) == (1, 1, 0)
    wrong = [found[kind] for kind in ("none", "first", "mutant")]
    assert wrong == [{"passed": 1, "caught": 1}] * 3
    assert found["suspects"] == {"first": 1}
