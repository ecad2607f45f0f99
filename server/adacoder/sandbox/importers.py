"""Processes that have imported unchanged modules, so that `check` need not import a module for each docstring.

All processes are forked from a *template*, a warm interpreter without modules of the project. They form a tree:

* An *importer* is forked from the template. It imports one top-level module or package, because importing `a.b` also
  imports `a`.
* A *desk* is forked from an importer, for one module at a time. It imports the module, and first the module's own
  package.
* A process for docstrings is forked from the desk. It runs the module's docstrings one after the other. If a docstring
  changes something that the next could see, the desk forks a new process.

So a module can affect only its own docstrings, and a package only the docstrings of its modules. A module could cheat
for its own docstrings anyway, by recognising the examples.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from adacoder.sandbox.desks import LEFT, Apart, Importer
from adacoder.sandbox.pool import Taken
from adacoder.sandbox.process import WARM_SECONDS, TemplateProcess
from adacoder.sandbox.unavailable import SandboxError
from adacoder.sandbox.wire import HungUpError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adacoder.sandbox.desks import Desk
    from adacoder.sandbox.process import Begin, Evaluation, Recipe
    from adacoder.sandbox.program import Program

MOST = 8
"""Maximum number of docstrings of one module that run at once. It is also the maximum number of such modules."""
_MOST_ROOTS = 2
"""Number of import roots (folders with modules) that keep their processes while idle. The least recently used root
loses its processes first.
"""
_BROKEN = SandboxError, HungUpError, ProtocolError, TimeoutError
"""Errors of a process that fails or breaks the protocol."""


class Importers:
    """Lends processes that have imported a module, to run the module's docstrings.

    Each instance belongs to one event loop, and its owner must close it.
    """

    def __init__(self, docstrings: int) -> None:
        """`docstrings` is the maximum number of docstrings that run at once."""
        self.group = min(docstrings, MOST) + 1
        """Number of scratch folders of one importer and its descendants, see `Recipe.group`."""
        self._roots: dict[Recipe, _Root] = {}
        """Import roots, the most recently used last."""
        self._stale: list[_Root] = []
        """Replaced import roots that still run docstrings."""

    async def lend(self, recipe: Recipe, program: Program, seconds: float, asked: float, begin: Begin) -> Lent:
        """Lend a process that has imported the program's unchanged module. The caller must give the process back.

        `seconds` is the timeout of each import. If the import of the outermost package has failed since the time
        `asked`, it is not repeated. `begin` is as in `forked`, for the first docstring.

        Raises:
            Apart: the module must be evaluated in a process of its own.
            SandboxError: the interpreter does not start.
        """
        root, name = self._root(recipe), _outermost(program)
        root.users[name] += 1  # Count the docstring before the first await, so that no other call ends the root.
        try:
            await self._end_idle()
            template = await root.template()
            if template.pid is None:
                # On this system, AdaCoder cannot find out which process answers.
                raise Apart
            desk = await (await root.importer(program, seconds, asked)).desk(program, seconds)
            return Lent(root, program, template, desk, await desk.docstring(program.module, begin))
        except BaseException as error:
            root.users[name] -= 1
            if isinstance(error, _BROKEN) and not root.failed:
                raise Apart from error
            raise

    def begin(self, recipe: Recipe) -> None:
        """Start the process that `lend` will need for `recipe`, so that `lend` is faster."""
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
        """End the idle import roots, except the most recently used."""
        older = [*self._roots.values()][:-_MOST_ROOTS]
        idle = [root for root in (*older, *self._stale) if not root.busy]
        self._stale = [root for root in self._stale if root.busy]
        for root in idle:
            if self._roots.get(root.recipe) is root:
                del self._roots[root.recipe]
        for root in idle:
            await root.end()

    async def close(self) -> None:
        """End every process, and start no more."""
        roots = [*self._roots.values(), *self._stale]
        self._roots.clear()
        self._stale.clear()
        await asyncio.gather(*(root.end() for root in roots))


class Lent(Taken):
    """A process reserved for docstrings of one module. If necessary, a new process takes its place."""

    def __init__(self, root: _Root, program: Program, template: TemplateProcess, desk: Desk, evaluation: Evaluation):
        """`evaluation` is the first process, which has imported the module of `program`."""
        super().__init__(desk, template, evaluation)
        self._root, self._desk = root, desk
        self._program = program
        self._is_usable = True
        self.ran: list[str] = []
        """Names of the docstrings that have run in the present process."""
        self.notes = desk.notes

    @property
    def has_lost_caches(self) -> bool:
        """True if the import wrote cache files to the home folder, which were removed afterwards."""
        return self._desk.has_lost_caches

    def serves(self, program: Program) -> bool:
        """Return whether docstrings of `program` can run here, because the module's text is the same."""
        return self._is_usable and self._program.text == program.text

    async def next(self, begin: Begin) -> None:
        """Prepare the process for the next docstring. `begin` is as in `forked`.

        Raises:
            Apart: the docstring must be evaluated in a process of its own.
        """
        try:
            if self.ran:
                self.evaluation.count_anew()
                await begin(self.evaluation.line)
            else:
                self.evaluation = await self._desk.docstring(self._program.module, begin)
                self.overfull = self.crowded = self.greedy = False
        except _BROKEN as error:
            self._is_usable = False
            raise Apart from error

    async def ask_changes(self) -> None:
        """Ask the process for changes by the examples, and for files that had to be compiled.

        Raises:
            HungUpError, ProtocolError: code in the process hung up or broke the protocol.
        """
        await self.evaluation.line.ask_changes()
        self._desk.importer.compile_later(self.evaluation.line.compiled)

    def end_process(self) -> None:
        """Kill the present process. A new process runs the next docstring."""
        self.ran.clear()
        self.evaluation.kill()
        self.evaluation.close()

    async def status(self) -> int | None:
        """Return None, because no caller needs the status.

        If the process dies, the docstring runs again in a separate process.
        """
        return None

    def give_back(self) -> None:
        """Kill the process."""
        self._root.users[_outermost(self._program)] -= 1
        super().give_back()


