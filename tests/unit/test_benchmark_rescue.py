"""The figure of `benchmarks/rescue.py`, on some of the real replies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "rescue.py"
DATA = os.environ.get("ADACODER_DATA")


@pytest.mark.isolation
@pytest.mark.skipif(DATA is None, reason="ADACODER_DATA names no folder with recorded replies")
def test_rules_rescue_more_than_the_paper_s_and_break_nothing(record_property: Callable[[str, object], None]) -> None:
    data = Path(str(DATA))
    replies = data / "model_replies.jsonl.gz"
    command = [sys.executable, str(SCRIPT), "--replies", str(replies), "--data", str(data), "--sources", "lats"]
    ran = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    figures = json.loads(ran.stdout.splitlines()[-1])
    record_property("figure", f"rescue.py, replies of lats: {ran.stdout.splitlines()[-1]}")
    assert figures["passed_before"] > 50, "nothing could be broken"
    assert figures["broken"] == 0
    assert figures["rescued"] > figures["paper_rescued"] > 0
