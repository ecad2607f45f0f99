"""Temporary folders are removed after evaluations. The next server removes the folders of a killed one."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from adacoder.domain import Level
from adacoder.sandbox.isolation.scratch import is_overfull, remove_left, scratch
from support.evaluating import processes_in, until, workspace
from support.levels import LSM, NONE
from support.paths import TESTS

GOOD = 'def f(x):\n    """\n    >>> f(1)\n    2\n    """\n    return x + 1\n'
SERVER = """
import asyncio, sys
from pathlib import Path
from adacoder.domain import Level
from support.evaluating import workspace

TEXT = '''def f(x):
    \\"\\"\\"
    >>> f(1)
    2
    \\"\\"\\"
    import os, time
    open("left", "w").close()
    os.mkdir("locked", 0)
    os.symlink("/", "root")
    time.sleep(60)
'''

async def main(folder, best):
    async with workspace(folder, Level.NONE, best=best) as ws:
        print("starts", flush=True)
        await ws.evaluate(TEXT, timeout=60)

asyncio.run(main(Path(sys.argv[1]), Level(sys.argv[2])))
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def left(name: str = "left") -> Path:
    """Make a folder as a killed process would leave it."""
    made = Path(tempfile.mkdtemp(prefix="adacoder-scratch-"))
    (made / name).write_text("left", encoding="utf-8")
    return made


@pytest.mark.parametrize("best", [LSM, NONE])
async def test_what_a_killed_server_left_goes_with_the_next_start(best: Level, tmp_path: Path, temporary: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    server = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", SERVER, str(project), best),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(TESTS), "TMPDIR": str(temporary)},
    )
    assert server.stdout is not None
    assert await server.stdout.readline() == b"starts\n"
    await until(lambda: any("left" in files for _, _, files in os.walk(temporary)))  # folders may vanish meanwhile
    remove_left()
    assert names(temporary), "it is in use"
    server.send_signal(signal.SIGKILL)
    await server.wait()
    await until(lambda: processes_in(project) == [])
    assert names(temporary)
    async with workspace(project, Level.NONE, best=best) as ws:
        assert (await ws.evaluate(GOOD)).passed
    assert names(temporary) == []


def test_a_folder_that_is_in_use_is_left_alone(temporary: Path) -> None:
    gone = left()
    with scratch() as folder:
        remove_left()
        assert Path(folder).is_dir()
    assert not gone.exists()
    assert list(temporary.iterdir()) == []


def test_what_hostile_code_left_goes_and_nothing_that_it_points_to(temporary: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    (victim / "inner").mkdir(parents=True)
    (victim / "inner/file").write_text("alive", encoding="utf-8")
    folder = left()
    (folder / "link").symlink_to(victim)
    (folder / "to-file").symlink_to(victim / "inner/file")
    os.link(victim / "inner/file", folder / "hard")
    os.mkfifo(folder / "pipe")
    deep = str(folder)
    for _ in range(40):
        deep += "/" + "d" * 90
        Path(deep).mkdir()
    (folder / "locked").mkdir(0)
    folder.chmod(0)
    remove_left()
    assert list(temporary.iterdir()) == []
    assert (victim / "inner/file").read_text(encoding="utf-8") == "alive"


@pytest.mark.parametrize("kind", ["link", "broken link", "file", "another name", "a longer name", "no lock"])
def test_what_only_looks_like_one_is_left_alone(
    kind: str, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = left()
    name = temporary / "adacoder-scratch-abcd_123"
    if kind == "link":
        other = victim.rename(tmp_path / "elsewhere")
        name.symlink_to(other)
        victim = other
    elif kind == "broken link":
        victim = victim.rename(tmp_path / "elsewhere")
        name.symlink_to("nowhere")
    elif kind == "file":
        victim = victim.rename(tmp_path / "elsewhere")
        name.write_text("alive", encoding="utf-8")
    elif kind == "another name":
        victim = victim.rename(temporary / "adacoder-projects")
    elif kind == "a longer name":
        victim = victim.rename(temporary / "adacoder-scratch-abcd_1234")
    else:

        def refuse(*_: object) -> None:
            raise OSError("no locks")

        monkeypatch.setattr(fcntl, "flock", refuse)
    before = sorted(temporary.iterdir())
    remove_left()
    assert sorted(temporary.iterdir()) == before
    assert (victim / "left").exists()


def test_where_anybody_may_replace_entries_nothing_is_removed(temporary: Path) -> None:
    folder = left()
    temporary.chmod(0o777)
    remove_left()
    assert folder.exists()
    temporary.chmod(0o1777)
    remove_left()
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_another_user_s_folder_is_left_alone(temporary: Path) -> None:
    own, other = left(), left()
    os.chown(other, 12345, 12345)
    remove_left()
    assert other.exists()
    assert not own.exists()


def test_one_that_is_taken_before_it_is_locked_is_made_anew(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    make = tempfile.mkdtemp

    def taken(*arguments: Any, **named: Any) -> str:
        folder = make(*arguments, **named)
        if not made:
            remove_left()
        made.append(str(folder))
        return str(folder)

    monkeypatch.setattr(tempfile, "mkdtemp", taken)
    with scratch() as folder:
        assert Path(folder).is_dir()
        assert made[1:] == [folder]
    assert list(temporary.iterdir()) == []


def test_how_much_there_is_is_told_without_going_through_links(temporary: Path) -> None:
    folder = left()
    (folder / "usr").symlink_to("/usr")
    assert not is_overfull(str(folder), None)
    for number in range(9):
        (folder / str(number)).write_bytes(bytes(8 << 20))
    assert is_overfull(str(folder), None)
