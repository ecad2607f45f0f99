"""Runs a module's examples on a candidate, outside our process and confined: the sandbox's door for evaluations.

Every evaluation has a process of its own, which is killed at its end, also after a pass. The worker in it
only answers; the Judge decides here, and no `want` ever leaves this process.
"""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from adacoder.domain import Example, FailureKind, Level, Verdict
from adacoder.messages import Named
from adacoder.privacy.names import NO_WISHES, Wishes
from adacoder.sandbox.errors import IsolationRefused, SandboxError
from adacoder.sandbox.importers import Apart, Importers
from adacoder.sandbox.imports import NOTHING_AHEAD, ImportsAhead
from adacoder.sandbox.isolation import MOST_THREADS, SCRATCH_SIZE
from adacoder.sandbox.isolation.scratch import remove_left
from adacoder.sandbox.judge import Judge
from adacoder.sandbox.probe import Proof, probe
from adacoder.sandbox.process import Permit, Recipe
from adacoder.sandbox.program import Program
from adacoder.sandbox.startup_code import note
from adacoder.sandbox.templates import Taken, Templates
from adacoder.sandbox.visible_paths import VisiblePaths, files_of, find_visible
from adacoder.sandbox.wire import HungUpError, ProtocolError, WorkerLine
from adacoder.sandbox.worker import OUT_OF_MEMORY
from adacoder.traces import Trace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
    from pathlib import Path

    from adacoder.domain import Module
    from adacoder.sandbox.interpreter import Interpreter
    from adacoder.sandbox.isolation import Mechanism

P = ParamSpec("P")
T = TypeVar("T")

__all__ = ["Host", "IsolationRefused", "Program", "SandboxError", "turns_for_all"]

_WATCHED_SECONDS = 0.03
"""Seconds between two looks at an evaluation."""
PROCESSORS = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 32)
"""Most evaluations at a time, of all Hosts that share their turns."""
_LOOKED_SECONDS = 0.03
_SHARE = 20
"""Least seconds between two searches for private files that docstrings see; and the part of the time that they take at
most: one in so many."""
_MOST_RUNS = 3
"""Most repetitions because private files came to light meanwhile."""
_OF_COMPANY = frozenset({FailureKind.KILLED, FailureKind.OUT_OF_MEMORY, FailureKind.DENIED, FailureKind.PROTOCOL})
"""Failures that another process may have caused, where one does not have everything for itself."""
NO_ISOLATION = Named("isolation", Level.NONE)


def turns_for_all() -> asyncio.Semaphore:
    """Lets as many evaluations through at a time as there are processors."""
    return asyncio.Semaphore(PROCESSORS)


def _by_what_holds(
    method: Callable[Concatenate[Host, P], Awaitable[T]],
) -> Callable[Concatenate[Host, P], Coroutine[object, object, T]]:
    """Prove isolation anew and try again, if a method fails on what only an earlier start proved."""

    @wraps(method)
    async def tried(host: Host, /, *values: P.args, **named: P.kwargs) -> T:
        try:
            return await method(host, *values, **named)
        except SandboxError:
            if not (await probe(host._best)).is_recorded:  # noqa: SLF001  # the Host's own
                raise
        await probe(host._best, anew=True)  # noqa: SLF001  # as above
        return await method(host, *values, **named)

    return tried


