"""Start language servers quickly, by forking a process that has already imported the server's modules.

Most of the time of a server's start and first job goes into imports. Tests of the start or of imports must not use a
fork, because a fork hides missing imports.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Self

_AHEAD = (
    *("service", "strategies.agentcoder", "source.coverage", "source.memorised"),
    *("models.ollama_backend", "models.openai_backend", "models.http"),
)
"""Modules that a server imports, apart from those in `adacoder.lsp`."""
_AHEAD_TOO = ("pygls.progress", "ollama", "httpcore", "anyio._backends._asyncio")
_NUMBER = struct.Struct("!i")
_MOST = 1 << 17
"""Maximum size in bytes of a request to start a server."""


class Forked:
    """A forked server, with the attributes of `asyncio.subprocess.Process` that tests use."""

    pid: int
    _ending: asyncio.Task[int]

    def __init__(self, *connections: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        (_, self.stdin), (self.stdout, _), (self.stderr, _), (self._keeper, _) = connections
        self._writers = [writer for _, writer in connections]

    @classmethod
    async def started(cls, command: Sequence[str], folder: Path, environment: Mapping[str, str], limit: int) -> Self:
        """Start a server by its command line: `sys.executable`, then `-c CODE` or `-m MODULE`, then arguments."""
        pairs = [socket.socketpair() for _ in range(4)]
        question = json.dumps([command[1:], str(folder), dict(environment)])
        socket.send_fds(_parent(), [question.encode()], [theirs.fileno() for _, theirs in pairs])
        for _, theirs in pairs:
            theirs.close()
        process = cls(*[await asyncio.open_connection(sock=ours, limit=limit) for ours, _ in pairs])
        process.pid = await process._number()
        process._ending = asyncio.create_task(process._number())
        return process

    @property
    def returncode(self) -> int | None:
        return self._ending.result() if self._ending.done() else None

    async def wait(self) -> int:
        return await asyncio.shield(self._ending)

    def send_signal(self, number: int) -> None:
        if not self._ending.done():
            with suppress(ProcessLookupError):  # the process may have ended before its exit code arrives
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        for writer in self._writers:
            writer.close()

    async def _number(self) -> int:
        (number,) = _NUMBER.unpack(await self._keeper.readexactly(_NUMBER.size))
        return int(number)


@cache
def _parent() -> socket.socket:
    """Start the parent of all servers, which is this file as a program. Return the connection to it.

    The program ends when this process ends.
    """
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen([sys.executable, "-P", __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()])
    atexit.register(process.wait)
    atexit.register(process.kill)
    return ours


def _main(asked: socket.socket) -> None:
    """Import the modules. Then start a server for each request on the socket `asked`.

    This takes two forks. The second becomes the server. The first reports the server's process id, and later its exit
    code.
    """
    lsp = importlib.import_module("adacoder.lsp")
    own = (module.name for module in pkgutil.walk_packages(lsp.__path__, "adacoder.lsp."))
    for name in (*own, *(f"adacoder.{name}" for name in _AHEAD), *_AHEAD_TOO):
        importlib.import_module(name)
    importlib.import_module("lsprotocol.converters").get_converter()  # resolve forward references once, before forking
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for pytest, which then ends this process
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # let the kernel reap the children
    while True:
        question, descriptors, _, _ = socket.recv_fds(asked, _MOST, 4)
        if not question:
            return
        if not os.fork():
            asked.close()
            _keep(descriptors, *json.loads(question))
            return
        for descriptor in descriptors:
            os.close(descriptor)


def _keep(descriptors: Sequence[int], arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *standard, kept = descriptors
    pid = os.fork()
    if not pid:
        os.close(kept)
        for number, descriptor in enumerate(standard):
            os.dup2(descriptor, number)
            os.close(descriptor)
        _run(arguments, folder, environment)
        return
    for descriptor in standard:
        os.close(descriptor)
    os.write(kept, _NUMBER.pack(pid))
    os.write(kept, _NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))
    os._exit(0)


def _run(arguments: list[str], folder: str, environment: dict[str, str]) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, errors="backslashreplace", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    option, what, *sys.argv[1:] = arguments
    sys.argv[0] = option
    sys.path.insert(0, folder)
    if option == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(what, {"__name__": "__main__"})


if __name__ == "__main__":
    _main(socket.socket(fileno=int(sys.argv[1])))
