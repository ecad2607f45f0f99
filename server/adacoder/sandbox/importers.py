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
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from adacoder.sandbox.child.launcher import children
from adacoder.sandbox.held import shares_memory
from adacoder.sandbox.isolation import MOST_MEMORY, MOST_THREADS
from adacoder.sandbox.isolation.scratch import is_overfull
from adacoder.sandbox.pool import Taken
from adacoder.sandbox.process import WARM_SECONDS, Evaluation, Recipe, TemplateProcess, forked
from adacoder.sandbox.unavailable import SandboxError
from adacoder.sandbox.wire import MOST_COMPILED, HungUpError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from adacoder.domain import Module
    from adacoder.sandbox.process import Begin
    from adacoder.sandbox.program import Program

MOST = 8
"""Maximum number of docstrings of one module that run at once. It is also the maximum number of such modules."""
_MOST_ROOTS = 2
"""Number of import roots (folders with modules) that keep their processes while idle. The least recently used root
loses its processes first.
"""
_REAP_SECONDS = 5.0
_LEFT = "The sandbox broke: an evaluation left something behind."
_BROKEN = SandboxError, HungUpError, ProtocolError, TimeoutError
"""Errors of a process that fails or breaks the protocol."""
_WATCHED_SECONDS = 0.1
"""Seconds between two checks of an importer's memory, threads and files."""
_NOT_FORKED = frozenset({"threads", "open files", "files in its folder", "the current folder", "shared memory"})
"""Effects of an import that forked processes would share or lose. If a module has such an effect, each docstring
imports the module in a process of its own.
"""


