"""The entry point of the sandbox, which runs a module's examples on a candidate in a confined process.

Each candidate has a process of its own, which is killed when the evaluation ends. Docstrings of an unchanged module can
share a process (see `series.py`).

The process runs a *worker*, which only reports results. The Judge compares the results in AdaCoder's own process, so a
candidate cannot read the wanted outputs.
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
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from adacoder.domain import Example, FailureKind, Level, Verdict
from adacoder.messages import Named
from adacoder.privacy.private_names import NO_WISHES, Wishes
from adacoder.sandbox.child.worker import OUT_OF_MEMORY
from adacoder.sandbox.desks import Apart
from adacoder.sandbox.environment.imports_ahead import NOTHING_AHEAD, PYTEST, ImportsAhead
from adacoder.sandbox.environment.startup_code import note
from adacoder.sandbox.environment.visible_paths import RECHECK_SECONDS, VisiblePaths, files_of, find_visible
from adacoder.sandbox.importers import Importers, Lent
from adacoder.sandbox.isolation import MOST_THREADS, SCRATCH_SIZE
from adacoder.sandbox.isolation.scratch import remove_left
from adacoder.sandbox.pool import Taken, TemplatePool, Upkeep
from adacoder.sandbox.probe import PROBER, Prober, Proof, in_shell_of_agent
from adacoder.sandbox.process import Permit, Recipe
from adacoder.sandbox.program import Program
from adacoder.sandbox.series import Series, WaitingDocstring
from adacoder.sandbox.unavailable import IsolationRefused, SandboxError
from adacoder.sandbox.verdict import Judge
from adacoder.sandbox.wire import HungUpError, ProtocolError, WorkerLine
from adacoder.traces import Trace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
    from pathlib import Path

    from adacoder.domain import Module
    from adacoder.sandbox.environment.interpreter import Interpreter
    from adacoder.sandbox.isolation import Mechanism
    from adacoder.sandbox.process import Begin, Evaluation

P = ParamSpec("P")
T = TypeVar("T")

__all__ = ["Host", "IsolationRefused", "Program", "SandboxError", "turns_for_all"]

_WATCHED_SECONDS = 0.03
"""Seconds between two checks of an evaluation's memory, threads and files."""
PROCESSORS = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 32)
"""Maximum number of concurrent evaluations, in all Hosts that share `turns`."""
_MOST_TIMES = 20
"""On a busy machine, an evaluation may take this many times its timeout."""
_UNFINISHED = 1.25
"""Measured waits for a processor are multiplied by this number, because the kernel does not count unfinished waits."""
_COUNTED_SECONDS = 0.1
"""Seconds between two checks of an evaluation's processor time."""
_LOOKED_SECONDS = 0.03
_SHARE = 20
"""While docstrings run, searches for private files take at most this fraction (1 / `_SHARE`) of the time."""
_MOST_RUNS = 3
"""Maximum number of runs of an evaluation. An evaluation runs again if its result cannot be used."""
_OF_COMPANY = frozenset({FailureKind.KILLED, FailureKind.OUT_OF_MEMORY, FailureKind.DENIED, FailureKind.PROTOCOL})
"""Failures that may be the fault of another process with which the evaluation shared resources."""
_OF_IMPORT = frozenset({FailureKind.IMPORT_ERROR, FailureKind.TIMED_OUT})
"""Failures of an import that all docstrings of the module share."""
NO_ISOLATION = Named("isolation", Level.NONE)


def turns_for_all() -> asyncio.Semaphore:
    """Return a semaphore that limits the number of concurrent evaluations."""
    return asyncio.Semaphore(PROCESSORS)


