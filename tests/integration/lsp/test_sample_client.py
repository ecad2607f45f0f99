"""The sample client in the docs works as described."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from integration.lsp.texts import BODY, GOOD, STUB, WRONG, told_of
from support.paths import ROOT
from support.standins.ollama import StandIn

pytestmark = pytest.mark.isolation


@pytest.mark.parametrize(("reply", "code", "body"), [(GOOD, 0, BODY), (WRONG, 1, "")])
def test_it_has_a_function_written(tmp_path: Path, reply: str, code: int, body: str) -> None:
    file = tmp_path / "names.py"
    before = f"A = '😀'\r\nB = 'é'  # 😀\r\n{STUB}".encode()
    file.write_bytes(before)
    with StandIn(lambda _: reply).in_thread() as standin:
        settings = json.dumps({**told_of(standin), "maxIterations": 0})
        command = [sys.executable, str(ROOT / "docs" / "sample_client.py"), str(file), "initials", settings]
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ran.returncode == code, ran.stderr
    assert "'initials'" in ran.stdout
    assert "round 1/1" in ran.stderr
    after = file.read_bytes()
    assert after.startswith(before)
    assert after[len(before) :].decode().replace("\r\n", "\n") == body
