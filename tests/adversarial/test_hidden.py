"""Hidden files stay hidden when the disk changes under a warm interpreter, and code learns nothing about them.

The same change of a file that is not hidden is visible.
"""

from __future__ import annotations

import ast
import asyncio
import shutil
import stat
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import Level
from adacoder.sandbox.environment.interpreter import describe
from adacoder.sandbox.environment.real_paths import real
from adacoder.sandbox.environment.visible_paths import VisiblePaths
from adacoder.sandbox.isolation.bubblewrap import Bubblewrap
from adacoder.sandbox.probe import PROBER
from adacoder.sandbox.process import Recipe, TemplateProcess
from adacoder.sandbox.unavailable import SandboxError
from support.evaluating import Workspace, processes_in, until_called, workspace
from support.levels import needs_full

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

pytestmark = pytest.mark.isolation

_READ = """\
def f(name):
    \"\"\"
    >>> f({name!r})
    'neither'
    \"\"\"
    try:
        with open({folder!r} + "/" + name) as file:
            return file.read()
    except OSError:
        return "denied"
"""
_WAIT = """\
import ctypes, time

def f(name):
    \"\"\"
    >>> f({name!r})
    'neither'
    \"\"\"
    ctypes.CDLL(None).prctl(15, b"waits", 0, 0, 0)
    end = time.monotonic() + 1
    while time.monotonic() < end:
        try:
            with open({folder!r} + "/" + name) as file:
                if text := file.read():
                    return text
        except OSError:
            pass
    return "denied"
"""
_PROCESSES = """\
import os

def f():
    \"\"\"
    >>> f()
    'neither'
    \"\"\"
    told = []
    for folder, _, files in os.walk("/proc"):
        for name in files:
            if name in ("cmdline", "environ", "comm"):
                try:
                    with open(folder + "/" + name, errors="replace") as file:
                        told.append(file.read(1 << 20))
                except OSError:
                    pass
    return " ".join(told)
"""


@pytest.fixture
async def ws(tmp_path: Path, level: Level) -> AsyncIterator[Workspace]:
    async with workspace(real(tmp_path), level, best=level) as opened:
        opened.write(dict.fromkeys(("sub/.env", "sub/open.txt", "sub/.git/config"), "old"))
        yield opened


async def _answer(ws: Workspace, text: str) -> str:
    verdict = await ws.evaluate(text)
    assert verdict.failure is not None
    assert verdict.failure.got is not None, verdict.failure
    answer: str = ast.literal_eval(verdict.failure.got)
    return answer


async def _told(ws: Workspace, name: str) -> str:
    """Return the content of the file `name` as code in the workspace sees it."""
    return await _answer(ws, _READ.format(folder=str(ws.folder), name=name))


def _renamed_over(place: Path) -> None:
    """Save a file under another name and rename it, as most editors do."""
    place.with_name("saved~").write_text("new", encoding="utf-8")
    place.with_name("saved~").replace(place)


def _made_anew(place: Path) -> None:
    place.unlink()
    place.write_text("new", encoding="utf-8")


def _written_over(place: Path) -> None:
    place.write_text("new", encoding="utf-8")


def _folder_made_anew(place: Path) -> None:
    shutil.rmtree(place.parent)
    place.parent.mkdir()
    place.write_text("new", encoding="utf-8")


def _folder_moved(place: Path) -> None:
    kept = place.parent.with_name("kept")
    place.parent.rename(kept)
    place.parent.mkdir()
    place.write_text("new", encoding="utf-8")


def _beside_it(place: Path) -> None:
    """Replace the folder by another one."""
    shutil.rmtree(place.parent.with_name("kept"), ignore_errors=True)
    shutil.copytree(place.parent, place.parent.with_name("copied"))
    place.parent.rename(place.parent.with_name("kept"))
    place.parent.with_name("copied").rename(place.parent)
    place.write_text("new", encoding="utf-8")


@pytest.mark.parametrize("change", [_renamed_over, _made_anew, _written_over, _folder_made_anew, _beside_it])
async def test_a_file_that_is_saved_stays_hidden_and_another_is_seen(
    change: Callable[[Path], None], ws: Workspace
) -> None:
    assert await _told(ws, "sub/.env") == "denied"
    assert await _told(ws, "sub/open.txt") == "old"
    for name, told in ("sub/open.txt", "new"), ("sub/.env", "denied"), ("sub/open.txt", "new"):
        (ws.folder / name).parent.mkdir(exist_ok=True)
        (ws.folder / name).touch()
        change(ws.folder / name)
        assert await _told(ws, name) == told


