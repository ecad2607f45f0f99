"""`adacoder demo` writes a function with a recorded conversation."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from adacoder.cli.demo import RECORDING, fixture
from adacoder.domain import Reply
from adacoder.models.recording.format import read
from support.commandline import MODEL, Desk
from support.standins.ollama import Model, StandIn

pytestmark = [pytest.mark.isolation, pytest.mark.usefixtures("temporary")]


def shortened(tmp_path: Path) -> Path:
    """Write the recorded conversation without its last two requests."""
    text = (fixture() / RECORDING).read_text("utf-8")
    path = tmp_path / "shortened"
    for _ in range(2):
        text = text[: text.rindex('\n{\n "messages"') + 1]
    path.write_text(text, encoding="utf-8")
    assert len(read(path).exchanges) == len(read(fixture() / RECORDING).exchanges) - 2
    return path


def test_it_tells_every_step_and_ends_verified(desk: Desk, temporary: Path) -> None:
    ran = desk.run("demo")
    assert (ran.code, ran.err) == (0, "")
    told = (
        "replies are recorded",
        "subtitles/cues.py::timestamp",
        "== Round 1",
        "Programming Assistant  writing the function",
        "Code Evaluator  ✗ ",
        "syntax error",
        "Debug Specialist  fixed by rule: realigned, imports added",
        "+from datetime import timedelta",
        "Code Evaluator  ✗ 0/4 examples passed",
        ">>> timestamp(83.5)",
        "must give  '00:01:23,500'",
        "but gave   '0:01:23,500000'",
        "Prompt Engineer  planning from the error",
        "1. ",
        "== Round 2",
        "Programming Assistant  writing the function by the plan",
        "Code Evaluator  ✓ 4/4 examples passed",
        "+++ b/subtitles/cues.py",
        "✓ Verified 'timestamp': 4/4 examples passed, 2 rounds",
    )
    rest = ran.out
    for words in told:
        _, found, rest = rest.partition(words)
        assert found, f"it does not tell, or not in its place: {words}"
    assert list(temporary.iterdir()) == []


def test_without_the_last_replies_it_ends_failed(desk: Desk) -> None:
    ran = desk.run("demo", "--model", f"replay:{shortened(desk.folder)}")
    assert ran.code == 1
    assert "Code Evaluator  ✗ 0/4 examples passed" in ran.out
    assert "✗ No verified candidate for 'timestamp': " in ran.out
    assert "has no reply number 2" in ran.out
    assert "Verified 'timestamp'" not in ran.out


def test_the_recording_holds_no_path_of_a_machine() -> None:
    text = (fixture() / RECORDING).read_text("utf-8")
    assert "/tmp" not in text  # the demo looks for a server
    assert str(Path.home()) not in text
    assert sys.prefix not in text


def test_it_says_how_to_run_it_with_a_model_that_is_there(desk: Desk) -> None:
    silent = desk.run("demo")
    with StandIn([], models=[Model(MODEL)]).in_thread() as standin:
        ran = desk.run("demo", "--host", standin.host)
        assert standin.requests == []
    assert f"adacoder demo --model {MODEL} --host {standin.host}" in ran.out
    assert "--model" not in silent.out


def test_it_runs_with_a_model_that_is_there(desk: Desk) -> None:
    last = read(fixture() / RECORDING).exchanges[-1].reply
    assert isinstance(last, Reply)
    with StandIn([last.text]).in_thread() as standin:
        ran = desk.run("demo", "--model", MODEL, "--host", standin.host)
    assert ran.code == 0
    assert "recorded" not in ran.out
    assert MODEL in ran.out


def test_the_project_can_be_kept(desk: Desk, temporary: Path) -> None:
    ran = desk.run("demo", "--keep")
    (folder,) = temporary.iterdir()
    assert str(folder / "project") in ran.out
    assert (folder / "project" / "subtitles" / "cues.py").is_file()


def test_without_isolation_only_the_shipped_replies_run_and_it_says_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Simulate a machine without bubblewrap and without system call filters.
    monkeypatch.setenv("PATH", str(desk.folder))
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("Linux", "here", "6.1", "#1", "vax")))
    shipped = desk.run("demo")
    assert shipped.code == 0
    assert "Nothing on this machine can isolate code (" in " ".join(shipped.out.split())
    assert "isolation none" in shipped.out
    copy = tmp_path / "copy.conversation"
    copy.write_bytes((fixture() / RECORDING).read_bytes())
    for options in (["--isolation", "full"], ["--model", f"replay:{copy}"]):
        refused = desk.run("demo", *options)
        assert (refused.code, len(refused.error_lines)) == (2, 1)
        assert "--isolation none" in refused.err
