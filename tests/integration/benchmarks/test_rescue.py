"""`benchmarks/rescue.py` gives the known figures for some recorded replies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT = ROOT / "benchmarks" / "rescue.py"
DATA = os.environ.get("ADACODER_DATA")


pytestmark = [
    pytest.mark.isolation,
    pytest.mark.skipif(DATA is None, reason="ADACODER_DATA names no folder with recorded replies"),
]


def figures(replies: Path, *arguments: str) -> dict[str, int]:
    command = [sys.executable, str(SCRIPT), "--replies", str(replies), "--data", str(DATA), *arguments]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    last: dict[str, int] = json.loads(ran.stdout.splitlines()[-1])
    return last


def test_rules_rescue_more_than_the_paper_s_and_break_nothing(record_property: Callable[[str, object], None]) -> None:
    found = figures(Path(str(DATA)) / "model_replies.jsonl.gz", "--sources", "lats")
    record_property("figure", f"rescue.py, replies of lats: {json.dumps(found)}")
    assert found["passed_before"] > 50, "nothing could be broken"
    assert found["broken"] == 0
    assert found["rescued"] > found["paper_rescued"] > 0


def test_a_task_whose_prompt_the_arena_puts_right_counts_like_any_other(tmp_path: Path) -> None:
    common = {"benchmark": "HumanEval", "kind": "program", "hidden_tests": "fail"}
    well = "    return sum(math.ceil(sum(row) / capacity) for row in grid)"
    bodies = {"HumanEval/115": well, "HumanEval/53": "    return x + y", "MBPP/2": "    return ()"}
    rows = [{"id": name, "task_id": name, "reply": reply, **common} for name, reply in bodies.items()]
    replies = tmp_path / "replies.jsonl"
    replies.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = figures(replies)
    assert (found["replies"], found["dropped"], found["rescued"], found["broken"]) == (3, 0, 2, 0)
