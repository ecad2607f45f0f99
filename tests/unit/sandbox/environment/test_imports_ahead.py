"""The modules to import in advance are read once for all candidates in the same text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adacoder.domain import Module
from adacoder.sandbox.environment import imports_ahead
from adacoder.sandbox.environment.imports_ahead import Ahead, ImportsAhead
from adacoder.sandbox.program import Program

AROUND = "import csv\n{above}\n\n\n", "\n\n\nimport wave\n"
ONE = "def f():\n    return 1"
LONG = 3600.0
"""A number of seconds that no test takes."""
OTHER = "def f():\n    import zipfile\n\n    return 22"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were read, in order."""
    texts: list[str] = []
    read = imports_ahead._ahead

    def counted(text: str, *others: Any) -> Ahead:
        texts.append(text)
        return read(text, *others)

    monkeypatch.setattr(imports_ahead, "_ahead", counted)
    return texts


def program(folder: Path, function: str, above: str = "", name: str = "mod", ending: str = "\n") -> Program:
    before = AROUND[0].format(above=above)
    text = f"{before}{function}{AROUND[1]}".replace("\n", ending)
    first = before.count("\n") + 1
    return Program(Module(folder / f"{name}.py", name, folder), text, "f", first, first + function.count("\n"))


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
async def test_another_candidate_is_nothing_to_read(tmp_path: Path, reads: list[str], ending: str) -> None:
    ahead = ImportsAhead(tmp_path, LONG)
    first = await ahead.of(program(tmp_path, ONE, ending=ending))
    assert {"import csv", "import wave"} <= set(first.statements)
    assert await ahead.of(program(tmp_path, OTHER, ending=ending)) is first
    assert await ahead.of(program(tmp_path, ONE, ending=ending)) is first
    assert [text for text in reads if "def f" in text or "zipfile" in text] == [], "what is around it counts"
    assert len(reads) == 1


async def test_another_text_around_it_is(tmp_path: Path, reads: list[str]) -> None:
    ahead = ImportsAhead(tmp_path, LONG)
    first = await ahead.of(program(tmp_path, ONE))
    second = await ahead.of(program(tmp_path, ONE, above="import sched"))
    assert "import sched" in set(second.statements) - set(first.statements)
    assert await ahead.of(program(tmp_path, ONE)) == first
    assert len(reads) == 3


async def test_so_is_the_next_moment_and_a_file_that_came(tmp_path: Path) -> None:
    ahead = ImportsAhead(tmp_path, LONG)
    assert "import csv" in (await ahead.of(program(tmp_path, ONE))).statements
    (tmp_path / "csv.py").touch()
    now = await ahead.of(program(tmp_path, ONE))
    assert ("import csv" not in now.statements, "csv" in now.own) == (True, True), "it is the project's own now"
    (tmp_path / "csv.py").write_text("import sched")
    assert await ahead.of(program(tmp_path, ONE)) is now, "for a moment what was found is taken for granted"
    soon = ImportsAhead(tmp_path, recheck_seconds=1e-9)
    assert "import sched" in (await soon.of(program(tmp_path, ONE))).statements
    (tmp_path / "csv.py").write_text("import shelve")
    assert "import shelve" in (await soon.of(program(tmp_path, ONE))).statements


async def test_modules_are_told_apart(tmp_path: Path, reads: list[str]) -> None:
    ahead = ImportsAhead(tmp_path, LONG)
    for _ in range(2):
        for name in ("one", "two"):
            assert name in (await ahead.of(program(tmp_path, ONE, name=name))).own
    assert len(reads) == 2
