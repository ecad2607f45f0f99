"""Run attacks in the isolated evaluator, and check that they did no harm."""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import Level
from adacoder.sandbox.child.worker import OUTPUT_LIMIT
from adacoder.sandbox.unavailable import SandboxError
from adversarial.attack import Harm
from adversarial.scene import TOKEN, Scene, scene
from support.evaluating import until, workspace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from adversarial.attack import Attack, Ending
    from support.evaluating import Workspace

_SET_CHILD_SUBREAPER = 36


@contextmanager
def _place(root: Path, level: Level) -> Iterator[Scene]:
    """Set a scene. At the end, check that nothing in it was harmed, and that no process of it runs."""
    # Without a PID namespace, an attack could kill processes of the machine. So its signal is 0, which the kernel
    # permits or denies in the same way.
    fatal = signal.SIGKILL if level is Level.FULL else 0
    secret = token_hex(8)
    descriptors = _descriptors()
    with pytest.MonkeyPatch.context() as patch, scene(root, secret, fatal) as place, _adopting_orphans():
        patch.setenv(TOKEN, secret)
        patch.setenv("HOME", str(place.home))
        patch.setattr("tempfile.tempdir", str(place.temporary))
        yield place
        assert place.harms() <= {Harm.VICTIM_CHANGED}  # a test may have added files to the scene
        assert not place.is_marked
        assert _descendants() == {place.bystander.pid}
    assert _descriptors() == descriptors


@asynccontextmanager
async def set_up(root: Path, level: Level) -> AsyncIterator[tuple[Scene, Workspace]]:
    """Set a scene in the folder `root`, whose path must be short. Open an evaluator at `level` for it."""
    with _place(root, level) as place:
        async with workspace(place.workspace, level, best=level) as opened:
            yield place, opened


async def let_loose(attack: Attack, place: Scene, opened: Workspace) -> tuple[Ending, str]:
    """Run an attack. Return its end, and everything that was reported about it."""
    try:
        verdict = await opened.evaluate(place.module(attack.body, attack), timeout=attack.timeout)
    except SandboxError as error:
        return "refused", str(error)
    assert all(len(result.got) <= OUTPUT_LIMIT + 1 for result in verdict.results)
    told = repr((verdict.failure, verdict.results))
    return "passed" if verdict.failure is None else verdict.failure.kind, told


async def assert_it_came_to_nothing(attack: Attack, ending: Ending, told: str, place: Scene, opened: Workspace) -> None:
    """Check the end and the report `told` of an attack, and that the next evaluations pass."""
    assert ending in attack.ends, told
    assert place.secret not in told
    await until(lambda: not place.is_marked)
    for body in (attack.aftermath, attack.twin):
        verdict = await opened.evaluate(place.module(body))
        assert verdict.failure is None, verdict
    assert place.harms() <= {Harm.LITTERED}  # an open evaluator may have temporary files


@contextmanager
def _adopting_orphans() -> Iterator[None]:
    """Adopt all orphaned descendants of a test, whatever their session or group."""
    libc = ctypes.CDLL(None)
    libc.prctl(_SET_CHILD_SUBREAPER, 1)
    yield
    libc.prctl(_SET_CHILD_SUBREAPER, 0)


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def _descendants() -> set[int]:
    """Return the running descendants of this process."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = status.read_text(errors="replace").rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents[int(status.parent.name)] = int(parent)
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}
