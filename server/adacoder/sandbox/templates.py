"""The warm templates of one Host: few, each renewed when what it imported changes, and gone when idle."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from adacoder.sandbox.errors import SandboxError
from adacoder.sandbox.isolation import is_within
from adacoder.sandbox.process import Evaluation, Recipe, Template

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from pathlib import Path

    from adacoder.sandbox.wire import Line

IDLE_SECONDS = 60.0
"""How long a template is kept that nobody asks for."""
MOST_TEMPLATES = 3
GROWTH = 64 << 20
"""Bytes by which a template may grow before it is renewed: the more there is, the longer a fork takes."""
RECHECK_SECONDS = 1.0
"""How long files that are not the project's, such as installed packages, are taken to be unchanged."""


class Templates:
    """Hands out processes for evaluations. Must be used within one event loop, and closed."""

    def __init__(self, evaluations: int, spares: int) -> None:
        """`evaluations` there may be at a time; `spares` are forked ahead."""
        self._evaluations = evaluations
        self._spares = spares
        self._keepers: list[_Keeper] = []
        """The one that was used last comes last."""
        self._learned: dict[Recipe, dict[str, None]] = {}
        """The modules that evaluations imported, in order, which a template made anew imports at once."""
        self._ending: set[asyncio.Task[None]] = set()

    async def take(self, recipe: Recipe, own: str) -> Taken:
        """A process for the evaluation of a module in the outermost package `own`; it must be given back.

        Raises:
            SandboxError: the interpreter does not start.
        """
        keeper = self._keeper(recipe, own)
        try:
            return await keeper.take()
        except SandboxError:
            self._end(keeper)
            if not keeper.booted:
                raise
        # The template was killed, or broke; a new one shows whether that is the rule.
        return await self._keeper(recipe, own).take()

    async def close(self) -> None:
        """End every process."""
        for keeper in [*self._keepers]:
            self._end(keeper)
        while self._ending:
            await asyncio.gather(*self._ending)

    def _keeper(self, recipe: Recipe, own: str) -> _Keeper:
        for keeper in [*self._keepers]:
            if not keeper.usable:
                self._end(keeper)
            elif keeper.serves(recipe, own):
                self._keepers.remove(keeper)
                self._keepers.append(keeper)
                return keeper
        for keeper in [idle for idle in self._keepers if not idle.running][: 1 + len(self._keepers) - MOST_TEMPLATES]:
            self._end(keeper)
        learned = self._learned.setdefault(recipe, {})
        keeper = _Keeper(recipe, own, learned, self._evaluations, self._spares, self._end)
        self._keepers.append(keeper)
        return keeper

    def _end(self, keeper: _Keeper) -> None:
        if keeper in self._keepers:
            self._keepers.remove(keeper)
            task = asyncio.create_task(keeper.end())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)


class Taken:
    """A process that one evaluation has for itself."""

    def __init__(self, keeper: _Keeper, template: Template, evaluation: Evaluation) -> None:
        self._keeper = keeper
        self._template = template
        self._evaluation = evaluation
        self._status: int | None = None
        self.overfull = False
        """Whether it was ended because it wrote too much."""

    @property
    def line(self) -> Line:
        """The line to its worker."""
        return self._evaluation.line

    @property
    def lost(self) -> bool:
        """Whether its template is gone, and it with it."""
        return not self._template.alive

    @property
    def folder(self) -> Path | None:
        """The folder on disk that it may write to; None if that is in memory, and bounded."""
        scratch = self._template.scratch_on_disk
        return None if scratch is None else scratch / str(self._evaluation.slot)

    async def status(self) -> int | None:
        """How it ended, after it hung up: its exit status, or minus the signal that killed it.

        None if it goes on without a line to us, as nothing but hostile code does, or if its template is gone.
        """
        if await self._evaluation.ended() and not self.lost:
            self._evaluation.kill()
            with suppress(SandboxError):
                self._status = await self._template.reap(self._evaluation)
        return self._status

    def end_overfull(self) -> None:
        """Kill it, because it wrote too much."""
        self.overfull = True
        self._evaluation.kill()

    def give_back(self, modules: Iterable[str]) -> None:
        """Kill it. `modules`: what it imported and the template may import for the next."""
        self._keeper.give_back(None if self._status is not None else self._evaluation, modules)


