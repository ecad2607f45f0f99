"""Start programs, and wait for them.

asyncio connects a new process in a task of its own. `asyncio.run` cancels all tasks at its end, and this one too. Then
the start of the process, which was cancelled as well, waits for it forever. So `run` first lets every start finish.
"""

from __future__ import annotations

import asyncio
import os
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeVar

T = TypeVar("T")

_starting: set[asyncio.Task[Process]] = set()
"""Starts that are under way, in any event loop."""


def run(work: Coroutine[object, object, T]) -> T:
    """Do `work` as `asyncio.run` does, and end even if a program is just being started.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    with asyncio.Runner() as runner:
        try:
            return runner.run(work)
        finally:
            loop = runner.get_loop()
            try:
                loop.run_until_complete(_all_started(loop))
            except KeyboardInterrupt:  # A second Ctrl-C must not interrupt this, because the runner would wait forever.
                loop.run_until_complete(_all_started(loop))
                raise


async def _all_started(loop: asyncio.AbstractEventLoop) -> None:
    while here := [task for task in _starting if task.get_loop() is loop]:
        await asyncio.wait(here)


def starting(start: Coroutine[object, object, Process]) -> asyncio.Task[Process]:
    """Return a task for `start`, a call of `create_subprocess_exec`. The task must be shielded from cancellation."""
    task = asyncio.ensure_future(start)
    _starting.add(task)
    task.add_done_callback(_starting.discard)
    return task


def _memory() -> IO[bytes]:
    """Open a file for output. It is in memory if the system can do that, and has no name anywhere."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("output"), "w+b")
    import tempfile  # not needed to answer `initialize`

    return tempfile.TemporaryFile()


async def output_of(*command: str, env: Mapping[str, str], cwd: Path, errors: bool = False) -> tuple[bytes, int]:
    """Run a program without input. Return its output and exit code. A cancellation kills the program.

    With `errors`, the output contains standard error as well.

    Raises:
        OSError: the program cannot be started.
    """
    with _memory() as printed:
        start = starting(
            asyncio.create_subprocess_exec(
                *command, stdin=DEVNULL, stdout=printed, stderr=printed if errors else DEVNULL, env=env, cwd=cwd
            )
        )
        try:
            code = await (await asyncio.shield(start)).wait()
        except asyncio.CancelledError:
            with suppress(OSError):  # It may not have started, or it may have ended.
                process = await start
                process.kill()
                await process.wait()
            raise
        printed.seek(0)
        return printed.read(), code
