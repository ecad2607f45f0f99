"""`adacoder serve`: puts the server together, and speaks with its client over stdin and stdout."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from pygls.io_ import StdinAsyncReader

from adacoder.aside import in_a_process
from adacoder.lsp.features import register
from adacoder.lsp.framing import messages
from adacoder.lsp.server import AdaCoderServer

if TYPE_CHECKING:
    from pygls.io_ import AsyncReader

log = logging.getLogger(__name__)

_STREAM_LIMIT = 1 << 20
"""Bytes read ahead of what has been handled."""

_SLICE = 0.001
"""Seconds after which a thread lets the event loop go on, which comes to its turn several times for each message."""

_CLEARING_SECONDS = 3.0
"""After its start, which is not to be slowed."""


def serve() -> int:
    """Speak LSP over stdin and stdout until the client leaves. Returns the exit code."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    clearing = threading.Timer(_CLEARING_SECONDS, _clear)
    clearing.daemon = True  # so that no exit waits for it
    clearing.start()
    return serve_stdio(create())


def create() -> AdaCoderServer:
    """A server with all that it answers."""
    server = AdaCoderServer()
    register(server)
    return server


def _clear() -> None:
    """Remove what servers left that were killed, though nobody may want anything run."""
    from adacoder.sandbox.isolation.scratch import remove_left

    remove_left()


def serve_stdio(server: AdaCoderServer) -> int:
    """Serve one client over stdin and stdout until it says `exit` or is gone.

    Returns:
        The exit code that the protocol asks for: 0 if the client said `shutdown`, else 1.
    """
    are_one = os.path.sameopenfile(0, 1)
    stdin, stdout = _take_stdio()
    server.protocol.set_writer(_Writer(stdout))
    # What exists by now lives as long as we do; the first requests would spend 20 ms on looking at it again.
    gc.freeze()
    sys.setswitchinterval(_SLICE)
    try:
        asyncio.run(_serve(server, stdin, must_block=are_one))
    except KeyboardInterrupt:
        log.warning("Ended by a signal.")
    return 0 if server.protocol.was_shut_down else 1


class _Writer:
    """Writes to a client that may be gone; that it is gone is learned from the end of its messages."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        with suppress(ConnectionError):
            self._stream.write(data)
            self._stream.flush()

    def close(self) -> None:
        with suppress(ConnectionError):
            self._stream.close()


def _take_stdio() -> tuple[BinaryIO, BinaryIO]:
    """stdin and stdout, for the protocol alone.

    Whatever else reads stdin, in this process or a child, finds it empty, and what writes to stdout reaches
    stderr: one `print` in a library would break the stream of messages.
    """
    sys.stdout.flush()
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return stdin, stdout


async def _serve(server: AdaCoderServer, stdin: BinaryIO, *, must_block: bool) -> None:
    async with in_a_process():  # to the end of the last job
        try:
            async with _reader(server, stdin, must_block=must_block) as reader:
                async for content in messages(reader, server.protocol.refuse):
                    server.protocol.receive(content)
                    if server.protocol.stopping.is_set():
                        break
        except (asyncio.IncompleteReadError, ValueError) as error:
            log.error("The client's messages break off: %s", error)
        finally:
            await server.close()


@asynccontextmanager
async def _reader(server: AdaCoderServer, stdin: BinaryIO, *, must_block: bool) -> AsyncGenerator[AsyncReader]:
    """Reads stdin in the event loop: pygls's own reader hops to a thread and back for each header line.

    That one remains for what asyncio cannot read (a file; Windows), and where stdin and stdout are one
    terminal or socket, so that reading without blocking would let writing fail.
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
