"""No process can pass data to a later one through memory that an import shares with forked processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from adacoder.domain import Level
from adacoder.sandbox.unavailable import SandboxError
from adversarial.test_importers import hosted, verdict
from support.evaluating import workspace
from support.layouts import BASE_PYTHON

pytestmark = pytest.mark.isolation

HEAD = """
import ctypes, mmap, os

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
READ, WRITE, SHARED, ANONYMOUS = 1, 2, 1, 0x20


def mapped(descriptor, protection=READ | WRITE, flags=SHARED):
    address = LIBC.mmap(None, 4096, protection, flags, descriptor, 0)
    if descriptor >= 0:
        os.close(descriptor)
    return None if address in (None, ctypes.c_void_p(-1).value) else ctypes.c_char.from_address(address)


def file(flags=os.O_RDWR, delete=False):
    temporary = os.environ.get("TMPDIR", "/tmp")
    for place in (".", temporary, *(f"{temporary}/{slot}" for slot in range(20))):
        try:
            path = os.path.join(place, f"shared-{os.getpid()}")
            made = os.open(path, os.O_RDWR | os.O_CREAT)
        except OSError:
            continue
        os.write(made, bytes(4096))
        opened = os.open(path, flags)
        os.close(made)
        if delete:
            os.unlink(path)
        return opened
    raise OSError("nowhere to write")


def file_in_memory():
    made = os.memfd_create("shared")
    os.truncate(made, 4096)
    return made


def nameless():
    made = os.open(".", os.O_RDWR | os.O_TMPFILE)
    os.truncate(made, 4096)
    return made


def system_v():
    LIBC.shmat.restype = ctypes.c_void_p
    address = LIBC.shmat(LIBC.shmget(0, 4096, 0o1600), None, 0)
    return None if address in (None, ctypes.c_void_p(-1).value) else ctypes.c_char.from_address(address)


def posix():
    from multiprocessing.shared_memory import SharedMemory

    global HELD
    HELD = SharedMemory(create=True, size=4096)
    os.close(HELD._fd)
    HELD._fd = -1
    HELD.unlink()
    return ctypes.c_char.from_buffer(HELD.buf)


def array():
    from multiprocessing.sharedctypes import RawArray

    return RawArray("c", 1)


def hint():
    import fcntl

    class Hint:
        descriptor = os.open(__file__, os.O_RDONLY)

        @property
        def value(self):
            descriptor = os.open(__file__, os.O_RDONLY)
            return fcntl.fcntl(descriptor, 1035, bytes(8))[:1].replace(bytes(1), bytes(1))

        @value.setter
        def value(self, value):
            fcntl.fcntl(os.open(__file__, os.O_RDONLY), 1036, bytes([3]) + bytes(7))

    os.close(Hint.descriptor)
    return Hint()


class Flags:
    \"\"\"Those of an open file that all processes inherit.\"\"\"

    @property
    def value(self):
        import fcntl

        return bytes([fcntl.fcntl(1, fcntl.F_GETFL) & os.O_APPEND != 0])

    @value.setter
    def value(self, value):
        import fcntl

        fcntl.fcntl(1, fcntl.F_SETFL, os.O_APPEND)


try:
    CELL = {make}
except OSError:
    CELL = None


def writable():
    if {later}:
        page = ctypes.c_void_p(ctypes.addressof(CELL))
        LIBC.mprotect(page, ctypes.c_size_t(4096), READ | WRITE)


def mark():
    if CELL is not None:
        try:
            writable()
            CELL.value = b"x"
        except OSError:
            pass
    return 1


def is_marked():
    if CELL is not None:
        writable()
    return CELL is not None and CELL.value != bytes(1)
