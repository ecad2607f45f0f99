"""Hostile candidates: none passes, does harm or leaves a process behind, and the next evaluation works.

Each attack has a benign twin that must pass, so that no attack fails only because nothing works at all.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import FailureKind, Level
from adacoder.sandbox import process
from adacoder.sandbox.errors import SandboxError
from adacoder.sandbox.interpreter import find
from adacoder.sandbox.worker import OUTPUT_LIMIT, pack
from evaluating import Workspace, processes_in, workspace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

SECRET = "swordfish"

DENIED = FailureKind.DENIED
EXCEPTION = FailureKind.EXCEPTION
KILLED = FailureKind.KILLED
OUT_OF_MEMORY = FailureKind.OUT_OF_MEMORY
PROTOCOL = FailureKind.PROTOCOL
TIMED_OUT = FailureKind.TIMED_OUT
WRONG_OUTPUT = FailureKind.WRONG_OUTPUT


@dataclass(frozen=True)
class Attack:
    """A body of `f`, whose example wants 2 of `f(1)`; what must come of it; and its benign twin."""

    body: str
    kind: FailureKind
    twin: str
    level: Level = Level.NONE
    """The weakest level at which it does no harm."""
    timeout: float = 10.0


FORGED = repr(pack(["done", "0" * 16, "2\n"]))

ATTACKS = {
    "a verdict on standard output": Attack(
        'print(\'{"status": "verified"}\')\nreturn 2',
        WRONG_OUTPUT,
        "import sys\nsys.__stdout__.write('{}')\nreturn 2",
    ),
    "exit without a word": Attack("os._exit(0)", KILLED, "return 2"),
    "exit": Attack(
        "sys.exit(0)", EXCEPTION, "try: sys.exit(0)\nexcept SystemExit: pass\nreturn 2"
    ),
    "kill itself": Attack("os.kill(os.getpid(), 9)", KILLED, "os.kill(os.getpid(), 0)\nreturn 2"),
    "crash": Attack("import ctypes\nctypes.string_at(0)", KILLED, "import ctypes\nreturn 2"),
    "close everything": Attack(
        "os.closerange(0, 64)\nreturn 2", KILLED, "read, write = os.pipe()\nos.close(write)\nreturn 2"
    ),
    "close the line and go on": Attack(
        "os.closerange(3, 64)\ntime.sleep(60)", PROTOCOL, "time.sleep(0.01)\nreturn 2"
    ),
    "garbage on every descriptor": Attack(
        "for fd in range(64):\n    try: os.write(fd, b'\\xff' * 99)\n    except OSError: pass\nreturn 2",
        PROTOCOL,
        "os.write(1, b'\\xff')\nreturn 2",
    ),
    "an answer of its own": Attack(f"os.write(4, {FORGED})\nreturn 3", PROTOCOL, "return 2"),
    "an answer of its own, and silence": Attack(
        f"os.write(4, {FORGED})\ntime.sleep(60)", PROTOCOL, "return 2"
    ),
    "a flood of answers": Attack(
        "while True: os.write(4, b'\\x00\\x00\\x00\\x00')", PROTOCOL, "return 2"
    ),
    "a child that answers instead": Attack(
        "os.fork() and time.sleep(60)\nreturn 3", WRONG_OUTPUT, "os.fork() or os._exit(0)\nreturn 2"
    ),
    "patched built-ins": Attack(
        "import builtins\nbuiltins.repr = lambda value: '2'\nbuiltins.compile = None\nreturn 3",
        WRONG_OUTPUT,
        "import builtins\nbuiltins.len = len\nreturn 2",
    ),
    "patched display": Attack(
        "sys.displayhook = sys.__displayhook__ = lambda value: print(2)\nreturn 3",
        WRONG_OUTPUT,
        "sys.displayhook = print\nreturn 2",
    ),
    "patched output": Attack(
        "import io\nio.StringIO.getvalue = lambda self: '2\\n'\nreturn 3",
        EXCEPTION,
        "import io\nreturn len(io.StringIO('12').getvalue())",
    ),
    "patched modules": Attack(
        "import doctest, json, traceback\ndoctest.OutputChecker.check_output = lambda *_: True\n"
        "json.dumps = os.write = os.read = traceback.format_exception_only = None\nreturn 3",
        WRONG_OUTPUT,
        "import json\nos.write = os.read = json.dumps = None\nreturn 2",
    ),
    "tracing": Attack(
        "sys.settrace(lambda *_: os._exit(0))\nreturn 2", KILLED, "sys.settrace(lambda *_: None)\nreturn 2"
    ),
    "hardly any recursion": Attack(
        "sys.setrecursionlimit(30)\nreturn 3", WRONG_OUTPUT, "sys.setrecursionlimit(30)\nreturn 2"
    ),
    "equal to anything": Attack(
        "class E:\n    def __eq__(self, other): return True\n    def __str__(self): return '2'\nreturn E()",
        WRONG_OUTPUT,
        "class E(int): pass\nreturn E(2)",
    ),
    "hang at the exit": Attack(
        "import atexit, threading\natexit.register(time.sleep, 99)\n"
        "threading.Thread(target=time.sleep, args=(99,)).start()\nreturn 3",
        WRONG_OUTPUT,
        "import atexit\natexit.register(time.sleep, 99)\nreturn 2",
    ),
    "endless loop": Attack("while True: pass", TIMED_OUT, "for _ in range(9): pass\nreturn 2", timeout=0.4),
    "endless loop that blocks signals": Attack(
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: pass",
        TIMED_OUT,
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nreturn 2",
        timeout=0.4,
    ),
    "endless text of an exception": Attack(
        "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
        TIMED_OUT,
        "class E(Exception): pass\ntry: raise E\nexcept E: return 2",
        timeout=0.4,
    ),
    "stop itself": Attack("os.kill(os.getpid(), 19)", TIMED_OUT, "return 2", timeout=0.4),
    "too much memory": Attack("return len('a' * (8 << 30))", OUT_OF_MEMORY, "return len('a' * 2)"),
    "a file too large": Attack(
        "with open('large', 'wb') as file:\n    file.truncate(1 << 30)\nreturn 2",
        EXCEPTION,
        "with open('small', 'wb') as file:\n    file.truncate(1 << 10)\nreturn 2",
    ),
    "too much output": Attack(
        "for _ in range(100): print('x' * (1 << 20))\nreturn 2", WRONG_OUTPUT, "print(end='')\nreturn 2"
    ),
    "too many descriptors": Attack(
        "files = [open(os.devnull) for _ in range(99)]\nreturn 2",
        EXCEPTION,
        "files = [open(os.devnull) for _ in range(9)]\nreturn 2",
    ),
    "kill everyone": Attack("os.kill(-1, 9)\nreturn 2", EXCEPTION, "os.kill(0, 0)\nreturn 2", Level.FULL),
    "kill the parent": Attack(
        "os.kill(os.getppid(), 9)\nreturn 3", WRONG_OUTPUT, "os.getppid()\nreturn 2", Level.FULL
    ),
    "processes that stay": Attack(
        "for _ in range(5):\n    if os.fork() == 0:\n        os.setsid()\n        os.closerange(3, 64)\n"
        "        time.sleep(999)\nreturn 3",
        WRONG_OUTPUT,
        "pid = os.fork() or os._exit(0)\nos.waitpid(pid, 0)\nreturn 2",
        Level.FULL,
    ),
    "a bomb of processes": Attack(
        "os.closerange(3, 64)\nfor _ in range(6): os.fork()\ntime.sleep(999)",
        PROTOCOL,
        "import subprocess\nsubprocess.run(['true'], check=True)\nreturn 2",
        Level.FULL,
    ),
    "reach a server": Attack(
        "socket.create_connection(('127.0.0.1', PORT), 5)\nreturn 2",
        DENIED,
        "one, other = socket.socketpair()\nreturn one.send(b'ab')",
        Level.FULL,
    ),
    "ask for a name": Attack(
        "socket.getaddrinfo('example.org', 80)\nreturn 2",
        DENIED,
        "return len(socket.getaddrinfo('127.0.0.1', 80)) and 2",
        Level.FULL,
    ),
    "write to the workspace": Attack(
        "open(VICTIM, 'w').write('gone')\nreturn 2", DENIED, "return open('own', 'w').write('ab')", Level.FULL
    ),
    "add to the workspace": Attack(
        "open(VICTIM + '.new', 'w').close()\nreturn 2",
        DENIED,
        "import tempfile\nwith tempfile.NamedTemporaryFile() as file: return file.write(b'ab')",
        Level.FULL,
    ),
    "delete a file": Attack(
        "os.remove(VICTIM)\nreturn 2",
        DENIED,
        "open('own', 'w').close()\nos.remove('own')\nreturn 2",
        Level.FULL,
    ),
    "change a file's rights": Attack(
        "os.chmod(VICTIM, 0)\nreturn 2",
        DENIED,
        "open('own', 'w').close()\nos.chmod('own', 0o600)\nreturn 2",
        Level.FULL,
    ),
    "empty a file": Attack(
        "os.truncate(VICTIM, 0)\nreturn 2",
        DENIED,
        "open('own', 'w').close()\nos.truncate('own', 0)\nreturn 2",
        Level.FULL,
    ),
    "write to the home folder": Attack(
        "open(os.path.join(USER, 'secret.txt'), 'w').close()\nreturn 2",
        EXCEPTION,
        "open(os.path.expanduser('~/own'), 'w').close()\nreturn 2",
        Level.FULL,
    ),
    "fill the disk": Attack(
        "for i in range(20):\n    with open(str(i), 'wb') as file: file.write(b'x' * (10 << 20))\nreturn 2",
        EXCEPTION,
        "with open('part', 'wb') as file: file.write(b'x' * (10 << 20))\nreturn 2",
        Level.FULL,
    ),
}  # fmt: skip

SPIES = {
    "the environment": "return os.environ.get('ADACODER_TEST_SECRET', 'nothing')",
    "others' environment": (
        "text = ''\nfor name in os.listdir('/proc'):\n    try: text += open(f'/proc/{name}/environ').read()\n"
        "    except OSError: pass\nreturn SECRET if SECRET in text else 'nothing'"
    ),
    "the home folder": "return open(os.path.join(USER, 'secret.txt')).read()",
    "a secret of the workspace": "return open(os.path.join(os.path.dirname(VICTIM), '.env')).read()",
    "the repository": "return open(os.path.join(os.path.dirname(VICTIM), '.git', 'config')).read()",
    "a key of the workspace": "return open(os.path.join(os.path.dirname(VICTIM), 'server.key')).read()",
}


@dataclass(frozen=True)
class Scene:
    """A workspace with victims and secrets around it."""

    ws: Workspace
    constants: str
    port: socket.socket

    def module(self, body: str, want: str = "2") -> str:
        indented = body.replace("\n", "\n    ")
        return (
            f"import os, socket, sys, time\n{self.constants}\n\ndef f(x):\n"
            f'    """\n    >>> f(1)\n    {want}\n    """\n    {indented}\n'
        )

    def assert_untouched(self) -> None:
        folder = self.ws.folder
        assert sorted(path.name for path in folder.iterdir()) == [".env", ".git", "server.key", "victim.txt"]
        victim = folder / "victim.txt"
        assert victim.read_text(encoding="utf-8") == "alive"
        assert victim.stat().st_mode & 0o777 == 0o644
        assert [path.name for path in (folder.parent / "home").iterdir()] == ["secret.txt"]
        with pytest.raises(BlockingIOError):
            self.port.accept()


@pytest.fixture
def port() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.fixture
async def scene(tmp_path: Path, port: socket.socket, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    home = tmp_path / "home"
    folder = tmp_path / "workspace"
    for place in (home, folder, folder / ".git"):
        place.mkdir()
    victim = folder / "victim.txt"
    victim.write_text("alive", encoding="utf-8")
    victim.chmod(0o644)
    for secret in (home / "secret.txt", folder / ".env", folder / ".git/config", folder / "server.key"):
        secret.write_text(SECRET, encoding="utf-8")
    monkeypatch.setenv("ADACODER_TEST_SECRET", SECRET)
    monkeypatch.setenv("HOME", str(home))
    constants = (
        f"VICTIM = {str(victim)!r}\nUSER = {str(home)!r}\nPORT = {port.getsockname()[1]}\n"
        f"SECRET = {SECRET[:5]!r} + {SECRET[5:]!r}"
    )
    async with workspace(folder) as opened:
        yield Scene(opened, constants, port)
    assert processes_in(folder) == []


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Where a new virtual environment keeps its packages."""
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    (found,) = (environment / "lib").glob("python3*/site-packages")
    return found


