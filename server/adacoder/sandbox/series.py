"""Run the docstrings of an unchanged module one after the other, so that several can share a process.

A docstring gets a new process if the docstring before did not finish, or changed something that later docstrings could
see. If a docstring fails after others ran in its process, it runs again in a new process, and only this run counts.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from adacoder.sandbox.desks import Apart
from adacoder.sandbox.importers import Importers, Lent
from adacoder.sandbox.unavailable import SandboxError
from adacoder.sandbox.wire import HungUpError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence
    from pathlib import Path

    from adacoder.sandbox.process import Begin, Recipe
    from adacoder.sandbox.program import Program
    from adacoder.sandbox.verdict import Judge

T = TypeVar("T")

_FOR_ANOTHER = 8
"""A module gets another process if more than this many docstrings wait for each of its processes."""
_CHANGES_SECONDS = 5.0
"""Timeout in seconds for the report of a docstring's changes. The process may have to run finalizers first."""
_MOST_NAMED = 3
_ENDED = "The sandbox was ended meanwhile."


@dataclass(eq=False, slots=True)
class WaitingDocstring:
    """A docstring that waits for its evaluation."""

    program: Program
    seconds: float
    """The timeout of an import, and of the examples."""
    asked: float
    """The time at which the evaluation was requested, as in `time.monotonic`."""
    begin: Callable[[bool], Begin]
    """Returns a callback that sends the first message, see `forked`.

    The argument is True if no other docstring runs in the process.
    """
    follow: Callable[[Lent], Awaitable[Judge]]
    """Runs the docstring's examples in a process."""
    answer: asyncio.Future[RanDocstring] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


@dataclass(frozen=True, slots=True)
class RanDocstring:
    """A docstring whose examples have run."""

    judge: Judge
    notes: tuple[str, ...]
    """Notes for the user: what the examples changed, and troubles with the import of the module."""
    lent: Lent
    """The process that ran the examples, or the process that replaced it."""


class Series:
    """A queue of docstrings for each module."""

    def __init__(self, importers: Importers, turns: asyncio.Semaphore, most: int) -> None:
        """`turns` limits the concurrent evaluations of all modules, and `most` limits those of a single module."""
        self._importers = importers
        self._turns = turns
        self._most = most
        self._is_closed = False
        self._queues: dict[tuple[Recipe, Path], _Queue] = {}

    async def evaluate(self, recipe: Recipe, docstring: WaitingDocstring) -> RanDocstring:
        """Evaluate a docstring when its turn comes.

        Raises:
            Apart: the docstring must be evaluated in a process of its own.
            SandboxError: the interpreter does not start, or `close` was called.
        """
        if self._is_closed:
            raise SandboxError(_ENDED)
        key = recipe, docstring.program.module.path
        queue = self._queues.setdefault(key, _Queue())
        queue.waiting.append(docstring)
        if len(queue.waiting) > _FOR_ANOTHER * len(queue.tasks) and len(queue.tasks) < self._most:
            queue.tasks.add(asyncio.create_task(self._serve(key, queue)))
        return await docstring.answer

    async def idle(self, seconds: float) -> None:
        """Wait until no docstring runs or waits, for at most `seconds`."""
        if tasks := [task for queue in self._queues.values() for task in queue.tasks]:
            await asyncio.wait(tasks, timeout=seconds)

    async def close(self) -> None:
        """End all evaluations. Docstrings that still wait get an error."""
        self._is_closed = True
        tasks = [task for queue in self._queues.values() for task in queue.tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, key: tuple[Recipe, Path], queue: _Queue) -> None:
        try:
            while _next(queue.waiting) is not None:
                async with self._turns:
                    await self._serve_some(key[0], queue.waiting)
        finally:
            queue.tasks.discard(asyncio.current_task())
            if not queue.tasks:
                self._queues.pop(key, None)
                for docstring in queue.waiting:
                    _fail(docstring, SandboxError(_ENDED))

    async def _serve_some(self, recipe: Recipe, waiting: deque[WaitingDocstring]) -> None:
        """Evaluate docstrings one after the other, in one process or in its replacements."""
        if _next(waiting) is None:
            return
        one, is_begun = waiting.popleft(), True
        begin = one.begin(not waiting)
        lent = await _unless_cancelled(one, self._importers.lend(recipe, one.program, one.seconds, one.asked, begin))
        if lent is None:
            return
        try:
            while not one.answer.done():
                found = await _unless_cancelled(one, _run(lent, one, is_begun=is_begun, is_last=not waiting))
                if found is None or one.answer.done():
                    return
                one.answer.set_result(found)
                following = _next(waiting)
                if following is None or not lent.serves(following.program):
                    return
                one, is_begun = waiting.popleft(), False
        finally:
            lent.give_back()


