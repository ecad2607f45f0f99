"""`check` gives the same report on nine modules, whatever a tenth one does.

Control: the tenth module itself is not verified.
"""

from __future__ import annotations

import json
import os
import sys
from asyncio import create_subprocess_exec, subprocess
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from adacoder.domain import Level
from support.evaluating import processes_in

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.isolation

SECONDS = 5
"""Timeout of the examples."""
HONEST = '''
import os, threading, time


def right(n):
    """
    >>> right(1)
    1
    >>> time.sleep({pause})
    >>> right(2)
    2
    """
    return n


def wrong(n):
    """
    >>> wrong(1)
    1
    >>> time.sleep({pause})
    >>> wrong(2)
    2
    >>> wrong(1)
    1
    """
    return 1


def busy(n):
    """
    >>> busy(1)
    1
    >>> open("own", "w").write("x" * 1000)
    1000
    >>> threads = [threading.Thread(target=time.sleep, args=({pause},)) for _ in range(4)]
    >>> for each in threads: each.start()
    >>> for each in threads: each.join()
    >>> os.listdir("."), busy(2)
    (['own'], 2)
    """
    return n
'''
TENTH = '''
import ctypes, os, signal, sys, threading, time
LIBC = ctypes.CDLL(None, use_errno=True)


def each(do, *places):
    for place in places:
        try:
            do(place)
        except OSError:
            pass


def fork(child, number=1):
    """Fork; `child` runs in each process, which ends with it."""
    for _ in range(number):
        if os.fork() == 0:
            try:
                child()
            finally:
                os._exit(0)


def sleep():
    time.sleep(20)


def others():
    try:
        found = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        found = []
    return [pid for pid in found or range(1, 200) if pid != os.getpid()]


def message(*texts):
    body = b"".join(len(text).to_bytes(4, "little") + text for text in texts)
    return len(body).to_bytes(4, "little") + body


def misbehave():
{way}


{when}

def f(n):
    """
    >>> f(1)
    1
    >>> f(2)
    2
    """
    if n == 2:
        {then}
    return n
'''
WAYS = {
    "forks at import": "fork(sleep, 50)\ntime.sleep(1)",
    "forks daemons at import": "fork(lambda: fork(sleep), 50)\ntime.sleep(1)",
    "forks a chain at import": """
        def link(left):
            if left:
                fork(lambda: link(left - 1))
                time.sleep(20)

        link(40)
        time.sleep(1)
    """,
    "forks out of its group at import": """
        def leave():
            each(lambda leave: leave(), os.setsid, lambda: os.setpgid(0, 0), lambda: LIBC.prctl(36, 0, 0, 0, 0))
            fork(sleep, 3)
            sleep()

        each(lambda leave: leave(), os.setsid, lambda: os.setpgid(0, 0), lambda: LIBC.prctl(36, 0, 0, 0, 0))
        fork(leave, 12)
        time.sleep(1)
    """,
    "forks what never rests at import": """
        def spin():
            end = time.time() + 20
            while time.time() < end:
                pass

        fork(spin, 6)
        time.sleep(1)
    """,
    "forks what forks at import": """
        def branch():
            end = time.time() + 1
            while time.time() < end:
                each(lambda _: fork(lambda: time.sleep(0.2)), 1)

        fork(branch, 3)
        time.sleep(1)
    """,
    "forks later at import": "os.register_at_fork(before=lambda: None, after_in_parent=lambda: fork(sleep, 20))",
    "starts threads at import": """
        threading.stack_size(32768)
        for _ in range(1500):
            threading.Thread(target=sleep, daemon=True).start()
    """,
    "starts threads in an example": """
        threading.stack_size(32768)
        for _ in range(1500):
            threading.Thread(target=sleep, daemon=True).start()
    """,
    "makes files at import": "for number in range(30_000): open(str(number), 'w').close()\ntime.sleep(1)",
    "writes files in an example": "for number in range(8): open(str(number), 'wb').write(bytes(12 << 20))\nsleep()",
    "reserves memory at import": "import mmap\nheld = [mmap.mmap(-1, 64 << 20, flags=0x22) for _ in range(200)]",
    "kills others": """
        each(lambda pid: os.kill(pid, 9), os.getppid(), *others(), 0, -1)
        os.kill(os.getpid(), 9)
    """,
    "stops others": """
        each(lambda pid: os.kill(pid, signal.SIGSTOP), os.getppid(), *others())
        os.kill(os.getpid(), signal.SIGSTOP)
    """,
    "closes everything": "os.closerange(0, 256)",
    "floods its line": """
        while True:
            each(lambda number: os.write(number, bytes(1 << 16)), *range(3, 256))
    """,
    "speaks the protocol": """
        answers = message(b"ready"), message(b"imported", b"0" * 16), message(b"reaped", b"0", b"clean", b"")
        each(lambda number: os.write(number, b"".join(answers)), *range(3, 256))
    """,
    "ends at import": "os._exit(0)",
    "ends in an example": "os._exit(0)",
    "never ends": "while True: pass",
    "crashes": "ctypes.string_at(0)",
}
"""Misbehaviour of the tenth module, by name: at the import if the name says so, else in an example."""
HARMLESS = {"forks later at import", "speaks the protocol"}
"""Misbehaviour that does not affect the tenth module itself, whose code is right."""
RUNS = 10
"""Number of runs of each misbehaviour with `--all`."""


