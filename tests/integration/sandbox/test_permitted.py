"""The user's interpreter does not start before isolation is proved."""

from __future__ import annotations

import asyncio
import shutil
import stat
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from adacoder.domain import Level
from adacoder.sandbox.environment.interpreter import describe
from adacoder.sandbox.environment.visible_paths import VisiblePaths, tools
from adacoder.sandbox.host import PROCESSORS
from adacoder.sandbox.isolation.none import Unconfined
from adacoder.sandbox.pool import TemplatePool, Upkeep
from adacoder.sandbox.probe import Prober
from adacoder.sandbox.process import Recipe, TemplateProcess
from adacoder.sandbox.unavailable import SandboxError
from support import layouts
from support.evaluating import workspace
from support.levels import needs_full

GOOD = 'def f(x):\n    """\n    >>> f(1)\n    2\n    """\n    return x + 1\n'
REAL_BWRAP = shutil.which("bwrap")


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Return the files that the project's interpreter leaves behind if it starts unconfined."""
    packages = layouts.environment(tmp_path / "ws/.venv")
    mark = tmp_path / "everything/mark"
    mark.parent.mkdir()
    (packages / "hostile.pth").write_text(f"import os; os.close(os.open({str(mark)!r}, os.O_CREAT))\n")
    return mark


class Noted(TemplatePool):
    """A pool that records for which environments it has started a template."""

    begun: tuple[Recipe, ...] = ()

    def begin(self, recipe: Recipe) -> None:
        self.begun += (recipe,)
        super().begin(recipe)


def was_left(mark: Path) -> bool:
    return mark.exists()


def has_left(folder: Path, pid: int | None) -> bool:
    return any(folder.iterdir()) or Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("is_proved", [True, False])
async def test_it_starts_when_that_is_proved_and_only_then(tmp_path: Path, mark: Path, is_proved: bool) -> None:
    permitted = asyncio.get_running_loop().create_future()
    shown = VisiblePaths(describe(tmp_path / "ws/.venv/bin/python"), (tmp_path,), ())
    recipe = Recipe(Unconfined(), shown, tmp_path, tmp_path, permitted=permitted)
    booting = asyncio.create_task(TemplateProcess.boot(recipe, 1))
    await asyncio.sleep(0.5)
    assert not booting.done()
    assert not was_left(mark)
    permitted.set_result(is_proved)
    if is_proved:
        await (await booting).end()
    else:
        with pytest.raises(SandboxError):
            await booting
    assert was_left(mark) is is_proved


async def test_whoever_gives_up_meanwhile_leaves_nothing(tmp_path: Path, mark: Path) -> None:
    permitted = asyncio.get_running_loop().create_future()
    shown = VisiblePaths(describe(tmp_path / "ws/.venv/bin/python"), (tmp_path,), ())
    booting = asyncio.create_task(
        TemplateProcess.boot(Recipe(Unconfined(), shown, tmp_path, tmp_path, permitted=permitted), 1)
    )
    await asyncio.sleep(0.3)
    booting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await booting
    assert not was_left(mark)
    assert not permitted.cancelled(), "others may wait for it too"


@needs_full
@pytest.mark.isolation(Level.LSM)
@pytest.mark.parametrize("breaks", [True, False])
async def test_what_turns_out_not_to_confine_has_started_nothing(tmp_path: Path, mark: Path, breaks: bool) -> None:
    """The probe detects a bubblewrap that permits everything. An evaluation that already waits must not run."""
    scratch, bwrap = tmp_path / "scratch", tmp_path / "bwrap"
    scratch.mkdir()
    visible = [mark.parent, tmp_path / "ws", *tools()]
    shown = f"--bind / / --dev-bind /dev /dev --bind {scratch} /tmp " + " ".join(f"--bind {p} {p}" for p in visible)
    let = f'while [ "$2" != -I ]; do shift; done; exec {REAL_BWRAP} {shown} "$@"'
    bwrap.write_text(f'#!/bin/sh\n{let if breaks else f"""exec {REAL_BWRAP} "$@" """}\n', encoding="utf-8")
    bwrap.chmod(stat.S_IRWXU)
    templates = Noted(PROCESSORS, Upkeep(PROCESSORS))
    prober = Prober(program=lambda _: bwrap, begun_seconds=0.0)
    async with workspace(tmp_path / "ws", Level.LSM, templates=templates, prober=prober) as ws:
        verdict = await ws.evaluate(GOOD)
    assert templates.begun, "the template was begun meanwhile"
    assert verdict.passed
    assert verdict.isolation is not None
    assert verdict.isolation.level is (Level.LSM if breaks else Level.FULL)
    assert not was_left(mark)


@pytest.mark.parametrize("ticks", range(6))
async def test_nothing_is_left_of_a_template_whose_end_is_cancelled(
    tmp_path: Path, temporary: Path, ticks: int
) -> None:
    shown = VisiblePaths(describe(Path(sys.executable)), (tmp_path,), ())
    template = await TemplateProcess.boot(Recipe(Unconfined(), shown, tmp_path, tmp_path), 1)
    assert has_left(temporary, template.pid), "there is something to leave"
    pid = template.pid
    ending = asyncio.create_task(template.end())
    for _ in range(ticks):
        await asyncio.sleep(0)
    ending.cancel()
    with suppress(asyncio.CancelledError):
        await ending
    if ticks:  # otherwise the interpreter has not started
        assert not has_left(temporary, pid)
    await template.end()