"""
FORMS = {
    "anonymous": "ctypes.c_char.from_buffer(mmap.mmap(-1, 4096))",
    "anonymous, by the C library": "mapped(-1, flags=SHARED | ANONYMOUS)",
    "a device of zeros": "mapped(os.open('/dev/zero', os.O_RDWR))",
    "a file in memory": "mapped(file_in_memory())",
    "a file": "mapped(file())",
    "a deleted file": "mapped(file(delete=True))",
    "a file without a name": "mapped(nameless())",
    "read-only at first": "mapped(file(), READ)",
    "closed at first": "mapped(file(), 0)",
    "read-only and anonymous": "mapped(-1, READ, SHARED | ANONYMOUS)",
    "of multiprocessing": "array()",
    "with a name": "posix()",
    "of System V": "system_v()",
    "flags of an open file": "Flags()",
    "a hint on a file": "hint()",
}
"""Kinds of shared memory that a package can keep. Each has a cell to write and to read."""
LATER = ("read-only at first", "closed at first", "read-only and anonymous")
SHARED_BY_FORKS = [name for name in FORMS if name not in ("with a name", "of System V", "a hint on a file")]
"""Kinds that every machine allows."""


def package(name: str) -> str:
    return HEAD.replace("{make}", FORMS[name]).replace("{later}", str(name in LATER))


def environment(folder: Path) -> Path:
    """Return the packages folder of a virtual environment."""
    packages = folder / f".venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    packages.mkdir(parents=True)
    (folder / ".venv/bin").mkdir()
    (folder / ".venv/bin/python").symlink_to(BASE_PYTHON)
    (folder / ".venv/pyvenv.cfg").write_text(f"home = {BASE_PYTHON.parent}\n", encoding="utf-8")
    return packages


CANDIDATE = 'import installed\n\n\ndef f():\n    """\n    >>> f()\n    1\n    """\n    return {}\n'


@pytest.mark.parametrize("name", FORMS)
async def test_no_candidate_finds_what_another_wrote(name: str, level: Level, tmp_path: Path) -> None:
    (environment(tmp_path) / "installed.py").write_text(package(name), encoding="utf-8")
    async with workspace(tmp_path, level, best=level) as ws:
        for _ in range(2):
            verdict = await ws.evaluate(CANDIDATE.format("1 + installed.is_marked()"))
            assert verdict.passed, verdict.failure
            verdict = await ws.evaluate(CANDIDATE.format("installed.mark()"))
            assert verdict.passed, verdict.failure


DOCSTRINGS = '''
def marks():
    """
    >>> marks()
    1
    """
    return mark()


def finds():
    """
    >>> finds()
    False
    """
    return is_marked()
'''


@pytest.mark.parametrize(
    ("name", "place"),
    [*((name, "mod.py") for name in FORMS), *((name, "pkg/__init__.py") for name in ("anonymous", "a deleted file"))],
)
async def test_no_docstring_finds_what_another_wrote(name: str, place: str, level: Level, tmp_path: Path) -> None:
    kept = tmp_path / place
    kept.parent.mkdir(exist_ok=True)
    if kept.name == "mod.py":
        using = kept
        kept.write_text(package(name) + DOCSTRINGS, encoding="utf-8")
    else:
        using = kept.with_name("mod.py")
        kept.write_text(package(name), encoding="utf-8")
        using.write_text(f"from pkg import is_marked, mark\n{DOCSTRINGS}", encoding="utf-8")
    async with hosted(tmp_path, level) as host:
        for _ in range(2):
            for function in ("marks", "finds"):
                found = await verdict(host, using, tmp_path, function)
                assert found.passed, found.failure


async def test_a_note_says_that_an_import_leaves_shared_memory(level: Level, tmp_path: Path) -> None:
    mod = tmp_path / "mod.py"
    mod.write_text(package("a deleted file") + DOCSTRINGS, encoding="utf-8")
    async with hosted(tmp_path, level) as host:
        (note,) = (await verdict(host, mod, tmp_path, "finds")).notes
        assert note == "The import of 'mod' leaves shared memory behind, so each docstring imports it again."


async def test_shared_memory_of_start_up_code_is_refused(level: Level, tmp_path: Path) -> None:
    """All evaluations would share it, because the interpreter creates it before each import."""
    packages = environment(tmp_path)
    (packages / "kept.py").write_text(package("a file"), encoding="utf-8")
    (packages / "kept.pth").write_text("import kept\n", encoding="utf-8")
    function = 'def f():\n    """\n    >>> f()\n    1\n    """\n    return 1\n'
    async with workspace(tmp_path, level, best=level) as ws:
        with pytest.raises(SandboxError, match="start-up code leaves memory that evaluations would share"):
            await ws.evaluate(function)
    (packages / "kept.pth").unlink()
    async with workspace(tmp_path, level, best=level) as ws:
        assert (await ws.evaluate(function)).passed


@pytest.mark.parametrize("name", SHARED_BY_FORKS)
def test_forks_would_share_it(name: str, tmp_path: Path) -> None:
    """Control: forked processes do share this memory."""
    (tmp_path / "installed.py").write_text(package(name), encoding="utf-8")
    forks = """
        import os, installed
        if os.fork() == 0:
            os._exit(installed.mark())
        os.wait()
        print("marked" if installed.is_marked() else "")
    """
    ran = subprocess.run(
        [sys.executable, "-c", dedent(forks)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "marked\n"


HONEST = """
    import mmap, os
    anonymous, other = mmap.mmap(-1, 8 << 20), mmap.mmap(-1, 100, access=mmap.ACCESS_WRITE)
    anonymous[:2] = other[:2] = b"ab"
    assert mmap.mmap(-1, 13, prot=mmap.PROT_READ)[:1] == mmap.mmap(-1, 13, access=mmap.ACCESS_READ)[:1] == b"\\\\0"
    assert type(mmap.mmap(-1, 1, access=mmap.ACCESS_COPY)) is mmap.mmap
    file = os.memfd_create("note")
    os.write(file, bytes(4096))
    with mmap.mmap(file, 0) as mapped:
        mapped[:2] = b"ab"
    return len(anonymous[:2]) - (os.pread(file, 2, 0) == b"ab")
"""


async def test_honest_code_has_memory_of_its_own(level: Level, tmp_path: Path) -> None:
    async with workspace(tmp_path, level, best=level) as ws:
        verdict = await ws.evaluate('def f():\n    """\n    >>> f()\n    1\n    """\n' + HONEST.replace("\\\\0", "\\0"))
        assert verdict.passed, verdict.failure
