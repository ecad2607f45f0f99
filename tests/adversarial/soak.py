"""Run many evaluations, a tenth of them hostile, and print as JSON what has grown.

    soak.py FOLDER LEVEL EVALUATIONS LEAKED

Each evaluation loses LEAKED bytes on purpose, to check that the measurement finds a leak.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
import sys
import tempfile
from pathlib import Path

from adacoder.domain import FailureKind, Level
from support.evaluating import Workspace, processes_in, workspace

MODULE = '''import os, json, sys, time

def f(x):
    """
    >>> f(1)
    2
    >>> f(2)
    3
    """
    {}
'''
GOOD = MODULE.format("return x + 1")
HOSTILE = [
    "os._exit(0)",
    "os.kill(os.getpid(), 9)",
    "import ctypes; ctypes.string_at(0)",
    "return 'a' * (8 << 30)",
    "os.closerange(0, 64)",
    "while True: os.write(3, b'x' * 99)",
    "[open(str(i), 'w').close() for i in range(200)]; os.mkdir('d', 0); return 0",
    "print('x' * (1 << 22)); raise SystemExit",
    "import threading; threading.Thread(target=time.sleep, args=(99,)).start(); return os.fork()",
    "while True: pass",
]
WARM_UP = 300
PARTS = 5
"""The run is divided into this many parts. A leak shows in most of them, but a table that grows once shows in one."""
SETTLING_SECONDS = 1.0
"""Seconds to wait for the end of the last killed process."""


async def main(folder: Path, best: Level, evaluations: int, leaked: int) -> None:
    temporary, project = folder / "tmp", folder / "project"
    temporary.mkdir()
    project.mkdir()
    tempfile.tempdir = str(temporary)
    lost: list[bytes] = []
    async with workspace(project, best=best) as ws:
        states = []
        for count in (WARM_UP, *[evaluations // PARTS] * PARTS):
            for number in range(count):
                await one(ws, number)
                lost.append(os.urandom(leaked))
            await asyncio.sleep(SETTLING_SECONDS)
            states.append(state(project, temporary))
    print(json.dumps({"states": states, "left": state(project, temporary)}))


async def one(ws: Workspace, number: int) -> None:
    hostile = number % 10 == 0
    text = MODULE.format(HOSTILE[number // 10 % len(HOSTILE)]) if hostile else GOOD
    verdict = await ws.evaluate(text, timeout=0.3 if "while True: pass" in text else 30)
    if verdict.passed is hostile:
        raise AssertionError(f"{text}\n{verdict}")
    if verdict.failure is not None and verdict.failure.kind is FailureKind.BROKEN_EXAMPLE:
        raise AssertionError(verdict)


def state(project: Path, temporary: Path) -> dict[str, int]:
    gc.collect()
    return {
        "processes": len(processes_in(project)),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "files": sum(1 for _ in temporary.rglob("*")),
        "tasks": len(asyncio.all_tasks()),
        "resident": int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGESIZE"),
        "blocks": sys.getallocatedblocks(),
        "large": allocated(),
    }


def allocated() -> int:
    """Return the bytes that this process has from `malloc`. Python's small blocks are not among them."""
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = MallocInfo
    found = library.mallinfo2()
    return int(found.uordblks + found.hblkhd)


class MallocInfo(ctypes.Structure):
    """The result of mallinfo2(3)."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Level(sys.argv[2]), *map(int, sys.argv[3:])))
