"""Isolation is tested on this machine, and never assumed."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

from adacoder import programs
from adacoder.domain import Level
from adacoder.sandbox.environment.interpreter import describe
from adacoder.sandbox.environment.visible_paths import VisiblePaths, tools
from adacoder.sandbox.host import IsolationRefused
from adacoder.sandbox.isolation.locks import Locks, locks
from adacoder.sandbox.isolation.seatbelt import Seatbelt
from adacoder.sandbox.probe import Prober, probe
from support.evaluating import workspace
from support.levels import needs_full

if TYPE_CHECKING:
    from collections.abc import Callable

    FakeBwrap: TypeAlias = Callable[[str], Callable[[str], Path]]

GOOD = 'def f(x):\n    """\n    >>> f(1)\n    2\n    """\n    return x + 1\n'
REAL_BWRAP = shutil.which("bwrap")


@pytest.fixture
def fake_bwrap(tmp_path: Path) -> FakeBwrap:
    """Write a script that replaces the system's bubblewrap. Return a function that finds the script."""

    def write(script: str) -> Callable[[str], Path]:
        path = tmp_path / "bwrap"
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(stat.S_IRWXU)
        return lambda _: path

    return write


def no_locks() -> None:
    """Simulate a machine without Landlock and system call filters."""


def no_landlock() -> Locks:
    """Simulate a kernel without Landlock."""
    return Locks(0, os.uname().machine)


@needs_full
async def test_what_works_is_found_once() -> None:
    finding = await probe()
    assert finding.isolation.level is Level.FULL
    assert finding.isolation.by == ("bubblewrap", "landlock", "seccomp", "rlimits")
    assert finding.reason == finding.remedy == ""
    assert await probe() is finding


@pytest.mark.isolation(Level.LSM)
async def test_landlock_and_seccomp_isolate_without_bubblewrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = await probe()
    assert finding.isolation.level is Level.LSM
    assert finding.isolation.by == ("landlock", "seccomp", "rlimits")
    assert finding.reason == "bubblewrap is not installed"
    assert finding.remedy.startswith("install bubblewrap (")


@pytest.mark.isolation(Level.LSM)
async def test_what_was_proved_holds_where_it_cannot_be_proved_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = [locks()]
    prober = Prober(locks=lambda: found[-1], known_seconds=0.0)
    proved = (await prober.probe()).isolation
    assert proved.level is Level.LSM
    found.append(None)
    assert (await prober.probe()).isolation == proved
    assert (await prober.probe(anew=True)).isolation.level is Level.NONE
    assert (await prober.probe()).isolation == proved


@pytest.mark.isolation(Level.LSM)
async def test_nothing_stronger_is_tried_than_asked_for(tmp_path: Path) -> None:
    for best in Level.LSM, Level.NONE:
        finding = await probe(best)
        assert finding.isolation.level is best
        async with workspace(tmp_path, Level.NONE, best=best) as ws:
            verdict = await ws.evaluate(GOOD)
        assert verdict.passed
        assert verdict.isolation == finding.isolation


@needs_full
async def test_without_landlock_bubblewrap_keeps_evaluations_apart_from_all_but_each_other() -> None:
    finding = await Prober(locks=no_landlock).probe()
    assert finding.isolation.level is Level.FULL
    assert finding.isolation.by == ("bubblewrap", "seccomp", "rlimits")


async def test_a_machine_without_system_call_filters_isolates_nothing(fake_bwrap: FakeBwrap) -> None:
    finding = await Prober(fake_bwrap("exit 1"), no_locks).probe()
    assert finding.isolation.level is Level.NONE
    assert finding.reason == f"there are no system call filters for {os.uname().machine}"


