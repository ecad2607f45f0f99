"""The files that a candidate can see."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.evaluating import workspace


@pytest.mark.isolation
async def test_a_candidate_sees_its_project_and_none_of_the_secrets(tmp_path: Path) -> None:
    for name in ("data.txt", "sub/.env", "sub/.git/config", "sub/open.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    text = '''
        from pathlib import Path

        def f(name):
            """
            >>> [f("data.txt"), f("sub/open.txt")]
            ['x', 'x']
            >>> [f("sub/.env"), f("sub/.git/config"), f("pipe")]
            ['denied', 'denied', 'denied']
            """
            try:
                return (Path(__file__).parent / name).read_text() or "denied"
            except OSError:
                return "denied"
        '''
    async with workspace(tmp_path) as opened:
        verdict = await opened.evaluate(text)
    assert verdict.failure is None
