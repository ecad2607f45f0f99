"""Run the docstrings of each unchanged module in a series, so that they need not have a process each.

A docstring gets a new process if the docstring before it changed something that a later one could see, or was cut off.
If it fails in a process in which others ran before it, it runs again in a new process, and only this run counts.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from adacoder.sandbox.unavailable import SandboxError
from adacoder.sandbox.wire import HungUpError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence
    from pathlib import Path

    from adacoder.sandbox.importers import Importers, Lent
    from adacoder.sandbox.process import Begin, Recipe
    from adacoder.sandbox.program import Program
    from adacoder.sandbox.verdict import Judge

T = TypeVar("T")

_FOR_ANOTHER = 8
"""If more docstrings of a module wait for each of its processes, the module gets another process."""
_CHANGES_SECONDS = 5.0
"""Timeout for the answer what a docstring's examples changed. The answer may run finalizers."""
_MOST_NAMED = 3
_ENDED = "The sandbox was ended meanwhile."


@dataclass(eq=False, slots=True)
class WaitingDocstring:
    """A docstring that waits for its evaluation."""

    program: Program
    seconds: float
    """The timeout of an import, and of the docstring."""
    begin: Callable[[bool], Begin]
    """Returns a callback as in `forked`. Its argument is True if no other docstring runs in the same process."""
    follow: Callable[[Lent], Awaitable[Judge]]
    """Runs the examples in a process."""
    answer: asyncio.Future[RanDocstring] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


@dataclass(frozen=True, slots=True)
class RanDocstring:
    """A docstring whose examples have run."""

    judge: Judge
    notes: tuple[str, ...]
    """Sentences for the user about what the examples changed, and about the import of the module."""
    lent: Lent
    """The process that ran the examples, or the process that replaced it."""


