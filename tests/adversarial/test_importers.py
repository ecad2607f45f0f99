"""No module's import or docstring changes the verdict of `check` on another module.

One process imports a module for all its docstrings. Several such processes run at a time.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import FailureKind, Level, Verdict
from adacoder.sandbox.child.launcher import children
from adacoder.sandbox.environment.interpreter import find
from adacoder.sandbox.host import Host
from support.evaluating import examples, parent_of, processes_in, program, until

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
    "have others compiled": """
        names = ["victim.py", "evil.py", "pkg/victim.py", ".", "gone.py", "x" * 5000, *map(str, range(5000))]
        for found in gc.get_objects():
            if isinstance(found, dict) and "compile_ahead" in found and "compiled" in found:
                folder = os.path.dirname(os.path.abspath(__file__))
                found["compiled"].update({os.path.join(folder, name): (b"", None) for name in names})
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
    """Write the victim and the attacker. Return their paths."""
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
    """Return the verdicts on the victim: while the attacker runs, and afterwards."""
    names = ("slow", "right", "wrong")
    beside = asyncio.create_task(verdict(host, evil, folder, "f"))
    during = await asyncio.gather(*(verdict(host, victim, folder, name) for name in names))
    await beside
    after = await asyncio.gather(*(verdict(host, victim, folder, name) for name in names))
    return [*during, *after]


def is_empty(folder: Path) -> bool:
    return not processes_in(folder)


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
        await until(partial(is_empty, folder))


async def test_what_a_module_does_to_its_own_docstrings_is_its_own_affair(level: Level, tmp_path: Path) -> None:
    """Control: the same change affects the attacker's own module."""
    for name, text in (("own.py", VICTIM + "\n\nwrong = lambda: 1\n"), ("pkg/victim.py", VICTIM)):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "pkg/__init__.py").write_text("from . import victim\nvictim.wrong = lambda: 1\n", encoding="utf-8")
    async with hosted(tmp_path, level) as host:
        for name in ("own.py", "pkg/victim.py"):
            assert (await verdict(host, tmp_path / name, tmp_path, "wrong")).passed


OF_ITS_PARENT = {
    "kill": "LIBC.kill(os.getppid(), 9)",
    "stop": "LIBC.kill(os.getppid(), signal.SIGSTOP)",
    "kill a thread": "LIBC.syscall(200, os.getppid(), 9)",
    "kill by a descriptor": "LIBC.syscall(424, LIBC.syscall(434, os.getppid(), 0), 9, None, 0)",
}
"""Attacks on the process from which the attacker was forked."""
OF_THE_NEXT = {
    "speak for others": ATTACKS["speak for others"],
    "answer ahead": """
        message = lambda *texts: (lambda body: len(body).to_bytes(4, "little") + body)(
            b"".join(len(text).to_bytes(4, "little") + text for text in texts))
        done = message(b"done", b"0" * 16, b"yes", b"", b"", b"", b"", b"1\\n", b"", b"")
        reaped = message(b"reaped", b"0", b"clean", b"")
        for number in range(256):
            try:
                os.write(number, message(b"ready") + done * 3 + reaped)
            except OSError:
                pass
    """,
    "stay without a line": """
        os.closerange(3, 256)
        while True:
            each(os.unlink, *near())
            time.sleep(0.01)
    """,
    "leave files": """
        each(lambda place: open(place + "/own", "w").close(), *near())
        os.chmod(".", 0)
        os.chdir("/")
    """,
    "change what all see": """
        os.environ["LEAK"] = "1"
        builtins.repr = lambda value: "1"
        globals()["wrong"] = sys.modules[__name__].wrong = lambda: 1
    """,
    "change what was made ready": """
        for found in gc.get_objects():
            if isinstance(found, dict) and "wrong" in found and "right" in found:
                found["wrong"], found["right"] = (lambda: 1), (lambda: 2)
    """,
}
"""Attacks on the next docstring that the same process forks."""


@pytest.mark.parametrize("name", [*OF_ITS_PARENT, *OF_THE_NEXT])
async def test_no_docstring_changes_what_is_said_of_the_next_of_its_module(
    name: str, level: Level, tmp_path: Path
) -> None:
    attack = (OF_ITS_PARENT | OF_THE_NEXT)[name]
    _, evil = written(tmp_path, "evil.py", attack, IN_A_DOCSTRING + VICTIM)
    names = ("f", "right", "slow", "wrong")
    async with hosted(tmp_path, level) as host:
        for _ in range(2):
            alone = [await verdict(host, evil, tmp_path, name) for name in names]
            # the next docstring is already waiting, so it may use the same process
            together = await asyncio.gather(*(verdict(host, evil, tmp_path, name) for name in names))
            for _, right, slow, wrong in (alone, together):
                assert right.passed, right.failure
                assert slow.passed, slow.failure
                assert [result.got for result in wrong.results] == ["2\n"]
    await until(lambda: not processes_in(tmp_path))


