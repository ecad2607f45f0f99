"""Run all cells of a comparison, several at a time on each model server.

A carrier runs the cells: `Bench` on this machine, or `Cluster` on a cluster. If the server of a cell fails, the runner
retries the cell for a while. A cell that still fails gets no row, so the next run repeats the cell.

A run can be stopped at any time without losing finished rows.
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
"""Maximum pause before a retry, in seconds. Pauses double from one retry to the next."""
_GIVES_UP = 3
"""Number of permanent failures in a row after which the rest of a model's cells is skipped."""
_LOOKS = 1.0
"""Seconds between two checks whether a server has new slots."""


class Carrier(Protocol):
    """Runs cells, on this machine or elsewhere."""

    def server_of(self, model: str) -> str:
        """Return a name for the server that runs a model. The name must not change during a run."""
        ...

    def slots_of(self, server: str) -> int:
        """Return the number of cells that a server can run in parallel now."""
        ...

    async def done(self, cell: Cell) -> Row:
        """Run a cell and return its row.

        Raises:
            ServerTrouble: the cell failed, and the model is not the cause.
            AdaCoderError: no cell can be run.
        """
        ...


@dataclass
class Column:
    """Results of one model with one strategy so far."""

    done: int = 0
    right: int = 0
    verified: int = 0
    verified_but_wrong: int = 0

    def count(self, row: Row) -> None:
        """Add a row."""
        self.done += 1
        self.right += row.right is True
        self.verified += row.status == "verified"
        self.verified_but_wrong += row.status == "verified" and row.right is False

    @property
    def share(self) -> float:
        """Share of cells that are right."""
        return self.right / self.done if self.done else 0.0


@dataclass
class RunProgress:
    """Progress of a run."""

    total: int
    """Number of cells in the comparison."""
    done: int = 0
    """Number of cells with a row, including rows from earlier runs."""
    done_before: int = 0
    tokens: int = 0
    model_failures: int = 0
    """Number of cells that failed because of the model."""
    server_failures: int = 0
    """Number of tries that failed because of a server or its environment."""
    waiting: str = ""
    """Message about a server's latest failure while the run waits for the server; empty otherwise."""
    troubles: dict[str, int] = field(default_factory=dict)
    """Number of cells without a row, by reason."""
    columns: dict[tuple[str, str], Column] = field(default_factory=dict)
    """Results by model and strategy."""
    began: float = field(default_factory=time.monotonic)

    @property
    def eta(self) -> float | None:
        """Estimated seconds until the end; None before the first new cell."""
        new = self.done - self.done_before
        return (time.monotonic() - self.began) / new * (self.total - self.done) if new else None

    @property
    def best(self) -> tuple[tuple[str, str], Column] | None:
        """The column with the largest share of right cells."""
        return max(self.columns.items(), key=lambda item: item[1].share, default=None)

    def count(self, row: Row) -> None:
        """Add a row."""
        self.done += 1
        self.tokens += row.tokens.prompt + row.tokens.completion
        self.model_failures += row.failure_of == "model"
        self.columns.setdefault((row.model, row.strategy), Column()).count(row)


Hear = Callable[[RunProgress], None]
"""Function that is called when the progress changes."""


@dataclass
class Runner:
    """A run of a comparison."""

    plan: Plan
    carrier: Carrier
    rows: RowsFile
    patience: float = 600.0
    """Seconds for which a cell is retried while its server fails."""
    slots: int | None = None
    """Number of cells to run in parallel on each server. With None, the carrier decides."""
    hear: Hear = lambda progress: None

    async def run(self) -> RunProgress:
        """Run all cells that have no row, and return the final progress.

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
    """Runs the cells of one server, several at a time."""

    def __init__(self, runner: Runner, name: str, progress: RunProgress, cells: Iterator[Cell]) -> None:
        self._runner = runner
        self._name = name
        self._progress = progress
        self._cells = cells
        self._under_way: set[asyncio.Task[None]] = set()
        self._failed: dict[str, int] = {}
        """Number of permanent failures in a row, by model."""

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
        """Wait until another cell may start."""
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
        """Run a cell and return its row, or None if no row could be made. Retry while the cell's server fails."""
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
