"""`adacoder arena`: what it shows and keeps, replays, and how it goes on after Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from support.commandline import HEEDING, MODEL, Desk, Ran
from support.standins.ollama import StandIn

pytestmark = pytest.mark.isolation

TASK = {
    "task_id": "HumanEval/0",
    "prompt": 'def double(x):\n    """Twice x.\n\n    >>> double(2)\n    4\n    """\n',
    "entry_point": "double",
    "canonical_solution": "    return 2 * x\n",
    "test": "def check(candidate):\n    assert candidate(21) == 42, 'canary_7f3a91'\n",
}
RIGHT = "```python\ndef double(x):\n    return 2 * x\n```\n"
WRONG = "```python\ndef double(x):\n    return x + 2\n```\n"


def arena(desk: Desk, *options: object, replies: list[str]) -> Ran:
    (desk.folder / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    with StandIn(replies).in_thread() as standin:
        return desk.run("arena", "tasks.jsonl", "--model", MODEL, "--host", standin.host, *options)


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_what_is_right_verified_and_wrong(desk: Desk) -> None:
    ran = arena(desk, "--strategy", "direct", "--samples", 2, replies=[RIGHT, WRONG])
    assert ran.code == 0
    assert ran.out.endswith(" · direct: 1 of 2 right (50.0%), 2 verified, of these 1 wrong\n")
    assert [row["right"] for row in rows(desk.folder / "arena.jsonl")] == [True, False]


def test_a_run_that_is_done_asks_nothing(desk: Desk) -> None:
    first = arena(desk, "--strategy", "direct", replies=[RIGHT])
    again = arena(desk, "--strategy", "direct", replies=[])
    assert (again.code, again.out) == (0, first.out)


def test_a_table_is_made_again_from_recordings_without_a_model(desk: Desk) -> None:
    first = arena(desk, "--strategy", "direct,adacoder", "--record", "talk", replies=[RIGHT, RIGHT])
    again = arena(desk, "--strategy", "direct,adacoder", "--replay", "talk", "--rows", "again.jsonl", replies=[])
    assert (again.code, again.out) == (first.code, first.out)
    kept = ("task", "model", "strategy", "seed", "status", "right", "candidate", "calls")
    files = (rows(desk.folder / name) for name in ("arena.jsonl", "again.jsonl"))
    one, other = ([{name: row[name] for name in kept} for row in file] for file in files)
    assert one == other
    stored = [path for path in desk.folder.rglob("*") if path.is_file() and path.name != "tasks.jsonl"]
    assert any(path.suffix == ".conversation" for path in stored)
    assert not [path for path in stored if "canary_7f3a91" in path.read_text()]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["nothing"], "There are no tasks at nothing"),
        (["tasks.jsonl", "--strategy", "x"], "There is no strategy 'x'"),
        (["tasks.jsonl", "--only", "MBPP/*"], "No task in tasks.jsonl is named 'MBPP/*'"),
        ([".", "--rows", "tasks.jsonl"], "holds something else than rows"),
    ],
)
def test_what_cannot_run(options: list[str], told: str, desk: Desk) -> None:
    (desk.folder / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    ran = desk.run("arena", *options, "--model", MODEL)
    assert ran.code == 2
    assert told in ran.err


def test_an_interrupted_run_says_how_to_go_on(desk: Desk) -> None:
    (desk.folder / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    arena = [sys.executable, "-m", "adacoder", "arena", "tasks.jsonl", "--model", MODEL, "--host", "localhost:1"]
    with subprocess.Popen(
        [*HEEDING, *arena],
        cwd=desk.folder,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stderr is not None
        while "own solutions" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Interrupted." in told


def test_tasks_are_downloaded_on_request_only(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    library = ModuleType("datasets")
    library.load_dataset = lambda *_, **__: {"test": [TASK]}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "datasets", library)
    command = ("arena", "humaneval", "--strategy", "direct", "--model", MODEL)
    refused = desk.run(*command)
    assert refused.code == 2
    assert "There are no tasks at humaneval" in refused.err
    assert "--download" in refused.err
    with StandIn([RIGHT]).in_thread() as standin:
        ran = desk.run(*command, "--download", "--host", standin.host)
    assert ran.code == 0, ran.err
    (row,) = rows(desk.folder / "arena.jsonl")
    checksum = (desk.folder / "humaneval.jsonl.sha256").read_text().split()[0]
    assert (row["right"], row["dataset"], row["checksum"]) == (True, "humaneval", f"sha256:{checksum}")
    monkeypatch.setitem(sys.modules, "datasets", None)
    lacking = desk.run("arena", "mbpp", "--model", MODEL, "--download")
    assert (lacking.code, lacking.err.strip()) == (
        2,
        "Downloads need the hub's library: pip install 'adacoder[hub]'.",
    )
