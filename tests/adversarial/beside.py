"""Run several evaluations at a time in a workspace, and show what each can find of the others."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING

from adacoder.domain import FailureKind, Level
from adacoder.sandbox.environment.interpreter import find
from adacoder.sandbox.host import Host
from support.evaluating import examples, program

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from adacoder.domain import Verdict
    from adacoder.sandbox.environment.interpreter import Interpreter

MODULE = '''\
import ctypes, errno, fcntl, os, socket, stat, struct, sys, tempfile, time

PROJECT = {folder!r}
LIBC = ctypes.CDLL(None, use_errno=True)
SYSCALLS = {{"x86_64": [90, 268, 280, 92, 188, 76], "aarch64": [None, 53, 88, None, 5, 45]}}
CHMOD, FCHMODAT, UTIMENSAT, CHOWN, SETXATTR, TRUNCATE = SYSCALLS[os.uname().machine]
FCHMODAT2, FILE_SETATTR = 452, 469


def near():
    """All folders that this process may share with others."""
    return [place for place in {places} if os.path.exists(place)]


def processes():
    """The numbers that processes have, or may have where nothing tells."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return range(max(1, os.getpid() - 300), os.getpid() + 300)


def each(change, *places):
    """How many of the places could be changed, without a word on the others."""
    done = 0
    for place in places or near():
        try:
            change(place)
            done += 1
        except (OSError, NotImplementedError):
            pass
    return done


def call(number, *arguments):
    if number is None:
        raise NotImplementedError
    wide = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    if LIBC.syscall(ctypes.c_long(number), *wide) != 0:
        raise OSError(ctypes.get_errno(), "syscall")


def descriptor(place, flags=os.O_RDONLY):
    return os.open(place, flags)


def standing(place):
    """What one evaluation could leave on a folder for another, but for its times."""
    found = os.stat(place)
    names = [(name, os.getxattr(place, name)) for name in os.listxattr(place)] if hasattr(os, "listxattr") else []
    try:
        flags = fcntl.ioctl(os.open(place, os.O_RDONLY), 0x80086601, bytes(8)).hex()
    except OSError:
        flags = ""
    dated = 12345 in (found.st_mtime, found.st_atime)
    return stat.filemode(found.st_mode), found.st_uid, found.st_gid, dated, names, flags


def look():
    """All that an evaluation finds; it has a use for its folder."""
    own = os.getcwd()
    found = [standing(place) for place in (".", "..", "../..", own, "/", "/dev")], os.listdir("."), os.listdir(own)
    with open(os.path.join(own, "own"), "w") as file:
        file.write("own")
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"own")
    os.remove("own")
    os.mkdir("folder")
    os.rmdir("folder")
    return found


def f(x):
    """
    >>> f(1)
    'wanted'
    """
{body}
'''


UP = ("..", "../..", "/proc/self/cwd/..", "/proc/self/cwd/../..")
BELOW = tuple(f"{up}/{number}" for up in UP for number in range(40))
PLACES = {
    Level.FULL: str([*UP, *BELOW, "/tmp", "/", "/dev", "/dev/shm", "/etc", "/home", *map("/tmp/{}".format, range(40))]),
    Level.LSM: str([*UP, *BELOW]),  # evaluations share only these places; the machine owns all others
    Level.NONE: str(["../..", *map("../../{}".format, range(40))]),
}
"""Python code for the list of places in which an evaluation may find something of other evaluations."""


class Neighbours:
    """An evaluator that runs several evaluations at a time."""

    def __init__(self, folder: Path, host: Host, places: str) -> None:
        self.folder = folder
        self.host = host
        self.places = places

    async def evaluate(self, body: str, timeout: float = 20.0) -> Verdict:  # noqa: ASYNC109  # the evaluation's own
        text = MODULE.format(folder=str(self.folder), places=self.places, body=indent(dedent(body).strip(), "    "))
        what = program(self.folder / "mod.py", self.folder, text, "f")
        return await self.host.evaluate(what, examples(text), timeout=timeout)

    async def told(self, body: str, timeout: float = 20.0) -> str:  # noqa: ASYNC109  # the evaluation's own
        """Return the actual output of `f(1)`."""
        verdict = await self.evaluate(body, timeout)
        assert verdict.failure is not None
        assert verdict.failure.kind is FailureKind.WRONG_OUTPUT, verdict.failure.message
        assert verdict.failure.got is not None
        return verdict.failure.got.strip()


@asynccontextmanager
async def neighbours(folder: Path, level: Level, interpreter: Interpreter | None = None) -> AsyncIterator[Neighbours]:
    interpreter = interpreter or find(None, folder, folder)
    host = Host(interpreter, folder, least=level, best=level, turns=asyncio.Semaphore(2))
    try:
        yield Neighbours(folder, host, PLACES[level])
    finally:
        await host.close()
