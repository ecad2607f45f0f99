"""The warm templates of one Host: few, each renewed when what it imported changes, and gone when idle."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adacoder.sandbox.errors import SandboxError
from adacoder.sandbox.isolation import is_within
from adacoder.sandbox.process import Evaluation, Recipe, Template

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable
    from pathlib import Path

    from adacoder.sandbox.wire import Line

IDLE_SECONDS = 60.0
"""How long a template is kept that nobody asks for."""
MOST_TEMPLATES = 3
_MOST_LESSONS = 32
GROWTH = 64 << 20
"""Bytes by which a template may grow before it is renewed: the more there is, the longer a fork takes."""
RECHECK_SECONDS = 1.0
"""How long files that are not the project's, such as installed packages, are taken to be unchanged."""


@dataclass(slots=True)
class _Lessons:
    """What is known of the imports of one recipe's evaluations."""

    names: tuple[str, ...] = ()
    """The modules that the last template had imported, in order."""
    refused: set[str] = field(default_factory=set)
    """Modules that broke a template which was to import them."""


class Templates:
    """Hands out processes for evaluations. Must be used within one event loop, and closed.

    A template never learns: when evaluations import what it has not imported, it serves on while another is made that
    has, which then takes its place. So nobody waits for imports in a template, nor for one that they break.
    """

    def __init__(self, evaluations: int, spares: int) -> None:
        """`evaluations` there may be at a time; `spares` are forked ahead."""
        self._slots = 2 * evaluations + spares
        self._spares = spares
        self._keepers: list[_Keeper] = []
        """The one that was used last comes last."""
        self._lessons: dict[Recipe, _Lessons] = {}
        self._all: set[_Keeper] = set()
        """With those that are used no more, and end when the last evaluation of theirs does."""
        self._growing: dict[_Keeper, asyncio.Task[None]] = {}
        """Those that are to be replaced by one that has imported more."""
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
            self._retire(keeper)
            if not keeper.booted:
                raise
        # The template was killed, or broke; a new one shows whether that is the rule.
        return await self._keeper(recipe, own).take()

    async def close(self) -> None:
        """End every process."""
        for task in self._growing.values():
            task.cancel()
        await asyncio.gather(*self._growing.values(), return_exceptions=True)
        for keeper in [*self._all]:
            self.end(keeper)
        while self._ending:
            await asyncio.gather(*self._ending)

    def _keeper(self, recipe: Recipe, own: str) -> _Keeper:
        for keeper in [*self._keepers]:
            if not keeper.usable:
                self._retire(keeper)
            elif keeper.serves(recipe, own):
                self._keepers.remove(keeper)
                self._keepers.append(keeper)
                return keeper
        idle = [keeper for keeper in self._keepers if not keeper.running]
        for keeper in idle[: max(0, 1 + len(self._keepers) - MOST_TEMPLATES)]:
            self.end(keeper)
        keeper = self._new(recipe, {own}, ())
        self._keepers.append(keeper)
        self.learn(keeper, self._lessons_of(recipe).names)
        return keeper

    def _lessons_of(self, recipe: Recipe) -> _Lessons:
        while len(self._lessons) > _MOST_LESSONS:
            del self._lessons[next(iter(self._lessons))]
        return self._lessons.setdefault(recipe, _Lessons())

    def _new(self, recipe: Recipe, barred: set[str], names: tuple[str, ...]) -> _Keeper:
        keeper = _Keeper(recipe, barred, names, self._slots, self._spares, self)
        self._all.add(keeper)
        return keeper

    def learn(self, keeper: _Keeper, modules: Iterable[str]) -> None:
        """Evaluations import `modules`: have a template that has imported them."""
        known = self._lessons_of(keeper.recipe).refused.union(keeper.names)
        new = [name for name in modules if name not in known and name.partition(".")[0] not in keeper.barred]
        if new and keeper in self._keepers and keeper not in self._growing:
            self._growing[keeper] = asyncio.create_task(self._grow(keeper, new))

    async def _grow(self, keeper: _Keeper, new: list[str]) -> None:
        lessons = self._lessons_of(keeper.recipe)
        successor = self._new(keeper.recipe, {*keeper.barred}, (*keeper.names, *new))
        try:
            await successor.ready()
            lessons.names = successor.names
            if keeper in self._keepers:
                self._keepers[self._keepers.index(keeper)] = successor
        except SandboxError:
            lessons.refused.update(new)
        finally:
            del self._growing[keeper]
            for each in (keeper, successor):
                self.rested(each)

    def rested(self, keeper: _Keeper) -> None:
        """Nothing of a keeper's may run any more: end it, if it is not to be used again."""
        if keeper not in self._keepers and not keeper.running:
            self.end(keeper)

    def _retire(self, keeper: _Keeper) -> None:
        """Use it no more."""
        if keeper in self._keepers:
            self._keepers.remove(keeper)
        self.rested(keeper)

    def end(self, keeper: _Keeper) -> None:
        """Kill all that it keeps."""
        if keeper in self._keepers:
            self._keepers.remove(keeper)
        if keeper in self._all:
            self._all.remove(keeper)
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
    """Keeps one template: boots it, forks ahead from it, and ends it."""

    def __init__(
        self,
        recipe: Recipe,
        barred: set[str],
        names: tuple[str, ...],
        slots: int,
        spares: int,
        templates: Templates,
    ) -> None:
        self.recipe = recipe
        self.barred = barred
        """Outermost packages that evaluations import themselves, because modules in them were under test."""
        self.names = names
        """The modules that the template was to import."""
        self.running = 0
        """How many evaluations have a process of its, or wait for one."""
        self._templates = templates
        self._wanted = spares
        self._spares: list[asyncio.Task[Evaluation]] = []
        self._packages: frozenset[str] = frozenset()
        """The outermost packages that the template has imported."""
        self._stamps = _Stamps(recipe, ())
        self._size = 0
        self._grown = False
        self._idle: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._boot = asyncio.create_task(self._start(slots))

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
        if self.recipe != recipe or (own not in self.barred and own in self._packages):
            return False
        self.barred.add(own)
        return True

    async def ready(self) -> None:
        """Wait until it has booted.

        Raises:
            SandboxError: the interpreter does not start, or breaks on what it is to import.
        """
        await asyncio.shield(self._boot)

    async def take(self) -> Taken:
        """A process; it must be given back.

        Raises:
            SandboxError: as `ready`, or the template broke since.
        """
        self.running += 1
        if self._idle is not None:
            self._idle.cancel()
        try:
            await self.ready()
            template = self._boot.result()
            while True:
                fork = self._spares.pop(0) if self._spares else asyncio.create_task(template.fork())
                try:
                    evaluation = await asyncio.shield(fork)
                except asyncio.CancelledError:
                    self._spares.append(fork)
                    raise
                if evaluation.alive:
                    return Taken(self, template, evaluation)
                evaluation.kill()
                self._do(self._reap(template, evaluation))
        except BaseException:
            self._rest()
            raise

    def give_back(self, evaluation: Evaluation | None, modules: Iterable[str]) -> None:
        """An evaluation is over, which imported `modules`; its process has been reaped already if it is None."""
        template = self._boot.result()
        if evaluation is not None:
            evaluation.kill()
        self._fork_ahead(template)
        if evaluation is not None:
            self._do(self._reap(template, evaluation))
        self._templates.learn(self, modules)
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
        template = await Template.boot(self.recipe, slots)
        try:
            self._packages = await template.warm(self.names, sorted(self.barred))
        except BaseException:
            await template.end()
            raise
        self._stamps = _Stamps(self.recipe, template.files)
        self._size = template.resident()
        self._fork_ahead(template)
        self._wait_for_use()
        return template

    def _fork_ahead(self, template: Template) -> None:
        while len(self._spares) < self._wanted and template.alive:
            self._spares.append(asyncio.create_task(template.fork(ahead=True)))

    async def _reap(self, template: Template, evaluation: Evaluation) -> None:
        await template.reap(evaluation)
        self._grown = template.resident() > self._size + GROWTH

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
        self._wait_for_use()
        self._templates.rested(self)

    def _wait_for_use(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        if not self.running:
            self._idle = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._templates.end, self)


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
