"""No evaluation reaches the memory, files or environment of another one, or of their template.

Control: all attempts succeed without isolation.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import Level
from adversarial.beside import neighbours
from support.evaluating import until_called

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.isolation

VICTIM = "open('victim', 'w').close()\nLIBC.prctl(15, b'victim', 0, 0, 0)\ntime.sleep(3)\nreturn 'wanted'"
REACH = """
VECTORS = ctypes.c_void_p * 2
ADDRESS = ctypes.addressof(ctypes.create_string_buffer(8))
NUMBERS = {"x86_64": [310, 311, 434], "aarch64": [270, 271, 434]}[os.uname().machine]
READ, WRITE, HANDLE = NUMBERS

def moved(number, pid):
    own, other = VECTORS(ADDRESS, 8), VECTORS(ADDRESS, 8)
    if LIBC.syscall(*map(ctypes.c_long, (number, pid)), own, ctypes.c_long(1), other, *map(ctypes.c_long, (1, 0))) < 0:
        if ctypes.get_errno() != errno.EFAULT:  # the address may be unused there
            raise OSError(ctypes.get_errno(), "moved")

def opened(name, flags=os.O_RDONLY):
    return lambda pid: os.close(os.open(f"/proc/{pid}/{name}", flags))

def handled(pid):
    handle = LIBC.syscall(*map(ctypes.c_long, (HANDLE, pid, 0)))
    if handle < 0:
        raise OSError(ctypes.get_errno(), "handled")
    os.close(handle)

WAYS = {
    "memory": opened("mem"),
    "memory, to write": opened("mem", os.O_RDWR),
    "mappings": opened("maps"),
    "environment": opened("environ"),
    "descriptors": lambda pid: os.listdir(f"/proc/{pid}/fd"),
    "folder": lambda pid: os.listdir(f"/proc/{pid}/cwd"),
    "process_vm_readv": lambda pid: moved(READ, pid),
    "process_vm_writev": lambda pid: moved(WRITE, pid),
    "pidfd_open": handled,
}
near = [pid for pid in processes() if pid != os.getpid() and abs(pid - os.getpid()) < 300]
if {others}:
    near = [*map(int, open(f"/proc/{os.getppid()}/task/{os.getppid()}/children").read().split()), os.getppid()]
    near.remove(os.getpid())
return bool(near), sorted(way for way in WAYS if each(WAYS[way], *near))
"""
ALL = sorted(
    [
        *("memory", "memory, to write", "mappings", "environment", "descriptors", "folder"),
        *("process_vm_readv", "process_vm_writev", "pidfd_open"),
    ]
)


async def reached(level: Level, folder: Path) -> str:
    """Return what an evaluation reaches of others while one of them runs."""
    async with neighbours(folder, level) as beside:
        victim = asyncio.create_task(beside.evaluate(VICTIM))
        await until_called("victim")
        told = await beside.told(REACH.replace("{others}", str(level is Level.NONE)))
        assert (await victim).passed
        return told


async def test_nothing_of_another_process_is_reached(level: Level, tmp_path: Path) -> None:
    assert await reached(level, tmp_path) == "(True, [])"


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="/proc")
async def test_where_nothing_isolates_all_of_it_is(tmp_path: Path) -> None:
    """Control: at level `none`, every attempt succeeds."""
    assert await reached(Level.NONE, tmp_path) == str((True, ALL))
