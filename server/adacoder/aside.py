"""Run work off the event loop, for work whose duration grows with the length of a text.

The command line runs this work in a thread. The language server runs it in a second process, because an editor waits
for its answers, and a thread would block them: while Python parses a text, or frees the syntax tree, no other thread
runs. For a module of 5,000 lines, this takes 100 ms. The process starts with the first call and ends with the server.

Both the thread and the process make one call at a time, in order. So two calls never parse the same text at once, and
all calls share the functions' caches.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import struct
import sys
import traceback
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from adacoder.programs import starting

if TYPE_CHECKING:
    from asyncio.subprocess import Process

P = ParamSpec("P")
T = TypeVar("T")

_LENGTH = struct.Struct("!Q")
_MAIN = "import sys; sys.path[:] = sys.argv[1:]; from adacoder.aside import _serve; _serve()"
"""The program of the second process. Its arguments are the `sys.path` of this process."""
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="adacoder-aside")


async def aside(work: Callable[P, T], *arguments: P.args, **_: P.kwargs) -> T:
    """Call `work` with `arguments` off the event loop, and return its result.

    `work` must be a module-level function that neither has side effects nor changes its arguments, because it may run
    in another process.
    """
    helper = _helper.get()
    if helper is None:
        return await asyncio.get_running_loop().run_in_executor(_thread, work, *arguments)
    result: T = await helper.do(work, arguments)
    return result


@asynccontextmanager
async def in_a_process() -> AsyncIterator[None]:
    """Make `aside` use a second process in the `async with` block, and in tasks started there."""
    helper = _Helper()
    token = _helper.set(helper)
    try:
        yield
    finally:
        _helper.reset(token)
        await helper.end()


class BrokenError(Exception):
    """The second process ended in the middle of its work."""


class _Helper:
    """The client of the second process."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._process: Process | None = None

    async def do(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Call `work` in the second process. A cancellation kills the process, and the next call starts a new one."""
        async with self._turn:
            try:
                answer = await self._answer(pickle.dumps((work, arguments), pickle.HIGHEST_PROTOCOL))
            except (asyncio.IncompleteReadError, ConnectionError) as error:
                await self.end()
                raise BrokenError(f"The process that runs {work.__qualname__} ended in the middle of it.") from error
            except BaseException:
                await self.end()
                raise
        is_good, result = pickle.loads(answer)  # noqa: S301  # from our own program
        if not is_good:
            raise result
        return result

    async def _answer(self, question: bytes) -> bytes:
        if self._process is None:
            self._process = await _started()
        stdin, stdout = (
            cast(asyncio.StreamWriter, self._process.stdin),
            cast(asyncio.StreamReader, self._process.stdout),
        )
        stdin.write(_LENGTH.pack(len(question)))
        stdin.write(question)
        await stdin.drain()
        (length,) = _LENGTH.unpack(await stdout.readexactly(_LENGTH.size))
        return await stdout.readexactly(length)

    async def end(self) -> None:
        """Kill the process if there is one."""
        process, self._process = self._process, None
        if process is not None:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def _started() -> Process:
    """Start the second process. After a cancellation, wait until the process has started, then kill it."""
    start = starting(
        asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-c", _MAIN, *sys.path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C must reach only the server, which then ends this process
        )
    )
    try:
        return await asyncio.shield(start)
    except asyncio.CancelledError:
        with suppress(OSError):  # It may not have started, or it may have ended.
            process = await start
            process.kill()
            await process.wait()
        raise


_helper: ContextVar[_Helper | None] = ContextVar("_helper", default=None)


def _serve() -> None:
    """Answer requests from stdin until stdin is closed, at the latest when the parent process ends."""
    asked, answered = os.fdopen(0, "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # send printed text to stderr, because stdout has the answers
    while header := asked.read(_LENGTH.size):
        (length,) = _LENGTH.unpack(header)
        work, arguments = pickle.loads(asked.read(length))  # noqa: S301  # from our own program
        answer = _done(work, arguments)
        answered.write(_LENGTH.pack(len(answer)) + answer)
        answered.flush()


def _done(work: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    try:
        return pickle.dumps((True, work(*arguments)), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        error.add_note(traceback.format_exc())  # pickling drops the traceback
        return pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)
