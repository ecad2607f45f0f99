"""What isolates here is proved, never assumed; and whatever runs ends without a trace."""

from __future__ import annotations

import asyncio
import gc
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import FailureKind, Level, Module
from adacoder.sandbox import host as host_module
from adacoder.sandbox.host import Host, IsolationRefused
from adacoder.sandbox.interpreter import describe
from adacoder.sandbox.probe import probe
from adacoder.sandbox.space import is_wide, space
from evaluating import Workspace, examples, processes_in, program, until, workspace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

GOOD = 'def f(x):\n    """\n    >>> f(1)\n    2\n    """\n    return x + 1\n'
SLOW = GOOD.replace("return", "import time; time.sleep(60); return")


@pytest.fixture
async def ws(tmp_path: Path) -> AsyncIterator[Workspace]:
    async with workspace(tmp_path) as opened:
        yield opened


@pytest.fixture
def fake_bwrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Write a shell script that comes first in PATH under the name of bubblewrap."""
    folder = tmp_path / "bin"
    folder.mkdir()
    path = folder / "bwrap"
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def write(script: str) -> None:
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(stat.S_IRWXU)

    return write


# --- the probe -------------------------------------------------------------------------------


@pytest.mark.isolation
async def test_what_works_is_found_once() -> None:
    finding = await probe()
    assert finding.isolation.level is Level.FULL
    assert finding.isolation.by == ("bubblewrap", "rlimits")
    assert finding.reason == ""
    assert await probe() is finding


async def test_without_bubblewrap_nothing_isolates(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = await probe()
    assert finding.isolation.level is Level.NONE
    assert finding.reason == "bubblewrap is not installed"


async def test_a_bubblewrap_that_fails_is_not_trusted(fake_bwrap: Callable[[str], None]) -> None:
    fake_bwrap("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
    finding = await probe()
    assert finding.isolation.level is Level.NONE
    assert finding.reason.endswith("setting up uid map: Permission denied")


async def test_a_bubblewrap_that_confines_nothing_is_not_trusted(fake_bwrap: Callable[[str], None]) -> None:
    fake_bwrap('while [ "$1" != -- ]; do shift; done; shift; cd "$(mktemp -d)"; exec "$@"')
    finding = await probe()
    assert finding.isolation.level is Level.NONE
    assert "gave 'written', not 'denied'" in finding.reason


async def test_it_refuses_rather_than_run_unconfined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    mark = tmp_path / "mark"
    text = f"open({str(mark)!r}, 'w').close()\n{GOOD}"
    for least in (Level.FULL, Level.LSM, Level.SEATBELT):
        async with workspace(tmp_path, least) as ws:
            with pytest.raises(IsolationRefused) as refusal:
                await ws.evaluate(text)
            assert str(refusal.value) == (
                "Nothing here can isolate the code that a model wrote (bubblewrap is not installed):"
                " install bubblewrap (`sudo apt install bubblewrap`, `sudo dnf install bubblewrap`),"
                " or accept the risk with `--isolation none`."
            )
    assert not mark.exists()
    async with workspace(tmp_path, Level.NONE) as ws:
        assert (await ws.evaluate(text)).passed
    assert mark.exists()


@pytest.mark.isolation
async def test_who_accepts_none_still_gets_the_best(tmp_path: Path) -> None:
    async with workspace(tmp_path, Level.NONE) as ws:
        verdict = await ws.evaluate(GOOD)
    assert verdict.isolation is not None
    assert verdict.isolation.level is Level.FULL


# --- what is shown ---------------------------------------------------------------------------


def test_a_project_is_shown_and_its_secrets_are_not(tmp_path: Path) -> None:
    for name in (".env", ".env.local", "server.key", "id_rsa", "mod.py", "data.txt"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    (tmp_path / ".git").mkdir()
    (tmp_path / "real.pem").write_text("x", encoding="utf-8")
    (tmp_path / ".netrc").symlink_to(tmp_path / "real.pem")
    (tmp_path / ".pypirc").symlink_to("/etc/passwd")
    here = describe(Path(sys.executable))
    found = space(here, tmp_path, Module(tmp_path / "mod.py", "mod", tmp_path))
    assert found.shown == (tmp_path,)
    names = sorted(path.name for path in found.hidden)
    assert names == [".env", ".env.local", ".git", "id_rsa", "real.pem", "server.key"]


def test_of_a_home_folder_only_the_module_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "me"
    for name in ("pkg/__init__.py", "pkg/mod.py", "mod.py", "other.py", ".hidden.py", "diary.txt"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    here = describe(Path(sys.executable))
    for workspace_folder in (home, tmp_path, Path("/")):
        single = space(here, workspace_folder, Module(home / "mod.py", "mod", home))
        assert single.shown == (home / "mod.py", home / "other.py")
        package = space(here, workspace_folder, Module(home / "pkg/mod.py", "pkg.mod", home))
        assert package.shown == (home / "pkg",)
    assert is_wide(home)
    assert not is_wide(home / "project")


@pytest.mark.isolation
async def test_a_module_in_the_home_folder_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "me"
    home.mkdir()
    (home / "diary.txt").write_text("secret", encoding="utf-8")
    (home / "helper.py").write_text("ONE = 1\n", encoding="utf-8")
    monkeypatch.setenv("HOME", str(home))
    async with workspace(home, interpreter=describe(Path(sys.executable))) as ws:
        assert (await ws.evaluate("from helper import ONE\n" + GOOD.replace("+ 1", "+ ONE"))).passed
        spying = GOOD.replace("return x", f"open({str(home / 'diary.txt')!r})\n    return x")
        failure = (await ws.evaluate(spying)).failure
        assert failure is not None
        assert failure.error is not None
        assert failure.error.startswith("FileNotFoundError")


# --- the end of things -----------------------------------------------------------------------


def descriptors() -> set[str]:
    gc.collect()
    return {path.name for path in Path("/proc/self/fd").iterdir()}


@pytest.mark.isolation
@pytest.mark.parametrize("delay", [0.0, 0.001, 0.005, 0.01, 0.02, 0.04, 0.3])
async def test_a_cancelled_evaluation_leaves_nothing(delay: float, tmp_path: Path) -> None:
    await probe()
    before = descriptors()
    async with workspace(tmp_path) as ws:
        for _ in range(2):
            task = asyncio.create_task(ws.evaluate(SLOW, timeout=60))
            await asyncio.sleep(delay)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert processes_in(tmp_path) == []
        assert (await ws.evaluate(GOOD)).passed
        await asyncio.sleep(delay)
    assert processes_in(tmp_path) == []
    assert descriptors() == before


@pytest.mark.isolation
async def test_a_running_evaluation_can_be_seen_and_is_gone_when_cancelled(tmp_path: Path) -> None:
    async with workspace(tmp_path) as ws:
        task = asyncio.create_task(ws.evaluate(SLOW, timeout=60))
        await until(lambda: bool(processes_in(tmp_path)))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert processes_in(tmp_path) == []


async def test_without_isolation_a_cancelled_evaluation_leaves_nothing_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    before = descriptors()
    async with workspace(tmp_path, Level.NONE) as ws:
        text = SLOW.replace("time.sleep", "os.mkdir('locked', 0); os.fork(); time.sleep").replace(
            "import time", "import os, time"
        )
        task = asyncio.create_task(ws.evaluate(text, timeout=60))
        await until(lambda: bool(processes_in(scratch)))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert processes_in(scratch) == []
        assert list(scratch.iterdir()) == []
        dying = GOOD.replace("return", "import os, time\n    os.fork() and os._exit(0)\n    time.sleep(60)\n    return")
        failure = (await ws.evaluate(dying, timeout=2)).failure
        assert failure is not None
        assert failure.kind in (FailureKind.KILLED, FailureKind.TIMED_OUT)
    assert processes_in(scratch) == []
    assert list(scratch.iterdir()) == []
    assert descriptors() == before


@pytest.mark.isolation
async def test_one_interpreter_is_kept_ahead_and_given_up_when_idle(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_module, "IDLE_SECONDS", 0.2)
    assert (await ws.evaluate(GOOD)).passed
    await until(lambda: bool(processes_in(ws.folder)))
    await until(lambda: not processes_in(ws.folder))
    assert (await ws.evaluate(GOOD)).passed


@pytest.mark.isolation
async def test_an_interpreter_kept_ahead_that_died_is_replaced(ws: Workspace) -> None:
    assert (await ws.evaluate(GOOD)).passed
    await until(lambda: bool(processes_in(ws.folder)))
    await asyncio.sleep(0.2)
    for pid in processes_in(ws.folder):
        with suppress(ProcessLookupError):  # it died with another of them
            os.kill(pid, 9)
    await until(lambda: not processes_in(ws.folder))
    assert (await ws.evaluate(GOOD)).passed


@pytest.mark.isolation
async def test_a_secret_that_appeared_since_is_hidden_from_the_next(ws: Workspace) -> None:
    assert (await ws.evaluate(GOOD)).passed
    secret = ws.folder / ".env"
    secret.write_text("swordfish", encoding="utf-8")
    reading = GOOD.replace("return", f"assert not open({str(secret)!r}).read()\n    return")
    failure = (await ws.evaluate(reading)).failure
    assert failure is None or failure.kind is FailureKind.DENIED


@pytest.mark.isolation
async def test_many_at_a_time(ws: Workspace) -> None:
    texts = [GOOD, GOOD.replace("+ 1", "+ 2"), GOOD.replace("return", "import os; os._exit(0); return")] * 4
    verdicts = await asyncio.gather(*(ws.evaluate(text) for text in texts))
    kinds = [None if verdict.failure is None else verdict.failure.kind for verdict in verdicts]
    assert kinds == [None, FailureKind.WRONG_OUTPUT, FailureKind.KILLED] * 4


@pytest.mark.isolation
async def test_a_closed_host_leaves_nothing(tmp_path: Path) -> None:
    before = descriptors()
    host = Host(describe(Path(sys.executable)), tmp_path, least=Level.FULL)
    what = program(tmp_path / "mod.py", tmp_path, GOOD, "f")
    for _ in range(3):
        assert (await host.evaluate(what, examples(GOOD), timeout=10)).passed
    await host.close()
    assert processes_in(tmp_path) == []
    assert descriptors() == before