def _by_what_holds(
    method: Callable[Concatenate[Host, P], Awaitable[T]],
) -> Callable[Concatenate[Host, P], Coroutine[object, object, T]]:
    """Decorate a method of Host: if the method fails, test the isolation again and retry.

    This applies only if an earlier start of AdaCoder proved the isolation, because the machine may have changed since
    then.
    """

    @wraps(method)
    async def tried(host: Host, /, *values: P.args, **named: P.kwargs) -> T:
        try:
            return await method(host, *values, **named)
        except SandboxError:
            if not (await host._prober.probe(host._best)).is_recorded:  # noqa: SLF001  # This decorator belongs to Host.
                raise
        await host._prober.probe(host._best, anew=True)  # noqa: SLF001  # This decorator belongs to Host.
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
        templates: TemplatePool | None = None,
        turns: asyncio.Semaphore | None = None,
        wishes: Wishes = NO_WISHES,
        env: tuple[str, ...] = (),
        prober: Prober = PROBER,
    ) -> None:
        """Create a host, without starting a process.

        Args:
            interpreter: the Python that runs the code.
            workspace: the folder of the project.
            least: the weakest isolation to accept.
            best: the strongest isolation to try.
            templates: the pool of warm interpreters. The host closes it.
            turns: limit of concurrent evaluations. Several hosts may share it.
            wishes: patterns of private and public files in the workspace.
            env: environment variables of the code, as `NAME=VALUE`.
            prober: finds the isolation that works here.
        """
        self._interpreter = interpreter
        self._workspace = workspace
        self._wishes = wishes
        self.env = env
        self._least = least
        self._best = best
        self._turns = turns or turns_for_all()
        self._prober = prober
        self._templates = templates or TemplatePool(PROCESSORS, Upkeep(PROCESSORS))
        self._importers = Importers(PROCESSORS)
        self._series = Series(self._importers, self._turns, PROCESSORS)
        self._failed_imports: dict[Path, tuple[str, float, Verdict]] = {}
        """By the file of a module that could not be imported: its text, the start of the import, and the verdict."""
        self._looks: dict[Recipe, asyncio.Task[bool]] = {}
        self._looked, self._pause = 0.0, _LOOKED_SECONDS
        self._recipes: dict[tuple[Mechanism, Path, str, bool], tuple[Recipe, float]] = {}
        self._ahead = ImportsAhead(workspace)
        self._booting: asyncio.Task[None] | None = None
        self._has_looked = False
        # Use a daemon thread, so that the program can exit at once.
        self._clearing = threading.Thread(target=remove_left, daemon=True)
        self._clearing.start()

    @property
    def environment(self) -> tuple[Path, ...]:
        """The interpreter and its folders of packages, which change when a package is installed or removed."""
        return self._interpreter.path, *self._interpreter.packages

    @_by_what_holds
    async def evaluate(
        self,
        program: Program,
        examples: Sequence[Example],
        *,
        timeout: float,  # noqa: ASYNC109  # After a timeout, this returns a Verdict instead of raising TimeoutError.
    ) -> Verdict:
        """Import the program's module and run `examples` in order, except skipped ones.

        `timeout` is the limit in seconds for the import and all examples together.

        Raises:
            IsolationRefused: the isolation here is weaker than the weakest to accept.
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
        """Run `examples` as `evaluate` does, and return the trace of the last example.

        There is no Verdict, because code may notice that it is traced, and behave differently.

        Raises:
            IsolationRefused, SandboxError: as `evaluate`.
        """
        finding = await self._accepted(program)
        async with self._turns:
            return (await self._alone(finding, replace(program, traced=True), examples, timeout)).trace

    async def _alone(self, finding: Proof, program: Program, examples: Sequence[Example], seconds: float) -> Judge:
        """Evaluate in a new process. The caller must have acquired `self._turns`.

        If the template was killed, or if a private file became visible during the run, repeat the run. The first result
        could reveal the file.

        Raises:
            SandboxError: as `evaluate`, or private files were found during every run.
        """
        for left in reversed(range(_MOST_RUNS)):
            recipe = await self._recipe(finding.mechanism, program)
            judge = self._judge(finding, program, examples)
            taken = await self._templates.take(recipe)
            try:
                await self._follow(taken, judge, program, seconds)
                holds = taken.holds and recipe.visible == self._visible(program, age=0.0)
                if holds and not (left and judge.cut_short and taken.gone):
                    return judge
            finally:
                # Clean up later, because the verdict need not wait for this.
                asyncio.get_running_loop().call_soon(taken.give_back)
        raise SandboxError("Private files keep changing while code runs: try again when they no longer change.")

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
        """Evaluate examples of an unchanged module.

        If possible, the module's docstrings share one import of the module, or its failure. If another docstring may
        have caused a failure, repeat the run in a separate process.

        Raises:
            IsolationRefused, SandboxError: as `evaluate`.
        """
        since = time.monotonic()
        finding = await self._accepted(program, is_standing=True)
        recipe = await self._known_recipe(finding.mechanism, program)
        standing = replace(program, text="", overlays={})
        asked = [example for example in examples if not example.skipped]
        sources = [(source, form) for _, source, form in _statements(program, asked)]

        def begin(is_only: bool) -> Begin:
            limit = _limit(timeout)
            return partial(WorkerLine.ask_ahead, program=standing, seconds=limit, sources=sources, is_only=is_only)

        async def follow(lent: Lent) -> Judge:
            judge = self._judge(finding, program, examples)
            await self._follow(lent, judge, standing, timeout)
            return judge

        try:
            found = await self._series.evaluate(recipe, WaitingDocstring(program, timeout, since, begin, follow))
        except Apart as apart:
            async with self._turns:
                verdict = self._failed_import(program, since)
                if verdict is None:
                    began = time.monotonic()
                    verdict = (await self._alone(finding, program, examples, timeout)).verdict
                    failure = verdict.failure
                    if failure and failure.kind in _OF_IMPORT and failure.line is None and not verdict.imports:
                        self._failed_imports[program.module.path] = program.text, began, verdict
            return replace(verdict, notes=(*verdict.notes, *filter(None, [str(apart)])))
        verdict = found.judge.verdict
        suspects = {found.judge.cut_short, verdict.failure and verdict.failure.kind}
        if suspects & _OF_COMPANY or not (await self._still_shows(recipe, program) and found.lent.holds):
            verdict = await self.evaluate(program, examples, timeout=timeout)
        return replace(verdict, notes=(*verdict.notes, *found.notes))

    def _failed_import(self, program: Program, since: float) -> Verdict | None:
        """Return the verdict on another docstring of the module if the import has failed since this time, else None."""
        text, began, verdict = self._failed_imports.get(program.module.path, ("", 0.0, None))
        return verdict if text == program.text and began >= since else None

    @_by_what_holds
    async def begin(self, module: Module, document: Path | None) -> None:
        """Start the template for later calls of `check`, so that these calls need not wait.

        `document` is as in `Program.document`.

        Raises:
            IsolationRefused, SandboxError: as `evaluate`.
        """
        program = Program(module, "", "", 1, 1, document=document)
        finding = await self._accepted(program, is_standing=True)
        self._importers.begin(await self._known_recipe(finding.mechanism, program))

    @_by_what_holds
    async def ready(self, program: Program) -> None:
        """Start the template for later evaluations of `program` with this candidate or another.

        Raises:
            IsolationRefused: as `evaluate`. In that case, nothing is started.
            SandboxError: the interpreter does not start.
        """
        await self._templates.ready(await self._recipe((await self._accepted(program)).mechanism, program))

    async def close(self) -> None:
        """End every process, and start no more."""
        if self._booting is not None:
            self._booting.cancel()
        await self._series.close()
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
        """Return the recipe of the program's template. The recipe identifies the template in the pool.

        `is_standing` is True if the template is for `check`, which imports the unchanged module.
        """
        if not self._has_looked:  # Run only the first search in a thread, because only this search is slow.
            await asyncio.to_thread(self._visible, program)
            self._has_looked = True
        view = self._visible(program)
        ahead = NOTHING_AHEAD if is_standing else await self._ahead.of(program)
        if program.tests or program.document is not None:
            files = dict.fromkeys(self._workspace / name.partition("::")[0] for name in program.tests)
            ahead = replace(ahead, statements=(*ahead.statements, PYTEST), files=(*ahead.files, *files))
        group = self._importers.group if is_standing else 1
        return Recipe(mechanism, view, self._workspace, program.module.root, ahead, permitted, self.env, group)

    def _visible(self, program: Program, *, age: float = RECHECK_SECONDS) -> VisiblePaths:
        """Return the files that the program may see. `age` is as in `find_visible`."""
        view = find_visible(self._interpreter, self._workspace, program.module, self._wishes, age=age)
        if not program.is_withheld:
            return view
        return view.without(files_of(program.module, self._workspace, self._interpreter.packages))

    async def _still_shows(self, recipe: Recipe, program: Program) -> bool:
        """Return whether the program still sees the same files as in `recipe`. Concurrent calls share one search."""
        look = self._looks.get(recipe)
        if look is None:
            look = self._looks[recipe] = asyncio.create_task(self._look(recipe, program))
        return await asyncio.shield(look)

    async def _look(self, recipe: Recipe, program: Program) -> bool:
        await self._series.idle(max(0.0, self._looked + self._pause - time.monotonic()))
        del self._looks[recipe]  # A later call must start a new search.
        began = time.monotonic()
        shows = recipe.visible == self._visible(program, age=0.0)
        self._looked = time.monotonic()
        self._pause = max(_LOOKED_SECONDS, _SHARE * (self._looked - began))
        return shows

    async def _known_recipe(self, mechanism: Mechanism, program: Program) -> Recipe:
        """Return a recipe for an unchanged module. Recipes are cached for a short time.

        An outdated recipe is safe, because the caller checks the visible files after the run.
        """
        package, has_fixtures = program.module.name.partition(".")[0], program.document is not None
        key = mechanism, program.module.root, package, has_fixtures
        recipe, until = self._recipes.get(key, (None, 0.0))
        if recipe is None or time.monotonic() > until:
            recipe = await self._recipe(mechanism, program, is_standing=True)
            self._recipes[key] = recipe, time.monotonic() + self._pause
        return recipe

    async def _accepted(self, program: Program, *, is_standing: bool = False) -> Proof:
        """Return the proof that a mechanism isolates code on this machine.

        While the isolation is tested, start the template that `program` needs. Code of the user runs only after the
        test has succeeded.

        Raises:
            IsolationRefused: the isolation is too weak.
        """

        def boot(mechanism: Mechanism, permitted: Permit) -> None:
            if mechanism.isolation.level.is_at_least(self._least):
                self._booting = asyncio.create_task(self._boot(mechanism, program, permitted, is_standing=is_standing))

        finding = await self._prober.probe(self._best, meanwhile=boot)
        if finding.isolation.level.is_at_least(self._least):
            return finding
        level = finding.isolation.level
        if level is Level.NONE and in_shell_of_agent():  # Do not tell an agent how to accept the risk.
            raise IsolationRefused(f"Nothing in this shell can isolate code ({finding.reason}): {finding.remedy}.")
        if level is Level.NONE:
            what, accept = "Nothing on this machine can isolate code", "accept the risk"
        else:
            what = f"Isolation here only reaches the level '{level}', but '{self._least}' is required"
            accept = "accept it"
        remedy = f"{finding.remedy}, or " if finding.remedy else ""
        raise IsolationRefused(f"{what} ({finding.reason}): {remedy}{accept} with `", Named("isolation", level), "`.")

    async def _boot(self, mechanism: Mechanism, program: Program, permitted: Permit, *, is_standing: bool) -> None:
        recipe = await self._recipe(mechanism, program, permitted, is_standing=is_standing)
        with suppress(SandboxError):  # The next caller will get the error.
            (self._importers if is_standing else self._templates).begin(recipe)

    async def _follow(self, taken: Taken, judge: Judge, program: Program, seconds: float) -> None:
        """Run the judge's examples in a process, and report all events to the judge.

        If the template is killed, the end of the process is not reported. The verdict then says that the run is
        incomplete.
        """
        line = taken.evaluation.line
        try:
            async with _timeout(taken.evaluation, seconds), _bounded(taken):
                if not judge.loaded(await line.load(program, _limit(seconds))):
                    return
                statements = [*_statements(program, judge.examples)]
                if program.observed:
                    await line.ask_runs_ahead((source, form) for _, source, form in statements)
                for example, source, form in statements:
                    if example is None:
                        if not judge.prepared(await line.run(source, form)):
                            return
                        continue
                    judge.begins(example)
                    is_traced = program.traced and example is judge.examples[-1]
                    run = partial(line.trace, tell=judge.traced) if is_traced else line.run
                    judge.answered(example, await run(source, form))
                    if judge.is_over:
                        return
                if program.tests:
                    judge.tests_ended(*await line.test(program, str(self._workspace), judge.tested))
                judge.ended(await line.end(program))
                _has_too_much(taken, judge)
        except TimeoutError:
            if not _has_too_much(taken, judge):
                judge.timed_out(seconds)
        except HungUpError:
            status = await taken.status()
            if not taken.gone and not _has_too_much(taken, judge):
                judge.died(status)
        except ProtocolError as breach:  # Perhaps the process was killed because it exceeded a limit.
            if not _has_too_much(taken, judge):
                judge.misbehaved(str(breach))


def _statements(program: Program, examples: Sequence[Example]) -> Iterator[tuple[Example | None, str, str]]:
    """Yield the statements to run in order: the example, or None for other code, then the source and its form.

    The program's setup code runs before the examples of each Sphinx group.
    """
    groups = [[*group] for _, group in groupby(examples, key=attrgetter("group"))]
    for number, group in enumerate(groups or [[]]):
        if number:
            yield None, "pass", "apart"
        yield from ((None, statement, "") for statement in program.setup)
        yield from ((example, example.source, example.form) for example in group)


def _limit(seconds: float) -> int:
    """Return the limit of processor time in full seconds.

    The kernel enforces this limit even if AdaCoder was killed.
    """
    return math.ceil(seconds) + 1


def _has_too_much(taken: Taken, judge: Judge) -> bool:
    """Return whether an evaluation exceeded a limit of files, threads or memory, and report this to the judge."""
    if taken.overfull:
        judge.wrote_too_much(SCRATCH_SIZE)
    elif taken.crowded or taken.evaluation.threads() > MOST_THREADS:
        judge.started_too_many_threads(MOST_THREADS)
    elif taken.greedy:
        judge.died(OUT_OF_MEMORY)
    else:
        return False
    return True


@asynccontextmanager
async def _timeout(evaluation: Evaluation, seconds: float, most_times: int = _MOST_TIMES) -> AsyncIterator[None]:
    """Raise TimeoutError after `seconds`, not counting the time in which the evaluation waited for a processor.

    Raise the error after `most_times * seconds` in any case, and earlier if the evaluation has used `seconds` of
    processor time.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    timer: asyncio.TimerHandle

    def look() -> None:
        nonlocal timer
        now = loop.time()
        end = began + min(seconds + _UNFINISHED * evaluation.waited(), most_times * seconds)
        if now < began + seconds or (now < end and evaluation.computed() < seconds):
            timer = loop.call_at(min(end, now + _COUNTED_SECONDS), look)
        else:
            limit.reschedule(now)

    async with asyncio.timeout(None) as limit:
        timer = loop.call_later(min(seconds, _COUNTED_SECONDS), look)
        try:
            yield
        finally:
            timer.cancel()


@asynccontextmanager
async def _bounded(taken: Taken) -> AsyncIterator[None]:
    """Kill the evaluation if it has too many files or threads, or too much memory."""
    loop = asyncio.get_running_loop()
    watching: list[asyncio.Task[None]] = []
    # Wait before the first check, because most evaluations end soon.
    begin = loop.call_later(_WATCHED_SECONDS, lambda: watching.append(loop.create_task(_watch(taken))))
    try:
        yield
    finally:
        begin.cancel()
        for watch in watching:
            watch.cancel()


async def _watch(taken: Taken) -> None:
    while True:
        taken.crowded = taken.evaluation.threads() > MOST_THREADS
        taken.greedy = taken.has_too_much_memory()
        if taken.folder is not None:
            taken.overfull = await asyncio.to_thread(taken.is_overfull)
        if taken.crowded or taken.greedy or taken.overfull:
            taken.evaluation.kill()
            return
        await asyncio.sleep(_WATCHED_SECONDS)