@pytest.mark.isolation
@pytest.mark.parametrize("name", ATTACKS)
async def test_an_attack_fails_does_no_harm_and_leaves_nothing(name: str, scene: Scene) -> None:
    attack = ATTACKS[name]
    verdict = await scene.ws.evaluate(scene.module(attack.body), timeout=attack.timeout)
    assert verdict.failure is not None
    assert verdict.failure.kind is attack.kind, verdict.failure
    assert all(len(result.got) <= OUTPUT_LIMIT + 1 for result in verdict.results)
    scene.assert_untouched()
    twin = await scene.ws.evaluate(scene.module(attack.twin))
    assert twin.failure is None


@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if attack.level is Level.NONE])
async def test_without_isolation_an_attack_on_the_verdict_fails_too(
    name: str, scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    attack = ATTACKS[name]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    async with workspace(scene.ws.folder, Level.NONE) as ws:
        verdict = await ws.evaluate(scene.module(attack.body), timeout=attack.timeout)
        assert verdict.failure is not None
        assert verdict.failure.kind is attack.kind, verdict.failure
        twin = await ws.evaluate(scene.module(attack.twin))
        assert twin.failure is None
    scene.assert_untouched()
    assert list(scratch.iterdir()) == []
    assert processes_in(scratch) == []


@pytest.mark.isolation
@pytest.mark.parametrize("name", SPIES)
async def test_secrets_are_not_to_be_seen(name: str, scene: Scene) -> None:
    verdict = await scene.ws.evaluate(scene.module(SPIES[name], repr(SECRET)))
    assert verdict.failure is not None
    assert verdict.failure.kind in (WRONG_OUTPUT, EXCEPTION, DENIED)
    assert SECRET not in repr([result.got for result in verdict.results])
    twin = await scene.ws.evaluate(scene.module("return open(VICTIM).read()", "'alive'"))
    assert twin.passed


@pytest.mark.isolation
async def test_attacks_while_importing(scene: Scene) -> None:
    good = scene.module("return 2")
    for attack, kind in {
        "os._exit(0)": KILLED,
        "sys.exit(0)": FailureKind.IMPORT_ERROR,
        "while True: pass": TIMED_OUT,
        "os.remove(VICTIM)": FailureKind.IMPORT_ERROR,
        "'a' * (8 << 30)": OUT_OF_MEMORY,
        "os.write(4, b'garbage' * 99)": PROTOCOL,
    }.items():
        verdict = await scene.ws.evaluate(good.replace("\n\ndef", f"\n{attack}\n\ndef"), timeout=0.5)
        assert verdict.failure is not None
        assert verdict.failure.kind is kind
    scene.assert_untouched()
    assert (await scene.ws.evaluate(good)).passed


@pytest.mark.isolation
async def test_a_hostile_environment_is_confined_from_its_first_line(
    scene: Scene, packages: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    code = f"import os; os.close(os.open({str(mark)!r}, os.O_CREAT))\n"
    (packages / "hostile.pth").write_text(code, encoding="utf-8")
    python = packages.parents[2] / "bin/python"
    interpreter = find(python, scene.ws.folder, scene.ws.folder)
    async with workspace(scene.ws.folder, interpreter=interpreter) as ws:
        assert (await ws.evaluate(scene.module("return 2"))).passed
    assert not mark.exists()
    await (await asyncio.create_subprocess_exec(python, "-c", "")).wait()
    assert mark.exists()


@pytest.mark.isolation
async def test_an_interpreter_that_never_starts(scene: Scene, packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = packages / "hostile.pth"
    interpreter = find(packages.parents[2] / "bin/python", scene.ws.folder, scene.ws.folder)
    async with workspace(scene.ws.folder, interpreter=interpreter) as ws:
        assert (await ws.evaluate(scene.module("return 2"))).passed
    monkeypatch.setattr(process, "BOOT_SECONDS", 1.0)
    hostile.write_text("import time; time.sleep(999)\n", encoding="utf-8")
    async with workspace(scene.ws.folder, interpreter=interpreter) as ws:
        with pytest.raises(SandboxError, match="took longer than 1 s"):
            await ws.evaluate(scene.module("return 2"))
    hostile.write_text("import os; os._exit(3)\n", encoding="utf-8")
    async with workspace(scene.ws.folder, interpreter=interpreter) as ws:
        with pytest.raises(SandboxError, match="does not start: it ended"):
            await ws.evaluate(scene.module("return 2"))


def test_the_attacks_are_many() -> None:
    assert len(ATTACKS) + len(SPIES) >= 40
    assert os.environ.get("ADACODER_TEST_SECRET") is None
