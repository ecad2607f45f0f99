"""The kernel's counters for the time that a process waits for a processor."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from adacoder.sandbox import held
from adacoder.sandbox.process import Evaluation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adacoder.sandbox.wire import WorkerLine

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
def test_the_longest_waits_of_two_threads_count_even_when_the_threads_have_ended() -> None:
    with _crowd() as pid, socket.socket() as connection:
        line = SimpleNamespace(channel=SimpleNamespace(sender=pid))
        evaluation = Evaluation(0, cast("WorkerLine", line), connection, None)
        waits = sorted(_waits(pid))
        assert evaluation.waited() == pytest.approx(sum(waits[-2:]))
        assert sum(waits) > 2 * evaluation.waited()
        assert evaluation.computed() > 0
    assert not held.waits(pid)
    assert evaluation.waited() == pytest.approx(sum(waits[-2:]))


@contextmanager
def _crowd() -> Iterator[int]:
    """Start a process whose threads have waited for each other, and stop it, so that its counters do not change."""
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