class Apart(Exception):
    """A module's docstrings cannot share an import of the module. The message is a note for the user, or empty."""


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

    async def lend(self, recipe: Recipe, program: Program, seconds: float, begin: Begin) -> Lent:
        """Lend a process that has imported the program's unchanged module. The caller must give the process back.

        `seconds` is the timeout of each import. `begin` is as in `forked`, for the first docstring.

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
            desk = await (await root.importer(program, seconds)).desk(program, seconds)
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

    def __init__(self, root: _Root, program: Program, template: TemplateProcess, desk: _Desk, evaluation: Evaluation):
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


class _Process:
    """The server's side of a process that forks other processes."""

    def __init__(self, evaluation: Evaluation, template: TemplateProcess) -> None:
        self.evaluation = evaluation
        self.turn = asyncio.Lock()
        self.has_lost_caches = False
        """True if cache files that an import wrote to the home folder were removed."""
        self.compiled: set[str] = set()
        """Files that this process has compiled, or that its parent had compiled."""
        self._watching = asyncio.create_task(self._watch(template.scratch_on_disk))

    async def fork(self, slot: int, *kind: str, begin: Begin | None = None) -> Evaluation:
        return await forked(self.evaluation.line.channel, self.turn, slot, *kind, begin=begin)

    async def import_(self, seconds: float, name: str, path: str = "", text: str = "") -> tuple[str, tuple[str, ...]]:
        """Import a module within `seconds`. Return the same as `WorkerLine.import_`.

        The changes include threads of C libraries and shared memory, which only the server can see.

        Raises:
            Apart: the process cannot be identified, or the import started processes.
        """
        async with self.turn, asyncio.timeout(seconds):
            how, changes = await self.evaluation.line.import_(name, path, text)
        if how == "there":
            return how, changes
        if "caches" in changes:
            self.has_lost_caches, changes = True, tuple(each for each in changes if each != "caches")
        pid = self.evaluation.line.channel.sender
        if pid is None or children(pid):
            raise Apart  # A separate evaluation will report which action isolation denies.
        if self.evaluation.threads() > 1:  # Python does not count threads of C libraries, but the kernel does.
            changes = tuple(dict.fromkeys((*changes, "threads")))
        if shares_memory(pid) is not False:
            changes = (*changes, "shared memory")
        return how, changes

    async def compile(self, files: Iterable[str]) -> None:
        """Compile files of the project, unless this process or its parent has compiled them.

        Raises:
            HungUpError, ProtocolError, TimeoutError: the process broke.
        """
        async with self.turn, asyncio.timeout(WARM_SECONDS):
            for file in [each for each in files if each not in self.compiled]:
                self.compiled.add(file)
                await self.evaluation.line.channel.send("compile", file)
                if await self.evaluation.line.channel.receive() != ["compiled"]:
                    raise ProtocolError("its answer to 'compile' has an unknown form")

    async def reap(self, slot: int) -> bool:
        """Make this process reap its killed child in a slot. Return True if the child left no processes or files."""
        try:
            async with self.turn:
                await self.evaluation.line.channel.send("reap", str(slot))
                return await self.reaped()
        except HungUpError:
            return False

    async def reaped(self) -> bool:
        """Wait for the answer to `reap`. Return True if the child left no processes or files."""
        try:
            async with asyncio.timeout(_REAP_SECONDS):
                match await self.evaluation.line.channel.receive():
                    case ["reaped", _, "clean", _]:
                        return True
        except (HungUpError, ProtocolError, TimeoutError):
            pass
        return False

    async def _watch(self, scratch: Path | None) -> None:
        """Kill this process if it has too many threads or files, or too much memory."""
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
    """An import root: the importers that import modules from the same folder and see the same files."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.users: Counter[str] = Counter()
        """By top-level module: the number of docstrings that run or wait."""
        self._importers: dict[str, asyncio.Task[_Importer]] = {}
        """Importers by top-level module, the most recently used last."""
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
                    raise SandboxError(_LEFT)
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

    async def importer(self, program: Program, seconds: float) -> _Importer:
        """Return the importer for a program's module.

        Raises:
            Apart: the import failed, or had effects that forked processes cannot share.
        """
        name = _outermost(program)
        task = self._importers.pop(name, None)
        before = None if task is None else _imported(task)
        if task is None or (task.done() and (before is None or not before.usable)):
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


class _Importer(_Process):
    """A process that has imported a top-level module or package."""

    def __init__(self, template: TemplateProcess, evaluation: Evaluation, group: int) -> None:
        super().__init__(evaluation, template)
        self._given_up = False
        self.notes: tuple[str, ...] = ()
        self.template = template
        self._slots = [evaluation.slot + number for number in range(1, group)]
        """Free slots. A slot is a scratch folder for one process."""
        self._desks: list[_Desk] = []
        self._there: dict[str, str] = {}
        """By module name: the texts of modules that were imported along with the package."""
        self._packages: set[str] = set()
        """Inner packages that were imported along with the package."""
        self._apart: dict[str, str] = {}
        """By module name: the reason why the module cannot be imported here."""
        self.freed = asyncio.Event()
        """Set when a desk may have become free."""
        self.lazy: dict[str, None] = {}
        """Files of the project that only examples import. They are compiled once, and not for each process."""

    async def begin(self, seconds: float, name: str, path: str = "", text: str = "") -> None:
        """Import the top-level module or package.

        Raises:
            Apart: the import failed, or had effects that forked processes cannot share.
        """
        self.notes = _noted(name, *await self.import_(seconds, name, path, text))
        if self.template.orphans(self._group):
            raise Apart  # The import started processes whose parents have ended.

    async def desk(self, program: Program, seconds: float) -> _Desk:
        """Return a desk that has imported the program's module.

        Raises:
            Apart: the import failed, or had effects that forked processes cannot share.
        """
        name = program.module.name
        if name in self._apart:
            raise Apart(self._apart[name])
        is_there = self._there.get(name) == program.text
        package = _innermost(program)
        has_package = is_there or package in self._packages
        desk = await self._free_desk("" if is_there else name, "" if has_package else package)
        try:
            if not is_there:
                await self._import(desk, program, seconds)
        except BaseException as error:
            if isinstance(error, Apart | TimeoutError):
                self._apart[name] = str(error)
            await desk.end()
            raise
        return desk

    async def _import(self, desk: _Desk, program: Program, seconds: float) -> None:
        """Make a desk import the program's module, unless the module is already imported."""
        name, text, package = program.module.name, program.text, _innermost(program)
        if desk.module == name or desk.there.get(name) == text:
            return
        if package not in (desk.package, *self._packages):
            how, changes = await desk.import_(seconds, package)
            if how == "there":
                self._packages.add(package)
            else:
                desk.package = package
            desk.notes += _noted(package, how, changes)
        how, changes = await desk.import_(seconds, name, str(program.module.path), text)
        if how == "there":
            (desk.there if desk.package else self._there)[name] = text
        else:
            desk.module = name
        desk.notes += _noted(name, how, changes)

    async def _free_desk(self, module: str, package: str) -> _Desk:
        """Return a free desk, or wait for one.

        The order of preference is: a desk that has imported `module`; a desk that has imported only `package`; a desk
        without imports of its own; a new desk. If there is no slot for a new desk, end an idle desk.
        """
        while True:
            idle = [desk for desk in self._desks if not desk.busy]
            wanted = (module, package), ("", package), ("", "")
            fitting = [desk for pair in wanted for desk in idle if (desk.module, desk.package) == pair]
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
            await self.compile(self.lazy)
            desk = _Desk(self, await self.fork(slot, "desk"))
        except BaseException:
            self._given_up = True
            raise
        self._desks.append(desk)
        return desk

    def compile_later(self, files: Iterable[str]) -> None:
        """Compile files before the next process is forked. The names of the files come from code of the project."""
        for file in files:
            if len(self.lazy) < MOST_COMPILED:
                self.lazy[file] = None

    async def ended(self, desk: _Desk) -> None:
        """Clean up after a killed desk. If the desk left processes or files, kill this importer."""
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
        """True if new docstrings can use this importer."""
        return not self._given_up and self.evaluation.alive

    @property
    def _group(self) -> int | None:
        """Process group of the importer and its descendants, which cannot leave the group."""
        return self.evaluation.line.channel.sender

    def kill(self) -> None:
        """Kill this importer and its descendants."""
        self._given_up = True
        self.freed.set()
        for desk in self._desks:
            desk.kill()
        self.evaluation.kill_group()
        super().kill()

    async def end(self) -> None:
        """End this importer, and make sure that no descendants are left."""
        self.kill()
        with suppress(SandboxError):
            await self.template.reap(self.evaluation)
        if not await self.template.sweep(self._group):
            self.template.broken = True  # A broken template is ended with all its descendants.


