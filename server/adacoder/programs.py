"""Start programs, and wait for them.

If `asyncio.run` ends while a process is being started, it can wait forever. So `run` first waits until all processes
have started.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, BinaryIO, TypeVar

T = TypeVar("T")

_starting: set[asyncio.Task[Process]] = set()
"""Tasks that are starting a process, in all event loops."""


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that threads can wake even where sending on sockets is forbidden, as in the sandbox of Codex.

    The loop of asyncio ignores the failed `send`, and would wait forever for a thread.
    """

    _csock: socket.socket | None

    def _write_to_self(self) -> None:
        waking = self._csock  # another thread may close the loop now
        if waking is not None:
            with suppress(OSError):  # the socket is closed, or its buffer is full and wakes the loop
                os.write(waking.fileno(), b"\0")


def run(work: Coroutine[object, object, T]) -> T:
    """Run `work` like `asyncio.run`, but never hang at the end because a program is being started.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    with asyncio.Runner(loop_factory=None if sys.platform == "win32" else _Loop) as runner:
        try:
            return runner.run(work)
        finally:
            loop = runner.get_loop()
            try:
                loop.run_until_complete(_all_started(loop))
            except KeyboardInterrupt:  # After a second Ctrl-C, wait again. Else the runner would wait forever.
                loop.run_until_complete(_all_started(loop))
                raise


async def _all_started(loop: asyncio.AbstractEventLoop) -> None:
    while here := [task for task in _starting if task.get_loop() is loop]:
        await asyncio.wait(here)


def watch_without_threads() -> None:
    """Let the running event loop of the main thread notice the ends of its processes as Python 3.12 does.

    Python 3.11 starts a thread for each process. Meanwhile, the loop waits for a processor.
    """
    if sys.platform == "linux" and sys.version_info < (3, 12):
        with suppress(AttributeError, OSError):  # this Python, the kernel or a sandbox may not offer it
            os.close(os.pidfd_open(os.getpid()))
            watcher = asyncio.PidfdChildWatcher()
            watcher.attach_loop(asyncio.get_running_loop())
            asyncio.set_child_watcher(watcher)


def starting(start: Coroutine[object, object, Process]) -> asyncio.Task[Process]:
    """Start a process in a separate task and return the task. `start` is a call of `create_subprocess_exec`.

    Await the task with `asyncio.shield`, so that a cancellation does not interrupt the start.
    """
    task = asyncio.ensure_future(start)
    _starting.add(task)
    task.add_done_callback(_starting.discard)
    return task


def take_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Reserve stdin and stdout for the messages of a protocol, and return both.

    Any other code gets an empty stdin, and its output goes to stderr. Otherwise a single `print` in a library would
    break the messages.
    """
    sys.stdout.flush()
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return stdin, stdout


def _memory() -> IO[bytes]:
    """Open a temporary file for output, in memory if possible."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("output"), "w+b")
    import tempfile  # this import is slow, and rarely needed

    return tempfile.TemporaryFile()


async def output_of(
    *command: str, env: Mapping[str, str], cwd: Path, errors: bool = False, given: bytes = b""
) -> tuple[bytes, int]:
    """Run a program with the input `given`. Return the program's output and exit code.

    With `errors`, the output includes stderr. A cancellation kills the program.

    Raises:
        OSError: the program cannot be started.
    """
    with _memory() as read, _memory() as printed:
        read.write(given)
        read.seek(0)
        start = starting(
            asyncio.create_subprocess_exec(
                *command, stdin=read, stdout=printed, stderr=printed if errors else DEVNULL, env=env, cwd=cwd
            )
        )
        try:
            code = await (await asyncio.shield(start)).wait()
        except asyncio.CancelledError:
            with suppress(OSError):  # the program could not be started, or has already ended
                process = await start
                process.kill()
                await process.wait()
            raise
        printed.seek(0)
        return printed.read(), code
