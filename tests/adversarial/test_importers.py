"""No module's import, and no docstring, changes what `check` says of another: though one process imports a module for
all of its docstrings, and several of them run at a time."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import FailureKind, Level, Verdict
from adacoder.sandbox.host import Host
from adacoder.sandbox.interpreter import find
from evaluating import examples, processes_in, program, until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

VICTIM = '''
import os, time


def right():
    """
    >>> right()
    1
    """
    return 1


def wrong():
    """
    >>> wrong()
    1
    """
    return 2


def slow():
    """
    >>> open("own", "w").write("x")
    1
    >>> time.sleep(0.7)
    >>> os.listdir("."), slow()
    (['own'], 1)
    """
    return 1
'''
EVIL = '''
import builtins, ctypes, gc, os, signal, sys, threading, time
LIBC = ctypes.CDLL(None, use_errno=True)


def others():
    """Whoever else there may be."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()] or range(2, 200)


def each(do, *places):
    for place in places:
        try:
            do(place)
        except Exception:
            pass


def near():
    places = [os.path.join(os.getcwd(), *[".."] * up) for up in range(4)]
    return [join for place in places for join in [place, *map(lambda name: place + "/" + name, listed(place))]]


def listed(place):
    try:
        return os.listdir(place)
    except OSError:
        return []


def attack():
{attack}


