"""Files of rows: valid and invalid rows, and only one writer at a time."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adacoder.arena.html import page
from adacoder.arena.papers import tables
from adacoder.arena.rows import (
    VERSION,
    DesignedTests,
    Judged,
    Row,
    RowAttempt,
    RowsError,
    RowsFile,
    RowsReader,
    parse,
)
from adacoder.arena.tables import as_csv, markdown
from adacoder.domain import Tokens

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
    tokens=Tokens(812, 428, cached=540),
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
    reading = RowsReader()
    assert list(reading.rows(path)) == [ROW]
    (told,) = reading.troubles
    assert "version 2" in told


async def test_a_compressed_file_is_read_and_a_damaged_one_is_told_of(tmp_path: Path) -> None:
    whole, cut, damaged = (tmp_path / f"{name}.jsonl.gz" for name in ("whole", "cut", "damaged"))
    packed = gzip.compress(ROW.line().encode() * 100)
    whole.write_bytes(packed)
    assert list(RowsReader().rows(whole)) == [ROW] * 100
    cut.write_bytes(packed[:-20])
    damaged.write_bytes(packed[:20] + b"\xff" * 20 + packed[40:])
    for path in (cut, damaged):
        with pytest.raises(RowsError, match=rf"{path.name} is compressed and damaged: copy it again"):
            list(RowsReader().rows(path))
    with pytest.raises(RowsError, match="name another file"):
        RowsFile(whole)
    assert whole.read_bytes() == packed


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
    await file.add(replace(ROW, sample=1))  # the disk has room again
    await file.close()
    assert [row.sample for row in RowsReader().rows(path)] == [0, 1]


ODD = [
    *("null", "true", "-1", "1.5", "1e400", "NaN", "Infinity", "9" * 400, '"7"', '"\\ud800"', "[]", "[[]]", "{}"),
    *('{"a": 1}', "[" * 100_000, '{"a":' * 100_000, '"=cmd()"', '"</script>\\u001b[2J"'),
]
"""Values that at least one member of a row must not have."""


def members(told: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield every member of a row, with the members inside it."""
    for name, value in told.items():
        yield told, name
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                yield from members(inner)


def with_odd_members() -> Iterator[str]:
    """Yield a row for each member and each of the values in `ODD`."""
    told = json.loads(ROW.line())
    for holder, name in [*members(told)]:
        right, holder[name] = holder[name], "ODD"
        line = json.dumps(told)
        holder[name] = right
        yield from (line.replace('"ODD"', odd) for odd in ODD)


def test_a_member_of_another_type_makes_no_row_or_one_that_every_table_can_show() -> None:
    read = [row for line in with_odd_members() for row in [parse(line)] if row is not None]
    assert len({*map(repr, read)}) > len(ODD)  # any text is a valid name
    assert all(type(row.seconds) in (int, float) and type(row.sample) is int for row in read)
    for row in (ROW, *read):
        found = tables([ROW, replace(row, sample=1)], ks=(2,))
        for text in (as_csv(found), page(found, [row]), *map(markdown, found)):
            text.encode()


@pytest.mark.parametrize("odd", ["[]", "-1", "1.5", "true", "null", '"1"', "9" * 400, "NaN", "1e400", "[" * 100_000])
def test_a_count_that_is_none(odd: str) -> None:
    line = ROW.line().replace('"rounds":0', f'"rounds":{odd}')
    assert line != ROW.line()
    assert parse(line) is None


def test_a_key_that_occurs_twice_or_a_part_larger_than_its_whole_makes_no_row() -> None:
    assert parse(ROW.line().replace('"rounds":0', '"rounds":0,"rounds":1')) is None
    assert parse(ROW.line().replace('"right_on_canonical":4', '"right_on_canonical":6')) is None


async def test_what_is_no_row_is_named_by_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    await write(path, ROW)
    path.write_bytes(path.read_bytes() + b"[" * 100_000 + b"\n")
    reading = RowsReader()
    assert list(reading.rows(path)) == [ROW]
    assert reading.troubles == (f"Line 2 of {path} is not a row of the arena, and was left out.",)
    path.write_bytes(b"\xff\xfe" + b"\n" + path.read_bytes())
    reading = RowsReader()
    assert list(reading.rows(path)) == [ROW]
    assert reading.troubles == (
        f"2 lines are not rows of the arena, and were left out. The first is line 1 of {path}.",
    )


def test_a_line_without_end_is_not_held_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with path.open("wb") as file:
        file.write(ROW.line().encode())
        file.truncate(150 << 20)  # a file of zeros takes no space on disk
        file.seek(0, 2)
        file.write(b"\n" + ROW.line().encode())
    reading = RowsReader()
    tracemalloc.start()
    try:
        assert list(reading.rows(path)) == [ROW, ROW]
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()
    assert reading.unread == 1


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "loop", "nothing"])
def test_what_is_no_file_has_no_rows(kind: str, tmp_path: Path) -> None:
    path = Path("/dev/zero") if kind == "device" else tmp_path / "rows"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path)
    with pytest.raises(RowsError, match="cannot be read"):
        list(RowsReader().rows(path))
    if kind != "nothing":
        with pytest.raises(RowsError, match=r"cannot be written|left as it is"):
            RowsFile(path)
