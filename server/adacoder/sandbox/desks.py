"""The processes that import unchanged modules. `importers.py` describes the tree that they form."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from adacoder.sandbox.child.launcher import children
from adacoder.sandbox.held import shares_memory
from adacoder.sandbox.isolation import MOST_MEMORY, MOST_THREADS
from adacoder.sandbox.isolation.scratch import is_overfull
from adacoder.sandbox.process import WARM_SECONDS, Evaluation, TemplateProcess, forked
from adacoder.sandbox.unavailable import SandboxError
from adacoder.sandbox.wire import MOST_COMPILED, HungUpError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from adacoder.domain import Module
    from adacoder.sandbox.process import Begin
    from adacoder.sandbox.program import Program

LEFT = "The sandbox broke: an evaluation left something behind."
"""Message of the error after which a process cannot be used any more."""
_REAP_SECONDS = 5.0
_WATCHED_SECONDS = 0.1
"""Seconds between two checks of an importer's memory, threads and files."""
_NOT_FORKED = frozenset({"threads", "open files", "files in its folder", "the current folder", "shared memory"})
"""Effects of an import that forked processes would share or lose. If a module has such an effect, each docstring
imports the module in a process of its own.
"""


class Apart(Exception):
    """A module's docstrings cannot share an import of the module. The message is a note for the user, or empty."""


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


class Importer(_Process):
    """A process that has imported a top-level module or package."""

    def __init__(self, template: TemplateProcess, evaluation: Evaluation, group: int) -> None:
        super().__init__(evaluation, template)
        self._given_up = False
        self.notes: tuple[str, ...] = ()
        self.template = template
        self._slots = [evaluation.slot + number for number in range(1, group)]
        """Free slots. A slot is a scratch folder for one process."""
        self._desks: list[Desk] = []
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

    async def desk(self, program: Program, seconds: float) -> Desk:
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

    async def _import(self, desk: Desk, program: Program, seconds: float) -> None:
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

    async def _free_desk(self, module: str, package: str) -> Desk:
        """Return a free desk, or wait for one.

        The order of preference is: a desk that has imported `module`; a desk that has imported only `package`; a desk
        without imports of its own; a new desk. If all slots are used, end an idle desk.
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
            desk = Desk(self, await self.fork(slot, "desk"))
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

    async def ended(self, desk: Desk) -> None:
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


class Desk(_Process):
    """A process that imports a module, and forks processes for the module's docstrings, one at a time."""

    def __init__(self, importer: Importer, evaluation: Evaluation) -> None:
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
            raise SandboxError(LEFT)
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
                raise SandboxError(LEFT)
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


def _innermost(program: Program) -> str:
    """Return the innermost package of a program's module. Return an empty text for the top-level package."""
    name = program.module.name
    package = name if program.module.path.stem == "__init__" else name.rpartition(".")[0]
    return package if "." in package else ""


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