@pytest.mark.parametrize("name", [*OF_ITS_PARENT, "speak for others", "answer ahead"])
def test_nothing_else_would_stop_it(name: str, tmp_path: Path) -> None:
    """Control: without confinement, a forked process reaches its parent and the parent's sockets."""
    beside = """
import socket

ours, theirs = socket.socketpair()
ours.setblocking(False)
child = os.fork()
if child == 0:
    attack()
    os._exit(0)
os.waitpid(child, 0)
print(os.write(1, b"reached" if ours.recv(8) else b"unharmed"))
"""
    _, evil = written(tmp_path, "evil.py", (OF_ITS_PARENT | OF_THE_NEXT)[name], beside)
    process = subprocess.Popen([sys.executable, str(evil)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        if name in OF_THE_NEXT:
            assert process.stdout is not None
            assert b"reached" in process.stdout.read()
        else:
            assert os.WIFSTOPPED(status) if name == "stop" else os.WTERMSIG(status) == signal.SIGKILL
    finally:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        process.communicate()


CUT_OFF = '''
import ctypes, time
LIBC = ctypes.CDLL(None)


def {name}(n):
    """
    >>> {name}(1)
    {first}
    >>> LIBC.prctl(15, b"half way", 0, 0, 0), time.sleep(1)
    (0, None)
    >>> {name}(2)
    2
    """
    return n if {is_right} else 1
'''


@pytest.mark.parametrize("name", ["right", "wrong", "wrong_at_once"])
async def test_what_is_cut_off_is_run_again(name: str, level: Level, tmp_path: Path) -> None:
    """A docstring whose process was killed runs again completely."""
    path = tmp_path / "victim.py"
    text = CUT_OFF.format(name=name, first=2 if name == "wrong_at_once" else 1, is_right=name == "right")
    path.write_text(text, encoding="utf-8")

    async def half_way_there() -> int:
        """Wait for the process that is half way. Look only once, because the process goes on soon."""
        found: list[int] = []

        def look() -> bool:
            found[:] = half_way(os.getpid())
            return bool(found)

        await until(look)
        (pid,) = found
        return pid

    async with hosted(tmp_path, level) as host:
        undisturbed = await verdict(host, path, tmp_path, name)
        assert len(undisturbed.results) == 3
        assert undisturbed.passed is (name == "right")
        # kill the docstring's own process, then in turn each process above it
        for generations in range(5):
            check = asyncio.create_task(verdict(host, path, tmp_path, name))
            pid = await half_way_there()
            for _ in range(generations):
                pid = parent_of(pid)
            os.kill(pid, signal.SIGKILL)
            assert await check == undisturbed
            await until(lambda: not half_way(os.getpid()))


def half_way(pid: int) -> list[int]:
    """Return the running descendants that have named themselves `half way`."""
    with suppress(OSError):
        process = Path(f"/proc/{pid}")
        if (process / "comm").read_bytes() == b"half way\n" and (process / "cmdline").read_bytes():
            return [pid]
    return [found for child in children(pid) for found in half_way(child)]


LEAVING = """
    for _ in range(3):
        if os.fork() == 0:
            LIBC.prctl(15, b"left behind", 0, 0, 0)
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)
    time.sleep(3)
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


CROWDED = """
import os, _thread, time


def crowd(most):
    child = os.fork()
    if child == 0:
        _thread.stack_size(1 << 16)
        for _ in range(most):
            _thread.start_new_thread(time.sleep, (60,))
        time.sleep(most / 100 if most > 1000 else 0)
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


END = crowd({most})


def f():
    \"\"\"
    >>> f()
    {end}
    \"\"\"
    return END
"""


@pytest.mark.parametrize(("most", "end"), [(1200, -signal.SIGKILL), (100, 7)], ids=["too many", "the control"])
async def test_a_crowd_that_an_import_forks_is_killed(most: int, end: int, level: Level, tmp_path: Path) -> None:
    """Forked processes belong to no evaluation, so no message reports that they were killed."""
    path = tmp_path / "evil.py"
    path.write_text(CROWDED.format(most=most, end=end), encoding="utf-8")
    async with hosted(tmp_path, level) as host:
        found = await verdict(host, path, tmp_path, "f")
        assert found.passed, found.failure