async def test_a_bubblewrap_that_fails_is_not_trusted(fake_bwrap: FakeBwrap) -> None:
    failing = fake_bwrap("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
    finding = await Prober(failing, no_landlock).probe()
    assert finding.isolation.level is Level.NONE
    assert "setting up uid map: Permission denied" in finding.reason
    assert finding.remedy.startswith("let bubblewrap create user namespaces (")


@needs_full
@pytest.mark.isolation(Level.LSM)
async def test_a_bubblewrap_that_confines_nothing_is_not_trusted(
    fake_bwrap: FakeBwrap, temporary: Path, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    visible = [temporary, Path(sys.prefix), *tools()]
    shown = f"--bind / / --dev-bind /dev /dev --bind {scratch} /tmp " + " ".join(f"--bind {p} {p}" for p in visible)
    confining_nothing = fake_bwrap(f'while [ "$2" != -I ]; do shift; done; exec {REAL_BWRAP} {shown} "$@"')
    finding = await Prober(confining_nothing).probe()
    assert finding.isolation.level is Level.LSM
    assert "gave True, not False" in finding.reason


async def test_it_refuses_rather_than_run_unconfined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    prober = Prober(locks=no_landlock)
    mark = tmp_path / "mark"
    text = f"open({str(mark)!r}, 'w').close()\n{GOOD}"
    for least in (Level.FULL, Level.LSM, Level.SEATBELT):
        async with workspace(tmp_path, least, prober=prober) as ws:
            with pytest.raises(IsolationRefused) as refusal:
                await ws.evaluate(text)
            assert str(refusal.value) == (
                "Nothing on this machine can isolate code (bubblewrap is not installed; this kernel has no Landlock):"
                " install bubblewrap (`sudo apt install bubblewrap`, `sudo dnf install bubblewrap`),"
                " or accept the risk with `--isolation none`."
            )
    assert not mark.exists()
    async with workspace(tmp_path, Level.NONE, prober=prober) as ws:
        assert (await ws.evaluate(text)).passed
    assert mark.exists()


@pytest.mark.isolation(Level.LSM)
async def test_what_is_weaker_than_accepted_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    async with workspace(tmp_path, Level.FULL) as ws:
        with pytest.raises(IsolationRefused) as refusal:
            await ws.evaluate(GOOD)
    assert str(refusal.value) == (
        "Isolation here only reaches the level 'lsm', but 'full' is required (bubblewrap is not installed):"
        " install bubblewrap (`sudo apt install bubblewrap`, `sudo dnf install bubblewrap`),"
        " or accept it with `--isolation lsm`."
    )
    async with workspace(tmp_path, Level.LSM) as ws:
        assert (await ws.evaluate(GOOD)).passed


@needs_full
async def test_who_accepts_none_still_gets_the_best(tmp_path: Path) -> None:
    async with workspace(tmp_path, Level.NONE) as ws:
        verdict = await ws.evaluate(GOOD)
    assert verdict.isolation is not None
    assert verdict.isolation.level is Level.FULL


@pytest.mark.isolation
async def test_those_who_ask_at_once_get_the_same_answer() -> None:
    one, other = await asyncio.gather(probe(), probe())
    assert one.isolation == other.isolation


async def test_on_macos_its_own_sandbox_is_tried_and_not_trusted_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("PATH", "/macos")  # forget the results for this machine
    finding = await probe()
    assert finding.isolation.level is Level.NONE
    assert finding.reason.startswith("sandbox-exec does not work here: ")


def test_the_profile_for_macos_denies_secrets_after_it_allowed_what_holds_them(tmp_path: Path) -> None:
    project = tmp_path / 'my "project"'
    secret = project / ".env"
    with Seatbelt().stage(VisiblePaths(describe(Path(sys.executable)), (project,), (secret,))) as stage:
        program, flag, profile = stage.wrapper
        rules = profile.splitlines()
    assert (program, flag) == ("/usr/bin/sandbox-exec", "-p")
    assert rules[:2] == ["(version 1)", "(deny default)"]
    (allowed,) = [rule for rule in rules if rule.startswith("(allow file-read* (subpath ")]
    (denied,) = [rule for rule in rules if rule.startswith("(deny file-read* ")]
    (written,) = [rule for rule in rules if rule.startswith("(allow file-write* ")]
    quoted = str(tmp_path.resolve() / r"my \"project\"")
    assert f'(subpath "{quoted}")' in allowed
    assert denied == f'(deny file-read* (subpath "{quoted}/.env"))'
    assert rules.index(allowed) < rules.index(denied)
    assert written == f'(allow file-write* (subpath "{Path(stage.scratch).resolve()}"))'


@pytest.mark.parametrize("steps", range(1, 8))
def test_the_loop_ends_although_a_program_is_being_started(steps: int) -> None:
    """Ctrl-C then ends a command while its isolation is being tested. `asyncio.run` alone would wait forever."""

    async def main() -> None:
        asking = asyncio.create_task(probe(anew=True))
        for _ in range(steps):
            await asyncio.sleep(0)
        asking.cancel()

    thread = threading.Thread(target=programs.run, args=(main(),), daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
