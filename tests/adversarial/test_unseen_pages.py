"""Memory that the usual limits do not count is limited as well: pages of files without a descriptor, and protected
pages.

Each form tries to take 200 MiB. The limit is 64 MiB of files, or less memory.
"""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import FailureKind, Level, Verdict
from adacoder.sandbox import pool
from adacoder.sandbox.held import memory
from adversarial.test_importers import hosted
from adversarial.test_importers import verdict as checked
from adversarial.test_shared_memory import environment
from support.evaluating import workspace

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.isolation

HEAD = """
import array, ctypes, os, socket, struct, time

MOST = 200
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
READ, WRITE, SHARED, PRIVATE, ANONYMOUS, FIXED = 1, 2, 1, 2, 0x20, 0x100000
HELD = []


def check(result):
    if result in (None, -1, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def mapped(size, protection, flags, descriptor=-1, address=None):
    return check(LIBC.mmap(address, size, protection, flags, descriptor, 0))


def written(descriptor):
    for _ in range(8):
        os.write(descriptor, bytes(1 << 20))
    return descriptor


def new(name="own"):
    return written(os.open(name, os.O_RDWR | os.O_CREAT))


def deleted():
    made = new()
    os.unlink("own")
    return made


def in_memory():
    return written(check(LIBC.memfd_create(b"own", 0)))


def page(descriptor, flags=SHARED):
    mapped(4096, READ, flags, descriptor)
    os.close(descriptor)


def all_but_a_page(address):
    ctypes.memset(address, 1, 8 << 20)
    LIBC.munmap(address + 4096, (8 << 20) - 4096)


def over(address):
    ctypes.memset(address, 1, 8 << 20)
    mapped((8 << 20) - 4096, READ, PRIVATE | ANONYMOUS | 0x10, address=address + 4096)


def replaced():
    page(new("other"))
    os.rename("other", "own")


def sent():
    pair = socket.socketpair()
    HELD.append(pair)
    made = deleted()
    pair[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [made]))])
    os.close(made)


def ruled():
    if not HELD:
        HELD.append(check(LIBC.syscall(444, struct.pack("Q", 2), 8, 0)))
    made = new()
    check(LIBC.syscall(445, HELD[0], 1, struct.pack("=Qi", 2, made), 0))
    os.close(made)
    os.unlink("own")


def zeros():
    device = os.open("/dev/zero", os.O_RDWR)
    all_but_a_page(mapped(8 << 20, READ | WRITE, SHARED, device))
    os.close(device)


def system_v():
    LIBC.shmat.restype = ctypes.c_void_p
    made = check(LIBC.shmget(0, 8 << 20, 0o1600))
    try:
        ctypes.memset(check(LIBC.shmat(made, None, 0)), 1, 8 << 20)
    finally:
        LIBC.shmctl(made, 0, None)


def posix():
    made = os.open("/dev/shm/own-%d" % os.getpid(), os.O_RDWR | os.O_CREAT)
    os.unlink("/dev/shm/own-%d" % os.getpid())
    page(written(made))


def protected(protection=READ):
    address = mapped(8 << 20, READ | WRITE, PRIVATE | ANONYMOUS)
    ctypes.memset(address, 1, 8 << 20)
    LIBC.mprotect(address, 8 << 20, protection)


def tables():
    for _ in range(700):
        HELD.append(1)
        address = mapped(4096, READ | WRITE, PRIVATE | ANONYMOUS | FIXED, address=0x100000000000 + (len(HELD) << 30))
        ctypes.memset(address, 1, 1)


def taken():
    total = 0
    while total < MOST:
        {form}
        total += 8
    time.sleep(0.5)
    return total
"""
FILES = {
    "a file": "HELD.append(new(str(total)))",
    "a deleted file": "HELD.append(deleted())",
    "a page of a deleted file": "page(deleted())",
    "a private page of a deleted file": "page(deleted(), PRIVATE)",
    "a page of a file that was replaced": "replaced()",
    "a page of a file without a name": "page(written(os.open('.', os.O_RDWR | os.O_TMPFILE)))",
    "a deleted file in a message": "sent()",
    "a deleted file in a rule": "ruled()",
    "a file in memory": "HELD.append(in_memory())",
    "a page of a file in memory": "page(in_memory())",
    "a page of a file in memory, of Python": "page(written(os.memfd_create('own')))",
    "a page of shared memory": "all_but_a_page(mapped(8 << 20, READ | WRITE, SHARED | ANONYMOUS))",
    "shared memory below other memory": "over(mapped(8 << 20, READ | WRITE, SHARED | ANONYMOUS))",
    "a page of zeros": "zeros()",
    "shared memory of System V": "system_v()",
    "a page of POSIX shared memory": "posix()",
}
OF_IMPORTS = "a file", "a deleted file", "a page of a deleted file", "a file in memory", "a page of shared memory"
MEMORY = {
    "plain": "HELD.append(b'1' * (8 << 20))",
    "read-only": "protected()",
    "closed": "protected(0)",
    "tables of pages": "tables()",
}
UNSHOWN = ("a deleted file in a rule",)
"""Forms that need a kernel with Landlock, and no container filter."""
CALL = 'def f():\n    """\n    >>> f()\n    0\n    """\n    return taken()\n'


