"""Start programs, and wait for them.

When asyncio starts a process, it connects the pipes in a second task, and the first task waits for the second. At its
end, `asyncio.run` cancels both, and then the first task waits forever. So `run` first lets all starts finish.
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
"""The tasks that are starting a process, in all event loops."""


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that threads can wake even where sending on a socket is forbidden, as in the sandbox of Codex.

    asyncio ignores that its `send` has failed, so a loop would wait forever for the result of a thread.
    """

    _csock: socket.socket | None

    def _write_to_self(self) -> None:
        waking = self._csock  # another thread may close the loop meanwhile
        if waking is not None:
            with suppress(OSError):  # the socket is closed, or so full that the loop wakes anyway
                os.write(waking.fileno(), b"\0")


def run(work: Coroutine[object, object, T]) -> T:
    """Run `work` like `asyncio.run`, but end even if a program is being started at that moment.

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
            except KeyboardInterrupt:  # Wait even after a second Ctrl-C, because the runner would wait forever.
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
    """Return a task for `start`, a call of `create_subprocess_exec`. Callers must await it with `asyncio.shield`."""
    task = asyncio.ensure_future(start)
    _starting.add(task)
    task.add_done_callback(_starting.discard)
    return task


def take_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Return stdin and stdout, reserved for the protocol.

    For all other code in this process and in its children, stdin is empty and output to stdout goes to stderr.
    Otherwise a single `print` in a library would break the stream of messages.
    """
    sys.stdout.flush()
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return stdin, stdout


def _memory() -> IO[bytes]:
    """Open a file for a program's output. It has no name, and is in memory if the system supports that."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("output"), "w+b")
    import tempfile  # slow to import, and not needed to answer `initialize`

    return tempfile.TemporaryFile()


async def output_of(
    *command: str, env: Mapping[str, str], cwd: Path, errors: bool = False, given: bytes = b""
) -> tuple[bytes, int]:
    """Run a program with the input `given`. Return its output and exit code. A cancellation kills the program.

    If `errors` is True, the output includes standard error.

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
            with suppress(OSError):  # The program may not have started, or may already have ended.
                process = await start
                process.kill()
                await process.wait()
            raise
        printed.seek(0)
        return printed.read(), code
