"""Keep long computations off the event loop, such as parsing a long text.

The command line runs these computations in a thread. The language server runs them in a second process, because a
thread would block the server while Python parses a text. For a module of 5,000 lines, this takes 100 ms.

The computations run one after another, so that each can use the cached results of earlier computations.
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
"""Program of the second process. Its arguments are the entries of `sys.path`."""
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="adacoder-aside")


async def aside(work: Callable[P, T], *arguments: P.args, **_: P.kwargs) -> T:
    """Call `work` with `arguments` off the event loop, and return the result.

    `work` must be a module-level function without side effects, because it may run in another process.
    """
    helper = _helper.get()
    if helper is None:
        return await asyncio.get_running_loop().run_in_executor(_thread, work, *arguments)
    result: T = await helper.do(work, arguments)
    return result


@asynccontextmanager
async def in_a_process() -> AsyncIterator[None]:
    """Make `aside` use a second process inside the `async with` block."""
    helper = _Helper()
    token = _helper.set(helper)
    try:
        yield
    finally:
        _helper.reset(token)
        await helper.end()


class BrokenError(Exception):
    """The second process ended during a call."""


class _Helper:
    """Starts the second process, and sends calls to this process."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._process: Process | None = None

    async def do(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Call `work` in the second process.

        A cancellation kills the process, and the next call starts a new process.
        """
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
        """Kill the process, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def _started() -> Process:
    """Start the second process. If the start is cancelled, kill the process."""
    start = starting(
        asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-c", _MAIN, *sys.path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C must not reach this process, because the server ends it.
        )
    )
    try:
        return await asyncio.shield(start)
    except asyncio.CancelledError:
        with suppress(OSError):  # the process could not be started, or has already ended
            process = await start
            process.kill()
            await process.wait()
        raise


_helper: ContextVar[_Helper | None] = ContextVar("_helper", default=None)


def _serve() -> None:
    """Answer the calls that arrive on stdin. Return when stdin is closed."""
    asked, answered = os.fdopen(0, "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # from now on, `print` writes to stderr, because stdout carries the answers
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
        error.add_note(traceback.format_exc())  # pickle would lose the traceback
        return pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)
