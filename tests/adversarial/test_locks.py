"""An evaluation can lock its own files, but no file of the user."""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
from textwrap import indent
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import Level
from support.evaluating import workspace

if TYPE_CHECKING:
    from pathlib import Path

    from support.evaluating import Workspace

pytestmark = pytest.mark.isolation

MODULE = '''\
import ctypes, fcntl, os, sqlite3, struct, time

PROJECT = {folder!r}
LIBC = ctypes.CDLL(None, use_errno=True)
READ, WRITE = fcntl.F_RDLCK, fcntl.F_WRLCK
FLOCK, FCNTL = {{"x86_64": (73, 72), "aarch64": (32, 25)}}[os.uname().machine]


def lock(command, kind):
    """By `fcntl`, all of the file."""
    fcntl.fcntl(FILE, command, struct.pack("hhqqi4x", kind, 0, 0, 0, 0))


def f(x):
    """
    >>> f(1)
    2
    """
    global FILE
    FILE = os.open(PROJECT + "/data.db", os.O_RDONLY)
{attempt}
    time.sleep(0.4)
    return 2
'''
ATTEMPTS = {
    "flock": "fcntl.flock(FILE, fcntl.LOCK_EX)",
    "flock, shared": "fcntl.flock(FILE, fcntl.LOCK_SH)",
    "flock by system call": "LIBC.syscall(FLOCK, FILE, 2)",
    "flock of the library": "LIBC.flock(FILE, 2)",
    "flock of a folder": "fcntl.flock(os.open(PROJECT, os.O_RDONLY), fcntl.LOCK_EX)",
    "flock of a file opened anew": "fcntl.flock(os.open(f'/proc/self/fd/{FILE}', os.O_RDONLY), fcntl.LOCK_EX)",
    "flock of a copy": "fcntl.flock(os.dup(FILE), fcntl.LOCK_EX)",
    "lockf": "fcntl.lockf(FILE, fcntl.LOCK_SH)",
    "a part of lockf": "fcntl.lockf(FILE, fcntl.LOCK_SH, 510, 0x40000002)",
    "fcntl": "lock(fcntl.F_SETLK, READ)",
    "fcntl that waits": "lock(fcntl.F_SETLKW, READ)",
    "fcntl by system call": "LIBC.syscall(FCNTL, FILE, 7, struct.pack('hhqqi4x', READ, 0, 0, 0, 0))",
    "fcntl with a bit too many": """
        LIBC.syscall(FCNTL, FILE, ctypes.c_long(7 | 1 << 32), struct.pack("hhqqi4x", READ, 0, 0, 0, 0))
    """,
    "a lock of the open file": "lock(37, READ)",
    "a lock of the open file that waits": "lock(38, READ)",
    "a database": """
        data = sqlite3.connect(f"file:{PROJECT}/data.db?mode=ro", uri=True, isolation_level=None)
        data.execute("begin")
        data.execute("select * from t").fetchall()
    """,
    "a mapping of it": """
        import mmap
        kept = mmap.mmap(FILE, 0, access=mmap.ACCESS_READ)
        fcntl.flock(FILE, fcntl.LOCK_EX)
    """,
    "a thread": """
        import threading
        threading.Thread(target=fcntl.flock, args=(FILE, fcntl.LOCK_EX)).start()
    """,
    "many": "[fcntl.flock(os.open(PROJECT + '/data.db', 0), fcntl.LOCK_SH) for _ in range(40)]",
}
NOT_EVERYWHERE = {"flock of a file opened anew"}
"""Attempts that need /proc/self, which some machines hide."""


def locked_out(folder: Path) -> set[str]:
    """Return the files that a process outside can neither lock nor write to now."""
    found = set()
    for name in ("data.db", "."):
        descriptor = os.open(folder / name, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            found.add("flock")
        finally:
            os.close(descriptor)
    try:
        with sqlite3.connect(folder / "data.db", timeout=0) as data:
            data.execute("pragma locking_mode=normal")
            data.execute("begin exclusive")
    except sqlite3.OperationalError as error:
        found.add(str(error))
    finally:
        data.close()
    descriptor = os.open(folder / "data.db", os.O_RDWR)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        found.add("fcntl")
    finally:
        os.close(descriptor)
    return found


async def trouble(ws: Workspace, attempt: str) -> tuple[set[str], bool]:
    """Return what was locked during the evaluation, and True if the evaluation passed."""
    lines = indent("\n".join(line.strip() for line in attempt.strip().splitlines()), "    ")
    text = MODULE.format(folder=str(ws.folder), attempt=lines)
    task = asyncio.create_task(ws.evaluate(text))
    found: set[str] = set()
    while not task.done():
        await asyncio.sleep(0.02)
        found |= await asyncio.to_thread(locked_out, ws.folder)
    verdict = await task
    return found, verdict.passed


@pytest.fixture
def project(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "data.db") as data:
        data.execute("create table t (x)")
        data.execute("insert into t values (1)")
    data.close()
    assert not locked_out(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ATTEMPTS)
async def test_no_file_of_the_user_is_locked(name: str, level: Level, project: Path) -> None:
    async with workspace(project, level, best=level) as ws:
        found, passed = await trouble(ws, ATTEMPTS[name])
    assert found == set()
    assert passed or name in NOT_EVERYWHERE


@pytest.mark.parametrize("name", ATTEMPTS)
async def test_where_nothing_isolates_it_is_locked(name: str, project: Path) -> None:
    async with workspace(project, Level.NONE, best=Level.NONE) as ws:
        found, _ = await trouble(ws, ATTEMPTS[name])
    assert found
