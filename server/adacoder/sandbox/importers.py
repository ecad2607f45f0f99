"""Processes that have imported modules as they stand, so that `check` need not do so for each docstring.

An *importer* has imported one outermost module or package, as every process does that imports a module of it. Forked
from it are a few *desks*, each for one module at a time, which imports that unless the package did so already. A desk
forks one process for each docstring, one after the other. So a module's import runs in no process but those of its
own docstrings, and, of a package, those of the modules within: whatever it does, it cannot get at others.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from adacoder.sandbox.errors import SandboxError
from adacoder.sandbox.held import shares_memory
from adacoder.sandbox.isolation import MOST_MEMORY, MOST_THREADS
from adacoder.sandbox.isolation.scratch import is_overfull
from adacoder.sandbox.launcher import children
from adacoder.sandbox.process import Evaluation, Recipe, Template, forked
from adacoder.sandbox.templates import Taken
from adacoder.sandbox.wire import HungUpError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from adacoder.domain import Module
    from adacoder.sandbox.process import Begin
    from adacoder.sandbox.program import Program

MOST = 8
"""Most modules whose docstrings run at a time, and most docstrings of one."""
_MOST_ROOTS = 2
"""For how many folders that modules are imported from there are processes."""
_REAP_SECONDS = 5.0
_LEFT = "The sandbox broke: something of an evaluation was left."
_BROKEN = SandboxError, HungUpError, ProtocolError, TimeoutError
"""What is raised where a process does not do what it should."""
_WATCHED_SECONDS = 0.1
"""Seconds between two looks at an importer."""
_NOT_FORKED = frozenset({"threads", "open files", "files in its folder", "the current folder", "shared memory"})
"""Effects of an import that a forked process does not have, or not for itself."""


class Apart(Exception):
    """A module cannot be imported once for all of its docstrings; the text is what is to be told of it, if anything."""


class Importers:
    """Lends processes for docstrings. Must be used within one event loop, and closed."""

    def __init__(self, docstrings: int) -> None:
        """`docstrings` run at a time."""
        self.group = min(docstrings, MOST) + 1
        """As `Recipe.group`."""
        self._roots: dict[Recipe, _Root] = {}
        """The one that was used last comes last."""
        self._stale: list[_Root] = []
        """Replaced while a docstring still ran there."""

    async def lend(self, recipe: Recipe, program: Program, seconds: float, begin: Begin) -> Lent:
        """A process in which the program's module is imported as it stands; it must be given back.

        `seconds`: how long each import may take. `begin`: as of `Templates`.

        Raises:
            Apart: there can be none.
            SandboxError: the interpreter does not start.
        """
        root, name = self._root(recipe), _outermost(program)
        root.users[name] += 1  # before the first await: others end what is idle
        try:
            await self._end_idle()
            template = await root.template()
            if template.pid is None:
                raise Apart  # where the system does not say who sends, no process can be trusted to be the right one
            desk = await (await root.importer(program, seconds)).desk(program, seconds)
            return Lent(root, name, template, desk, await desk.docstring(program.module, begin))
        except BaseException as error:
            root.users[name] -= 1
            if isinstance(error, _BROKEN) and not root.failed:
                raise Apart from error
            raise

    def begin(self, recipe: Recipe) -> None:
        """Let there be a template for modules of `recipe` soon."""
        self._root(recipe)

    def _root(self, recipe: Recipe) -> _Root:
        root = self._roots.pop(recipe, None)
        if root is not None and not root.usable:
            self._stale.append(root)
            root = None
        root = root or _Root(recipe)
        self._roots[recipe] = root
        return root

    async def _end_idle(self) -> None:
        """End what no docstring uses, but for the roots that were used last."""
        older = [*self._roots.values()][:-_MOST_ROOTS]
        idle = [root for root in (*older, *self._stale) if not root.busy]
        self._stale = [root for root in self._stale if root.busy]
        for root in idle:
            if self._roots.get(root.recipe) is root:
                del self._roots[root.recipe]
        for root in idle:
            await root.end()

    async def close(self) -> None:
        """End every process, for good."""
        roots = [*self._roots.values(), *self._stale]
        self._roots.clear()
        self._stale.clear()
        await asyncio.gather(*(root.end() for root in roots))


class Lent(Taken):
    """A process that the examples of one docstring have for themselves."""

    def __init__(self, root: _Root, name: str, template: Template, desk: _Desk, evaluation: Evaluation) -> None:
        """`name`: as of `_Root.users`."""
        super().__init__(desk, template, evaluation)
        self._root, self._name = root, name
        self.notes = desk.notes

    async def status(self) -> int | None:
        """A wrong end is not reported here: the docstring is then evaluated by itself."""
        return None

    def give_back(self) -> None:
        """Kill it."""
        self._root.users[self._name] -= 1
        super().give_back()


class _Process:
    """Our side of a process that forks others."""

    def __init__(self, evaluation: Evaluation, template: Template) -> None:
        self.evaluation = evaluation
        self.turn = asyncio.Lock()
        self._watching = asyncio.create_task(self._watch(template.scratch_on_disk))

    async def fork(self, slot: int, *kind: str, begin: Begin | None = None) -> Evaluation:
        return await forked(self.evaluation.line.channel, self.turn, slot, *kind, begin=begin)

    async def import_(self, seconds: float, name: str, path: str = "", text: str = "") -> tuple[str, tuple[str, ...]]:
        """As `WorkerLine.import_`, in so many seconds."""
        async with self.turn, asyncio.timeout(seconds):
            how, changes = await self.evaluation.line.import_(name, path, text)
        pid = self.evaluation.line.channel.sender
        if pid is None or children(pid):
            raise Apart  # to be told what isolation denies
        if self.evaluation.threads() > 1:  # of libraries too, which Python knows nothing of
            changes = tuple(dict.fromkeys((*changes, "threads")))
        if shares_memory(pid) is not False:
            changes = (*changes, "shared memory")
        return how, changes

    async def reap(self, slot: int) -> bool:
        """Have it reap what it forked for a slot, and was killed; returns whether nothing is left of it."""
        try:
            async with self.turn:
                await self.evaluation.line.channel.send("reap", str(slot))
                return await self.reaped()
        except HungUpError:
            return False

    async def reaped(self) -> bool:
        """Receive that it has reaped something; returns whether nothing is left of that."""
        try:
            async with asyncio.timeout(_REAP_SECONDS):
                match await self.evaluation.line.channel.receive():
                    case ["reaped", _, "clean", _]:
                        return True
        except (HungUpError, ProtocolError, TimeoutError):
            pass
        return False

    async def _watch(self, scratch: Path | None) -> None:
        """Kill it if it starts too many threads, takes too much memory, or fills the disk."""
        folder = f"{scratch}/{self.evaluation.slot}"
        while self.evaluation.threads() <= MOST_THREADS and self.evaluation.memory() <= MOST_MEMORY:
            if scratch is not None and await asyncio.to_thread(is_overfull, folder, self.evaluation.pid):
                break
            await asyncio.sleep(_WATCHED_SECONDS)
        self.evaluation.kill()

    def kill(self) -> None:
        self._watching.cancel()
        self.evaluation.kill()
        self.evaluation.close()


class _Root:
    """Importers for the modules of one folder that may see the same files."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.users: Counter[str] = Counter()
        """How many docstrings run, or are about to, by the names of their outermost modules."""
        self._importers: dict[str, asyncio.Task[_Importer]] = {}
        """By the names of their modules; the one that was used last comes last."""
        self._boot = asyncio.create_task(self._start())

    @property
    def busy(self) -> bool:
        """True if a docstring runs, or is about to."""
        return any(self.users.values())

    @property
    def failed(self) -> bool:
        """True if the interpreter does not start."""
        return self._boot.done() and not self._boot.cancelled() and self._boot.exception() is not None

    @property
    def usable(self) -> bool:
        """True if it can serve."""
        if not self._boot.done():
            return True
        return not self.failed and self._boot.result().alive and self._boot.result().is_current

    async def _start(self) -> Template:
        template = await Template.boot(self.recipe, self.recipe.group * self.recipe.group)
        try:
            await template.settle()
        except BaseException:
            await template.end()
            raise
        return template

    async def template(self) -> Template:
        """The one that importers are forked from.

        Raises:
            SandboxError: the interpreter does not start.
        """
        return await asyncio.shield(self._boot)

    async def importer(self, program: Program, seconds: float) -> _Importer:
        """The one for a program's module.

        Raises:
            Apart: the import went wrong, or left what cannot be forked.
        """
        name = _outermost(program)
        task = self._importers.pop(name, None)
        before = None if task is None else _imported(task)
        if task is None or (task.done() and (before is None or not before.usable)):
            task = asyncio.create_task(self._import(name, program, seconds, before))
        self._importers[name] = task
        return await asyncio.shield(task)

    async def _make_room(self) -> None:
        """End what nobody uses, until there are few enough."""
        for name, task in [*self._importers.items()]:
            if len(self._importers) < self.recipe.group:
                return
            importer = _imported(task)
            if task.done() and not self.users[name] and self._importers.get(name) is task:
                del self._importers[name]
                if importer is not None:
                    await importer.end()

    async def _import(self, name: str, program: Program, seconds: float, before: _Importer | None) -> _Importer:
        if before is not None:
            await before.end()
        await self._make_room()
        template = await self.template()
        importer = _Importer(template, await template.fork("importer"), self.recipe.group)
        try:
            own = [str(program.module.path), program.text] if program.module.name == name else []
            await importer.begin(seconds, name, *own)
        except BaseException:
            await importer.end()
            raise
        return importer

    async def end(self) -> None:
        """End the template and all that came of it."""
        tasks = [*self._importers.values(), self._boot]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for importer in map(_imported, self._importers.values()):
            if importer is not None:
                importer.kill()
        if not self._boot.cancelled() and not self._boot.exception():
            await self._boot.result().end()


