"""A pool of a few templates, which are warm interpreters from which evaluations are forked.

A template is ended when it is idle, and replaced when a file that it imported changes.
"""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from adacoder.sandbox.isolation import MOST_MEMORY
from adacoder.sandbox.isolation.scratch import is_overfull
from adacoder.sandbox.process import WARM_SECONDS, Evaluation, Recipe, TemplateProcess
from adacoder.sandbox.unavailable import SandboxError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

PAUSE_SECONDS = 0.01
"""Processes for the next evaluations are forked when no evaluation has run for this many seconds."""
_CLOCK_TICK = 20_000_000
"""Resolution of the file system's timestamps, in nanoseconds. A second change within this time may leave a file's
timestamp unchanged.
"""
_MOST_BOOTS = 3
"""Maximum number of attempts to start a template. The last attempt runs no imports, because an import may have caused
the failure.
"""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Limits of a pool. Times are in seconds."""

    spares: int
    """Number of processes that each template has ready while no evaluation runs."""
    most: int = 3
    """Maximum number of templates."""
    idle: float = 60.0
    """A template that was not used for this time is ended."""
    growth: int = 64 << 20
    """A template that has grown by this many bytes is replaced, because forking a large process takes longer."""
    recheck: float = 1.0
    """Time between two checks for changes of imported files."""
    every: float = 0.5
    """Minimum time between the starts of two templates that only make evaluations faster.

    Without this limit, `check` would start a template for each of its many files.
    """
    warm: float = WARM_SECONDS
    """Timeout of one import in a template."""


class TemplatePool:
    """Provides processes for evaluations. Each instance belongs to one event loop, and its owner must close it."""

    def __init__(self, evaluations: int, upkeep: Upkeep) -> None:
        """`evaluations` is the maximum number of concurrent evaluations."""
        self._slots = 2 * evaluations + upkeep.spares
        self._upkeep = upkeep
        self._keepers: list[_Keeper] = []
        """The owners of the templates, the most recently used last."""
        self._retired: set[_Keeper] = set()
        """Owners of templates that get no new evaluations. Each template ends after its last evaluation."""
        self._refused: set[str] = set()
        """Import statements that broke a template, or had effects that evaluations cannot share."""
        self._ending: set[asyncio.Task[None]] = set()
        self._next_made = 0.0
        """Earliest monotonic time for the next start of a template that only makes evaluations faster."""
        self._closed = False

    def begin(self, recipe: Recipe) -> None:
        """Start a template for evaluations of `recipe`."""
        self._keeper(recipe)

    async def ready(self, recipe: Recipe) -> None:
        """Wait until there is a template for evaluations of `recipe`.

        Raises:
            SandboxError: the interpreter does not start.
        """
        await self._keeper(recipe).ready()

    async def take(self, recipe: Recipe) -> Taken:
        """Take a process for an evaluation. The caller must give the process back.

        Raises:
            SandboxError: the interpreter does not start.
        """
        keeper = self._keeper(recipe)
        try:
            return await keeper.take()
        except SandboxError:
            self._retire(keeper)
            if not keeper.booted:
                raise
        # The template broke, so try a new template.
        return await self._keeper(recipe).take()

    async def close(self) -> None:
        """End every process, and start no more."""
        self._closed = True
        await asyncio.sleep(0)  # Let pending callbacks give back processes first.
        for keeper in [*self._keepers, *self._retired]:
            self._end(keeper)
        while self._ending:
            await asyncio.wait(self._ending)

    def _keeper(self, recipe: Recipe) -> _Keeper:
        if self._closed:
            raise SandboxError("The sandbox was closed.")
        for keeper in [*self._keepers]:
            if not keeper.usable:
                self._retire(keeper)
        fitting = [keeper for keeper in self._keepers if keeper.recipe.serves(recipe)]
        if not fitting:
            fitting = [self._add(recipe.common)]
        best = max(fitting, key=lambda keeper: (keeper.booted, len(keeper.recipe.ahead.statements)))
        best.compile(recipe.ahead.files)
        self._keepers.remove(best)
        self._keepers.append(best)
        now = time.monotonic()
        if recipe not in [keeper.recipe for keeper in self._keepers] and now >= self._next_made:
            self._next_made = now + self._upkeep.every
            self._add(recipe, beside=best)  # Later evaluations can use this template.
        return best

    def _add(self, recipe: Recipe, beside: _Keeper | None = None) -> _Keeper:
        idle = [keeper for keeper in self._keepers if not keeper.running and keeper is not beside]
        for keeper in idle[: max(0, 1 + len(self._keepers) - self._upkeep.most)]:
            self._end(keeper)
        keeper = _Keeper(recipe, self._refused, self._slots, self._upkeep, self._rested)
        self._keepers.append(keeper)
        return keeper

    def _retire(self, keeper: _Keeper) -> None:
        """Give a template no new evaluations, and end it after its last evaluation."""
        if keeper in self._keepers:
            self._keepers.remove(keeper)
            self._retired.add(keeper)
        if not keeper.running:
            self._end(keeper)

    def _rested(self, keeper: _Keeper, is_idle: bool) -> None:
        """Handle a template that runs no evaluation at the moment.

        End the template if it is idle or retired. If no template runs an evaluation, fork processes for later
        evaluations. `is_idle` is True if nothing has used the template for some time.
        """
        if is_idle or keeper in self._retired:
            self._end(keeper)
        # Do not fork while an evaluation runs, because a fork would slow it down.
        if not any(each.running for each in (*self._keepers, *self._retired)):
            for each in self._keepers:
                each.fork_ahead()

    def _end(self, keeper: _Keeper) -> None:
        for keepers in (self._keepers, self._retired):
            if keeper in keepers:
                keepers.remove(keeper)
                task = asyncio.create_task(keeper.end())
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)


class Taken:
    """A process reserved for one evaluation."""

    def __init__(self, keeper: Lender, template: TemplateProcess, evaluation: Evaluation) -> None:
        self._keeper = keeper
        self._template = template
        self.evaluation = evaluation
        self._status: int | None = None
        self.overfull = False
        """True if the process was ended because it wrote too much."""
        self.crowded = False
        """True if the process was ended because it started too many threads."""
        self.greedy = False
        """True if the process was ended because it took too much memory."""

    @property
    def gone(self) -> bool:
        """True if the template has ended, and the process with it."""
        return self._template.gone

    @property
    def holds(self) -> bool:
        """True if the process can see no known private file."""
        return self._template.holds

    @property
    def folder(self) -> Path | None:
        """Folder on disk that the process may write to, or None if the folder is in memory.

        The size of a folder in memory is limited anyway.
        """
        scratch = self._template.scratch_on_disk
        return None if scratch is None else scratch / str(self.evaluation.slot)

    async def status(self) -> int | None:
        """Return the exit status of a process that closed its connection.

        If a signal killed the process, return the negative number of the signal. Return None if the template has ended,
        or if the process still runs, as only hostile code does.
        """
        if await self.evaluation.ended() and not self.gone:
            self.evaluation.kill()
            with suppress(SandboxError):
                self._status, overfull = await self._template.reap(self.evaluation)
                self.overfull |= overfull
        return self._status

    def has_too_much_memory(self) -> bool:
        """Return whether the process holds more memory than an evaluation may."""
        return self.evaluation.memory() > max(MOST_MEMORY, self._template.resident() + MOST_MEMORY // 2)

    def is_overfull(self) -> bool:
        """Return whether the process wrote too much to a disk. This is slow, so run it in a thread."""
        folder = self.folder
        return folder is not None and is_overfull(str(folder), self.evaluation.pid)

    def give_back(self) -> None:
        """Kill the process."""
        self._keeper.give_back(None if self._status is not None else self.evaluation)


class Lender(Protocol):
    """An object from which processes are taken, and which takes them back."""

    def give_back(self, evaluation: Evaluation | None) -> None:
        """Take back the process of an evaluation.

        `evaluation` is None if the template has already reaped the process.
        """


class _Keeper:
    """The owner of one template, which starts and ends the template and forks processes ahead."""

    def __init__(self, recipe: Recipe, refused: set[str], slots: int, upkeep: Upkeep, rested: Rested) -> None:
        self.recipe = recipe
        self.running = 0
        """Number of evaluations that use or wait for a process of this template."""
        self._refused = refused
        self._rested = rested
        self._upkeep = upkeep
        self._ahead: list[asyncio.Task[Evaluation]] = []
        """Processes that were forked for later evaluations."""
        self._stamps = _Stamps((), 0, 0.0)
        self._size = 0
        self._grown = False
        self._idle: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._compiled: set[Path] = set()
        self._compiling: set[asyncio.Task[bool]] = set()
        self._put_aside: set[Evaluation] = set()
        """Processes of past evaluations that the template has not reaped yet."""
        self._boot = asyncio.create_task(self._start(slots))

    @property
    def booted(self) -> bool:
        """True if the template's interpreter has started."""
        return self._boot.done() and not self._boot.cancelled() and self._boot.exception() is None

    @property
    def usable(self) -> bool:
        """True if new evaluations can use this template, because it is starting, or is alive and up to date."""
        if not self._boot.done():
            return True
        template = self._boot.result() if self.booted else None
        if template is None or not template.alive or self._grown:
            return False
        return template.is_current and not self._stamps.changed()

    def compile(self, files: Iterable[Path]) -> None:
        """Compile files of the project in the template, so that evaluations need not do it."""
        if self.booted and not self._compiled.issuperset(files):
            task = asyncio.create_task(self._compile(self._boot.result(), files))
            self._compiling.add(task)
            task.add_done_callback(self._compiling.discard)

    async def ready(self) -> None:
        """Wait until the template has started.

        Raises:
            SandboxError: the interpreter does not start.
        """
        await asyncio.shield(self._boot)

    async def take(self) -> Taken:
        """Take a process. The caller must give the process back.

        Raises:
            SandboxError: as for `ready`, or the template broke later.
        """
        self.running += 1
        if self._idle is not None:
            self._idle.cancel()
        try:
            await self.ready()
            template = self._boot.result()
            while True:
                is_spare = bool(self._ahead)
                process = self._ahead.pop(0) if is_spare else asyncio.create_task(template.fork())
                if len(self._ahead) < min(self.running, self._upkeep.spares):
                    # The next evaluation often follows soon, so fork its process now.
                    self._ahead.append(asyncio.create_task(template.fork()))
                try:
                    evaluation = await asyncio.shield(process)
                except asyncio.CancelledError:
                    if process.cancelled():  # `end` has cancelled the fork, but not this call.
                        raise SandboxError("The sandbox was ended meanwhile.") from None
                    self._ahead.append(process)
                    raise
                if evaluation.alive or not is_spare:
                    return Taken(self, template, evaluation)
                self._put_away(template, evaluation)
        except BaseException:
            self._rest()
            raise

    def fork_ahead(self) -> None:
        """Fork processes for later evaluations.

        This makes evaluations faster. Of 220 evaluations, the fastest 5 % took up to 13 ms in a process that was forked
        before, and up to 42 ms otherwise. A trial run in each new process saved only another 2 ms, so there is none.
        """
        if self.booted and self._boot.result().alive:
            while len(self._ahead) < self._upkeep.spares:
                self._ahead.append(asyncio.create_task(self._boot.result().fork()))

    def give_back(self, evaluation: Evaluation | None) -> None:
        """Implement `Lender.give_back`."""
        template = self._boot.result()
        if evaluation is not None:
            self._put_away(template, evaluation)
        self._rest()

    async def end(self) -> None:
        """End the template and all its processes."""
        if self._idle is not None:
            self._idle.cancel()
        waiting = [self._boot, *self._tasks, *self._compiling, *self._ahead]
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        spares = [spare.result() for spare in self._ahead if not spare.cancelled() and spare.exception() is None]
        for evaluation in (*spares, *self._put_aside):
            evaluation.kill()
            evaluation.close()
        if self.booted:
            await self._boot.result().end()

    async def _start(self, slots: int) -> TemplateProcess:
        for boots in range(1, _MOST_BOOTS + 1):
            began = time.time_ns()
            template = await TemplateProcess.boot(self.recipe, slots)
            self._compiled.clear()
            try:
                if boots == _MOST_BOOTS or await self._warm(template):
                    self._stamps = _Stamps(await template.settle(), began, self._upkeep.recheck)
                    self._size = template.resident()
                    asyncio.get_running_loop().call_soon(self._wait_for_use)
                    return template
            except BaseException:
                await template.end()
                raise
            await template.end()
        raise AssertionError("the last boot imports nothing")

    async def _warm(self, template: TemplateProcess) -> bool:
        """Run the imports of the recipe. Return False if the template must not be used."""
        for statement in self.recipe.ahead.statements:
            if statement not in self._refused:
                try:
                    good = await template.warm(statement, self._upkeep.warm)
                except SandboxError:
                    good = False
                if not good:
                    self._refused.add(statement)
                    return False
        return await self._compile(template, self.recipe.ahead.files)

    async def _compile(self, template: TemplateProcess, files: Iterable[Path]) -> bool:
        """Compile files of the project. Return False if the template must not be used."""
        for file in files:
            if str(file) not in self._refused and file not in self._compiled:
                self._compiled.add(file)
                try:
                    await template.compile(file)
                except SandboxError:
                    self._refused.add(str(file))
                    return False
        return True

    def _put_away(self, template: TemplateProcess, evaluation: Evaluation) -> None:
        """Kill a process, and let its template reap it."""
        evaluation.kill()
        self._put_aside.add(evaluation)
        task = asyncio.create_task(self._reap(template, evaluation))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reap(self, template: TemplateProcess, evaluation: Evaluation) -> None:
        with suppress(SandboxError):  # If the template is broken, the next call raises the error.
            await template.reap(evaluation)
            self._put_aside.discard(evaluation)
            self._grown = template.resident() > self._size + self._upkeep.growth

    def _rest(self) -> None:
        self.running -= 1
        self._wait_for_use()

    def _wait_for_use(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        if not self.running:
            self._idle = asyncio.get_running_loop().call_later(PAUSE_SECONDS, self._pause)

    def _pause(self) -> None:
        self._idle = asyncio.get_running_loop().call_later(self._upkeep.idle, self._rested, self, True)
        self._rested(self, False)


Rested: TypeAlias = "Callable[[_Keeper, bool], None]"
"""A callback for a template that has become idle. The second argument is True after a long idle time."""


class _Stamps:
    """Detects changes of files."""

    def __init__(self, files: Iterable[Path], since: int, recheck: float) -> None:
        """`since` is a time before the files were read, in nanoseconds. `recheck` is the time between checks, in
        seconds.
        """
        self._recheck = recheck
        self._known = _stamps(files)
        # A file that changed recently may have been read before the change.
        self._changed = any(stamp is not None and stamp[0] >= since - _CLOCK_TICK for stamp in self._known.values())
        self._due = time.monotonic() + recheck

    def changed(self) -> bool:
        """Return whether the last check found a changed file."""
        now = time.monotonic()
        if self._changed or now < self._due:
            return self._changed
        self._due = now + self._recheck
        return self._known != _stamps(self._known)


def _stamps(files: Iterable[Path]) -> dict[Path, tuple[int, int, int] | None]:
    return {file: _stamp(file) for file in files}


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(file)  # noqa: PTH116  # called for many files, many times a minute
    except (OSError, ValueError):  # Python raises ValueError for an invalid name.
        return None
    return found.st_ctime_ns, found.st_size, found.st_ino