@pytest.mark.parametrize("change", [_renamed_over, _made_anew, _folder_made_anew, _folder_moved])
async def test_a_folder_that_is_made_anew_stays_hidden(change: Callable[[Path], None], ws: Workspace) -> None:
    assert await _told(ws, "sub/.git/config") == "denied"
    change(ws.folder / "sub/.git/config")
    assert await _told(ws, "sub/.git/config") == "denied"
    assert await _told(ws, "sub/open.txt") == "old"


async def test_what_appears_is_hidden_from_the_next_evaluation_if_it_is_secret_and_else_seen(ws: Workspace) -> None:
    assert await _told(ws, "sub/open.txt") == "old"
    for folder, name in ("sub/deep", ".env"), ("other/a/b", "id_rsa"), (".", ".env"), ("sub", ".aws/credentials"):
        ws.write({f"{folder}/{name}": "new", f"{folder}/open-too.txt": "new"})
        assert await _told(ws, f"{folder}/{name}") == "denied"
        assert await _told(ws, f"{folder}/open-too.txt") == "new"


async def test_a_module_that_comes_beside_what_is_hidden_can_be_imported(ws: Workspace) -> None:
    ws.write({".env": "old"})
    text = "from {name} import ONE\n\ndef f(x):\n    '''\n    >>> f(1)\n    2\n    '''\n    return x + ONE\n"
    for name in ("utils", "more"):
        ws.write({f"{name}.py": "ONE = 1\n", f"sub/{name}.py": "ONE = 1\n"})
        assert (await ws.evaluate(text.format(name=name))).passed
        assert (await ws.evaluate(text.format(name=f"sub.{name}"))).passed
        _renamed_over(ws.folder / "sub" / f"{name}.py")
        assert not (await ws.evaluate(text.format(name=f"sub.{name}"))).passed


async def test_what_comes_to_light_while_code_runs_is_not_believed(ws: Workspace, level: Level) -> None:
    async def waited_for(name: str) -> str:
        text = _WAIT.format(folder=str(ws.folder), name=name)
        answer = asyncio.create_task(_answer(ws, text))
        await until_called("waits")
        _renamed_over(ws.folder / name)
        return await answer

    assert await _told(ws, "sub/.env") == "denied"
    assert await waited_for("sub/.env") == "denied"
    assert await waited_for("sub/.netrc") == "denied"
    if level is Level.FULL:
        assert await waited_for("sub/later.txt") == "new"


@needs_full
@pytest.mark.parametrize("is_replaced", [True, False])
async def test_a_start_that_a_saved_file_disturbs_is_repeated(tmp_path: Path, is_replaced: bool) -> None:
    proven = (await PROBER.probe()).mechanism
    assert isinstance(proven, Bubblewrap)
    folder = real(tmp_path)
    hidden, saved, fails_once = folder / ".env", folder / "saved", folder / "fails-once"
    for file in hidden, saved, fails_once:
        file.touch()
    save = f"mv {saved} {hidden};" if is_replaced else ""
    fail = f"if rm {fails_once}; then {save} echo cannot mount; exit 1; fi >&2 2>/dev/null"
    program = folder / "bwrap"
    program.write_text(f'#!/bin/sh\n{fail}\nexec {proven.program} "$@"\n', encoding="utf-8")
    program.chmod(stat.S_IRWXU)
    shown = VisiblePaths(describe(Path(sys.executable)), (folder,), (hidden,))
    booting = TemplateProcess.boot(Recipe(replace(proven, program=str(program)), shown, folder, folder), 1)
    if is_replaced:
        await (await booting).end()
    else:
        with pytest.raises(SandboxError, match="does not start"):
            await booting
    assert not fails_once.exists()


async def test_no_process_inside_tells_the_names_of_what_is_hidden(ws: Workspace, level: Level) -> None:
    ws.write({"sub/hidden-by-name.pem": "x", "sub/hidden-by-folder/.ssh/inner": "x"})
    assert await _answer(ws, _PROCESSES) == ""  # code inside cannot see any process, not even itself
    command_lines = [Path("/proc", str(pid), "cmdline") for pid in processes_in(ws.folder)]
    told = b"".join(place.read_bytes() for place in command_lines)
    assert b"hidden-by-name" not in told
    assert b".ssh" not in told
    assert b"template.py" in told