class _Importer(_Process):
    """Has imported an outermost module or package."""

    def __init__(self, template: Template, evaluation: Evaluation, group: int) -> None:
        super().__init__(evaluation, template)
        self._given_up = False
        self.notes: tuple[str, ...] = ()
        self.template = template
        self._slots = [evaluation.slot + number for number in range(1, group)]
        """Those that no desk has."""
        self._desks: list[_Desk] = []
        self._there: dict[str, str] = {}
        """The texts of modules that were imported with it, as far as they were asked for."""
        self._apart: dict[str, str] = {}
        """Why modules are not imported here."""
        self.freed = asyncio.Event()
        """True if another desk may be free now."""

    async def begin(self, seconds: float, name: str, path: str = "", text: str = "") -> None:
        """Import it.

        Raises:
            Apart: it went wrong, or left what cannot be forked.
        """
        self.notes = _noted(name, *await self.import_(seconds, name, path, text))
        if self.template.orphans(self._group):
            raise Apart  # as for its children

    async def desk(self, program: Program, seconds: float) -> _Desk:
        """One that has imported the program's module.

        Raises:
            Apart: the import went wrong, or left what cannot be forked.
        """
        name, text = program.module.name, program.text
        if name in self._apart:
            raise Apart(self._apart[name])
        desk = await self._free_desk(None if self._there.get(name) == text else name)
        try:
            if desk.module is None and self._there.get(name) != text:
                how, changes = await desk.import_(seconds, name, str(program.module.path), text)
                if how == "there":
                    self._there[name] = text
                else:
                    desk.module = name
                desk.notes += _noted(name, how, changes)
        except BaseException as error:
            if isinstance(error, Apart | TimeoutError):
                self._apart[name] = str(error)
            await desk.end()
            raise
        return desk

    async def _free_desk(self, module: str | None) -> _Desk:
        """One that nobody uses, for a module that it imported, or for those that were imported before."""
        while True:
            idle = [desk for desk in self._desks if not desk.busy]
            fitting = [desk for wanted in (module, None) for desk in idle if desk.module == wanted]
            if fitting:
                fitting[0].busy = True
                return fitting[0]
            if self._slots:
                slot = self._slots.pop()
                break
            if idle:
                idle[0].busy = True
                await idle[0].end()
            elif not self._given_up:
                self.freed.clear()
                await self.freed.wait()
            else:
                raise SandboxError("The sandbox was ended meanwhile.")
        try:
            desk = _Desk(self, await self.fork(slot, "desk"))
        except BaseException:
            self._given_up = True
            raise
        self._desks.append(desk)
        return desk

    async def ended(self, desk: _Desk) -> None:
        """A desk was killed."""
        if desk not in self._desks:
            return
        self._desks.remove(desk)
        if await self.reap(desk.evaluation.slot) and await self.template.sweep(self._group):
            self._slots.append(desk.evaluation.slot)
            self.freed.set()
        else:
            self.kill()

    @property
    def usable(self) -> bool:
        """True if it can serve."""
        return not self._given_up and self.evaluation.alive

    @property
    def _group(self) -> int | None:
        """Process group of it and of all that comes of it, none of which can change that."""
        return self.evaluation.line.channel.sender

    def kill(self) -> None:
        """Kill it, and what was forked from it."""
        self._given_up = True
        self.freed.set()
        for desk in self._desks:
            desk.kill()
        self.evaluation.kill_group()
        super().kill()

    async def end(self) -> None:
        """End it, and whatever came of it."""
        self.kill()
        with suppress(SandboxError):
            await self.template.reap(self.evaluation)
        if not await self.template.sweep(self._group):
            self.template.broken = True  # its end kills the rest


