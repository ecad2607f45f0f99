"""The kernel's counts of a process: its waits for a processor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adacoder.sandbox import held

if TYPE_CHECKING:
    from collections.abc import Iterator

CROWD = """
import hashlib, threading
block = bytes(8 << 20)
def compute():
    while True:
        hashlib.sha256(block).digest()  # without the interpreter's lock
for _ in range(30):
    threading.Thread(target=compute).start()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's counts are those of Linux")
def test_the_waits_of_two_threads_count() -> None:
    with _crowd() as pid:
        waits = sorted(_waits(pid))
        assert held.waited(pid) == pytest.approx(sum(waits[-2:]))
        assert sum(waits) > 2 * held.waited(pid)
        assert held.computed(pid) > 0


@contextmanager
def _crowd() -> Iterator[int]:
    """A process whose threads waited for each other. It is stopped, so its counts stay the same."""
    with subprocess.Popen([sys.executable, "-c", CROWD]) as crowd:
        try:
            while len(_waits(crowd.pid)) < 30 or sorted(_waits(crowd.pid))[2] < 0.1:
                assert crowd.poll() is None
                time.sleep(0.05)
            os.kill(crowd.pid, signal.SIGSTOP)
            while not all("T" in state for state in _states(crowd.pid)):
                time.sleep(0.05)
            yield crowd.pid
        finally:
            crowd.kill()


def _waits(pid: int) -> list[float]:
    return [int(path.read_text().split()[1]) / 1e9 for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]


def _states(pid: int) -> list[str]:
    return [path.read_text().rpartition(")")[2].split()[0] for path in Path(f"/proc/{pid}/task").glob("*/stat")]
