"""`adacoder tables` shows the arena's rows in every format."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from adacoder.arena.rows import VERSION, Row
from support.arena_rows import attempt, column, row
from support.commandline import Desk, new_desk


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desk:
    return new_desk(tmp_path, capsys, monkeypatch)


def _rows(desk: Desk, rows: list[Row], name: str = "arena.jsonl") -> Path:
    return desk.write("".join(each.line() for each in rows), name)


BOTH = [*column("direct", "+!--"), *column("adacoder", "++-?")]


def test_our_own_tables_are_shown(desk: Desk) -> None:
    ran = desk.run("tables", _rows(desk, BOTH))
    assert ran.code == 0
    assert "verified but wrong" in ran.out
    assert "humaneval · ollama:small · adacoder" in ran.out
    assert "Comparison" in ran.out
    assert "66.67 (20.8–93.9)" in ran.out


def test_markdown_and_csv_have_the_same_cells(desk: Desk) -> None:
    rows = _rows(desk, BOTH)
    shown = desk.run("tables", rows, "--format", "markdown", "--paper", "adacoder")
    cells = list(csv.DictReader(io.StringIO(desk.run("tables", rows, "--format", "csv", "--paper", "adacoder").out)))
    xi = next(each for each in cells if each["table"] == "AdaCoder, Table XI" and each["column"] == "AdaCoder")
    assert float(xi["value"]) == pytest.approx(2 / 3)
    assert "66\\.67" in shown.out or "66.67" in shown.out


def test_files_are_merged_and_a_cell_counts_once(desk: Desk) -> None:
    one, two = _rows(desk, BOTH[:4], "a.jsonl"), _rows(desk, BOTH, "b.jsonl")
    merged, whole = desk.run("tables", one, two), desk.run("tables", two)
    assert merged.out == whole.out


def test_a_row_of_a_newer_version_is_told_of(desk: Desk) -> None:
    newer = row(9).line().replace(f'"version":{VERSION}', f'"version":{VERSION + 1}', 1)
    path = desk.write(row(0).line() + newer, "arena.jsonl")
    ran = desk.run("tables", path)
    assert ran.code == 2
    assert "Summary" in ran.out
    assert f"A row has version {VERSION + 1}" in ran.err


def test_nothing_to_show_says_what_to_do(desk: Desk) -> None:
    empty = desk.run("tables", desk.write("", "arena.jsonl"))
    assert (empty.code, empty.error_lines) == (
        2,
        [f"There are no rows in {desk.folder / 'arena.jsonl'}: create some with `adacoder arena`."],
    )
    missing = desk.run("tables", desk.folder / "missing.jsonl")
    assert missing.code == 2
    assert "cannot be read" in missing.err


def test_a_report_has_the_journals_beside_the_rows(desk: Desk) -> None:
    desk.write("what was done", "arena.journals/a.md")
    rows = _rows(desk, [row(0, journal="arena.journals/a.md"), row(1, journal="../../etc/passwd")])
    ran = desk.run("tables", rows, "--html", "report.html")
    assert ran.code == 0
    assert "what was done" in (desk.folder / "report.html").read_text(encoding="utf-8")
    nowhere = desk.run("tables", rows, "--html", "missing/report.html")
    assert nowhere.code == 2
    assert "cannot be written" in nowhere.err


def test_a_report_has_no_file_that_only_a_row_names(desk: Desk) -> None:
    secret = "Windermere7"
    for name in (".env", ".ssh/id_rsa", "notes.md", "arena.journals/a.txt", "arena.journals/.env"):
        desk.write(secret, name)
    (desk.folder / "arena.journals" / "link.md").symlink_to(desk.folder / ".env")
    desk.write("what was done", "arena.journals/a.md")
    names = (
        *(".env", ".ssh/id_rsa", "notes.md", "arena.journals/a.txt", "arena.journals/.env", "arena.journals/link.md"),
        *("arena.journals/../.env", "./arena.journals/../notes.md", str(desk.folder / ".env"), "arena.journals/a.md"),
    )
    rows = _rows(desk, [row(number, journal=name) for number, name in enumerate(names)])
    assert desk.run("tables", rows, "--html", "report.html").code == 0
    report = (desk.folder / "report.html").read_text(encoding="utf-8")
    assert "what was done" in report
    assert secret not in report


def test_figures_are_drawn(desk: Desk) -> None:
    pytest.importorskip("matplotlib")
    attempts = (attempt(1), attempt(2, failure=None, right=True))
    rows = _rows(desk, column("adacoder", "++-", attempts=attempts))
    ran = desk.run("tables", rows, "--paper", "adacoder", "--plots", "figures")
    assert ran.code == 0
    assert [path.name for path in (desk.folder / "figures").iterdir()] == ["adacoder-figure-6.svg"]
    values = (("temperature", "0.2"), ("difficulty", "easy"), ("max_iterations", "1"))
    rows = _rows(desk, column("semag", "++-", values=values))
    assert desk.run("tables", rows, "--paper", "semag", "--plots", "others").code == 0
    assert {path.stem for path in (desk.folder / "others").iterdir()} == {f"semag-figure-{n}" for n in (4, 5, 6)}


def test_hostile_names_do_not_reach_the_terminal_as_codes(desk: Desk) -> None:
    rows = _rows(desk, column("direct", "+-", model="evil\x1b[2J[red]x[/red]\u202e"))
    ran = desk.run("tables", rows)
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert "[red]x[/red]" in ran.out


def test_in_a_narrow_terminal_no_column_and_no_word_is_cut(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _rows(desk, BOTH)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    shown = re.sub(r"\x1b\[[0-9;]*m", "", desk.run("tables", rows).out)
    tables = [line for line in shown.splitlines() if line.startswith(" ")]  # text between the tables
    assert max(map(len, tables)) <= 60
    for word in ("ollama:small", "(20.8–93.9)", "cached", "written", "neither"):
        assert word in shown