class Host:
    """Evaluates candidates with one interpreter in one workspace."""

    def __init__(
        self,
        interpreter: Interpreter,
        workspace: Path,
        *,
        least: Level,
        best: Level = Level.FULL,
        spares: int = PROCESSORS,
        turns: asyncio.Semaphore | None = None,
        wishes: Wishes = NO_WISHES,
    ) -> None:
        """`least`: the weakest isolation accepted; `best`: the strongest that is tried.

        `spares`: how many processes are kept ready for the next evaluations while none runs. `turns`: as many
        evaluations as it lets through run at a time, in the order in which they came; Hosts may share it. `wishes`:
        what of the workspace is private beyond what is known.
        """
        self._interpreter = interpreter
        self._workspace = workspace
        self._wishes = wishes
        self._least = least
        self._best = best
        self._turns = turns or turns_for_all()
        self._templates = Templates(PROCESSORS, spares)
        self._importers = Importers(PROCESSORS)
        self._looks: dict[Recipe, asyncio.Task[bool]] = {}
        self._looked, self._pause = 0.0, _LOOKED_SECONDS
        self._recipes: dict[tuple[Mechanism, Path, str], tuple[Recipe, float]] = {}
        self._ahead = ImportsAhead(workspace)
        self._booting: asyncio.Task[None] | None = None
        self._has_looked = False
        self._clearing = threading.Thread(target=remove_left, daemon=True)  # a daemon, so that no exit waits for it
        self._clearing.start()

    @_by_what_holds
    async def evaluate(
        self,
        program: Program,
        examples: Sequence[Example],
        *,
        timeout: float,  # noqa: ASYNC109  # when it is over there is a Verdict, and no TimeoutError
    ) -> Verdict:
        """Import the program's module and run `examples`, in order, the skipped ones left out.

        `timeout`: seconds from the import's begin to the last example's end.

        Raises:
            IsolationRefused: what works here is weaker than the least level accepted.
            SandboxError: the interpreter does not start.
        """
        finding = await self._accepted(program)
        async with self._turns:
            return (await self._alone(finding, program, examples, timeout)).verdict

    @_by_what_holds
    async def trace(
        self,
        program: Program,
        examples: Sequence[Example],
        *,
        timeout: float,  # noqa: ASYNC109  # as `evaluate`
    ) -> Trace:
        """Run `examples` as `evaluate` does; returns what the last of them executes of the target, as far as it got.

        There is no Verdict: nothing that is told by a trace, or that happens while one is made, decides anything.

        Raises:
            IsolationRefused, SandboxError: as `evaluate`.
        """
        finding = await self._accepted(program)
        async with self._turns:
            return (await self._alone(finding, replace(program, traced=True), examples, timeout)).trace

    async def _alone(self, finding: Proof, program: Program, examples: Sequence[Example], seconds: float) -> Judge:
        """Evaluate in a new process. The caller has a turn.

        The run is repeated if its template was killed, or if a private file came to light meanwhile. The first result
        is incomplete, and the second must not be shown.

        Raises:
            SandboxError: as `evaluate`, or private files came to light in every run.
        """
        for left in reversed(range(_MOST_RUNS)):
            recipe = await self._recipe(finding.mechanism, program)
            judge = self._judge(finding, program, examples)
            begin = partial(WorkerLine.ask_ahead, program=program, seconds=_limit(seconds))
            taken = await self._templates.take(recipe, begin)
            try:
                await self._follow(taken, judge, program, seconds)
                holds = taken.holds and recipe.visible == self._visible(program, after=True)
                if holds and not (left and judge.cut_short and taken.gone):
                    return judge
            finally:
                # At once, but after the verdict, which need not wait for it.
                asyncio.get_running_loop().call_soon(taken.give_back)
        raise SandboxError("Files that must stay hidden change all the time while code runs: try again when they rest.")

    def _judge(self, finding: Proof, program: Program, examples: Sequence[Example]) -> Judge:
        asked = [example for example in examples if not example.skipped]
        return Judge(program, finding.isolation, asked, note(self._interpreter, self._workspace))

    @_by_what_holds
    async def check(
        self,
        program: Program,
        examples: Sequence[Example],
        *,
        timeout: float,  # noqa: ASYNC109  # as `evaluate`
    ) -> Verdict:
        """As `evaluate`, of a module as it stands: where that can be, it is imported once for all of its docstrings.

        What may have failed for the company that its process had is evaluated anew, by itself.

        Raises:
            IsolationRefused, SandboxError: as `evaluate`.
        """
        finding = await self._accepted(program, is_standing=True)
        async with self._turns:
            recipe = await self._known_recipe(finding.mechanism, program)
            judge = self._judge(finding, program, examples)
            standing = replace(program, text="", overlays={})
            sources = [(example.source, example.informal) for example in judge.examples]
            begin = partial(WorkerLine.ask_ahead, program=standing, seconds=_limit(timeout), sources=sources)
            try:
                lent = await self._importers.lend(recipe, program, timeout, begin)
            except Apart as apart:
                verdict = (await self._alone(finding, program, examples, timeout)).verdict
                return replace(verdict, notes=(*verdict.notes, *filter(None, [str(apart)])))
            try:
                await self._follow(lent, judge, standing, timeout)
            finally:
                lent.give_back()
        verdict = judge.verdict
        suspects = {judge.cut_short, verdict.failure and verdict.failure.kind}
        if suspects & _OF_COMPANY or not (await self._still_shows(recipe, program) and lent.holds):
            verdict = await self.evaluate(program, examples, timeout=timeout)
        return replace(verdict, notes=(*verdict.notes, *lent.notes))

    @_by_what_holds
    async def begin(self, module: Module) -> None:
        """Let start what imports a module as it stands, for docstrings that are soon to come.

        Raises:
            IsolationRefused, SandboxError: as `evaluate`.
        """
        program = Program(module, "", "", 1, 1)
        finding = await self._accepted(program, is_standing=True)
        self._importers.begin(await self._known_recipe(finding.mechanism, program))

    @_by_what_holds
    async def ready(self, program: Program) -> None:
        """Make ready for evaluations of the program's module that are soon to come, whatever its candidate.

        Raises:
            IsolationRefused: as `evaluate`, and before anything is spent on what could not be evaluated.
            SandboxError: the interpreter does not start.
        """
        await self._templates.ready(await self._recipe((await self._accepted(program)).mechanism, program))

    async def close(self) -> None:
        """End every process, for good."""
        if self._booting is not None:
            self._booting.cancel()
        await asyncio.gather(self._templates.close(), self._importers.close())
        if self._clearing.is_alive():
            await asyncio.to_thread(self._clearing.join)

    async def _recipe(
        self,
        mechanism: Mechanism,
        program: Program,
        permitted: Permit | None = None,
        *,
        is_standing: bool = False,
    ) -> Recipe:
        """Recipe of the template that evaluates the program, or imports its module as it stands."""
        if not self._has_looked:  # which takes so much longer the first time
            await asyncio.to_thread(self._visible, program)
            self._has_looked = True
        view = self._visible(program)
        ahead = NOTHING_AHEAD if is_standing else await self._ahead.of(program)
        group = self._importers.group if is_standing else 1
        return Recipe(mechanism, view, self._workspace, program.module.root, ahead, permitted, group)

    def _visible(self, program: Program, *, after: bool = False) -> VisiblePaths:
        """Files that the program may see; `after`: as in `find_visible`."""
        view = find_visible(self._interpreter, self._workspace, program.module, self._wishes, after=after)
        if not program.is_withheld:
            return view
        return view.without(files_of(program.module, self._workspace, self._interpreter.packages))

    async def _still_shows(self, recipe: Recipe, program: Program) -> bool:
        """True if the program may still see what it was shown; one search serves all that end within a moment."""
        look = self._looks.get(recipe)
        if look is None:
            look = self._looks[recipe] = asyncio.create_task(self._look(recipe, program))
        return await asyncio.shield(look)

    async def _look(self, recipe: Recipe, program: Program) -> bool:
        await asyncio.sleep(max(0.0, self._looked + self._pause - time.monotonic()))
        del self._looks[recipe]  # who ends from now on waits for the next
        began = time.monotonic()
        shows = recipe.visible == self._visible(program, after=True)
        self._looked = time.monotonic()
        self._pause = max(_LOOKED_SECONDS, _SHARE * (self._looked - began))
        return shows

    async def _known_recipe(self, mechanism: Mechanism, program: Program) -> Recipe:
        """As `_recipe`, of a module as it stands; for a while that of its package's last docstring is as good, since
        afterwards it is seen whether it still is.
        """
        key = mechanism, program.module.root, program.module.name.partition(".")[0]
        recipe, until = self._recipes.get(key, (None, 0.0))
        if recipe is None or time.monotonic() > until:
            recipe = await self._recipe(mechanism, program, is_standing=True)
            self._recipes[key] = recipe, time.monotonic() + self._pause
        return recipe

    async def _accepted(self, program: Program, *, is_standing: bool = False) -> Proof:
        """Mechanism that isolates here; raises IsolationRefused if it is weaker than asked for.

        While that is still to be proved, what `program` will most likely run in is booted, but for what is the user's.
        """

        def boot(mechanism: Mechanism, permitted: Permit) -> None:
            if mechanism.isolation.level.is_at_least(self._least):
                self._booting = asyncio.create_task(self._boot(mechanism, program, permitted, is_standing=is_standing))

        finding = await probe(self._best, meanwhile=boot)
        if finding.isolation.level.is_at_least(self._least):
            return finding
        level = finding.isolation.level
        if level is Level.NONE:
            what, accept = "Nothing here can isolate the code that a model wrote", "accept the risk"
        else:
            what = f"Code can only be isolated at the level '{level}' here, and '{self._least}' is the least accepted"
            accept = "accept it"
        remedy = f"{finding.remedy}, or " if finding.remedy else ""
        raise IsolationRefused(f"{what} ({finding.reason}): {remedy}{accept} with `", Named("isolation", level), "`.")

    async def _boot(self, mechanism: Mechanism, program: Program, permitted: Permit, *, is_standing: bool) -> None:
        recipe = await self._recipe(mechanism, program, permitted, is_standing=is_standing)
        with suppress(SandboxError):  # whoever then wants it is told
            (self._importers if is_standing else self._templates).begin(recipe)

    async def _follow(self, taken: Taken, judge: Judge, program: Program, seconds: float) -> None:
        """Run the judge's examples in a process, and tell the judge.

        If the template is killed meanwhile, the judge hears of no end: its verdict is that of a run that was cut off.
        """
        line = taken.line
        try:
            async with asyncio.timeout(seconds), _bounded(taken):
                if not judge.loaded(await line.load(program, _limit(seconds))):
                    return
                for example in judge.examples:
                    judge.begins(example)
                    is_traced = program.traced and example is judge.examples[-1]
                    run = partial(line.trace, tell=judge.traced) if is_traced else line.run
                    judge.answered(example, await run(example.source, by_value=example.informal))
                judge.ended(await line.end(program))
                _has_too_much(taken, judge)
        except TimeoutError:
            judge.timed_out(seconds)
        except HungUpError:
            status = await taken.status()
            if not taken.gone and not _has_too_much(taken, judge):
                judge.died(status)
        except ProtocolError as breach:  # it may also have been ended just after its last answer
            if not _has_too_much(taken, judge):
                judge.misbehaved(str(breach))


