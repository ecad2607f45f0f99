"""Ctrl-C and SIGTERM end a request with one line and exit code 130. No process stays, and the file is unchanged."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from support.commandline import BODY, GOOD_REPLY, HEEDING, MODEL, PLAN, SOLVED, WRONG
from support.standins.ollama import PATIENCE, Ending, Script, StandIn

pytestmark = [
    pytest.mark.isolation,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc to find processes in"),
]
STALLED = Script("1. Square", ending=Ending.STALL)


def wait_until(holds: Callable[[], bool]) -> None:
    give_up = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < give_up, "it took too long"
        time.sleep(0.02)


def descendants(pid: int) -> set[int]:
    """Return the descendants of `pid`."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text("utf-8", "replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
    found, grown = {pid}, True
    while grown:
        below = {child for child, parent in parents.items() if parent in found} - found
        found, grown = found | below, bool(below)
    return found - {pid}


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


class Fixing:
    """A running `adacoder fix --write`. It evaluates the function first, so a sandbox runs when it asks the model."""

    def __init__(self, folder: Path, standin: StandIn, first: Sequence[str] = HEEDING) -> None:
        """`first` is the beginning of the command line."""
        self.path = folder / "shapes.py"
        self.path.write_text(WRONG, encoding="utf-8")
        (folder / "pyproject.toml").touch()
        command = [*first, sys.executable, "-m", "adacoder", "fix", "shapes.py::hypotenuse", "--write"]
        self.process = subprocess.Popen(
            [*command, "--model", MODEL, "--host", standin.host],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "NO_COLOR": "1"},
        )

    def ended(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, errors.decode()


@pytest.mark.parametrize(
    ("number", "first"),
    [
        (signal.SIGINT, HEEDING),
        (signal.SIGTERM, HEEDING),
        (signal.SIGTERM, ("env", "--ignore-signal=INT")),
    ],
    ids=["SIGINT", "SIGTERM", "SIGTERM in the background"],
)
def test_an_interrupted_request_leaves_nothing_behind(
    number: signal.Signals, first: Sequence[str], tmp_path: Path
) -> None:
    with StandIn([STALLED]).in_thread() as standin:
        fixing = Fixing(tmp_path, standin, first)
        wait_until(lambda: "first byte 1" in standin.events)
        below = descendants(fixing.process.pid)
        assert below, "the sandbox has a process"
        fixing.process.send_signal(number)
        code, errors = fixing.ended()
        wait_until(lambda: standin.connections == 0)
    assert code == 130
    assert errors.splitlines()[-1] == "Interrupted; nothing was written."
    assert not re.search("Traceback|Error", errors)
    assert fixing.path.read_text("utf-8") == WRONG
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pyproject.toml", "shapes.py"]
    wait_until(lambda: not any(map(is_alive, below)))


def test_left_alone_it_is_written(tmp_path: Path) -> None:
    with StandIn([PLAN, GOOD_REPLY]).in_thread() as standin:
        fixing = Fixing(tmp_path, standin)
        code, _ = fixing.ended()
    assert code == 0
    assert fixing.path.read_text("utf-8") == SOLVED


def test_what_was_written_before_stays_and_is_counted(tmp_path: Path) -> None:
    one = '{}def f{}(a, b):\n    """Length.\n\n    >>> f{}(3, 4)\n    5.0\n    """\n'
    path = tmp_path / "shapes.py"
    path.write_text("\n\n".join(one.format("", number, number) for number in (1, 2)), encoding="utf-8")
    first = f"```python\ndef f1(a, b):\n{BODY}```"
    with StandIn([first, STALLED]).in_thread() as standin:
        command = [*HEEDING, sys.executable, "-m", "adacoder", "generate", "shapes.py", "--write", "--model", MODEL]
        process = subprocess.Popen(
            [*command, "--host", standin.host], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        wait_until(lambda: "first byte 2" in standin.events)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert errors.decode().splitlines()[-1] == "Interrupted; functions already written: 1."
    assert path.read_text("utf-8").count(BODY) == 1


LATE = """
import os, signal, sys, threading
from adacoder.__main__ import main

def interrupt():
    threading.main_thread().join()
    os.kill(os.getpid(), signal.SIGINT)
    ended.wait(1)

ended = threading.Event()
threading.Thread(target=interrupt).start()
sys.exit(main())
"""
"""A program that gets Ctrl-C at its exit, while the interpreter waits for threads."""


def test_ctrl_c_after_the_end_prints_no_traceback() -> None:
    command = [*HEEDING, sys.executable, "-c", LATE, "strategies"]
    ended = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, b"")
    assert b"adacoder" in ended.stdout