class _Desk(_Process):
    """Forks the processes of docstrings, one after the other."""

    def __init__(self, importer: _Importer, evaluation: Evaluation) -> None:
        super().__init__(evaluation, importer.template)
        self.busy = True
        self.module: str | None = None
        """Modules that it has imported, and the importer has not."""
        self.notes = importer.notes
        self._importer = importer
        self._has_forked = False
        """True if it has a process that is not reaped yet."""

    async def import_(self, seconds: float, name: str, path: str = "", text: str = "") -> tuple[str, tuple[str, ...]]:
        """As of `_Process`, after it has reaped what it forked."""
        has_forked, self._has_forked = self._has_forked, False
        if has_forked and not await self.reap(self.evaluation.slot):
            raise SandboxError(_LEFT)
        return await super().import_(seconds, name, path, text)

    async def docstring(self, module: Module, begin: Begin) -> Evaluation:
        """A process for a docstring of a module; before it is forked, the one before it is reaped."""
        has_forked, self._has_forked = self._has_forked, True
        try:
            kind = "docstring", module.name, str(module.path)
            evaluation = await self.fork(self.evaluation.slot, *kind, begin=begin)
            if has_forked and not await self.reaped():
                evaluation.close()
                raise SandboxError(_LEFT)
        except BaseException:
            await self.end()
            raise
        return evaluation

    def give_back(self, evaluation: Evaluation | None) -> None:
        """A docstring's process is not needed any more."""
        if evaluation is not None:
            evaluation.kill()
            evaluation.close()
        self.busy = False
        self._importer.freed.set()

    async def end(self) -> None:
        """End it, and have what came of it removed."""
        self.kill()
        await self._importer.ended(self)


def _outermost(program: Program) -> str:
    """The name of the outermost module or package that holds a program's module."""
    return program.module.name.partition(".")[0]


def _imported(task: asyncio.Task[_Importer]) -> _Importer | None:
    """What an import has come to; None if it runs, was cancelled or went wrong."""
    return None if not task.done() or task.cancelled() or task.exception() else task.result()


def _noted(name: str, how: str, changes: tuple[str, ...]) -> tuple[str, ...]:
    """Report an import.

    Raises:
        Apart: it went wrong, or left what cannot be forked.
    """
    if how == "failed":
        raise Apart
    if not changes:
        return ()
    left = [change for change in changes if change in _NOT_FORKED]
    if left:
        raise Apart(f"The import of '{name}' leaves {_listed(left)} behind, so each docstring imports it anew.")
    return (f"The import of '{name}' changes {_listed(changes)}.",)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)