class _Desk(_Process):
    """A process that imports a module, and forks processes for the module's docstrings, one at a time."""

    def __init__(self, importer: _Importer, evaluation: Evaluation) -> None:
        super().__init__(evaluation, importer.template)
        self.busy = True
        self.module = self.package = ""
        """The module and the innermost package that this desk imported itself, or empty."""
        self.there: dict[str, str] = {}
        """By module name: the texts of modules that were imported along with `package`."""
        self.notes = importer.notes
        self.has_lost_caches = importer.has_lost_caches
        self.importer = importer
        self.compiled = {*importer.compiled}
        self._has_forked = False
        """True if this desk has a child that must be reaped."""

    async def import_(self, seconds: float, name: str, path: str = "", text: str = "") -> tuple[str, tuple[str, ...]]:
        """Reap the desk's child. Then import a module as `_Process.import_` does."""
        has_forked, self._has_forked = self._has_forked, False
        if has_forked and not await self.reap(self.evaluation.slot):
            raise SandboxError(_LEFT)
        return await super().import_(seconds, name, path, text)

    async def docstring(self, module: Module, begin: Begin) -> Evaluation:
        """Fork a process for docstrings of a module, after reaping the desk's earlier child."""
        has_forked, self._has_forked = self._has_forked, True
        try:
            await self.compile(self.importer.lazy)
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
        """Take back a process that ran docstrings."""
        if evaluation is not None:
            evaluation.kill()
            evaluation.close()
        self.busy = False
        self.importer.freed.set()

    async def end(self) -> None:
        """End this desk, and clean up after it."""
        self.kill()
        await self.importer.ended(self)


def _outermost(program: Program) -> str:
    """Return the top-level module or package of a program's module."""
    return program.module.name.partition(".")[0]


def _innermost(program: Program) -> str:
    """Return the innermost package of a program's module. Return an empty text for the top-level package."""
    name = program.module.name
    package = name if program.module.path.stem == "__init__" else name.rpartition(".")[0]
    return package if "." in package else ""


def _imported(task: asyncio.Task[_Importer]) -> _Importer | None:
    """Return the importer that a task started, or None if the task still runs or has failed."""
    return None if not task.done() or task.cancelled() or task.exception() else task.result()


def _noted(name: str, how: str, changes: tuple[str, ...]) -> tuple[str, ...]:
    """Return notes for the user about the effects of an import.

    Raises:
        Apart: the import failed, or had effects that forked processes cannot share.
    """
    if how == "failed":
        raise Apart
    if not changes:
        return ()
    left = [change for change in changes if change in _NOT_FORKED]
    if left:
        raise Apart(f"The import of '{name}' leaves {_listed(left)} behind, so each docstring imports it again.")
    return (f"The import of '{name}' changes {_listed(changes)}.",)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)