def module(form: str) -> str:
    return f"{HEAD.replace('{form}', form)}\n\n{CALL}"


def assert_it_was_stopped(verdict: Verdict, *kinds: FailureKind) -> None:
    failure = verdict.failure
    assert failure is not None
    assert failure.kind in kinds, failure
    if failure.kind is FailureKind.KILLED:
        assert "wrote more files than an evaluation may (64 MiB)" in failure.message


_STOPPED = FailureKind.KILLED, FailureKind.EXCEPTION, FailureKind.DENIED


@pytest.mark.parametrize("name", FILES)
async def test_no_form_of_a_file_holds_more_than_is_promised(name: str, level: Level, tmp_path: Path) -> None:
    async with workspace(tmp_path, level, best=level) as ws:
        assert_it_was_stopped(await ws.evaluate(module(FILES[name])), *_STOPPED)
        assert (await ws.evaluate('def f():\n    """\n    >>> f()\n    1\n    """\n    return 1\n')).passed


@pytest.mark.parametrize("name", FILES)
async def test_nor_in_a_docstring(name: str, level: Level, tmp_path: Path) -> None:
    path = tmp_path / "mod.py"
    path.write_text(module(FILES[name]), encoding="utf-8")
    async with hosted(tmp_path, level) as host:
        assert_it_was_stopped(await checked(host, path, tmp_path, "f"), *_STOPPED, FailureKind.TIMED_OUT)


@pytest.mark.parametrize("name", OF_IMPORTS)
async def test_nor_in_an_import(name: str, level: Level, tmp_path: Path) -> None:
    """The forms above, while a package or the module itself is imported."""
    form = dedent(HEAD.replace("{form}", FILES[name])) + "\n\nplace = os.environ['TMPDIR']\n"
    form += "os.chdir(place + '/0' if os.path.isdir(place + '/0') else place)\nGOT = taken()\n"
    (environment(tmp_path) / "installed.py").write_text(form, encoding="utf-8")
    function = CALL.replace("taken()", "installed.GOT")
    async with workspace(tmp_path, level, best=level) as ws:
        verdict = await ws.evaluate(f"import installed\n\n\n{function}")
        assert_it_was_stopped(verdict, *_STOPPED, FailureKind.IMPORT_ERROR)
        assert (await ws.evaluate('def f():\n    """\n    >>> f()\n    1\n    """\n    return 1\n')).passed


@pytest.mark.parametrize("name", MEMORY)
async def test_no_form_of_memory_holds_more_than_is_promised(
    name: str, level: Level, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with workspace(tmp_path, level, best=level) as ws:
        failure = (await ws.evaluate(module(MEMORY[name]))).failure
        assert failure is not None
        assert failure.got == "200\n", "the control"
        monkeypatch.setattr(pool, "MOST_MEMORY", 100 << 20)
        failure = (await ws.evaluate(module(MEMORY[name]))).failure
        assert failure is not None
        assert failure.kind is FailureKind.OUT_OF_MEMORY
        assert failure.message.endswith(" ran out of memory.")


@pytest.mark.parametrize("name", [name for name in FILES if name not in UNSHOWN])
def test_where_nothing_stops_it_all_is_held(name: str, tmp_path: Path) -> None:
    """Control: without limits, all the memory is taken."""
    program = f"{HEAD.replace('{form}', FILES[name])}\nprint(taken())\n"
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout == "200\n"


@pytest.mark.parametrize("name", MEMORY)
def test_all_that_it_takes_is_seen_from_outside(name: str, tmp_path: Path) -> None:
    program = f"{HEAD.replace('{form}', MEMORY[name])}\ntaken()\nprint('held', flush=True)\ninput()\n"
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert memory(process.pid) >= 130 << 20
        process.kill()
