"""Files of rows: what is read, what is not, and one writer at a time."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from adacoder.arena.rows import (
    VERSION,
    DesignedTests,
    Judged,
    Reading,
    Row,
    RowAttempt,
    RowsError,
    RowsFile,
    Spent,
    merged,
    parse,
)

ROW = Row(
    task="HumanEval/0",
    dataset="humaneval",
    checksum="sha256:0",
    model="m",
    strategy="adacoder",
    sample=0,
    settings="d",
    seed=1,
    status="verified",
    right=True,
    judged=Judged("passed"),
    candidate="def f(): ...",
    tokens=Spent(812, 540, 428),
    attempts=(RowAttempt(1, 1, "programming_assistant", "wrong_output", (1, 3), False, True, ("r",), 12),),
    tests=DesignedTests(5, 4, 0.8),
)


async def write(path: Path, *rows: Row) -> None:
    file = RowsFile(path)
    await asyncio.gather(*map(file.add, rows))
    await file.close()


def test_a_row_is_read_as_it_was_written() -> None:
    line = ROW.line()
    assert line.startswith('{"version":1,')
    assert parse(line) == ROW


def test_a_member_that_is_not_known_is_passed_over() -> None:
    assert parse(json.dumps({**json.loads(ROW.line()), "mood": "good"})) == ROW


@pytest.mark.parametrize("line", ["", "{", "[]", '{"version": 1}', ROW.line()[:-9]])
def test_what_is_no_row(line: str) -> None:
    assert parse(line) is None


async def test_a_row_of_a_newer_version_says_so(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    await write(path, ROW)
    newer = json.dumps({**json.loads(ROW.line()), "version": VERSION + 1})
    path.write_text(path.read_text() + f"{newer}\n{newer}\n")
    reading = Reading()
    assert list(reading.rows(path)) == [ROW]
    (told,) = reading.troubles
    assert "version 2" in told


async def test_two_runs_merge_to_each_cell_once(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    other = replace(ROW, sample=1)
    await write(one, ROW)
    await write(two, replace(ROW, right=False), other)
    assert list(merged([one, two])) == [ROW, other]


async def test_only_one_run_writes(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    file = RowsFile(path)
    with pytest.raises(RowsError, match="Another run"):
        RowsFile(path)
    await file.close()
    await write(path, ROW)


async def test_a_disk_that_is_full_leaves_whole_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.jsonl"
    file = RowsFile(path)
    await file.add(ROW)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("adacoder.arena.rows.os.fsync", full)
        with pytest.raises(RowsError, match="No space left"):
            await file.add(replace(ROW, sample=1))
    assert path.read_bytes() == before
    await file.add(replace(ROW, sample=1))  # when there is room again
    await file.close()
    assert [row.sample for row in Reading().rows(path)] == [0, 1]
