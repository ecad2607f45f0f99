"""Runs a module's examples on a candidate, outside our process and confined: the sandbox's one public door.

Every evaluation has a process of its own, which is killed at its end, also after a pass. The worker in it
only answers; the Judge decides here, and no `want` ever leaves this process.
"""

from __future__ import annotations

import asyncio
import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adacoder.domain import Example, Level, Module, Verdict
from adacoder.sandbox.errors import IsolationRefused, SandboxError
from adacoder.sandbox.judge import Judge
from adacoder.sandbox.probe import Finding, probe
from adacoder.sandbox.process import Order, Process
from adacoder.sandbox.program import Program
from adacoder.sandbox.space import space
from adacoder.sandbox.wire import HungUpError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from adacoder.sandbox.interpreter import Interpreter

__all__ = ["Host", "IsolationRefused", "Program", "SandboxError"]

IDLE_SECONDS = 60.0
"""How long an interpreter that was started ahead is kept."""
ACCEPT_THE_RISK = "accept the risk with `--isolation none`"


class Host:
    """Evaluates candidates with one interpreter in one workspace.

    At most one interpreter is kept started ahead, which has imported nothing of the project. It is for the
    next evaluation that asks for the same confinement and limits, and is given up after `IDLE_SECONDS`.
    """

    def __init__(self, interpreter: Interpreter, workspace: Path, *, least: Level) -> None:
        self._interpreter = interpreter
        self._workspace = workspace
        self._least = least
        self._slots = asyncio.Semaphore(os.cpu_count() or 1)
        self._spare: _Spare | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._closed = False

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
        judge = Judge(program, finding.isolation)
        order = self._order(finding, program.module, timeout)
        async with self._slots:
            process = await self._take(order)
            try:
                await self._follow(process, judge, program, examples, timeout)
            finally:
                await process.end()
        self._start_ahead(order)
        return judge.verdict

    async def prepare(self, module: Module, *, timeout: float) -> None:  # noqa: ASYNC109  # as in `evaluate`
        """Start an interpreter ahead for an evaluation of `module` that is soon to come.

        Raises:
            IsolationRefused: as `evaluate`, and before anything is spent on what could not be evaluated.
        """
        self._start_ahead(self._order(await self._accepted(), module, timeout))

    async def close(self) -> None:
        """End every process."""
        self._closed = True
        self._give_up_spare()
        await asyncio.gather(*self._background)

    def _order(self, finding: Finding, module: Module, seconds: float) -> Order:
        return Order(finding.mechanism, space(self._interpreter, self._workspace, module), math.ceil(seconds) + 1)

    async def _accepted(self) -> Finding:
        """What isolates here, if that is as strong as it must be; raises IsolationRefused if not."""
        finding = await probe()
        if finding.isolation.level.is_at_least(self._least):
            return finding
        remedies = ", or ".join(filter(None, [finding.remedy, ACCEPT_THE_RISK]))
        raise IsolationRefused(f"Nothing here can isolate the code that a model wrote ({finding.reason}): {remedies}.")

    async def _follow(
        self, process: Process, judge: Judge, program: Program, examples: Sequence[Example], seconds: float
    ) -> None:
        """Run everything, and tell the judge."""
        line = process.line
        try:
            async with asyncio.timeout(seconds):
                if not judge.loaded(await line.load(program, str(self._workspace))):
                    return
                for example in examples:
                    if not example.skipped:
                        judge.begins(example)
                        judge.answered(example, await line.run(example.source))
                judge.ended(await line.end(program))
        except TimeoutError:
            judge.timed_out(seconds)
        except HungUpError:
            judge.died(await process.status())
        except ProtocolError as breach:
            judge.misbehaved(str(breach))

    async def _take(self, order: Order) -> Process:
        """A process for `order`: the one started ahead, if it is for such an order, else a new one."""
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.timer.cancel()
            if spare.order == order:
                try:
                    process = await spare.boot
                except SandboxError:
                    return await Process.boot(order)  # whose error, if it fails too, is of this moment
                except asyncio.CancelledError:
                    self._discard(spare.boot)  # it may have been ready at the same moment
                    raise
                if process.alive:
                    return process
            self._discard(spare.boot)
        return await Process.boot(order)

    def _start_ahead(self, order: Order) -> None:
        if self._spare is None and not self._closed:
            timer = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._give_up_spare)
            self._spare = _Spare(order, asyncio.create_task(Process.boot(order)), timer)

    def _give_up_spare(self) -> None:
        if self._spare is not None:
            self._spare.timer.cancel()
            self._discard(self._spare.boot)
            self._spare = None

    def _discard(self, boot: asyncio.Task[Process]) -> None:
        task = asyncio.create_task(_end(boot))
        self._background.add(task)
        task.add_done_callback(self._background.discard)


@dataclass(frozen=True, slots=True)
class _Spare:
    """An interpreter that starts, or has started, for an order like the last one."""

    order: Order
    boot: asyncio.Task[Process]
    timer: asyncio.TimerHandle


async def _end(boot: asyncio.Task[Process]) -> None:
    boot.cancel()
    (booted,) = await asyncio.gather(boot, return_exceptions=True)
    if isinstance(booted, Process):
        await booted.end()
