"""Run `adacoder arena` on a Dask cluster of real processes, with a stand-in for a model server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support.commandline import HEEDING
from support.standins.openai import StandIn
from support.standins.server import PATIENCE, Script

LONG = 10 * PATIENCE
"""Timeout in seconds that is long enough to start several processes on a busy machine."""
CANARY = "canary_4e51bd"
SAMPLES = 6
NAMES = ("double", "triple")
TASKS = [
    {
        "task_id": f"HumanEval/{number}",
        "prompt": f'def {name}(x):\n    """{name} x.\n\n    >>> {name}(2)\n    {2 * (number + 2)}\n    """\n',
        "entry_point": name,
        "canonical_solution": f"    return {number + 2} * x\n",
        "test": f"def check(candidate):\n    {CANARY} = 7\n    assert candidate({CANARY}) == {7 * (number + 2)}\n",
    }
    for number, name in enumerate(NAMES)
]
CELLS = SAMPLES * len(TASKS)
_RIGHT = "```python\ndef double(x):\n    return 2 * x\n\n\ndef triple(x):\n    return 3 * x\n```\n"
_WRONG = "```python\ndef double(x):\n    return x + 2\n\n\ndef triple(x):\n    return x + 4\n```\n"
"""A reply that passes the docstrings' examples but fails the hidden tests."""


def by_seed(body: Mapping[str, Any]) -> Script:
    """Return the stand-in's reply: right if the request's seed is even, else wrong."""
    return Script(_WRONG if body["seed"] % 2 else _RIGHT, load=0.1)


@dataclass
class DaskCluster:
    """A Dask scheduler and its workers, as background processes."""

    folder: Path
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    address: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    """Additional environment variables for the cluster's processes."""

    def schedule(self, *more: str, before: str = "") -> None:
        """Start the scheduler. Its process first runs the code `before`."""
        file = self.folder / "scheduler.json"
        file.unlink(missing_ok=True)
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        self._start("scheduler", before, "scheduler", *options, *more)
        until(lambda: file.exists() and file.read_text().endswith("}"))
        self.address = json.loads(file.read_text())["address"]

    def work(self, name: str, *options: str, before: str = "") -> None:
        """Start a worker, and wait until it has joined the cluster. Its process first runs the code `before`."""
        fixed = ("worker", self.address, "--no-dashboard", "--no-nanny", "--name", name)
        self._start(name, before, *fixed, *options)
        until(lambda: b"Registered to" in (self.folder / f"{name}.log").read_bytes())

    def kill(self, name: str) -> None:
        """Send SIGKILL to a process of the cluster."""
        process = self.running.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def _start(self, name: str, before: str, *options: str) -> None:
        program = f"{before}\nfrom dask.__main__ import main\nmain()"
        with (self.folder / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(
                [sys.executable, "-c", program, *options],
                cwd=self.folder,
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=subprocess.STDOUT,
            )


@dataclass
class Site:
    """A folder with tasks and rows, with a cluster and a model server."""

    folder: Path
    cluster: DaskCluster
    server: StandIn

    @property
    def rows(self) -> Path:
        return self.folder / "rows.jsonl"

    @property
    def count(self) -> int:
        """Number of rows in the arena's file of rows."""
        return self.rows.read_bytes().count(b"\n") if self.rows.exists() else 0

    def start(self, *options: str, rows: str = "rows.jsonl", before: str = "") -> Run:
        """Start the arena. Its process first runs the code `before`."""
        model = ("--model", "openai:qwen2.5-coder:7b", "--base-url", self.server.host)
        fixed = ("--samples", str(SAMPLES), "--seed", "0", "--strategy", "direct", "--rows", rows)
        program = f"{before}\nfrom adacoder.__main__ import main\nraise SystemExit(main())"
        command = [*HEEDING, sys.executable, "-c", program, "arena", "tasks.jsonl", *model, *fixed, *options]
        env = {**os.environ, **self.cluster.environment}
        return Run(
            subprocess.Popen(command, cwd=self.folder, env=env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        )

    def on_cluster(self, *options: str, before: str = "") -> Run:
        """Start the arena with its cells on the cluster."""
        return self.start("--dask", self.cluster.address, *options, before=before)


@dataclass
class Run:
    process: subprocess.Popen[bytes]

    def end(self) -> tuple[int, list[str]]:
        """Wait for the end of the arena. Return its exit code and its lines on stderr."""
        try:
            _, said = self.process.communicate(timeout=LONG)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        return self.process.returncode, said.decode().splitlines()


@contextmanager
def site(folder: Path, *, starts: bool = True) -> Iterator[Site]:
    """Create a site without workers. Start a scheduler if `starts` is True."""
    (folder / "tasks.jsonl").write_text("".join(json.dumps(each) + "\n" for each in TASKS))
    cluster = DaskCluster(folder)
    with StandIn(by_seed).in_thread() as server:
        try:
            if starts:
                cluster.schedule()
            yield Site(folder, cluster, server)
        finally:
            for name in [*cluster.running]:  # end each process: workers may survive their scheduler
                cluster.kill(name)


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)
