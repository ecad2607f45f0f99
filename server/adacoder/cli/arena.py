"""`adacoder arena`: compare models and workflows on tasks, and show the progress."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from adacoder import programs
from adacoder.arena.cells import Bench, Plan
from adacoder.arena.cluster import Cluster, connected, require_trusted
from adacoder.arena.formats import load
from adacoder.arena.hub import NAMES, download
from adacoder.arena.judge import HiddenJudge
from adacoder.arena.own_code import tasks_of
from adacoder.arena.rows import RowsFile
from adacoder.arena.runner import Carrier, Runner, RunProgress
from adacoder.arena.tasks import TasksError, TaskSet
from adacoder.cli import COULD_NOT_RUN, INTERRUPTED
from adacoder.cli.choices import Choices, Told
from adacoder.cli.terminal import complain, console, moving_line
from adacoder.domain import AdaCoderError
from adacoder.messages import counted
from adacoder.settings import Settings
from adacoder.strategies import strategy_named

_EVERY_SECONDS = 30.0
"""Seconds between two lines of progress if the output is not a terminal."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Options of `adacoder arena`."""

    tasks: Path
    only: str
    strategies: tuple[str, ...]
    models: tuple[str, ...]
    samples: int
    rows: Path
    records: Path | None
    replays: Path | None
    slots: int | None
    patience: float
    downloads: bool
    """True to download the tasks from the dataset hub. `tasks` is then their name there."""
    dask: str | None
    """Address of a Dask scheduler that distributes the cells; None to run them on this machine."""
    dask_without_tls: bool
    """True to accept an unencrypted connection to a scheduler on another machine."""


def compare(wanted: Wanted, values: Mapping[str, object]) -> int:
    """Run `adacoder arena`. Return the exit code."""
    comparison = _Comparison(wanted, Choices(values, Told()).settings(Path.cwd()))
    try:
        return programs.run(comparison.carry_out())
    except KeyboardInterrupt:
        complain(f"Interrupted. {comparison.kept}")
        return INTERRUPTED
    except AdaCoderError as error:
        complain(f"{error} {comparison.kept}".rstrip())
    except ExceptionGroup as group:
        known, rest = group.split(AdaCoderError)
        if rest is not None or known is None:
            raise
        complain(f"{_first(known)} {comparison.kept}".rstrip())
    return COULD_NOT_RUN


def _first(group: BaseExceptionGroup[AdaCoderError]) -> AdaCoderError:
    error = group.exceptions[0]
    return _first(error) if isinstance(error, BaseExceptionGroup) else error


class _Comparison:
    def __init__(self, wanted: Wanted, settings: Settings) -> None:
        self._wanted = wanted
        self._settings = settings
        self._progress: RunProgress | None = None

    @property
    def kept(self) -> str:
        """Sentence that says how many cells of the arena have a result, and how to continue; empty before the first
        cell.
        """
        progress = self._progress
        if progress is None:
            return ""
        return (
            f"{progress.done} of {counted(progress.total, 'cell')} are in {self._wanted.rows}:"
            " run the same command again to go on."
        )

    async def carry_out(self) -> int:
        """Run all cells of the arena and report the results. Return the exit code."""
        wanted, settings = self._wanted, self._settings
        place = await asyncio.to_thread(_downloaded, wanted.tasks) if wanted.downloads else wanted.tasks
        for name in wanted.strategies:
            strategy_named(name)
        if wanted.dask is not None and wanted.replays is not None:
            raise AdaCoderError("--replay needs no model and no cluster: leave --dask out.")
        if wanted.dask is not None:
            require_trusted(wanted.dask, without_tls=wanted.dask_without_tls)
        rows = RowsFile(wanted.rows)
        journals = wanted.rows.parent / f"{wanted.rows.stem}.journals"
        bench = Bench.opened(settings, journals, wanted.records, wanted.replays)
        try:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(connected(wanted.dask)) if wanted.dask else None
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="adacoder-arena-"))
                tasks = await wanted_tasks(place, wanted.only, settings, Path(folder))
                plan = Plan(await fit(tasks, bench.judge), wanted.models, wanted.strategies, wanted.samples, settings)
                carrier: Carrier = bench
                if client is not None:
                    own = _real(place) if place.is_dir() else None
                    cluster = Cluster(client, plan, wanted.rows, wanted.records, complain, own=own)
                    carrier = await stack.enter_async_context(cluster)
                with _ProgressLine() as shown:
                    runner = Runner(
                        plan, carrier, rows, wanted.patience, wanted.slots, lambda to: self._hear(to, shown)
                    )
                    progress = await runner.run()
        finally:
            await bench.close()
            await rows.close()
        return self._end(progress, rows)

    def _hear(self, progress: RunProgress, shown: _ProgressLine) -> None:
        self._progress = progress
        shown.show(progress)

    def _end(self, progress: RunProgress, rows: RowsFile) -> int:
        out = console()
        for (model, strategy), column in progress.columns.items():
            out.print(
                f"{model} · {strategy}: {column.right} of {column.done} right ({column.share:.1%}),"
                f" {column.verified} verified, of these {column.verified_but_wrong} wrong"
            )
        for why in rows.reading.troubles:
            complain(why)
        for why, number in progress.troubles.items():
            complain(f"{counted(number, 'cell')} without a row: {why}")
        if progress.done < progress.total:
            complain(self.kept)
            return COULD_NOT_RUN
        return 0


