"""Runs a module's examples on a candidate, outside our process and confined: the sandbox's one public door.

Every evaluation has a process of its own, which is killed at its end, also after a pass. The worker in it
only answers; the Judge decides here, and no `want` ever leaves this process.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from adacoder.domain import Example, Level, Verdict
from adacoder.sandbox.errors import IsolationRefused, SandboxError
from adacoder.sandbox.isolation import scratch
from adacoder.sandbox.judge import Judge
from adacoder.sandbox.probe import Finding, probe
from adacoder.sandbox.process import Recipe
from adacoder.sandbox.program import Program
from adacoder.sandbox.space import space
from adacoder.sandbox.templates import Taken, Templates
from adacoder.sandbox.wire import HungUpError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from adacoder.sandbox.interpreter import Interpreter

__all__ = ["Host", "IsolationRefused", "Program", "SandboxError", "turns_for_all"]

PROCESSORS = os.cpu_count() or 1
ACCEPT_THE_RISK = "accept the risk with `--isolation none`"


def turns_for_all() -> asyncio.Semaphore:
    """Lets as many evaluations through at a time as there are processors."""
    return asyncio.Semaphore(PROCESSORS)


class Host:
    """Evaluates candidates with one interpreter in one workspace."""

    def __init__(
        self,
        interpreter: Interpreter,
        workspace: Path,
        *,
        least: Level,
        best: Level = Level.FULL,
        spares: int = 1,
        turns: asyncio.Semaphore | None = None,
    ) -> None:
        """`least`: the weakest isolation accepted; `best`: the strongest that is tried.

        `spares`: how many processes are kept ready for the next evaluations. `turns`: as many evaluations as it lets
        through run at a time, in the order in which they came; Hosts may share it.
        """
        self._interpreter = interpreter
        self._workspace = workspace
        self._least = least
        self._best = best
        self._turns = turns or turns_for_all()
        self._templates = Templates(PROCESSORS, spares)
        self._rehearsals: set[asyncio.Task[None]] = set()

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
        finding = await self._accepted()
        async with self._turns:
            judge = Judge(program, finding.isolation)
            if await self._evaluate(finding, judge, program, examples, timeout):
                return judge.verdict
            # Its template was killed meanwhile. If that happens again it is its own doing.
            judge = Judge(program, finding.isolation)
            if not await self._evaluate(finding, judge, program, examples, timeout):
                judge.died(-signal.SIGKILL)
            return judge.verdict

    async def prepare(self, program: Program, *, timeout: float) -> None:  # noqa: ASYNC109  # as in `evaluate`
        """Make ready for evaluations of the program's module that are soon to come: rehearse its import.

        Raises:
            IsolationRefused: as `evaluate`, and before anything is spent on what could not be evaluated.
        """
        await self._accepted()
        task = asyncio.create_task(self._rehearse(program, timeout))
        self._rehearsals.add(task)
        task.add_done_callback(self._rehearsals.discard)

    async def close(self) -> None:
        """End every process."""
        for task in self._rehearsals:
            task.cancel()
        await asyncio.gather(*self._rehearsals, return_exceptions=True)
        await self._templates.close()

    async def _rehearse(self, program: Program, seconds: float) -> None:
        with suppress(SandboxError):  # which the evaluation meets again, where it can be told
            await self.evaluate(program, (), timeout=seconds)

    async def _evaluate(
        self, finding: Finding, judge: Judge, program: Program, examples: Sequence[Example], seconds: float
    ) -> bool:
        """Run everything, and tell the judge; returns whether that was possible to the end."""
        module = program.module
        unsaved = tuple(sorted(path for path in program.overlays if path != module.path))
        view = space(self._interpreter, self._workspace, module)
        recipe = Recipe(finding.mechanism, view, self._workspace, module.root, unsaved)
        taken = await self._templates.take(recipe, module.name.partition(".")[0])
        try:
            await self._follow(taken, judge, program, examples, seconds)
            return not taken.lost
        finally:
            taken.give_back(judge.modules)

    async def _accepted(self) -> Finding:
        """What isolates here, if that is as strong as it must be; raises IsolationRefused if not."""
        finding = await probe(self._best)
        if finding.isolation.level.is_at_least(self._least):
            return finding
        remedies = ", or ".join(filter(None, [finding.remedy, ACCEPT_THE_RISK]))
        level = finding.isolation.level
        if level is Level.NONE:
            what = "Nothing here can isolate the code that a model wrote"
        else:
            what = f"Code can only be isolated at the level '{level}' here, and '{self._least}' is the least accepted"
            remedies = ", or ".join(filter(None, [finding.remedy, f"accept it with `--isolation {level}`"]))
        raise IsolationRefused(f"{what} ({finding.reason}): {remedies}.")

    async def _follow(
        self, taken: Taken, judge: Judge, program: Program, examples: Sequence[Example], seconds: float
    ) -> None:
        line = taken.line
        try:
            async with asyncio.timeout(seconds), _bounded(taken):
                if not judge.loaded(await line.load(program, math.ceil(seconds) + 1)):
                    return
                for example in examples:
                    if not example.skipped:
                        judge.begins(example)
                        judge.answered(example, await line.run(example.source))
                judge.ended(await line.end(program))
        except TimeoutError:
            judge.timed_out(seconds)
        except HungUpError:
            if taken.overfull:
                judge.wrote_too_much(scratch.SIZE)
            else:
                judge.died(await taken.status())
        except ProtocolError as breach:
            judge.misbehaved(str(breach))


@asynccontextmanager
async def _bounded(taken: Taken) -> AsyncIterator[None]:
    """End an evaluation that fills the disk."""
    if taken.folder is None:
        yield
        return

    async def bound(folder: Path) -> None:
        await scratch.overfull(folder)
        taken.end_overfull()

    watch = asyncio.create_task(bound(taken.folder))
    try:
        yield
    finally:
        watch.cancel()
