"""`adacoder serve`: create the server and communicate with its client over stdin and stdout."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import re
import stat
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from pygls.io_ import StdinAsyncReader

from adacoder.aside import in_a_process
from adacoder.lsp.language_server import AdaCoderServer, register
from adacoder.programs import run, take_stdio, watch_without_threads

if TYPE_CHECKING:
    from pygls.io_ import AsyncReader

log = logging.getLogger(__name__)

_STREAM_LIMIT = 1 << 20
"""Maximum number of bytes to read from stdin ahead of their use."""

_LENGTH = re.compile(rb"^Content-Length: *([0-9]{1,9}) *\r?$", re.IGNORECASE | re.MULTILINE)

_SLICE = 0.001
"""Seconds after which a thread lets the event loop run. Each message needs several turns of the loop, so longer slices
would delay the messages.
"""

_FULL_COLLECTION = 100
"""Threshold of the garbage collector's oldest generation, ten times as high as usual. A full collection stops all other
work for 10 to 30 ms, and finds only a few hundred objects, because most objects are imported ones.
"""

_CLEARING_SECONDS = 3.0
"""Seconds to wait before leftovers are removed, so that the removal does not slow down the start."""


def serve() -> int:
    """Run a language server over stdin and stdout until the client leaves. Return the exit code."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    clearing = threading.Timer(_CLEARING_SECONDS, _clear)
    clearing.daemon = True  # the exit must not wait for this thread
    clearing.start()
    return serve_stdio(create())


def create() -> AdaCoderServer:
    """Create a server with all features and commands."""
    server = AdaCoderServer()
    register(server)
    return server


def _clear() -> None:
    """Remove the temporary folders of killed servers, even if this server itself never runs code."""
    from adacoder.sandbox.isolation.scratch import remove_left

    remove_left()


def serve_stdio(server: AdaCoderServer) -> int:
    """Serve one client over stdin and stdout until the client sends `exit` or is gone.

    Returns:
        The exit code that the protocol requires: 0 if the client has sent `shutdown`, else 1.
    """
    must_block = os.path.sameopenfile(0, 1) or _is_null_device(0)
    stdin, stdout = take_stdio()
    server.protocol.set_writer(_Writer(stdout))
    # Existing objects live as long as the process. If they were not frozen, the garbage collector would scan them again
    # during the first requests, for 20 ms.
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], _FULL_COLLECTION)
    sys.setswitchinterval(_SLICE)
    try:
        run(_serve(server, stdin, must_block=must_block))
    except KeyboardInterrupt:
        log.warning("Ended by a signal.")
    return 0 if server.protocol.was_shut_down else 1


def _is_null_device(descriptor: int) -> bool:
    """Return whether `descriptor` is a device such as `/dev/null`. Such a device cannot be polled."""
    return stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor)


class _Writer:
    """Writes to a client that may be gone. Errors are ignored, because the server also ends when stdin ends."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        with suppress(ConnectionError):
            self._stream.write(data)
            self._stream.flush()

    def close(self) -> None:
        with suppress(ConnectionError):
            self._stream.close()


async def _serve(server: AdaCoderServer, stdin: BinaryIO, *, must_block: bool) -> None:
    watch_without_threads()
    async with in_a_process():  # jobs read long texts in this second process, so it ends after the last job
        try:
            async with _reader(server, stdin, must_block=must_block) as reader:
                async for content in messages(reader):
                    server.protocol.receive(content)
                    if server.protocol.stopping.is_set():
                        break
        except (asyncio.IncompleteReadError, ValueError) as error:
            log.error("The client's messages break off: %s", error)
        finally:
            await server.close()


async def messages(reader: AsyncReader) -> AsyncIterator[bytes]:
    """Yield the contents of all messages until the end of the stream.

    A broken header ends the stream. pygls would ignore the header and wait for the next, and the client would wait for
    an answer. Empty lines before a header are ignored, because some clients end each message with an empty line.

    Raises:
        asyncio.IncompleteReadError: the stream ends in the middle of a message.
        ValueError: a header does not give the length of its message.
    """
    header = b""
    while line := await reader.readline():
        header += line
        if line.strip() or not header.strip():
            continue
        if (length := _LENGTH.search(header)) is None:
            raise ValueError(f"a header has no 'Content-Length': {header[:80]!r}")
        yield await reader.readexactly(int(length[1]))
        header = b""


@asynccontextmanager
async def _reader(server: AdaCoderServer, stdin: BinaryIO, *, must_block: bool) -> AsyncGenerator[AsyncReader]:
    """Read stdin in the event loop. The reader of pygls would switch to a thread and back for each line of a header.

    The reader of pygls is still used if asyncio cannot read stdin: on Windows, or if stdin is a file or `/dev/null`. It
    is also used if stdin and stdout are the same terminal or socket, because non-blocking reads would make writes fail.
    """
    reader = asyncio.StreamReader(limit=_STREAM_LIMIT)
    try:
        if must_block:
            raise ValueError("it must block")
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), stdin)
    except (ValueError, NotImplementedError):
        yield StdinAsyncReader(stdin, server.thread_pool)
        return
    try:
        yield reader
    finally:
        transport.close()