{when}
'''
AT_IMPORT = 'attack()\n\n\ndef f():\n    """\n    >>> f()\n    1\n    """\n    return 1\n'
IN_A_DOCSTRING = 'def f():\n    """\n    >>> attack()\n    >>> f()\n    1\n    """\n    return 1\n'
LATER = 'sys.addaudithook(lambda event, _: attack() if event == "os.fork" else None)\n' + AT_IMPORT[len("attack()") :]
ATTACKS = {
    "kill": "each(lambda pid: os.kill(pid, 9), *[pid for pid in others() if pid != os.getpid()], -1)",
    "kill threads": """
        for pid in others():
            if pid != os.getpid():
                LIBC.syscall(200, pid, 9)
                LIBC.syscall(234, pid, pid, 9)
    """,
    "stop": "each(lambda pid: os.kill(pid, signal.SIGSTOP), *[pid for pid in others() if pid != os.getpid()])",
    "patch what all use": """
        builtins.repr = lambda value: "1"
        builtins.compile = lambda *values, **named: None
        for name, module in list(sys.modules.items()):
            if "victim" in name:
                module.wrong = lambda: 1
                module.right = lambda: 2
    """,
    "patch the victim": """
        for name in ("victim", "pkg.victim"):
            try:
                module = __import__(name, fromlist=["wrong"])
                module.wrong, module.right = (lambda: 1), (lambda: 2)
            except Exception:
                pass
    """,
    "patch the worker": """
        for found in gc.get_objects():
            if isinstance(found, dict) and "_settrace" in found and "pack" in found:
                found["pack"] = lambda texts: b""
                found["send"] = lambda *texts: None
    """,
    "speak for others": """
        message = lambda *texts: (lambda body: len(body).to_bytes(4, "little") + body)(
            b"".join(len(text).to_bytes(4, "little") + text for text in texts))
        for number in range(3, 256):
            try:
                answers = message(b"ready"), message(b"imported", b"0" * 16), message(b"reaped", b"0", b"clean", b"")
                os.write(number, b"".join(answers))
            except OSError:
                pass
    """,
    "fork and stay": """
        for _ in range(3):
            if os.fork() == 0:
                if os.fork() == 0:
                    signal.signal(signal.SIGTERM, signal.SIG_IGN)
                    while True:
                        each(os.unlink, *near())
                        time.sleep(0.01)
                os._exit(0)
    """,
    "write to others' folders": """
        each(lambda place: open(place + "/planted", "w").close(), *near())
        each(lambda place: os.rename(place + "/own", place + "/moved"), *near())
        each(os.unlink, *[place + "/own" for place in near()])
    """,
    "end": "os._exit(0)",
    "close everything": "os.closerange(3, 256)",
}
PLACES = {"beside": "evil.py", "in the package": "pkg/evil.py"}


@asynccontextmanager
async def hosted(folder: Path, level: Level) -> AsyncIterator[Host]:
    opened = Host(find(None, folder, folder), folder, least=level, best=level)
    try:
        yield opened
    finally:
        await opened.close()


async def verdict(host: Host, path: Path, root: Path, name: str) -> Verdict:
    text = path.read_text(encoding="utf-8")  # noqa: ASYNC240  # a test's own
    return await host.check(program(path, root, text, name), examples(text, name), timeout=5.0)


def written(folder: Path, place: str, attack: str, when: str) -> tuple[Path, Path]:
    """The victim, and who attacks it."""
    body = indent(dedent(attack).strip("\n"), "    ")
    evil = folder / place
    evil.parent.mkdir(exist_ok=True)
    evil.write_text(EVIL.replace("{attack}", body).replace("{when}", when), encoding="utf-8")
    victim = evil.with_name("victim.py")
    victim.write_text(VICTIM, encoding="utf-8")
    if evil.parent != folder:
        (evil.parent / "__init__.py").touch()
    return victim, evil


async def company(host: Host, folder: Path, victim: Path, evil: Path) -> list[Verdict]:
    """What is said of the victim while the other runs, and once more after that."""
    names = ("slow", "right", "wrong")
    beside = asyncio.create_task(verdict(host, evil, folder, "f"))
    during = await asyncio.gather(*(verdict(host, victim, folder, name) for name in names))
    await beside
    after = await asyncio.gather(*(verdict(host, victim, folder, name) for name in names))
    return [*during, *after]


@pytest.mark.parametrize("when", [AT_IMPORT, IN_A_DOCSTRING, LATER], ids=["at import", "in a docstring", "later"])
@pytest.mark.parametrize("name", ATTACKS)
async def test_nothing_changes_what_is_said_of_another_module(
    name: str, when: str, level: Level, tmp_path: Path
) -> None:
    for place in PLACES.values():
        folder = tmp_path / place.partition(".")[0]
        folder.mkdir(parents=True)
        victim, evil = written(folder, place, ATTACKS[name], when)
        async with hosted(folder, level) as host:
            found = await company(host, folder, victim, evil)
        for slow, right, wrong in (found[:3], found[3:]):
            assert slow.passed, slow.failure
            assert right.passed, right.failure
            assert wrong.failure is not None
            assert wrong.failure.kind is FailureKind.WRONG_OUTPUT
            assert [result.got for result in wrong.results] == ["2\n"]
        await until(lambda folder=folder: not processes_in(folder))  # type: ignore[misc]


async def test_what_a_module_does_to_its_own_docstrings_is_its_own_affair(level: Level, tmp_path: Path) -> None:
    """The control: the same change has its effect where nobody is to be protected from it."""
    for name, text in (("own.py", VICTIM + "\n\nwrong = lambda: 1\n"), ("pkg/victim.py", VICTIM)):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "pkg/__init__.py").write_text("from . import victim\nvictim.wrong = lambda: 1\n", encoding="utf-8")
    async with hosted(tmp_path, level) as host:
        for name in ("own.py", "pkg/victim.py"):
            assert (await verdict(host, tmp_path / name, tmp_path, "wrong")).passed


LEAVING = """
    for _ in range(3):
        if os.fork() == 0:
            LIBC.prctl(15, b"left behind", 0, 0, 0)
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)
    time.sleep(1)
"""


def left_behind(folder: Path) -> list[int]:
    return [pid for pid in processes_in(folder) if Path(f"/proc/{pid}/comm").read_bytes() == b"left behind\n"]


async def test_processes_that_an_import_leaves_behind_end_with_it(level: Level, tmp_path: Path) -> None:
    victim, evil = written(tmp_path, "evil.py", LEAVING, AT_IMPORT)
    async with hosted(tmp_path, level) as host:
        check = asyncio.create_task(verdict(host, evil, tmp_path, "f"))
        await until(lambda: bool(left_behind(tmp_path)))
        assert not (await check).passed
        assert left_behind(tmp_path) == []
        assert (await verdict(host, victim, tmp_path, "right")).passed
    assert processes_in(tmp_path) == []