class _Keeper:
    """Keeps one template: boots it, forks ahead, lets it learn, and ends it."""

    def __init__(
        self,
        recipe: Recipe,
        own: str,
        learned: dict[str, None],
        evaluations: int,
        spares: int,
        end: Callable[[_Keeper], None],
    ) -> None:
        self.running = 0
        """How many evaluations have a process of its, or wait for one."""
        self._recipe = recipe
        self._barred = {own}
        """Outermost packages that evaluations import themselves, because modules in them were under test."""
        self._learned = learned
        self._asked: set[str] = set()
        self._packages: frozenset[str] = frozenset()
        """The outermost packages that the template has imported."""
        self._wanted = spares
        self._spares: list[asyncio.Task[Evaluation]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle: asyncio.TimerHandle | None = None
        self._end = end
        self._stamps = _Stamps(recipe, ())
        self._size = 0
        self._grown = False
        self._boot = asyncio.create_task(self._start(2 * evaluations + spares))

    @property
    def booted(self) -> bool:
        """Whether its interpreter has started."""
        return self._boot.done() and not self._boot.cancelled() and self._boot.exception() is None

    @property
    def usable(self) -> bool:
        """Whether it may be asked for a process: it boots, or is as good as new."""
        if not self._boot.done():
            return True
        return self.booted and self._boot.result().alive and not self._grown and not self._stamps.changed()

    def serves(self, recipe: Recipe, own: str) -> bool:
        """Whether modules in the outermost package `own` can be evaluated: nothing of it may be imported already.

        What depends on it then is not imported either, since it would have brought it along.
        """
        if self._recipe != recipe or (own not in self._barred and own in self._packages):
            return False
        self._barred.add(own)
        return True

    async def take(self) -> Taken:
        """A process; it must be given back.

        Raises:
            SandboxError: the interpreter does not start, or the template broke.
        """
        self.running += 1
        if self._idle is not None:
            self._idle.cancel()
        try:
            template = await asyncio.shield(self._boot)
            while True:
                fork = self._spares.pop(0) if self._spares else asyncio.create_task(template.fork())
                try:
                    evaluation = await asyncio.shield(fork)
                except asyncio.CancelledError:
                    self._spares.append(fork)
                    raise
                if evaluation.alive:
                    return Taken(self, template, evaluation)
                await self._put_away(fork)
        except BaseException:
            self._rest()
            raise

    def give_back(self, evaluation: Evaluation | None, modules: Iterable[str]) -> None:
        """An evaluation is over; its process has been reaped already if it is None.

        `modules`: what it imported, and the template may import for the next ones.
        """
        if evaluation is not None:
            evaluation.kill()
        new = [name for name in modules if name not in self._asked and name.partition(".")[0] not in self._barred]
        if new and self.booted:
            self._asked.update(new)
            self._learned.update(dict.fromkeys(new))
            for spare in self._spares:
                self._do(self._put_away(spare))
            self._spares.clear()
            self._do(self._learn(self._boot.result(), new))
        self._fork_ahead()
        if evaluation is not None:
            self._do(self._reap(self._boot.result(), evaluation))
        self._rest()

    async def end(self) -> None:
        """End the template and all that came of it."""
        if self._idle is not None:
            self._idle.cancel()
        waiting = [self._boot, *self._tasks, *self._spares]
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        for spare in self._spares:
            if not spare.cancelled() and spare.exception() is None:
                spare.result().kill()
                spare.result().close()
        if self.booted:
            await self._boot.result().end()

    async def _start(self, slots: int) -> Template:
        template = await Template.boot(self._recipe, slots)
        try:
            await self._learn(template, list(self._learned))
        except BaseException:
            await template.end()
            raise
        self._fork_ahead_of(template)
        return template

    async def _learn(self, template: Template, names: list[str]) -> None:
        self._asked.update(names)
        self._packages = await template.warm(names, sorted(self._barred))
        self._stamps = _Stamps(self._recipe, template.files)
        self._size = template.resident()

    def _fork_ahead(self) -> None:
        if self.booted:
            self._fork_ahead_of(self._boot.result())

    def _fork_ahead_of(self, template: Template) -> None:
        while len(self._spares) < self._wanted and template.alive:
            self._spares.append(asyncio.create_task(template.fork(ahead=True)))

    async def _reap(self, template: Template, evaluation: Evaluation) -> None:
        await template.reap(evaluation)
        self._grown = template.resident() > self._size + GROWTH

    async def _put_away(self, spare: asyncio.Task[Evaluation]) -> None:
        evaluation = await spare
        evaluation.kill()
        await self._reap(self._boot.result(), evaluation)

    def _do(self, work: Coroutine[None, None, None]) -> None:
        """Do something that nobody waits for. Where it fails the template is broken, which the next one notices."""

        async def do() -> None:
            with suppress(SandboxError):
                await work

        task = asyncio.create_task(do())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _rest(self) -> None:
        self.running -= 1
        if not self.running:
            self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._end, self)


class _Stamps:
    """Tells whether files have changed since it was made."""

    def __init__(self, recipe: Recipe, files: Iterable[Path]) -> None:
        own = (recipe.workspace, recipe.root)
        installed = recipe.space.interpreter.folders
        near = {file for file in files if is_within(file, own) and not is_within(file, installed)}
        self._near = _stamps(near)
        self._far = _stamps(set(files) - near)
        self._due = time.monotonic() + RECHECK_SECONDS

    def changed(self) -> bool:
        """Whether one has; those that are not the project's are looked at now and then only."""
        if self._near != _stamps(self._near):
            return True
        now = time.monotonic()
        if now < self._due:
            return False
        self._due = now + RECHECK_SECONDS
        return self._far != _stamps(self._far)


def _stamps(files: Iterable[Path]) -> dict[Path, tuple[int, int, int] | None]:
    return {file: _stamp(file) for file in files}


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(file)  # noqa: PTH116  # many of them, many times a minute
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
