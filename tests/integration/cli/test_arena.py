"""`adacoder arena`: its output, its stored files, replays, and continuing after Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from support.commandline import HEEDING, MODEL, Desk, Ran
from support.standins.ollama import Ending, Script, StandIn

pytestmark = pytest.mark.isolation

TASK = {
    "task_id": "HumanEval/0",
    "prompt": 'def double(x):\n    """Twice x.\n\n    >>> double(2)\n    4\n    """\n',
    "entry_point": "double",
    "canonical_solution": "    return 2 * x\n",
    "test": "def check(candidate):\n    assert candidate(21) == 42, 'canary_7f3a91'\n",
}
_LIMIT = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)"
LIMITED = (sys.executable, "-c", f"{_LIMIT}; os.execv(sys.argv[2], sys.argv[2:])")
"""Program that runs a command with files of at most `size` bytes."""
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
        ([".", "--rows", "tasks.jsonl"], "is not a file of rows"),
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


def test_without_dask_one_sentence_says_what_to_install(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    ran = arena(desk, "--dask", "tcp://127.0.0.1:1", replies=[])
    assert (ran.code, ran.err) == (2, "A cluster needs Dask: pip install 'adacoder[arena]'.\n")


def test_a_replay_needs_no_cluster(desk: Desk) -> None:
    (desk.folder / "talk").mkdir()
    ran = arena(desk, "--dask", "tcp://127.0.0.1:1", "--replay", "talk", replies=[])
    assert ran.code == 2
    assert ran.err == "--replay needs no model and no cluster: leave --dask out.\n"


def limited(desk: Desk, size: int, *options: str) -> Ran:
    """Start a comparison with files of at most `size` bytes, as on a full disk."""
    (desk.folder / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    with StandIn(lambda _: RIGHT).in_thread() as standin:
        model = ("--model", MODEL, "--host", standin.host, "--strategy", "direct", "--samples", "6")
        run = subprocess.run(
            [*LIMITED, str(size), sys.executable, "-m", "adacoder", "arena", "tasks.jsonl", *model, *options],
            cwd=desk.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    return Ran(run.returncode, run.stdout, run.stderr)


def test_a_full_disk_leaves_whole_rows_and_a_sentence(desk: Desk) -> None:
    path = desk.folder / "arena.jsonl"
    assert limited(desk, 1 << 30, "--samples", "1").code == 0  # control: with enough space, the command works
    size = path.stat().st_size
    ran = limited(desk, 3 * size + size // 2)
    kept = path.read_text()
    assert ran.code == 2
    assert ran.error_lines[-1] == (
        "The rows cannot be written to arena.jsonl: File too large."
        " 3 of 6 cells are in arena.jsonl: run the same command again to go on."
    )
    assert "Traceback" not in ran.err
    assert kept.endswith("}\n")
    assert len(rows(path)) == 3
    assert limited(desk, 1 << 30).code == 0
    assert path.read_text().startswith(kept)
    assert sorted(str(row["sample"]) for row in rows(path)) == [*"012345"]


def test_a_cell_whose_journal_cannot_be_written_has_no_row(desk: Desk) -> None:
    path = desk.folder / "arena.journals"
    path.write_text("a file where the folder must be")
    ran = arena(desk, "--strategy", "direct", replies=[RIGHT])
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert ran.error_lines[-1].startswith("arena.journals/")
    assert " cannot be written: " in ran.error_lines[-1]
    assert rows(desk.folder / "arena.jsonl") == []
    path.unlink()
    assert arena(desk, "--strategy", "direct", replies=[RIGHT]).code == 0


def test_the_wait_for_a_token_can_be_set(desk: Desk) -> None:
    """The message about a silent server names this option."""
    (desk.folder / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    options = ["--strategy", "direct", "--patience", 0, "--token-timeout"]
    with StandIn([Script("def", ending=Ending.STALL)]).in_thread() as server:
        impatient = desk.run("arena", "tasks.jsonl", "--model", MODEL, "--host", server.host, *options, 1)
    assert impatient.code == 2
    assert "has sent nothing for 1 s:" in impatient.err
    assert "wait longer with --token-timeout" in impatient.err
    with StandIn([Script(RIGHT, pause=0.05)]).in_thread() as server:
        patient = desk.run("arena", "tasks.jsonl", "--model", MODEL, "--host", server.host, *options, 60)
    assert patient.code == 0
    assert [row["right"] for row in rows(desk.folder / "arena.jsonl")] == [True]


def test_a_server_that_is_gone_for_a_while_costs_no_row(desk: Desk) -> None:
    """A request without an answer is the server's failure and not the model's."""
    (desk.folder / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]  # nothing answers there
    options = ["--model", MODEL, "--host", f"127.0.0.1:{port}", "--strategy", "direct", "--samples", "5"]
    gone = desk.run("arena", "tasks.jsonl", *options, "--patience", 0)
    assert gone.code == 2
    assert "3 cells without a row: No Ollama server answers at" in gone.err
    assert gone.error_lines[-1] == "0 of 5 cells are in arena.jsonl: run the same command again to go on."
    assert rows(desk.folder / "arena.jsonl") == []
    command = [sys.executable, "-m", "adacoder", "arena", "tasks.jsonl", *options]
    with subprocess.Popen(
        command, cwd=desk.folder, env={**os.environ, "FORCE_COLOR": "1"}, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        said = ""
        while "2 failures of servers" not in said and run.poll() is None:
            said += run.stderr.read(1)
        with StandIn(lambda _: RIGHT, port=port).in_thread():
            said += run.stderr.read()
    assert run.returncode == 0, said
    assert "failures of models" not in said
    found = rows(desk.folder / "arena.jsonl")
    assert [row["right"] for row in found] == [True] * 5
    assert not [row for row in found if row["failure_of"]]
