"""The report that a cluster's worker sends before it joins a run."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

if find_spec("distributed") is None:
    pytest.skip("Dask is not installed: pip install 'adacoder[arena]'", allow_module_level=True)

from adacoder.arena.cells import digest  # imports first, because they may skip the test
from adacoder.arena.dask_worker import Run, refusal, versions
from adacoder.settings import Settings

OURS = versions()


@pytest.fixture
def run() -> Run:
    return Run(Settings(), digest(Settings()), None, has_records=False)


def test_it_joins_where_a_file_of_tasks_is_not(run: Run) -> None:
    assert refusal(OURS, run) is None


def test_it_must_see_the_users_own_code(run: Run, tmp_path: Path) -> None:
    assert refusal(OURS, replace(run, own=tmp_path)) is None  # control: a folder that the worker sees
    missing = tmp_path / "not there"
    why = refusal(OURS, replace(run, own=missing))
    assert why == f"it does not see {missing}: your own code must be at the same path for all workers."


def test_it_must_read_the_settings_alike(run: Run) -> None:
    why = refusal(OURS, replace(run, digest="another"))
    assert why is not None
    assert why.endswith("and not as another: install the same one there.")


def test_it_must_be_the_same_adacoder(run: Run) -> None:
    assert refusal("AdaCoder 9.9.9", run) == f"it has {OURS}, and not AdaCoder 9.9.9."
