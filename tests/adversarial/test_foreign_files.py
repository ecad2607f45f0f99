"""Foreign rows and tasks give a one-line error within limits. Files that only they name are not opened."""

from __future__ import annotations

import gzip
import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from support.arena_rows import row

SECRET = "Windermere7"
MEMORY = 1 << 30
"""Maximum address space of the command in bytes."""
SECONDS = 60
DEEP = "[" * 100_000 + "]" * 100_000


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def adacoder(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in `folder` with little memory and time."""
    command = [sys.executable, "-m", "adacoder", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, preexec_fn=_limited)


def one_sentence(ran: subprocess.CompletedProcess[str], code: int) -> str:
    assert ran.returncode == code, ran
    assert len(ran.stderr.splitlines()) == 1, ran.stderr
    return ran.stderr


LINE = row(1).line().rstrip("\n")
FIELDS = json.loads(LINE)
ROWS = {
    "deep": DEEP,
    "deep in a member": LINE.replace('"T/1"', DEEP, 1),
    "a list for a number": json.dumps({**FIELDS, "calls": [1]}),
    "a truth for a number": json.dumps({**FIELDS, "calls": True}),
    "a number for a name": json.dumps({**FIELDS, "model": 7}),
    "nothing for a name": json.dumps({**FIELDS, "task": None}),
    "no number": json.dumps({**FIELDS, "seconds": float("nan")}),
    "without end": LINE.replace('"seconds"', '"seconds": 1e400, "more"', 1),
    "below zero": json.dumps({**FIELDS, "rounds": -1}),
    "many digits": LINE.replace('"seed":', f'"seed": {"9" * 10_000}, "more":', 1),
    "twice": LINE.replace('"task":', '"task": "T/0", "task":', 1),
}


@pytest.mark.parametrize("line", ROWS.values(), ids=ROWS)
def test_a_harmful_row_is_named_by_its_line(line: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(f"{LINE}\n{line}\n{row(2).line()}", encoding="utf-8")
    assert one_sentence(adacoder(tmp_path, "tables", "rows.jsonl"), 2).startswith("Line 2 of rows.jsonl ")
    (tmp_path / "rows.jsonl").write_text(f"{LINE}\n{row(2).line()}", encoding="utf-8")
    ran = adacoder(tmp_path, "tables", "rows.jsonl")
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "tasks.jsonl.gz", "wb", compresslevel=1) as packed:
        for _ in range(300):
            packed.write(b" " * (1 << 20))
    ran = adacoder(tmp_path, "arena", "tasks.jsonl.gz", "--model", "ollama:none", "--strategy", "direct")
    assert "tasks.jsonl.gz" in one_sentence(ran, 2)


def test_no_row_has_a_file_shown(tmp_path: Path) -> None:
    (tmp_path / "rows.journals").mkdir()
    (tmp_path / "rows.journals/real.md").write_text("what was done", encoding="utf-8")
    for name in (".env", "id_rsa", "rows.journals/notes.txt"):
        (tmp_path / name).write_text(SECRET, encoding="utf-8")
    (tmp_path / "rows.journals/link.md").symlink_to(tmp_path / ".env")
    names = [".env", "id_rsa", "rows.journals/notes.txt", "rows.journals/link.md", "rows.journals/../.env"]
    names += [str(tmp_path / ".env"), "rows.journals/real.md\0.env", "rows.journals/real.md"]
    (tmp_path / "rows.jsonl").write_text("".join(row(n, journal=name).line() for n, name in enumerate(names)), "utf-8")
    ran = adacoder(tmp_path, "tables", "rows.jsonl", "--html", "report.html")
    assert ran.returncode == 0, ran.stderr
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "what was done" in report
    assert SECRET not in report