def _limit(seconds: float) -> int:
    """The processor time that an evaluation may use, so that it ends even if nobody is there to end it."""
    return math.ceil(seconds) + 1


def _has_too_much(taken: Taken, judge: Judge) -> bool:
    """True if it has too much of files, threads or memory, or was ended for that; then the judge is told."""
    if taken.overfull:
        judge.wrote_too_much(SCRATCH_SIZE)
    elif taken.crowded or taken.threads > MOST_THREADS:
        judge.started_too_many_threads(MOST_THREADS)
    elif taken.greedy:
        judge.died(OUT_OF_MEMORY)
    else:
        return False
    return True


@asynccontextmanager
async def _bounded(taken: Taken) -> AsyncIterator[None]:
    """End an evaluation that fills the disk, starts too many threads, or takes too much memory."""
    loop = asyncio.get_running_loop()
    watching: list[asyncio.Task[None]] = []
    # Most are over before there is anything to see.
    begin = loop.call_later(_WATCHED_SECONDS, lambda: watching.append(loop.create_task(_watch(taken))))
    try:
        yield
    finally:
        begin.cancel()
        for watch in watching:
            watch.cancel()


async def _watch(taken: Taken) -> None:
    while True:
        taken.crowded = taken.threads > MOST_THREADS
        taken.greedy = taken.has_too_much_memory()
        if taken.folder is not None:
            taken.overfull = await asyncio.to_thread(taken.is_overfull)
        if taken.crowded or taken.greedy or taken.overfull:
            taken.end()
            return
        await asyncio.sleep(_WATCHED_SECONDS)
