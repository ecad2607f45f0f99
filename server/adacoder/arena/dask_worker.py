"""Functions that run in the Dask workers, for `cluster.py`.

They return JSON, because the process that started the run accepts no pickles.
"""

from __future__ import annotations

import asyncio
import json
import platform
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from uuid import uuid4

import adacoder
from adacoder.arena.cells import Bench, Cell, ServerTrouble, digest
from adacoder.arena.rows import Row
from adacoder.arena.tasks import ArenaTask
from adacoder.domain import AdaCoderError
from adacoder.settings import Settings

_IDLE = 300.0
"""Seconds without a cell after which a worker stops its processes. The run may have been killed."""


@dataclass(frozen=True, slots=True)
class Run:
    """Data that all cells of a run share."""

    settings: Settings
    digest: str
    own: Path | None
    """Folder of the user's own code, at the same path on every worker."""
    has_records: bool
    id: str = field(default_factory=lambda: uuid4().hex)


@dataclass(frozen=True, slots=True)
class CellAnswer:
    """The result of a cell. The receiver must validate this result, because workers are not trusted."""

    row: str = ""
    """The row as JSON; empty if the cell has no row."""
    journal: str = ""
    record: str | None = None
    why: str = ""
    """Reason for a missing row."""
    is_trouble: bool = False
    """True if only this cell failed; False if the worker cannot run cells at all."""
    passes: bool = False


@dataclass(eq=False)
class _Open:
    """State of a run that a worker keeps between cells."""

    bench: Bench
    folder: Path
    under_way: set[asyncio.Task[Row]] = field(default_factory=set)
    ending: asyncio.TimerHandle | None = None


_OPEN: dict[str, _Open] = {}
"""Active runs of this worker process, by the run's id."""
_LEFT: set[str] = set()
"""Ids of ended runs, which accept no more cells."""


def versions() -> str:
    """Return the versions that all processes of a run must share."""
    python = ".".join(platform.python_version_tuple()[:2])
    return f"AdaCoder {adacoder.__version__}, Python {python} and Dask {version('distributed')}"


def refusal(theirs: str, run: Run) -> str | None:
    """Return the reason why this worker cannot take part in a run, or None."""
    if theirs != versions():
        return f"it has {versions()}, and not {theirs}."
    if (ours := digest(run.settings)) != run.digest:
        return f"its AdaCoder reads the settings as {ours}, and not as {run.digest}: install the same one there."
    if run.own is not None and not run.own.is_dir():
        return f"it does not see {run.own}: your own code must be at the same path for all workers."
    return None


async def do(run: Run, cell: Cell) -> str:
    """Run a cell and return a `CellAnswer` as JSON."""
    return json.dumps(asdict(await _answer(run, cell)))


async def _answer(run: Run, cell: Cell) -> CellAnswer:
    if run.id in _LEFT:
        return CellAnswer(why="it has left the run.")
    opened = _OPEN.get(run.id) or _opened(run)
    here = cell if run.own is not None else replace(cell, task=_moved(cell.task, opened.folder))
    with _under_way(run, opened, asyncio.create_task(opened.bench.done(here))) as work:
        await asyncio.wait({work})
    if work.cancelled():
        return CellAnswer(why="it has left the run.")
    try:
        return await asyncio.to_thread(_kept, work.result(), cell, opened.bench)
    except ServerTrouble as trouble:
        return CellAnswer(why=str(trouble), is_trouble=True, passes=trouble.passes)
    except AdaCoderError as error:
        return CellAnswer(why=str(error))
    except OSError as error:
        return CellAnswer(why=f"it cannot read its own files ({error.strerror}).")


async def leave(run: str) -> None:
    """End a run on this worker: cancel the run's cells, stop its processes, and remove its folder."""
    _LEFT.add(run)
    await _close(run)


async def _close(run: str) -> None:
    opened = _OPEN.pop(run, None)
    if opened is None:
        return
    for each in opened.under_way:
        each.cancel()
    await asyncio.gather(*opened.under_way, return_exceptions=True)
    await opened.bench.close()
    await asyncio.to_thread(shutil.rmtree, opened.folder, ignore_errors=True)


def _opened(run: Run) -> _Open:
    folder = Path(tempfile.mkdtemp(prefix="adacoder-arena-")).resolve()
    bench = Bench.opened(run.settings, folder / "journals", folder / "records" if run.has_records else None)
    return _OPEN.setdefault(run.id, _Open(bench, folder))


@contextmanager
def _under_way(run: Run, opened: _Open, work: asyncio.Task[Row]) -> Iterator[asyncio.Task[Row]]:
    """Keep a run active during `work` and for `_IDLE` seconds afterwards."""
    if opened.ending is not None:
        opened.ending.cancel()
    opened.under_way.add(work)
    try:
        yield work
    finally:
        opened.under_way.discard(work)
        if not opened.under_way:
            loop = asyncio.get_running_loop()
            opened.ending = loop.call_later(_IDLE, lambda: loop.create_task(_close(run.id)))


def _moved(task: ArenaTask, folder: Path) -> ArenaTask:
    """Return `task` with `folder` as its workspace. No file is copied, because the task's module is only in memory."""
    module = task.target.module
    target = replace(task.target, module=replace(module, path=folder / module.path.name, root=folder, top=folder))
    return replace(task, target=target, project=replace(task.project, folder=folder))


def _kept(row: Row, cell: Cell, bench: Bench) -> CellAnswer:
    """Return the row, journal and recording of a cell, and delete their files on this worker."""
    texts: list[str | None] = []
    for folder, name in ((bench.journals, f"{cell.name}.md"), (bench.records, f"{cell.name}.conversation")):
        path = None if folder is None else folder / name
        texts.append(None if path is None or not path.exists() else path.read_text(encoding="utf-8"))
        if path is not None:
            path.unlink(missing_ok=True)
    return CellAnswer(row.line(), texts[0] or "", texts[1])
