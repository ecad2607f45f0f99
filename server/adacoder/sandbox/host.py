"""Runs a module's examples on a candidate, outside our process and confined: the sandbox's one public door.

Every evaluation has a process of its own, which is killed at its end, also after a pass. The worker in it
only answers; the Judge decides here, and no `want` ever leaves this process.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from adacoder.domain import Example, Level, Verdict
from adacoder.sandbox.errors import IsolationRefused, SandboxError
from adacoder.sandbox.imports import imports_ahead
from adacoder.sandbox.isolation import SCRATCH_SIZE
from adacoder.sandbox.isolation.scratch import overfull
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

PROCESSORS = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 32)
"""How many evaluations run at a time, of all Hosts that share their turns."""
_MOST_RUNS = 3
"""How often code is run anew because files came to light meanwhile that it must not see."""
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
            judge, ended = await self._judge(finding, program, examples, timeout)
            if not ended:  # its template was killed meanwhile
                judge, ended = await self._judge(finding, program, examples, timeout)
                if not ended:  # that it happened again is its own doing
                    judge.died(-signal.SIGKILL)
            return judge.verdict

    async def ready(self, program: Program) -> None:
        """Make ready for evaluations of the program's module that are soon to come, whatever its candidate.

        Raises:
            IsolationRefused: as `evaluate`, and before anything is spent on what could not be evaluated.
            SandboxError: the interpreter does not start.
        """
        await self._templates.ready(self._recipe(await self._accepted(), program))

    async def close(self) -> None:
        """End every process, for good."""
        await self._templates.close()

    def _recipe(self, finding: Finding, program: Program) -> Recipe:
        module = program.module
        view = space(self._interpreter, self._workspace, module)
        ahead = imports_ahead(program, self._workspace)
        return Recipe(finding.mechanism, view, self._workspace, module.root, ahead)

    async def _judge(
        self, finding: Finding, program: Program, examples: Sequence[Example], seconds: float
    ) -> tuple[Judge, bool]:
        """Run everything; returns who judged it, and whether that was possible to the end.

        What it told is not believed, and goes nowhere, if something came to light meanwhile that it must not see.

        Raises:
            SandboxError: as `evaluate`, or that happened again and again.
        """
        for _ in range(_MOST_RUNS):
            recipe = self._recipe(finding, program)
            judge = Judge(program, finding.isolation)
            taken = await self._templates.take(recipe)
            try:
                ended = await self._follow(taken, judge, program, examples, seconds)
                seen = space(self._interpreter, self._workspace, program.module, after=True)
                if taken.holds and seen == recipe.space:
                    return judge, ended
            finally:
                # At once, but after the verdict, which need not wait for it.
                asyncio.get_running_loop().call_soon(taken.give_back)
        raise SandboxError("Files that must stay hidden change all the time while code runs: try again when they rest.")

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
    ) -> bool:
        """Run everything in a process, and tell the judge; returns whether that was possible to the end."""
        line = taken.line
        try:
            async with asyncio.timeout(seconds), _bounded(taken):
                if not judge.loaded(await line.load(program, math.ceil(seconds) + 1)):
                    return True
                for example in examples:
                    if not example.skipped:
                        judge.begins(example)
                        judge.answered(example, await line.run(example.source))
                judge.ended(await line.end(program))
        except TimeoutError:
            judge.timed_out(seconds)
        except HungUpError:
            status = await taken.status()
            if taken.gone:
                return False
            if taken.overfull:
                judge.wrote_too_much(SCRATCH_SIZE)
            else:
                judge.died(status)
        except ProtocolError as breach:
            judge.misbehaved(str(breach))
        return True


@asynccontextmanager
async def _bounded(taken: Taken) -> AsyncIterator[None]:
    """End an evaluation that fills the disk."""
    if taken.folder is None:
        yield
        return

    async def bound(folder: Path) -> None:
        await overfull(folder)
        taken.end_overfull()

    watch = asyncio.create_task(bound(taken.folder))
    try:
        yield
    finally:
        watch.cancel()
