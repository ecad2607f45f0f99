"""Code that the workers of a cluster execute. `cluster.py` has Dask call it.

For each run that it has joined, a worker keeps a stall: a service and a judge, as on a single machine. It reads and
writes only in the stall's own folder. Rows go back to the process that started the run.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import adacoder
from adacoder.arena.cells import Bench, Cell, ServerTrouble, digest
from adacoder.arena.rows import VERSION, Key, Row
from adacoder.arena.tasks import ArenaTask
from adacoder.domain import AdaCoderError
from adacoder.settings import Settings

_IDLE = 300.0
"""Seconds without a cell after which a worker ends its stall, because the run may have been killed."""
_JOURNALS, _RECORDS = "journals", "records"


@dataclass(frozen=True, slots=True)
class Setup:
    """Data that a worker needs for a run, apart from the cells' keys."""

    tasks: Mapping[str, ArenaTask]
    settings: Settings
    digest: str
    is_own: bool
    """True if the tasks are from a folder. The worker must see the folder as well."""
    has_records: bool


@dataclass(frozen=True, slots=True)
class Done:
    """A finished cell."""

    row: str
    """A line of a file of rows. Like every row, it is parsed as foreign text."""
    journal: str
    record: str | None


@dataclass(frozen=True, slots=True)
class Trouble:
    """A cell that failed, but not because of its model, as in `ServerTrouble`."""

    why: str
    passes: bool


@dataclass(frozen=True, slots=True)
class Unable:
    """The worker cannot do any cell."""

    why: str


@dataclass(eq=False)
class _Stall:
    """State of a run that a worker keeps between cells."""

    bench: Bench
    tasks: Mapping[str, ArenaTask]
    folder: Path
    """A temporary folder."""
    under_way: set[asyncio.Task[Row]] = field(default_factory=set)
    ending: asyncio.TimerHandle | None = None

    async def close(self) -> None:
        """Cancel the cells under way, end the bench and remove the folder."""
        for each in self.under_way:
            each.cancel()
        await asyncio.gather(*self.under_way, return_exceptions=True)
        await self.bench.close()
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)


_STALLS: dict[str, _Stall] = {}
"""Stalls of this process by run. The process has one event loop."""
_ENDING: set[asyncio.Task[None]] = set()
"""References to the tasks that end stalls, so that they are not garbage-collected."""


def versions() -> tuple[str, int]:
    """Return the versions of AdaCoder and of its rows in this process."""
    return adacoder.__version__, VERSION


async def join(run: str, setup: Setup) -> str | None:
    """Get ready for the cells of a run. Return the reason if that is impossible."""
    if (own := digest(setup.settings)) != setup.digest:
        return f"its AdaCoder reads the settings as {own}, and not as {setup.digest}: install the same one there."
    unseen = next((task.project.folder for task in setup.tasks.values() if not task.project.folder.is_dir()), None)
    if setup.is_own and unseen is not None:
        return f"it does not see {unseen}: your own code must lie at the same place for all workers."
    if run not in _STALLS:
        folder = await asyncio.to_thread(_new_folder)
        bench = Bench.opened(setup.settings, folder / _JOURNALS, folder / _RECORDS if setup.has_records else None)
        tasks = setup.tasks if setup.is_own else {name: _moved(task, folder) for name, task in setup.tasks.items()}
        _STALLS[run] = _Stall(bench, tasks, folder)
        _end_when_idle(run)
    return None


async def do(run: str, key: Key) -> Done | Trouble | Unable | None:
    """Do a cell; None if this worker has not joined the run, or is leaving it."""
    stall = _STALLS.get(run)
    if stall is None:
        return None
    cell = Cell(stall.tasks[key[2]], key)
    with _under_way(run, stall, asyncio.create_task(stall.bench.done(cell))) as work:
        await asyncio.wait({work})
    if work.cancelled():
        return None
    match work.exception():
        case None:
            try:
                return await asyncio.to_thread(_kept, work.result(), cell, stall.bench)
            except OSError as error:
                return Unable(f"its results of a cell cannot be read ({error.strerror}).")
        case ServerTrouble() as trouble:
            return Trouble(str(trouble), trouble.passes)
        case AdaCoderError() as error:
            return Unable(str(error))
        case error:
            raise error


async def leave(run: str) -> None:
    """End the stall of a run."""
    stall = _STALLS.pop(run, None)
    if stall is not None:
        await stall.close()


@contextmanager
def _under_way(run: str, stall: _Stall, work: asyncio.Task[Row]) -> Iterator[asyncio.Task[Row]]:
    stall.under_way.add(work)
    try:
        yield work
    finally:
        stall.under_way.discard(work)
        _end_when_idle(run)


def _end_when_idle(run: str) -> None:
    """Restart the timer that ends an idle stall."""
    stall = _STALLS.get(run)
    if stall is None:
        return
    if stall.ending is not None:
        stall.ending.cancel()

    def end() -> None:
        if not stall.under_way:
            _ENDING.add(task := asyncio.ensure_future(leave(run)))
            task.add_done_callback(_ENDING.discard)

    stall.ending = asyncio.get_running_loop().call_later(_IDLE, end)


def _new_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="adacoder-arena-")).resolve()


def _moved(task: ArenaTask, folder: Path) -> ArenaTask:
    """Return `task` with another workspace folder. Its module does not exist as a file."""
    module = task.target.module
    target = replace(task.target, module=replace(module, path=folder / module.path.name, root=folder, top=folder))
    return replace(task, target=target, project=replace(task.project, folder=folder))


def _kept(row: Row, cell: Cell, bench: Bench) -> Done:
    """Return a row with its journal and recorded conversation, and delete their files on this worker."""
    texts: list[str | None] = []
    for folder, name in ((bench.journals, f"{cell.name}.md"), (bench.records, f"{cell.name}.conversation")):
        path = None if folder is None else folder / name
        texts.append(None if path is None or not path.exists() else path.read_text(encoding="utf-8"))
        if path is not None:
            path.unlink(missing_ok=True)
    return Done(row.line(), texts[0] or "", texts[1])