def write_honest(folder: Path) -> None:
    """Write nine modules, four of them in a package."""
    for number in range(9):
        path = folder / ("" if number < 5 else "pkg") / f"m{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HONEST.format(pause=0.05 + 0.02 * number), encoding="utf-8")
    (folder / "pkg/__init__.py").touch()
    (folder / "pyproject.toml").touch()


def write_tenth(folder: Path, name: str, place: str, delay: float) -> None:
    way = indent(dedent(f"time.sleep({delay})\n") + dedent(WAYS[name]).strip("\n"), "    ")
    when, then = ("misbehave()", "pass") if name.endswith("at import") else ("", "misbehave()")
    text = TENTH.replace("{way}", way).replace("{when}", when).replace("{then}", then)
    (folder / place).write_text(text, encoding="utf-8")


Said: TypeAlias = "dict[str, dict[str, Any]]"
"""Reports by docstring."""


async def checked(folder: Path, level: Level) -> Said:
    """Run `check` on a folder. Return the report on each docstring."""
    process = await create_subprocess_exec(
        *(sys.executable, "-m", "adacoder", "check", str(folder), "--json"),
        *("--timeout", str(SECONDS), "--interpreter", sys.executable),
        stdout=subprocess.PIPE,
        cwd=folder,
        env=os.environ | ({} if level is Level.FULL else {"PATH": os.devnull}),  # without PATH, bubblewrap is not found
    )
    output, _ = await process.communicate()
    told = {}
    for line in output.splitlines():
        each = json.loads(line)
        assert each["isolation"]["level"] == level
        told[each["target"]] = {key: each[key] for key in ("status", "reason", "examples", "failure", "notes")}
    return told


@pytest.fixture(scope="module")
def known() -> dict[Level, Said]:
    """Reports on the honest modules alone, by level."""
    return {}


@pytest.mark.parametrize("name", WAYS)
async def test_what_is_said_of_the_others_is_what_is_said_of_them_alone(
    name: str, level: Level, known: dict[Level, Said], tmp_path: Path, one_in: Callable[[int], int]
) -> None:
    write_honest(tmp_path)
    if level not in known:
        known[level] = await checked(tmp_path, level)
    alone = known[level]
    assert len(alone) == 27
    assert {each["status"] for each in alone.values()} == {"partial", "verified"}
    for run in range(0, RUNS, one_in(RUNS)):
        place = "pkg/a.py" if run % 2 else "a.py"
        write_tenth(tmp_path, name, place, 0.05 * run)
        told = await checked(tmp_path, level)
        tenth = told.pop(f"{place}::f")
        assert told == alone
        assert tenth["status"] != "verified" or name in HARMLESS
        (tmp_path / place).unlink()
        assert processes_in(tmp_path) == []
