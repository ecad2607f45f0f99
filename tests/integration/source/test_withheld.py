"""A module with hidden docstrings runs, and findings have the right positions."""

from __future__ import annotations

from pathlib import Path

import pytest

from adacoder.domain import Candidate
from adacoder.project import Project
from adacoder.service import Service
from adacoder.settings import Settings
from adacoder.source.locate import locate
from adacoder.task import Task
from support.evaluating import Workspace

pytestmark = pytest.mark.isolation

FUNCTION = '''def f(x):
    """One more.

    >>> f(1)
    2
    """
'''
READER = '''def described(function):
    """A decorator of another module."""
    if not (function.__doc__ or "").strip():
        raise ValueError("no description")
    return function
'''
DECORATED = "from reader import described\n\n\n@described\n" + FUNCTION


async def test_a_module_that_cannot_be_imported_without_docstrings_runs_as_it_is_written(tmp_path: Path) -> None:
    Workspace(tmp_path).write({"reader.py": READER, "mod.py": DECORATED + "    pass\n"})
    path = tmp_path / "mod.py"
    chosen = locate(path.read_text(encoding="utf-8"), path, tmp_path, qualname="f")
    service = Service()
    settings = Settings(max_iterations=0)
    outcomes = [
        await service.run(Task(chosen, settings, Project(tmp_path), start=Candidate(f"def f(x):\n    return {value}")))
        for value in ("x + 1", "x")
    ]
    await service.close()
    right, wrong = outcomes
    assert right.status == "verified"
    assert wrong.status == "failed"
    for outcome in outcomes:
        assert outcome.verdict is not None
        assert any("reads docstrings" in note for note in outcome.verdict.notes)


async def test_a_failure_is_told_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "mod.py").write_text(FUNCTION + "    pass\n", encoding="utf-8")
    chosen = locate(FUNCTION + "    pass\n", tmp_path / "mod.py", tmp_path, qualname="f")
    service = Service()
    settings = Settings(max_iterations=0)
    candidate = Candidate("def f(x):\n    y = 0\n    return x / y")
    outcome = await service.run(Task(chosen, settings, Project(tmp_path), start=candidate))
    await service.close()
    assert outcome.verdict is not None
    assert outcome.verdict.failure is not None
    assert outcome.verdict.failure.line == 8