def _downloaded(name: Path) -> Path:
    """Return the file with the tasks `name`. Download it from the dataset hub if needed.

    Raises:
        TasksError: the tasks cannot be downloaded.
    """
    path = download(str(name), Path.cwd())
    complain(f"The tasks are in {path.name}.")
    return path


async def wanted_tasks(path: Path, only: str, settings: Settings, folder: Path) -> TaskSet:
    """Load the tasks at `path` whose names match the pattern `only`.

    Tasks without a workspace of their own get `folder`.

    Raises:
        TasksError: no task matches, or two tasks have the same name.
    """
    if _is_folder(path):
        found = await tasks_of(_real(path), settings)
    else:
        found = await asyncio.to_thread(load, path, _real(folder))
    name, number = next(iter(Counter(task.id for task in found.tasks).most_common(1)), ("", 0))
    if number > 1:
        raise TasksError(f"{path} has {number} tasks named '{name}': give each task its own name.")
    tasks = [task for task in found.tasks if fnmatchcase(task.id, only)]
    if not tasks:
        raise TasksError(f"No task in {path} is named '{only}'.")
    return replace(found, tasks=tasks)


async def fit(tasks: TaskSet, judge: HiddenJudge) -> TaskSet:
    """Return the tasks whose own solution passes on this machine. Print why the other tasks are left out."""
    out = console(stderr=True)
    for why in tasks.left_out:
        out.print(f"Left out: {why}")
    out.print(f"{counted(len(tasks.tasks), 'task')} of {tasks.dataset}: trying their own solutions first.")
    unfit = await judge.unfit(tasks.tasks)
    for task in unfit:
        out.print(f"Left out: {task.id}: its own solution does not pass its hidden tests here.")
    return replace(tasks, tasks=[task for task in tasks.tasks if task not in unfit])


def _is_folder(path: Path) -> bool:
    """Return True for a folder of the user's code, False for a file of tasks.

    Raises:
        TasksError: `path` does not exist.
    """
    if not path.exists():
        raise TasksError(
            f"There are no tasks at {path}: name a file of tasks, or a folder of Python code."
            f" --download fetches {', '.join(NAMES)}."
        )
    return path.is_dir()


def _real(path: Path) -> Path:
    return path.resolve()


class _ProgressLine:
    """Shows the progress. On a terminal, one line moves; elsewhere, a new line is printed from time to time."""

    def __init__(self) -> None:
        self._console = console(stderr=True)
        self._line = moving_line(self._console)
        self._told = time.monotonic()

    def __enter__(self) -> _ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.hide()

    def show(self, progress: RunProgress) -> None:
        lines = told(progress)
        if self._console.is_terminal:
            self._line.show("\n".join(lines))
        elif time.monotonic() - self._told >= _EVERY_SECONDS:
            self._told = time.monotonic()
            self._console.print(" · ".join(lines))


def told(progress: RunProgress) -> Sequence[str]:
    """Return lines about the progress: the counts, the best result so far, and the reason for a wait."""
    parts = [f"{progress.done:,} of {counted(progress.total, 'cell')}"]
    if progress.eta is not None:
        parts.append(f"{_duration(progress.eta)} left")
    parts.append(f"{progress.tokens:,} tokens")
    if progress.model_failures:
        parts.append(f"{counted(progress.model_failures, 'failure')} of models")
    if progress.server_failures:
        parts.append(f"{counted(progress.server_failures, 'failure')} of servers")
    lines = [" · ".join(parts)]
    if progress.best is not None:
        (model, strategy), column = progress.best
        lines.append(f"best so far: {column.share:.1%} right with {model} · {strategy}")
    if progress.waiting:
        lines.append(f"waiting: {progress.waiting}")
    return lines


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if minutes else f"{rest} s"
