"""A run of the arena may be killed at any moment without a lost, repeated or wrong row."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adacoder.arena.rows import RowsReader
from support import instant_arena

SAMPLES = 150
KILLS = int(os.environ.get("ADACODER_KILLS", "5"))
TESTS = Path(instant_arena.__file__).parents[1]
TASK = {
    "task_id": "HumanEval/0",
    "prompt": 'def double(x):\n    """Twice x.\n\n    >>> double(2)\n    4\n    """\n',
    "entry_point": "double",
    "canonical_solution": "    return 2 * x\n",
    "test": "def check(candidate):\n    assert candidate(21) == 42\n",
}


def start(folder: Path, samples: int = SAMPLES) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, instant_arena.__file__, str(folder), str(samples)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
    )


def test_killed_at_random_moments(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    rows, chance = tmp_path / "rows.jsonl", random.Random(18)
    whole = ""
    for _ in range(KILLS):
        process = start(tmp_path)
        time.sleep(chance.uniform(0.2, 2.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
        before, whole = whole, rows.read_text() if rows.exists() else ""
        whole = whole[: whole.rfind("\n") + 1]
        assert whole.startswith(before)  # no written row is lost
    assert start(tmp_path).wait() == 0
    assert rows.read_text().startswith(whole)
    found = list(RowsReader().rows(rows))
    assert [row.right for row in found] == [True] * SAMPLES
    assert sorted(row.sample for row in found) == list(range(SAMPLES))
    assert all((tmp_path / str(row.journal)).is_file() for row in found)


def test_a_torn_row_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    assert start(tmp_path, 10).wait() == 0
    rows = tmp_path / "rows.jsonl"
    whole = rows.read_bytes()
    rows.write_bytes(whole[:-20])
    assert start(tmp_path, 10).wait() == 0
    assert len(list(RowsReader().rows(rows))) == 10


def test_what_holds_no_rows_is_left_as_it_is(tmp_path: Path) -> None:
    from adacoder.arena.rows import RowsError, RowsFile

    notes = tmp_path / "notes.txt"
    notes.write_text("my notes, without a newline at the end")
    with pytest.raises(RowsError, match="was not changed"):
        RowsFile(notes)
    assert notes.read_text() == "my notes, without a newline at the end"
