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

if TYPE_CHECKING:
    from pygls.io_ import AsyncReader

log = logging.getLogger(__name__)

_STREAM_LIMIT = 1 << 20
"""Maximum bytes to read ahead."""

_LENGTH = re.compile(rb"^Content-Length: *([0-9]{1,9}) *\r?$", re.IGNORECASE | re.MULTILINE)

_SLICE = 0.001
"""Seconds after which a thread yields to the event loop, which needs several turns for each message."""

_CLEARING_SECONDS = 3.0
"""Seconds to wait before clearing, so that it does not slow down the start."""


def serve() -> int:
    """Speak LSP over stdin and stdout until the client leaves. Return the exit code."""
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    clearing = threading.Timer(_CLEARING_SECONDS, _clear)
    clearing.daemon = True  # so that exit does not wait for it
    clearing.start()
    return serve_stdio(create())


def create() -> AdaCoderServer:
    """Create a server with all features and commands."""
    server = AdaCoderServer()
    register(server)
    return server


def _clear() -> None:
    """Remove leftovers of killed servers, even if this server runs no code."""
    from adacoder.sandbox.isolation.scratch import remove_left

    remove_left()


def serve_stdio(server: AdaCoderServer) -> int:
    """Serve one client over stdin and stdout until it says `exit` or is gone.

    Returns:
        The exit code that the protocol asks for: 0 if the client said `shutdown`, else 1.
    """
    must_block = os.path.sameopenfile(0, 1) or _is_null_device(0)
    stdin, stdout = _take_stdio()
    server.protocol.set_writer(_Writer(stdout))
    # Existing objects live as long as the process. Without this, the first requests spend 20 ms on scanning them again.
    gc.freeze()
    sys.setswitchinterval(_SLICE)
    try:
        asyncio.run(_serve(server, stdin, must_block=must_block))
    except KeyboardInterrupt:
        log.warning("Ended by a signal.")
    return 0 if server.protocol.was_shut_down else 1


def _is_null_device(descriptor: int) -> bool:
    """True for a device such as `/dev/null`, which cannot be polled."""
    return stat.S_ISCHR(os.fstat(descriptor).st_mode) and not os.isatty(descriptor)


class _Writer:
    """Writes to a client that may be gone. Errors are ignored, since the end of its messages shows that it is gone."""

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
    """Return stdin and stdout, reserved for the protocol.

    Other code that reads stdin, in this process or a child, finds it empty. Other output to stdout goes to stderr,
    because one `print` in a library would break the stream of messages.
    """
    sys.stdout.flush()
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return stdin, stdout


async def _serve(server: AdaCoderServer, stdin: BinaryIO, *, must_block: bool) -> None:
    async with in_a_process():  # until the last job has ended
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

    pygls ignores a broken header and waits for the next one. A client would wait with it. Empty lines before a header
    are ignored: some clients end each message with one.

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
    """Read stdin in the event loop. pygls's own reader switches to a thread and back for each header line.

    pygls's reader is still used if asyncio cannot read stdin (a file; `/dev/null`; Windows). It is also used if stdin
    and stdout are the same terminal or socket, where non-blocking reads would make writes fail.
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
