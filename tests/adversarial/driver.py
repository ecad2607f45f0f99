"""Run an attack in a harness, and report its harm. This is the first process of the disposable sandbox.

    driver.py ATTACK HARNESS

It prints a JSON list of harms. As process 1 of its namespace, it survives every attack.
"""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import select
import signal
import socket
import sys
import termios
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from adversarial.attack import Harm, Harness
from adversarial.attacks import ATTACKS, BENIGN
from adversarial.harnesses import Plan, Result, evaluate
from adversarial.scene import TOKEN, Scene, scene

if TYPE_CHECKING:
    from adversarial.attack import Attack

_PATIENCE = 20.0
"""Seconds to wait for an expected event."""
_TOO_LONG = 0.6
"""Seconds that a benign twin never needs."""
_DYING = 0.2
"""Seconds in which killed processes disappear."""
_MUCH_MEMORY = 90 << 10
"""Memory in kilobytes that no harness needs."""


@dataclass(slots=True)
class Server:
    """The evaluator's process, on a terminal as if a person had started it."""

    pid: int
    terminal: int
    results: Path
    status: int | None = None
    """Wait status of the ended or stopped process, as in waitpid(2); 0 before."""

    def told(self) -> list[Result]:
        if not self.results.exists():
            return []
        return [Result(**found) for found in json.loads(self.results.read_text(encoding="utf-8"))]

    def watch(self, seconds: float) -> bool:
        """Wait until the process has ended or stopped. Return False if it does not in time."""
        end = time.monotonic() + seconds
        while self.status is None and time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            self.status = status if pid else None
            time.sleep(0.005)
        return self.status is not None

    @property
    def typed(self) -> bool:
        """Return True if an attack has put text into the terminal's input."""
        return any(fcntl.ioctl(self.terminal, termios.FIONREAD, bytes(4)))


def start(attack: Attack, place: Scene) -> Server:
    programs = [
        (sys.executable, place.module(attack.twin)),
        (str(place.python) if attack.environment else sys.executable, place.module(attack.body, attack)),
    ]
    if attack.harm in (Harm.POISONED, Harm.SERVER_ENDED, Harm.VICTIM_CHANGED):
        programs.append((sys.executable, place.module(attack.aftermath)))
    plan = Plan(attack.harness, str(place.workspace), programs, attack.timeout, place.root.parent / "results.json")
    _, terminal = os.openpty()
    pid = os.fork()
    if pid == 0:
        try:
            serve(plan, place, terminal)
            os._exit(0)
        finally:
            os._exit(1)
    return Server(pid, terminal, plan.results)


def serve(plan: Plan, place: Scene, terminal: int) -> None:
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # otherwise closing the terminal would end the remaining processes
    os.dup2(terminal, 0)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.closerange(3, 256)
    os.environ["PYTHONPATH"] = f"{place.workspace}:{os.environ['PYTHONPATH']}"
    os.environ["HOME"], os.environ["TMPDIR"] = str(place.home), str(place.temporary)
    asyncio.run(evaluate(plan))


def harms(attack: Attack, server: Server, place: Scene) -> set[Harm]:
    """Run the attack, and return its harm."""
    found = set()
    while not server.told():
        assert not server.watch(0.01) or server.told(), "the benign twin breaks the harness"
    ended = server.watch(_TOO_LONG if attack.harm is Harm.HUNG else _PATIENCE)
    twin, *told = server.told()
    assert twin.passed, f"the benign twin fails: {twin.told}"
    if not ended and not told:
        found.add(Harm.HUNG)
    if server.status:
        found.add(Harm.SERVER_ENDED)
    with suppress(ProcessLookupError):
        os.kill(server.pid, signal.SIGKILL)
    if attack.harm is Harm.PROCESS_LEFT:
        time.sleep(_DYING)
        end = time.monotonic() + _PATIENCE
        while not place.is_marked and time.monotonic() < end:
            time.sleep(0.01)
        if place.is_marked:
            found.add(Harm.PROCESS_LEFT)
    if server.typed:
        found.add(Harm.REACHED)
    return found | _reported(told, place) | place.harms()


def _reported(told: list[Result], place: Scene) -> set[Harm]:
    found = set()
    if told and told[0].passed:
        found.add(Harm.PASSED)
    if told and place.secret in told[0].told:
        found.add(Harm.SECRET_TOLD)
    if told and told[0].memory > _MUCH_MEMORY:
        found.add(Harm.EXHAUSTED)
    if len(told) > 1 and not told[1].passed:
        found.add(Harm.POISONED)
    return found


def main(name: str, harness: str) -> None:
    (found,) = [attack for attack in [*ATTACKS, BENIGN] if attack.name == name]
    attack = replace(found, harness=Harness(harness))
    root = Path("/tmp/scene")
    root.mkdir()
    with name_server() as asked, scene(root, os.environ[TOKEN], signal.SIGKILL) as bare:
        place = bare.furnish(attack)
        server = start(attack, place)
        done = harms(attack, server, place)
        if select.select([asked], [], [], 0)[0]:
            done.add(Harm.REACHED)
    print(json.dumps(sorted(done)))


def name_server() -> socket.socket:
    """Address of this sandbox's name server, which never answers."""
    Path("/etc/resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n", encoding="utf-8")
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    return server


if __name__ == "__main__":
    main(*sys.argv[1:])