class _Root:
    """An import root: the importers that import modules from the same folder and see the same files."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.users: Counter[str] = Counter()
        """By top-level module: the number of docstrings that run or wait."""
        self._importers: dict[str, asyncio.Task[Importer]] = {}
        """Importers by top-level module, the most recently used last."""
        self._began: dict[str, float] = {}
        """By top-level module: the time at which its importer started."""
        self._boot = asyncio.create_task(self._start())

    @property
    def busy(self) -> bool:
        """True if a docstring runs or waits."""
        return any(self.users.values())

    @property
    def failed(self) -> bool:
        """True if the interpreter does not start."""
        return self._boot.done() and not self._boot.cancelled() and self._boot.exception() is not None

    @property
    def usable(self) -> bool:
        """True if new docstrings can use this import root."""
        if not self._boot.done():
            return True
        return not self.failed and self._boot.result().alive and self._boot.result().is_current

    async def _start(self) -> TemplateProcess:
        with suppress(SandboxError):  # If an import breaks the template, start a template without imports.
            return await self._warmed(self.recipe.ahead.statements)
        return await self._warmed(())

    async def _warmed(self, statements: Sequence[str]) -> TemplateProcess:
        """Start a template, and run some imports in it.

        Raises:
            SandboxError: the interpreter does not start, or processes cannot share the imports.
        """
        template = await TemplateProcess.boot(self.recipe, self.recipe.group * self.recipe.group)
        try:
            for statement in statements:
                if not await template.warm(statement, WARM_SECONDS):
                    raise SandboxError(LEFT)
            await template.settle()
        except BaseException:
            await template.end()
            raise
        return template

    async def template(self) -> TemplateProcess:
        """Return the template from which importers are forked.

        Raises:
            SandboxError: the interpreter does not start.
        """
        return await asyncio.shield(self._boot)

    async def importer(self, program: Program, seconds: float, asked: float) -> Importer:
        """Return the importer for a program's module. `asked` is as in `Importers.lend`.

        Raises:
            Apart: the import failed, or had effects that forked processes cannot share.
        """
        name = _outermost(program)
        task = self._importers.pop(name, None)
        before = None if task is None else _imported(task)
        has_just_failed = before is None and self._began.get(name, 0.0) >= asked
        if task is None or (task.done() and not has_just_failed and (before is None or not before.usable)):
            self._began[name] = time.monotonic()
            task = asyncio.create_task(self._import(name, program, seconds, before))
        self._importers[name] = task
        return await asyncio.shield(task)

    async def _make_room(self) -> None:
        """End unused importers until there is room for another."""
        for name, task in [*self._importers.items()]:
            if len(self._importers) < self.recipe.group:
                return
            importer = _imported(task)
            if task.done() and not self.users[name] and self._importers.get(name) is task:
                del self._importers[name]
                if importer is not None:
                    await importer.end()

    async def _import(self, name: str, program: Program, seconds: float, before: Importer | None) -> Importer:
        if before is not None:
            await before.end()
        await self._make_room()
        template = await self.template()
        importer = Importer(template, await template.fork("importer"), self.recipe.group)
        try:
            own = [str(program.module.path), program.text] if program.module.name == name else []
            await importer.begin(seconds, name, *own)
        except BaseException:
            await importer.end()
            raise
        return importer

    async def end(self) -> None:
        """End the template and all its descendants."""
        tasks = [*self._importers.values(), self._boot]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for importer in map(_imported, self._importers.values()):
            if importer is not None:
                importer.kill()
        if not self._boot.cancelled() and not self._boot.exception():
            await self._boot.result().end()


def _outermost(program: Program) -> str:
    """Return the top-level module or package of a program's module."""
    return program.module.name.partition(".")[0]


def _imported(task: asyncio.Task[Importer]) -> Importer | None:
    """Return the importer that a task started, or None if the task still runs or has failed."""
    return None if not task.done() or task.cancelled() or task.exception() else task.result()
