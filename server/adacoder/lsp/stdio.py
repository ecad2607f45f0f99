"""Run `adacoder serve`: create the server and exchange messages with its client over stdin and stdout."""

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
"""Maximum number of bytes from stdin that are buffered."""

_LENGTH = re.compile(rb"^Content-Length: *([0-9]{1,9}) *\r?$", re.IGNORECASE | re.MULTILINE)

_SLICE = 0.001
"""Seconds after which a thread must let the event loop run.

Each message takes several steps of the loop, so Python's default would delay messages.
"""

_FULL_COLLECTION = 100
"""Threshold of the garbage collector's oldest generation, ten times as high as usual. A full collection stops all other
work for 10 to 30 ms, and finds only a few hundred objects, because most objects are imported ones.
"""

_CLEARING_SECONDS = 3.0
"""Seconds between the start and the removal of old temporary folders. The delay keeps the start fast."""


def serve() -> int:
    """Run a language server over stdin and stdout until the client ends it. Return the exit code."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    clearing = threading.Timer(_CLEARING_SECONDS, _clear)
    clearing.daemon = True  # a daemon thread does not delay the exit
    clearing.start()
    return serve_stdio(create())


def create() -> AdaCoderServer:
    """Create a server with all features and commands."""
    server = AdaCoderServer()
    register(server)
    return server


def _clear() -> None:
    """Remove the temporary folders of servers that were killed."""
    from adacoder.sandbox.isolation.scratch import remove_left

    remove_left()


def serve_stdio(server: AdaCoderServer) -> int:
    """Serve one client over stdin and stdout until the client sends `exit` or closes stdin.

    Returns:
        The exit code that the protocol requires: 0 after a `shutdown` request, else 1.
    """
    must_block = os.path.sameopenfile(0, 1) or _is_null_device(0)
    stdin, stdout = take_stdio()
    server.protocol.set_writer(_Writer(stdout))
    # Exclude the present objects from garbage collection. Otherwise the first requests would take 20 ms longer.
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], _FULL_COLLECTION)
    sys.setswitchinterval(_SLICE)
    try:
        run(_serve(server, stdin, must_block=must_block))
    except KeyboardInterrupt:
        log.warning("Ended by a signal.")
    return 0 if server.protocol.was_shut_down else 1


def _is_null_device(descriptor: int) -> bool:
    """Return whether `descriptor` is a device such as `/dev/null`. asyncio cannot wait for such devices."""
    return stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor)


class _Writer:
    """Writes to the client.

    Errors are ignored: if the client is gone, stdin ends too, and the server then exits.
    """

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
    async with in_a_process():  # Jobs read long texts in this second process, which ends after them.
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

    After an invalid header, the next message cannot be found, so an exception is raised. pygls would skip the header,
    and the client would wait forever for an answer.

    Raises:
        asyncio.IncompleteReadError: the stream ends in the middle of a message.
        ValueError: a header does not contain the length of its message.
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
    """Return a reader of stdin that uses the event loop. This is faster than the reader of pygls, which uses threads.

    The reader of pygls is used where asyncio cannot read stdin: on Windows, for a file, and for `/dev/null`. It is also
    used if stdin and stdout are the same terminal or socket, because non-blocking reads would make writes fail.
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