class Series:
    """Docstrings that wait, in a queue for each module."""

    def __init__(self, importers: Importers, turns: asyncio.Semaphore, most: int) -> None:
        """`turns` limits the number of concurrent evaluations. `most` is the same limit for a single module."""
        self._importers = importers
        self._turns = turns
        self._most = most
        self._is_closed = False
        self._waiting: dict[tuple[Recipe, Path], deque[WaitingDocstring]] = {}
        self._running: dict[tuple[Recipe, Path], set[asyncio.Task[None]]] = {}

    async def evaluate(self, recipe: Recipe, asked: WaitingDocstring) -> RanDocstring:
        """Evaluate a docstring when its turn comes.

        Raises:
            Apart: the docstring must be evaluated in a process of its own.
            SandboxError: the interpreter does not start.
        """
        key = recipe, asked.program.module.path
        if self._is_closed:
            raise SandboxError(_ENDED)
        waiting = self._waiting.setdefault(key, deque())
        running = self._running.setdefault(key, set())
        waiting.append(asked)
        if len(waiting) > _FOR_ANOTHER * len(running) and len(running) < self._most:
            running.add(asyncio.create_task(self._run(recipe, waiting, running)))
        try:
            return await asked.answer
        finally:
            if not (waiting or running):
                self._waiting.pop(key, None)
                self._running.pop(key, None)

    async def idle(self, seconds: float) -> None:
        """Wait until no docstring runs or waits, but at most `seconds`."""
        running = [task for tasks in self._running.values() for task in tasks]
        if running:
            await asyncio.wait(running, timeout=seconds)

    async def close(self) -> None:
        """End all series. Docstrings that still wait are not evaluated."""
        self._is_closed = True
        tasks = [task for tasks in self._running.values() for task in tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for asked in (asked for waiting in self._waiting.values() for asked in waiting):
            if not asked.answer.done():
                asked.answer.set_exception(SandboxError(_ENDED))

    async def _run(self, recipe: Recipe, waiting: deque[WaitingDocstring], running: set[asyncio.Task[None]]) -> None:
        try:
            while waiting:
                async with self._turns:
                    await self._run_some(recipe, waiting)
        finally:
            running.discard(asyncio.current_task())

    async def _run_some(self, recipe: Recipe, waiting: deque[WaitingDocstring]) -> None:
        """Evaluate docstrings in one process, or in the processes that replace it."""
        if _next(waiting) is None:
            return
        one = waiting.popleft()
        lent = await _unless_cancelled(
            one, self._importers.lend(recipe, one.program, one.seconds, one.begin(not waiting))
        )
        if lent is None:
            return
        is_begun = True
        try:
            while found := await _unless_cancelled(one, _run(lent, one, is_begun=is_begun, is_last=not waiting)):
                one.answer.set_result(found)
                following = _next(waiting)
                if following is None or not lent.serves(following.program):
                    return
                one, is_begun = waiting.popleft(), False
        finally:
            lent.give_back()


def _next(waiting: deque[WaitingDocstring]) -> WaitingDocstring | None:
    """Return the first docstring in a queue that is still wanted. Remove those before it."""
    while waiting and waiting[0].answer.done():
        waiting.popleft()
    return waiting[0] if waiting else None


async def _unless_cancelled(waiting: WaitingDocstring, step: Coroutine[object, object, T]) -> T | None:
    """Carry out a step for a docstring. Return None if it failed, or if the docstring is no longer wanted."""
    task = asyncio.create_task(step)

    def stop(answer: asyncio.Future[RanDocstring]) -> None:
        if answer.cancelled():
            task.cancel()

    waiting.answer.add_done_callback(stop)
    try:
        await asyncio.wait([task])
        error = SandboxError(_ENDED) if task.cancelled() else task.exception()
    except asyncio.CancelledError:
        task.cancel()
        error = SandboxError(_ENDED)
        raise
    finally:
        waiting.answer.remove_done_callback(stop)
        if error is not None and not waiting.answer.done():
            waiting.answer.set_exception(error)
    return None if error is not None or waiting.answer.done() else task.result()


async def _run(lent: Lent, waiting: WaitingDocstring, *, is_begun: bool, is_last: bool) -> RanDocstring:
    """Run the examples of a docstring. If they fail after others, run them again in a new process."""
    others, name, notes = [*lent.ran], waiting.program.qualname, []
    if not is_begun:
        await lent.next(waiting.begin(is_last and not others))
    lent.ran.append(name)
    judge = await waiting.follow(lent)
    await _ask_changes(lent)
    if others and (_fails(judge) or lent.evaluation.line.leans):
        before = judge
        lent.end_process()
        await lent.next(waiting.begin(is_last))
        lent.ran.append(name)
        judge = await waiting.follow(lent)
        await _ask_changes(lent)
        if _fails(before) and before.cut_short is None and not _fails(judge):
            notes.append(f"The examples pass alone, but fail after those of {_listed(others)}.")
    changes = lent.evaluation.line.changes
    if changes:
        what = _listed(changes)
        notes.append(f"The examples change {what}. Later docstrings do not see this here, but they do in doctest.")
    if changes != () or lent.evaluation.computed() > waiting.seconds / 2:  # The limit holds for the whole process.
        lent.end_process()
    return RanDocstring(judge, (*notes, *lent.notes), lent)


async def _ask_changes(lent: Lent) -> None:
    """Ask what the examples have changed. Without an answer, the process is not used for other docstrings."""
    with suppress(TimeoutError, HungUpError, ProtocolError):
        async with asyncio.timeout(_CHANGES_SECONDS):
            await lent.evaluation.line.ask_changes()


def _fails(judge: Judge) -> bool:
    verdict = judge.verdict
    return verdict.failure is not None or any(not (result.matched or result.skipped) for result in verdict.results)


def _listed(names: Sequence[str]) -> str:
    shown = [f"'{name}'" for name in names[:_MOST_NAMED]]
    more = len(names) - len(shown)
    return f"{', '.join(shown)} and {more} more" if more else ", ".join(shown)
