"""Keep long computations off the event loop, such as parsing a long text.

The command line runs them in a thread. The language server runs them in a second process, because an editor waits for
its answers. A thread would block the server while Python parses a text or frees the syntax tree. For a module of 5,000
lines, this takes 100 ms. The process starts with the first call and ends with the server.

Calls run one at a time, in order. So no text is parsed twice at once, and calls can use each other's cached results.
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
"""Program of the second process. Its arguments become the `sys.path` of that process."""
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="adacoder-aside")


async def aside(work: Callable[P, T], *arguments: P.args, **_: P.kwargs) -> T:
    """Call `work` with `arguments` off the event loop, and return its result.

    `work` may run in another process. So it must be a module-level function without side effects.
    """
    helper = _helper.get()
    if helper is None:
        return await asyncio.get_running_loop().run_in_executor(_thread, work, *arguments)
    result: T = await helper.do(work, arguments)
    return result


@asynccontextmanager
async def in_a_process() -> AsyncIterator[None]:
    """Make `aside` use a second process. This applies to the `async with` block, and to tasks started in it."""
    helper = _Helper()
    token = _helper.set(helper)
    try:
        yield
    finally:
        _helper.reset(token)
        await helper.end()


class BrokenError(Exception):
    """The second process ended while it worked."""


class _Helper:
    """Starts the second process and sends calls to it."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._process: Process | None = None

    async def do(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Call `work` in the second process. A cancellation kills the process, and the next call starts another."""
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
    """Start the second process. If this is cancelled, kill the process."""
    start = starting(
        asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-c", _MAIN, *sys.path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C must not reach this process. The server ends it.
        )
    )
    try:
        return await asyncio.shield(start)
    except asyncio.CancelledError:
        with suppress(OSError):  # the process did not start, or has already ended
            process = await start
            process.kill()
            await process.wait()
        raise


_helper: ContextVar[_Helper | None] = ContextVar("_helper", default=None)


def _serve() -> None:
    """Answer calls from stdin until stdin is closed."""
    asked, answered = os.fdopen(0, "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # stdout carries the answers, so `print` must write to stderr
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
        error.add_note(traceback.format_exc())  # pickling would lose the traceback
        return pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)
