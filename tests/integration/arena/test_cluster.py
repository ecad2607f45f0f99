"""Run `adacoder arena --dask` on a cluster of real processes, some of which are killed."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import pytest

if find_spec("distributed") is None:
    pytest.skip("Dask is not installed: pip install 'adacoder[arena]'", allow_module_level=True)

import adacoder
from adacoder.arena.rows import RowsReader  # imports first, because they may skip the tests
from support.dask_cluster import CANARY, CELLS, LONG, Site, by_seed, site, until
from support.standins.server import Script

OFFERS = ("--nthreads", "2", "--resources", "openai=2")
OTHER = "import adacoder; adacoder.__version__ = '9.9.9'"
NONE = "import sys; sys.modules['adacoder'] = None"
IMPATIENT = "from adacoder.arena import cluster; cluster._CONNECTS = 1.0"
PYTHON = "import platform; platform.python_version_tuple = lambda: ('2', '7', '18')"


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as opened:
        yield opened


def told(path: Path) -> dict[object, object]:
    """Return the parts of rows that are the same in every run. Check that they are right or wrong by their seed."""
    rows = list(RowsReader().rows(path))
    assert [row.right for row in rows] == [row.seed is not None and row.seed % 2 == 0 for row in rows]
    assert len({row.key for row in rows}) == len(rows)
    assert all(row.journal and (path.parent / row.journal).read_text() for row in rows)
    return {row.key: (row.status, row.judged, row.candidate, row.calls, row.attempts, row.programs) for row in rows}


def test_the_same_rows_as_on_one_machine(at: Site) -> None:
    at.cluster.work("one", *OFFERS)
    at.cluster.work("two", *OFFERS)
    code, said = at.on_cluster("--record", "records").end()
    assert code == 0, said
    code, said = at.start(rows="local.jsonl").end()
    assert code == 0, said
    rows = told(at.rows)
    assert len(rows) == CELLS
    assert rows == told(at.folder / "local.jsonl")
    assert len(list((at.folder / "records").iterdir())) == CELLS
    assert "HumanEval" not in str(at.server.requests)
    assert "double" in str(at.server.requests)  # control: a visible text is found
    assert CANARY not in str(at.server.requests)
    written = [path for path in at.folder.rglob("*") if path.is_file() and path.name != "tasks.jsonl"]
    assert not [path for path in written if CANARY in path.read_text()]
    assert at.on_cluster().end()[0] == 0
    assert at.count == CELLS


def test_workers_that_are_killed_cost_no_row_and_others_take_over(at: Site) -> None:
    at.cluster.work("one", *OFFERS)
    at.cluster.work("two", *OFFERS)
    run = at.on_cluster()
    until(lambda: at.count >= 3)
    at.cluster.kill("one")
    until(lambda: at.count >= 6)
    at.cluster.kill("two")
    at.cluster.work("three", *OFFERS)
    code, said = run.end()
    assert code == 0, said
    assert len(told(at.rows)) == at.count == CELLS


@pytest.mark.rest
def test_others_repeat_the_cells_of_a_worker_that_hangs(tmp_path: Path) -> None:
    with site(tmp_path, starts=False) as at:
        at.cluster.environment = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "10 s"}
        at.cluster.schedule()
        at.cluster.work("one", *OFFERS)
        at.cluster.work("two", *OFFERS)
        run = at.on_cluster()
        until(lambda: at.count >= 3)
        at.cluster.running["one"].send_signal(signal.SIGSTOP)
        code, said = run.end()
        assert code == 0, said
        assert at.cluster.running["one"].poll() is None
        assert len(told(at.rows)) == at.count == CELLS


@pytest.mark.rest
def test_when_the_scheduler_is_killed_another_run_goes_on(at: Site) -> None:
    at.cluster.work("one", *OFFERS)
    run = at.on_cluster()
    until(lambda: at.count >= 3)
    at.cluster.kill("scheduler")
    code, said = run.end()
    assert code == 2
    assert said[-1].startswith(f"The Dask scheduler at {at.cluster.address} does not answer: start it")
    assert said[-1].endswith(f"{at.count} of {CELLS} cells are in rows.jsonl: run the same command again to go on.")
    assert len(said) == 2
    before = at.rows.read_bytes()
    at.cluster.kill("one")
    at.cluster.schedule()
    at.cluster.work("one", *OFFERS)
    assert at.on_cluster().end()[0] == 0
    assert at.rows.read_bytes().startswith(before)
    assert len(told(at.rows)) == at.count == CELLS


@pytest.mark.rest
def test_ctrl_c_ends_what_is_under_way_and_says_how_to_go_on(at: Site) -> None:
    answered = count()
    at.server.replies = lambda body: by_seed(body) if next(answered) < 3 else Script("", load=10 * LONG)
    at.cluster.work("one", *OFFERS)
    run = at.on_cluster()
    until(lambda: at.count == 3 and len(at.server.requests) == 5)  # two requests fill the worker's slots
    run.process.send_signal(signal.SIGINT)
    code, said = run.end()
    assert code == 130
    kept = f"Interrupted. {at.count} of {CELLS} cells are in rows.jsonl: run the same command again to go on."
    assert said[-1] == kept
    assert len(said) == 2
    until(lambda: at.server.connections == 0)  # no worker sends requests any more
    at.server.replies = by_seed
    assert at.on_cluster().end()[0] == 0
    assert len(told(at.rows)) == at.count == CELLS


def overlaps(at: Site) -> int:
    """Return how often a chat started while another one was running."""
    going, found = 0, 0
    for event in at.server.events:
        what = event.rpartition(" ")[0]
        found += what == "request" and going > 0
        going += (what == "request") - (what == "done")
    return found


@pytest.mark.rest
def test_a_server_with_one_slot_gets_one_cell_at_a_time(at: Site) -> None:
    at.cluster.work("one", "--nthreads", "4", "--resources", "openai=1")
    assert at.on_cluster().end()[0] == 0
    assert overlaps(at) == 0
    at.rows.unlink()
    at.cluster.work("two", "--nthreads", "4", "--resources", "openai=3")
    assert at.on_cluster().end()[0] == 0
    assert overlaps(at) > 0  # control: with more slots, chats overlap


@pytest.mark.rest
def test_a_worker_with_another_adacoder_is_left_out(at: Site) -> None:
    at.cluster.work("other", *OFFERS, before=OTHER)
    at.cluster.work("none", *OFFERS, before=NONE)
    at.cluster.work("python", *OFFERS, before=PYTHON)
    code, said = at.on_cluster().end()
    assert code == 2
    assert "is left out: it has AdaCoder 9.9.9, Python 3" in "\n".join(said)
    assert f"and not AdaCoder {adacoder.__version__}, Python 3" in "\n".join(said)
    assert "is left out: it cannot run AdaCoder: pip install 'adacoder[arena]==" in "\n".join(said)
    assert f"is left out: it has AdaCoder {adacoder.__version__}, Python 2.7 and Dask" in "\n".join(said)
    assert said[-1].startswith(f"No worker of the cluster at {at.cluster.address} offers 'openai'")
    at.cluster.work("same", *OFFERS)
    code, said = at.on_cluster().end()
    assert code == 0
    assert sum("is left out" in line for line in said) == 3
    assert len(told(at.rows)) == CELLS


@pytest.mark.rest
@pytest.mark.parametrize(("before", "why"), [(OTHER, "has AdaCoder 9.9.9"), (NONE, "cannot run AdaCoder: pip install")])
def test_a_scheduler_with_another_adacoder_is_named(before: str, why: str, tmp_path: Path) -> None:
    with site(tmp_path, starts=False) as at:
        at.cluster.schedule(before=before)
        at.cluster.work("one", *OFFERS)
        code, said = at.on_cluster().end()
    assert code == 2
    assert said[-1].startswith(f"The Dask scheduler at {at.cluster.address} {why}")


def test_no_scheduler_is_told_in_a_sentence(tmp_path: Path) -> None:
    with site(tmp_path, starts=False) as at:
        at.cluster.address = "tcp://127.0.0.1:1"
        code, said = at.on_cluster(before=IMPATIENT).end()
    assert code == 2
    assert said == ["No Dask scheduler answers at tcp://127.0.0.1:1: start one with `dask scheduler`."]
