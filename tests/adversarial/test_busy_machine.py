"""An evaluation that waits for a processor is not reported as timed out."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import FailureKind
from adversarial.beside import neighbours

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from adacoder.domain import Level

pytestmark = pytest.mark.isolation

SECONDS = 0.5
"""Timeout of an evaluation."""
COMPUTE = """
end = time.process_time() + {seconds}
while time.process_time() < end:
    pass
return 'wanted'
"""
IN_A_THREAD = """
import threading
def compute():
    end = time.thread_time() + {seconds}
    while time.thread_time() < end:
        pass
thread = threading.Thread(target=compute)
thread.start()
thread.join()
return 'wanted'
"""
AFTER_A_THREAD = IN_A_THREAD.replace("return", "time.sleep({seconds} / 3)\nreturn")
CROWDED = """
import hashlib, threading
block = bytes(8 << 20)
def crowd():
    while time.process_time() < 0.3:
        hashlib.sha256(block).digest()  # without the interpreter's lock
    time.sleep(60)
for _ in range(100):
    threading.Thread(target=crowd, daemon=True).start()
time.sleep(20)
return 'wanted'
"""
BODIES = {"computes": COMPUTE, "computes in a thread": IN_A_THREAD, "after a thread": AFTER_A_THREAD}
SLOW = {
    "sleeps": "time.sleep(20)\nreturn 'wanted'",
    "waits for a thread": "import threading\nthreading.Thread(target=time.sleep, args=(20,)).run()\nreturn 'wanted'",
    "never ends": "while True:\n    pass",
    "computes for too long": COMPUTE.format(seconds=20),
    "has threads that wait for each other": CROWDED,
}


BURNER = "import sys, threading\nthreading.Thread(target=sys.stdin.read, daemon=True).start()\nwhile True: pass"


@pytest.fixture
def busy() -> Iterator[None]:
    """Keep every processor busy with other processes."""
    with ExitStack() as stack:
        for _ in range(2 * (os.cpu_count() or 1)):
            burner = stack.enter_context(subprocess.Popen([sys.executable, "-c", BURNER], stdin=subprocess.PIPE))
            stack.callback(burner.kill)
        yield


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_time_spent_waiting_for_a_processor_does_not_count(body: str, level: Level, tmp_path: Path) -> None:
    async with neighbours(tmp_path, level) as beside:
        verdict = await beside.evaluate(body.format(seconds=0.3), SECONDS)
        assert verdict.passed, verdict.failure


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("name", SLOW)
async def test_but_slow_code_is_slow(name: str, level: Level, tmp_path: Path) -> None:
    async with neighbours(tmp_path, level) as beside:
        failure = (await beside.evaluate(SLOW[name], SECONDS)).failure
        assert failure is not None
        assert failure.kind is FailureKind.TIMED_OUT
        assert (await beside.evaluate("return 'wanted'")).passed
