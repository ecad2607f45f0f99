"""Work whose time grows with the length of a text, done off the event loop.

For the command line that is a thread. The language server has an editor waiting, and there a thread is not enough:
Python's parser lets no other thread run until it is done, nor does the collector of what it made, which is 100 ms for a
module of 5,000 lines. So the server has a second process of the same program, which starts with the first such work and
ends with it.

Either does one thing at a time, in order, so no text is read twice at once, and the functions' caches are shared.
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
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from asyncio.subprocess import Process

P = ParamSpec("P")
T = TypeVar("T")

_LENGTH = struct.Struct("!Q")
_MAIN = "import sys; sys.path[:] = sys.argv[1:]; from adacoder.aside import _serve; _serve()"
"""Program of the other process: it finds modules where this one does, and nowhere else."""
_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="adacoder-aside")


async def aside(work: Callable[P, T], *arguments: P.args, **_: P.kwargs) -> T:
    """Call `work` with `arguments`.

    It is a function of a module, and neither changes its arguments nor anything else: it may run in another process.
    """
    helper = _helper.get()
    if helper is None:
        return await asyncio.get_running_loop().run_in_executor(_thread, work, *arguments)
    result: T = await helper.do(work, arguments)
    return result


@asynccontextmanager
async def in_a_process() -> AsyncIterator[None]:
    """Do work aside in another process, inside this block and in tasks begun there; end the process with it."""
    helper = _Helper()
    token = _helper.set(helper)
    try:
        yield
    finally:
        _helper.reset(token)
        await helper.end()


class BrokenError(Exception):
    """The other process ended in the middle of its work."""


class _Helper:
    """The other process, as seen from this one."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._process: Process | None = None

    async def do(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Run it in the other process. Cancellation ends that process; the next call starts another."""
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
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def _started() -> Process:
    """Start the other process. A cancelled caller still waits for it, so that it can be killed."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-c", _MAIN, *sys.path),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the server, whose end is its end
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        process = await starting
        process.kill()
        await process.wait()
        raise


_helper: ContextVar[_Helper | None] = ContextVar("_helper", default=None)


def _serve() -> None:
    """Do what is asked for on stdin until it ends, which it does with the process that asks."""
    asked, answered = os.fdopen(0, "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text must not mix with answers
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
        error.add_note(traceback.format_exc())  # a traceback stays where it is
        return pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)
