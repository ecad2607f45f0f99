"""What a cluster's worker says before it joins a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from adacoder.arena.cells import digest
from adacoder.arena.dask_worker import Setup, join, leave
from adacoder.arena.formats import load
from adacoder.settings import Settings

TASK = {
    "task_id": "HumanEval/0",
    "prompt": 'def double(x):\n    """Twice x.\n\n    >>> double(2)\n    4\n    """\n',
    "entry_point": "double",
    "canonical_solution": "    return 2 * x\n",
    "test": "def check(candidate):\n    assert candidate(21) == 42\n",
}


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    (tmp_path / "tasks.jsonl").write_text(json.dumps(TASK) + "\n")
    tasks = load(tmp_path / "tasks.jsonl", tmp_path / "not there")
    settings = Settings()
    return Setup({each.id: each for each in tasks.tasks}, settings, digest(settings), is_own=False, has_records=False)


async def test_it_joins_where_a_file_of_tasks_is_not(setup: Setup) -> None:
    assert await join("run", setup) is None
    await leave("run")


async def test_it_must_see_the_users_own_code(setup: Setup, tmp_path: Path) -> None:
    why = await join("run", replace(setup, is_own=True))
    assert why == f"it does not see {tmp_path}/not there: your own code must lie at the same place for all workers."


async def test_it_must_read_the_settings_alike(setup: Setup) -> None:
    why = await join("run", replace(setup, digest="another"))
    assert why is not None
    assert why.endswith("and not as another: install the same one there.")
