"""Functions without a body, as people write them, are found, solved and verified. The rest of the file is unchanged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from adacoder.domain import Edit, Status, Target
from adacoder.project import Project
from adacoder.service import from_reply
from adacoder.settings import Settings
from adacoder.source.locate import functions
from adacoder.source.text import SourceFile, apply_edits, read, write
from adacoder.task import Task
from support.paths import FIXTURES
from support.scripted import Desk

STUBS = FIXTURES / "stubs"
SOLUTIONS: dict[str, str] = json.loads((STUBS / "solutions.json").read_text(encoding="utf-8"))
UNVERIFIABLE = {"shop/prices.py::is_free"}
"""Functions without an example."""


def stubs(folder: Path) -> dict[str, tuple[SourceFile, Target]]:
    found = {}
    for path in sorted(folder.rglob("*.py")):
        file = read(path)
        for target in (one.target for one in functions(file.text, path, folder)):
            if target.is_stub:
                found[f"{path.relative_to(folder).as_posix()}::{target.qualname}"] = (file, target)
    return found


def test_every_stub_has_a_solution() -> None:
    assert stubs(STUBS).keys() == SOLUTIONS.keys()
    assert len(SOLUTIONS) >= 12


@pytest.mark.isolation
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("label", SOLUTIONS)
async def test_a_stub_is_solved_and_its_file_stays_as_it_is(label: str, one_desk: Desk) -> None:
    folder = one_desk.folder
    shutil.copytree(STUBS, folder, dirs_exist_ok=True)
    file, target = stubs(folder)[label]
    candidate = from_reply(f"Here it is:\n```python\n{SOLUTIONS[label]}\n```\n", target)
    outcome = await one_desk.service.recheck(Task(target, Settings(), Project(folder), start=candidate))
    assert outcome.reason is None or label in UNVERIFIABLE
    assert outcome.status is (Status.UNVERIFIED if label in UNVERIFIABLE else Status.VERIFIED)
    write(file, apply_edits(file.text, outcome.edits), file.path.parent)
    assert_only_the_body_changed(file, target, outcome.edits)


def assert_only_the_body_changed(file: SourceFile, target: Target, edits: tuple[Edit, ...]) -> None:
    """Check the bytes of the file before and after the body. Only imports that the candidate needs may be new."""
    data = file.path.read_bytes()
    after = file.data[len(file.encode(file.text[: target.body.end])) :]
    assert data.endswith(after)
    brought = [edit for edit in edits if edit.start < target.body.start]
    before = apply_edits(file.text[: target.body.start], brought)
    assert data.startswith(file.encode(before))
    changed = file.encode(apply_edits(file.text, edits))
    assert data == changed
    assert data.count(b"\r\n") == (data.count(b"\n") if b"\r\n" in file.data else 0)
    assert data.endswith(b"\n") == file.data.endswith(b"\n")
    assert file.data != data
