"""Run the cells of a comparison. Each model server runs as many cells at a time as it has slots.

A Carrier runs the cells: the Bench on this machine, or `cluster.py` on a cluster. A cell that has a row is not run
again. A cell whose server failed has no row. It is retried for a while, and then left to the next run. A run may end at
any time. The rows that it wrote are complete.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from adacoder.arena.cells import Cell, Plan, ServerTrouble
from adacoder.arena.rows import Row, RowsFile, RowsReader

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 30.0
"""Maximum seconds between two tries at a failed server. Each pause is twice as long as the previous one."""
_GIVES_UP = 3
"""After this many consecutive lasting failures, the remaining cells of a model are not tried."""
_LOOKS = 1.0
"""Seconds between two checks for more slots of a server."""


class Carrier(Protocol):
    """Runs cells, on this machine or elsewhere."""

    def server_of(self, model: str) -> str:
        """Return the name of a model's server. The name never changes."""
        ...

    def slots_of(self, server: str) -> int:
        """Return the number of cells that a server currently works on at a time."""
        ...

    async def done(self, cell: Cell) -> Row:
        """Run a cell, and return its row.

        Raises:
            ServerTrouble: the cell failed for a reason that is not its model's fault.
            AdaCoderError: no cell can be run.
        """
        ...


@dataclass
class Column:
    """The results of a model with a strategy so far."""

    done: int = 0
    right: int = 0
    verified: int = 0
    verified_but_wrong: int = 0

    def count(self, row: Row) -> None:
        """Count a row."""
        self.done += 1
        self.right += row.right is True
        self.verified += row.status == "verified"
        self.verified_but_wrong += row.status == "verified" and row.right is False

    @property
    def share(self) -> float:
        """Share of right cells."""
        return self.right / self.done if self.done else 0.0


@dataclass
class RunProgress:
    """The progress of a run."""

    total: int
    """Number of cells in the whole comparison."""
    done: int = 0
    """Number of cells with a row, including rows from earlier runs."""
    done_before: int = 0
    tokens: int = 0
    model_failures: int = 0
    """Number of cells in which the model gave no reply."""
    server_failures: int = 0
    """Number of tries that failed because of a server or its surroundings."""
    waiting: str = ""
    """The latest server failure, while the run waits for the server to recover; empty if there is none."""
    troubles: dict[str, int] = field(default_factory=dict)
    """For each reason, the number of cells that have no row."""
    columns: dict[tuple[str, str], Column] = field(default_factory=dict)
    """Columns by model and strategy."""
    began: float = field(default_factory=time.monotonic)

    @property
    def eta(self) -> float | None:
        """Estimated seconds until the end, from the cells so far; None before the first new cell."""
        new = self.done - self.done_before
        return (time.monotonic() - self.began) / new * (self.total - self.done) if new else None

    @property
    def best(self) -> tuple[tuple[str, str], Column] | None:
        """The best column so far."""
        return max(self.columns.items(), key=lambda item: item[1].share, default=None)

    def count(self, row: Row) -> None:
        """Count a row."""
        self.done += 1
        self.tokens += row.tokens.prompt + row.tokens.completion
        self.model_failures += row.failure_of == "model"
        self.columns.setdefault((row.model, row.strategy), Column()).count(row)


Hear = Callable[[RunProgress], None]
"""A function that is called whenever the progress of a run changes."""


@dataclass
class Runner:
    """A run of a comparison."""

    plan: Plan
    carrier: Carrier
    rows: RowsFile
    patience: float = 600.0
    """Maximum seconds for which a cell is retried while its server fails."""
    slots: int | None = None
    """Number of cells that run at a time on each server; None if the carrier decides."""
    hear: Hear = lambda progress: None

    async def run(self) -> RunProgress:
        """Run all cells that have no row. Return the final progress.

        Raises:
            RowsError: a row cannot be written.
            AdaCoderError: the cells cannot be run.
        """
        progress = RunProgress(len(self.plan))
        if self.rows.done:
            mine = {cell.key for cell in self.plan.cells(self.plan.models)}
            for row in RowsReader().rows(self.rows.path):
                if row.key in mine:
                    mine.remove(row.key)
                    progress.count(row)
        progress.done_before = progress.done
        self.hear(progress)
        async with asyncio.TaskGroup() as group:
            for name, models in self._servers().items():
                group.create_task(_ServerCells(self, name, progress, self.plan.cells(models)).work())
        return progress

    def _servers(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for model in self.plan.models:
            found.setdefault(self.carrier.server_of(model), []).append(model)
        return found


class _ServerCells:
    """The cells of one server. As many cells run at a time as the server has slots."""

    def __init__(self, runner: Runner, name: str, progress: RunProgress, cells: Iterator[Cell]) -> None:
        self._runner = runner
        self._name = name
        self._progress = progress
        self._cells = cells
        self._under_way: set[asyncio.Task[None]] = set()
        self._failed: dict[str, int] = {}
        """Number of consecutive lasting failures, by model."""

    async def work(self) -> None:
        """Run all cells that have no row."""
        async with asyncio.TaskGroup() as group:
            for cell in self._cells:
                if cell.key in self._runner.rows.done:
                    continue
                await self._room()
                if self._failed.get(cell.model, 0) < _GIVES_UP:
                    self._under_way.add(group.create_task(self._do(cell)))

    async def _room(self) -> None:
        """Wait until another cell may start. The number of slots may grow during the wait."""
        while len(self._under_way) >= max(1, self._runner.slots or self._runner.carrier.slots_of(self._name)):
            _, self._under_way = await asyncio.wait(
                self._under_way, timeout=_LOOKS, return_when=asyncio.FIRST_COMPLETED
            )

    async def _do(self, cell: Cell) -> None:
        row = await self._patiently(cell)
        if row is not None:
            await self._runner.rows.add(row)
            self._progress.count(row)
            self._runner.hear(self._progress)

    async def _patiently(self, cell: Cell) -> Row | None:
        """Run a cell and return its row, with retries while its server fails; None if the cell cannot be run."""
        end, pause, progress = None, _FIRST_PAUSE, self._progress
        while True:
            try:
                row = await self._runner.carrier.done(cell)
            except ServerTrouble as trouble:
                progress.server_failures += 1
                end = time.monotonic() + self._runner.patience if end is None else end
                left = end - time.monotonic()
                if not trouble.passes or left <= 0:
                    self._failed[cell.model] = self._failed.get(cell.model, 0) + 1
                    progress.troubles[str(trouble)] = progress.troubles.get(str(trouble), 0) + 1
                    self._runner.hear(progress)
                    return None
                progress.waiting = str(trouble)
                self._runner.hear(progress)
                await asyncio.sleep(min(pause, left))
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                self._failed[cell.model], progress.waiting = 0, ""
                return row