@dataclass(eq=False, slots=True)
class _Queue:
    """The docstrings of one module."""

    waiting: deque[WaitingDocstring] = field(default_factory=deque)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    """Tasks that evaluate docstrings, each with its own process."""


def _fail(docstring: WaitingDocstring, error: BaseException) -> None:
    if not docstring.answer.done():
        docstring.answer.set_exception(error)


def _next(waiting: deque[WaitingDocstring]) -> WaitingDocstring | None:
    """Return the first docstring that is still wanted. Remove the unwanted docstrings before it."""
    while waiting and waiting[0].answer.done():
        waiting.popleft()
    return waiting[0] if waiting else None


async def _unless_cancelled(docstring: WaitingDocstring, step: Coroutine[object, object, T]) -> T | None:
    """Carry out a step for a docstring. Cancel the step if the docstring is no longer wanted.

    Return None if the step failed or was cancelled. The docstring then gets the step's error as its answer.
    """
    task = asyncio.create_task(step)

    def stop(answer: asyncio.Future[RanDocstring]) -> None:
        if answer.cancelled():
            task.cancel()

    docstring.answer.add_done_callback(stop)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        _fail(docstring, SandboxError(_ENDED))
        raise
    finally:
        docstring.answer.remove_done_callback(stop)
    error = SandboxError(_ENDED) if task.cancelled() else task.exception()
    if error is None:
        return task.result()
    _fail(docstring, error)
    return None


async def _run(lent: Lent, docstring: WaitingDocstring, *, is_begun: bool, is_last: bool) -> RanDocstring:
    """Run the examples of a docstring.

    If the examples fail in a process that ran other docstrings before, run them again in a new process.

    Raises:
        Apart: the docstring must be evaluated in a process of its own.
    """
    others, name, notes = [*lent.ran], docstring.program.qualname, []
    if not is_begun:
        await lent.next(docstring.begin(is_last and not others))
    lent.ran.append(name)
    judge = await docstring.follow(lent)
    await _ask_changes(lent, judge)
    if lent.has_lost_caches and _fails(judge):
        raise Apart  # The examples may have needed the removed cache files.
    if others and (_fails(judge) or lent.evaluation.line.leans):
        before = judge
        lent.end_process()
        await lent.next(docstring.begin(is_last))
        lent.ran.append(name)
        judge = await docstring.follow(lent)
        await _ask_changes(lent, judge)
        if _fails(before) and before.cut_short is None and not _fails(judge):
            notes.append(f"The examples pass alone, but fail after those of {_listed(others)}.")
    changes = lent.evaluation.line.changes
    if named := [change for change in changes or () if change]:
        notes.append(
            f"The examples change {_listed(named)}. Later docstrings do not see this here, but they do in doctest."
        )
    # Leave processor time for the next docstring, because the kernel limits the time of the whole process.
    if changes != () or lent.evaluation.computed_in_all() > docstring.seconds / 2:
        lent.end_process()
    return RanDocstring(judge, (*notes, *lent.notes), lent)


async def _ask_changes(lent: Lent, judge: Judge) -> None:
    """Ask the process what the examples changed. A process that does not answer gets no further docstrings."""
    if judge.cut_short is not None:
        return
    with suppress(TimeoutError, HungUpError, ProtocolError):
        async with asyncio.timeout(_CHANGES_SECONDS):
            await lent.ask_changes()


def _fails(judge: Judge) -> bool:
    verdict = judge.verdict
    return verdict.failure is not None or any(not (result.matched or result.skipped) for result in verdict.results)


def _listed(names: Sequence[str]) -> str:
    shown = [name if " " in name else f"'{name}'" for name in names[:_MOST_NAMED]]
    more = len(names) - len(shown)
    return f"{', '.join(shown)} and {more} more" if more else ", ".join(shown)
