"""What the workers of a cluster execute: `cluster.py` has it called by Dask.

For each run that a worker has joined it keeps a stall: a service and a judge, as this machine has them. Nothing is read
or written but in a folder of the stall's own; rows go back to whoever started the run.
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
"""Seconds without a cell after which a worker ends what it keeps: who started the run may have been killed."""
_JOURNALS, _RECORDS = "journals", "records"


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker needs for a run besides the cells' keys."""

    tasks: Mapping[str, ArenaTask]
    settings: Settings
    digest: str
    is_own: bool
    """True if the tasks are from a folder, which the worker must see, too."""
    has_records: bool


@dataclass(frozen=True, slots=True)
class Done:
    """A cell that was done."""

    row: str
    """As a line of a file of rows: it is read like one from anybody."""
    journal: str
    record: str | None


@dataclass(frozen=True, slots=True)
class Trouble:
    """A cell that came to nothing by its server, as of `ServerTrouble`."""

    why: str
    passes: bool


@dataclass(frozen=True, slots=True)
class Unable:
    """A worker on which no cell can be done."""

    why: str


@dataclass(eq=False)
class _Stall:
    """What a worker keeps of a run between cells."""

    bench: Bench
    tasks: Mapping[str, ArenaTask]
    folder: Path
    """A temporary one."""
    under_way: set[asyncio.Task[Row]] = field(default_factory=set)
    ending: asyncio.TimerHandle | None = None

    async def close(self) -> None:
        """End the cells that are under way, and all that was kept."""
        for each in self.under_way:
            each.cancel()
        await asyncio.gather(*self.under_way, return_exceptions=True)
        await self.bench.close()
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)


_STALLS: dict[str, _Stall] = {}
"""By run; of this process, which has one event loop."""
_ENDING: set[asyncio.Task[None]] = set()
"""Keeps what ends stalls from being collected."""


def versions() -> tuple[str, int]:
    """The versions of AdaCoder and of its rows here."""
    return adacoder.__version__, VERSION


async def join(run: str, setup: Setup) -> str | None:
    """Get ready for the cells of a run; returns why that cannot be."""
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
    """Do a cell; None if this worker has not joined the run, or leaves it."""
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
                return Unable(f"what it has kept of a cell cannot be read ({error.strerror}).")
        case ServerTrouble() as trouble:
            return Trouble(str(trouble), trouble.passes)
        case AdaCoderError() as error:
            return Unable(str(error))
        case error:
            raise error


async def leave(run: str) -> None:
    """End all that is kept of a run."""
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
    """Begin to count the time in which no cell comes."""
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
    """`task`, whose module is in no file, with another folder for its workspace."""
    module = task.target.module
    target = replace(task.target, module=replace(module, path=folder / module.path.name, root=folder, top=folder))
    return replace(task, target=target, project=replace(task.project, folder=folder))


def _kept(row: Row, cell: Cell, bench: Bench) -> Done:
    """A row with what was kept of its cell, which goes to whoever started the run."""
    texts: list[str | None] = []
    for folder, name in ((bench.journals, f"{cell.name}.md"), (bench.records, f"{cell.name}.conversation")):
        path = None if folder is None else folder / name
        texts.append(None if path is None or not path.exists() else path.read_text(encoding="utf-8"))
        if path is not None:
            path.unlink(missing_ok=True)
    return Done(row.line(), texts[0] or "", texts[1])
