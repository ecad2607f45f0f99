"""Nothing of one evaluation is seen by another, harms it, or is left for it: not for the spare that stands ready, nor
for the one that runs beside it, nor for those after it.

What is tried is tried at the level `none` too, where it must succeed: there nothing keeps evaluations apart.
"""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING

import pytest

from adacoder.domain import FailureKind, Level
from adacoder.sandbox.host import Host
from adacoder.sandbox.interpreter import find
from evaluating import examples, processes_in, program, until, workspace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from adacoder.domain import Verdict
    from adacoder.sandbox.interpreter import Interpreter

pytestmark = pytest.mark.isolation

MODULE = '''\
import ctypes, errno, fcntl, os, socket, stat, struct, sys, tempfile, time

PROJECT = {folder!r}
LIBC = ctypes.CDLL(None, use_errno=True)
SYSCALLS = {{"x86_64": [90, 268, 280, 92, 188, 76], "aarch64": [None, 53, 88, None, 5, 45]}}
CHMOD, FCHMODAT, UTIMENSAT, CHOWN, SETXATTR, TRUNCATE = SYSCALLS[os.uname().machine]
FCHMODAT2, FILE_SETATTR = 452, 469


def near():
    """All folders that this process may share with others."""
    return [place for place in {places} if os.path.exists(place)]


def processes():
    """The numbers that processes have, or may have where nothing tells."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return range(max(1, os.getpid() - 300), os.getpid() + 300)


def each(change, *places):
    """How many of the places could be changed, without a word on the others."""
    done = 0
    for place in places or near():
        try:
            change(place)
            done += 1
        except (OSError, NotImplementedError):
            pass
    return done


def call(number, *arguments):
    if number is None:
        raise NotImplementedError
    wide = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    if LIBC.syscall(ctypes.c_long(number), *wide) != 0:
        raise OSError(ctypes.get_errno(), "syscall")


def descriptor(place, flags=os.O_RDONLY):
    return os.open(place, flags)


def standing(place):
    """What one evaluation could leave on a folder for another, but for its times."""
    found = os.stat(place)
    names = [(name, os.getxattr(place, name)) for name in os.listxattr(place)] if hasattr(os, "listxattr") else []
    try:
        flags = fcntl.ioctl(os.open(place, os.O_RDONLY), 0x80086601, bytes(8)).hex()
    except OSError:
        flags = ""
    dated = 12345 in (found.st_mtime, found.st_atime)
    return stat.filemode(found.st_mode), found.st_uid, found.st_gid, dated, names, flags


def look():
    """All that an evaluation finds; it has a use for its folder."""
    own = os.getcwd()
    found = [standing(place) for place in (".", "..", "../..", own, "/", "/dev")], os.listdir("."), os.listdir(own)
    with open(os.path.join(own, "own"), "w") as file:
        file.write("own")
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"own")
    os.remove("own")
    os.mkdir("folder")
    os.rmdir("folder")
    return found


def f(x):
    """
    >>> f(1)
    'wanted'
    """
{body}
'''


UP = ("..", "../..", "/proc/self/cwd/..", "/proc/self/cwd/../..")
BELOW = tuple(f"{up}/{number}" for up in UP for number in range(40))
PLACES = {
    Level.FULL: str([*UP, *BELOW, "/tmp", "/", "/dev", "/dev/shm", "/etc", "/home", *map("/tmp/{}".format, range(40))]),
    Level.LSM: str([*UP, *BELOW]),  # all others are the machine's
    Level.NONE: str(["../..", *map("../../{}".format, range(40))]),
}
"""Where an evaluation may come upon what it shares with others, in Python."""


class Neighbours:
    """An evaluator of which several evaluations run at a time."""

    def __init__(self, folder: Path, host: Host, places: str) -> None:
        self.folder = folder
        self.host = host
        self.places = places

    async def evaluate(self, body: str, timeout: float = 20.0) -> Verdict:  # noqa: ASYNC109  # the evaluation's own
        text = MODULE.format(folder=str(self.folder), places=self.places, body=indent(dedent(body).strip(), "    "))
        what = program(self.folder / "mod.py", self.folder, text, "f")
        return await self.host.evaluate(what, examples(text), timeout=timeout)

    async def told(self, body: str, timeout: float = 20.0) -> str:  # noqa: ASYNC109  # the evaluation's own
        """What `f(1)` gave, whatever was wanted."""
        verdict = await self.evaluate(body, timeout)
        assert verdict.failure is not None
        assert verdict.failure.kind is FailureKind.WRONG_OUTPUT, verdict.failure.message
        assert verdict.failure.got is not None
        return verdict.failure.got.strip()


@asynccontextmanager
async def neighbours(folder: Path, level: Level, interpreter: Interpreter | None = None) -> AsyncIterator[Neighbours]:
    interpreter = interpreter or find(None, folder, folder)
    host = Host(interpreter, folder, least=level, best=level, turns=asyncio.Semaphore(2))
    try:
        yield Neighbours(folder, host, PLACES[level])
    finally:
        await host.close()


POISONS = {
    "modes": "return each(lambda place: os.chmod(place, 0o711))",
    "modes of what a link leads to": """
        for number, place in enumerate(near()):
            os.symlink(os.path.abspath(place), f"link{number}")
        return each(lambda place: os.chmod(place, 0o711), *os.listdir("."))
    """,
    "modes by system call": "return each(lambda place: call(CHMOD, os.fsencode(place), 0o711))",
    "modes by a folder's descriptor": """
        here = os.open(".", os.O_RDONLY)
        return each(lambda place: call(FCHMODAT, here, os.fsencode(place), 0o711))
    """,
    "modes by a new system call": "return each(lambda place: call(FCHMODAT2, -100, os.fsencode(place), 0o711, 0))",
    "modes of open folders": "return each(lambda place: os.fchmod(descriptor(place), 0o711))",
    "modes by a path to a descriptor": """
        held = [os.open(place, os.O_PATH) for place in near()[:40]]
        return each(lambda number: os.chmod(f"/proc/self/fd/{number}", 0o711), *held)
    """,
    "modes of nothing but a descriptor": """
        held = [os.open(place, os.O_PATH) for place in near()[:40]]
        return each(lambda number: call(FCHMODAT2, number, b"", 0o711, 0x1000), *held)
    """,
    "the sticky bit": "return each(lambda place: os.chmod(place, 0o1777))",
    "times": "return each(lambda place: os.utime(place, (12345, 12345)))",
    "times by a folder's descriptor": """
        here, times = os.open(".", os.O_RDONLY), struct.pack("4l", 12345, 0, 12345, 0)
        return each(lambda place: call(UTIMENSAT, here, os.fsencode(place), times, 0))
    """,
    "times of nothing but a descriptor": """
        held, times = [os.open(place, os.O_PATH) for place in near()[:40]], struct.pack("4l", 12345, 0, 12345, 0)
        return each(lambda number: call(UTIMENSAT, number, b"", times, 0x1000), *held)
    """,
    "attributes": "return each(lambda place: os.setxattr(place, 'user.left', b'1'))",
    "attributes by system call": """
        return each(lambda place: call(SETXATTR, os.fsencode(place), b"user.left", b"1", 1, 0))
    """,
    "attributes of open folders": "return each(lambda place: os.setxattr(descriptor(place), 'user.left', b'1'))",
    "lists of who may do what": """
        entries = [(1, 7, -1), (4, 7, -1), (16, 7, -1), (2, 7, 12), (32, 0, -1)]
        entries = b"".join(struct.pack("<HHi", *entry) for entry in sorted(entries))
        acl = struct.pack("<I", 2) + entries
        names = ["system.posix_acl_access", "system.posix_acl_default"]
        return sum(each(lambda place: os.setxattr(place, name, acl)) for name in names)
    """,
    "owners": "return each(lambda place: os.chown(place, os.getuid(), os.getgid()))",
    "flags": """
        no_dump = struct.pack("l", 0x40)
        return each(lambda place: fcntl.ioctl(descriptor(place), 0x40086602, no_dump))
    """,
    "flags by a new system call": """
        no_dump = struct.pack("Q4I", 0x80, 0, 0, 0, 0)
        return each(lambda place: call(FILE_SETATTR, -100, os.fsencode(place), no_dump, 24, 0))
    """,
    "new files": "return each(lambda place: open(place + '/left', 'w').close())",
    "new folders": "return each(lambda place: os.mkdir(place + '/left'))",
    "links": "return each(lambda place: os.symlink('/', place + '/left'))",
    "folders that are gone": "return each(os.rmdir)",
    "folders elsewhere": "return each(lambda place: os.rename(place, 'moved'))",
}
"""What is done to all folders near, by name."""
SELDOM = (
    *("modes by system call", "modes by a new system call", "modes of nothing but a descriptor"),
    *("attributes", "attributes by system call", "attributes of open folders", "lists of who may do what"),
    *("flags", "flags by a new system call", "folders that are gone", "folders elsewhere"),
)
"""Of these some machines or file systems know nothing, or they need other folders than those that are near there."""
OWN_NAMES = 5
"""The folder above its own is shared with nobody, is cleared behind the evaluation, and has so many names there."""


@pytest.mark.parametrize("name", POISONS)
async def test_what_is_done_to_folders_reaches_no_other_evaluation(name: str, level: Level, tmp_path: Path) -> None:
    async with neighbours(tmp_path, level) as beside:
        before = await beside.told("return look()")
        runs = asyncio.create_task(beside.told("own = os.getcwd()\ntime.sleep(0.5)\nos.chdir(own)\nreturn look()"))
        await asyncio.sleep(0.2)
        changed = await beside.told(POISONS[name])
        assert int(changed) <= OWN_NAMES
        assert await runs == before
        for _ in range(5):
            assert await beside.told("return look()") == before


@pytest.mark.parametrize("name", [name for name in POISONS if name not in SELDOM])
async def test_what_is_done_to_folders_is_done_where_nothing_keeps_them_apart(name: str, tmp_path: Path) -> None:
    async with neighbours(tmp_path, Level.NONE) as beside:
        assert int(await beside.told(POISONS[name])) >= 1


# --- what is seen ----------------------------------------------------------------------------

SIGHTS = {
    "its files by any path": "return [place for place in near() if os.path.exists(place + '/beacon')]",
    "a list of folders": """
        found = []
        for place in near():
            try:
                found += [name for name in os.listdir(place) if len(name) == 32]
            except OSError:
                pass
        return [name for name in found if name != os.path.basename(os.getcwd())]
    """,
    "its name among processes": """
        found = []
        for pid in processes():
            try:
                with open(f"/proc/{pid}/comm") as file:
                    found += [pid] if file.read() == "beacon\\n" and pid != os.getpid() else []
            except OSError:
                pass
        return found
    """,
    "its folder": """
        found = []
        for pid in processes():
            try:
                found.append(os.readlink(f"/proc/{pid}/cwd"))
            except OSError:
                pass
        return [path for path in found if path != os.getcwd() and "beacon" in str(os.listdir(path))]
    """,
    "what it does": """
        try:
            watch = LIBC.inotify_init()
            assert watch >= 0
            for place in near():
                LIBC.inotify_add_watch(watch, os.fsencode(place), 0x100)
            return os.read(watch, 4096)
        except (OSError, AssertionError):
            return []
    """,
}
BEACON = """
    LIBC.prctl(15, b"beacon", 0, 0, 0)
    open("beacon", "w").close()
    os.mkdir("inner")
    open("inner/beacon", "w").close()
    time.sleep(2)
    return 2
"""


@pytest.mark.parametrize("name", SIGHTS)
async def test_who_runs_beside_it_is_not_seen(name: str, level: Level, tmp_path: Path) -> None:
    async with neighbours(tmp_path, level) as beside:
        await beside.told("return 2")
        runs = asyncio.create_task(beside.told(BEACON))
        await asyncio.sleep(0.8)
        assert await beside.told(SIGHTS[name]) == "[]"
        assert await runs == "2"


async def test_who_runs_beside_it_can_be_seen_where_nothing_keeps_them_apart(tmp_path: Path) -> None:
    async with neighbours(tmp_path, Level.NONE) as beside:
        await beside.told("return 2")
        for name in ("its name among processes", "a list of folders"):
            runs = asyncio.create_task(beside.told(BEACON))
            await asyncio.sleep(0.8)
            assert await beside.told(SIGHTS[name]) != "[]"
            assert await runs == "2"


# --- floods ----------------------------------------------------------------------------------

FLOODS = {
    "files": "for number in range(1 << 30): open(str(number), 'w').close()",
    "folders": "for number in range(1 << 30): os.mkdir(str(number))",
    "symbolic links": "for number in range(1 << 30): os.symlink('/', str(number))",
    "hard links": "open('own', 'w').close()\nfor number in range(1 << 30): os.link('own', str(number))",
    "long names": "for number in range(1 << 30): open(f'{number:0>250}', 'w').close()",
    "files in many folders": """
        for number in range(1 << 30):
            os.makedirs(f"{number}/a/b/c")
            open(f"{number}/a/b/c/file", "w").close()
    """,
    "one folder in another": "for _ in range(1 << 30):\n    os.mkdir('d')\n    os.chdir('d')",
    "the folder above": "for number in range(1 << 30): open(f'../{number}', 'w').close()",
}


SLOW = "one folder in another"
"""The deeper it is, the longer each step takes the kernel."""


@pytest.mark.parametrize("name", FLOODS)
async def test_a_flood_ends_who_let_it_loose_and_nobody_else(name: str, level: Level, tmp_path: Path) -> None:
    async with neighbours(tmp_path, level) as beside:
        honest = "for number in range(60):\n    open(str(number), 'w').write('own')\n    time.sleep(0.02)\nreturn 2"
        assert await beside.told("return 2") == "2"
        runs = [asyncio.create_task(beside.told(honest))]
        await asyncio.sleep(0.1)
        failure = (await beside.evaluate(FLOODS[name], 20.0 if name != SLOW else 3.0)).failure
        assert failure is not None
        if name != SLOW or failure.kind is not FailureKind.TIMED_OUT:
            assert failure.kind is FailureKind.KILLED
            assert "wrote more files than an evaluation may" in failure.message
        assert await runs[0] == "2"
        assert await beside.told(honest) == "2"


async def test_files_without_a_name_count_too(tmp_path: Path, level: Level) -> None:
    """On disk they are bounded by the limits of files' sizes and of descriptors alone."""
    flood = """
        held = []
        for number in range(60):
            held.append(open(str(number), "wb"))
            held[-1].write(bytes(2 << 20))
            os.remove(str(number))
        return 2
    """
    write = "open({!r}, 'wb').write(bytes(8 << 20))\n"
    large = write.format("large") + "time.sleep(0.5)\n" + write.format("more") + "return 2"
    async with neighbours(tmp_path, level) as beside:
        runs = asyncio.create_task(beside.told(large))
        await asyncio.sleep(0.1)
        verdict = await beside.evaluate(flood)
        assert verdict.failure is not None
        if level is Level.FULL:
            assert verdict.failure.kind is FailureKind.EXCEPTION
            assert "No space left on device" in verdict.failure.message
        assert await runs == "2"
        assert await beside.told(large) == "2"


async def test_who_fills_its_own_folder_leaves_room_for_others(tmp_path: Path, level: Level) -> None:
    fill = """
        try:
            for number in range(99):
                open(str(number), "wb").write(bytes(4 << 20))
        finally:
            time.sleep(1)
    """
    large = "time.sleep(0.6)\nopen('large', 'wb').write(bytes(8 << 20))\nreturn 2"
    async with neighbours(tmp_path, level) as beside:
        runs = asyncio.create_task(beside.told(large))
        await asyncio.sleep(0.1)
        failure = (await beside.evaluate(fill)).failure
        assert failure is not None
        assert failure.kind in (FailureKind.EXCEPTION, FailureKind.KILLED)
        assert await runs == "2"


# --- threads ---------------------------------------------------------------------------------

CROWDS = {
    "threads": """
        import threading
        threading.stack_size(1 << 16)
        for _ in range(3000):
            threading.Thread(target=time.sleep, args=(9,), daemon=True).start()
        return 'wanted'
    """,
    "threads of the lower module": """
        import _thread
        _thread.stack_size(1 << 16)
        for _ in range(1000):
            _thread.start_new_thread(time.sleep, (9,))
        return 'wanted'
    """,
    "a few hundred, at once": """
        import _thread
        _thread.stack_size(1 << 15)
        for _ in range(300):
            _thread.start_new_thread(time.sleep, (9,))
        return 'wanted'
    """,
    "a pool": """
        import threading
        from concurrent.futures import ThreadPoolExecutor
        threading.stack_size(1 << 16)
        pool = ThreadPoolExecutor(2000)
        for _ in range(2000):
            pool.submit(time.sleep, 9)
        return 'wanted'
    """,
    "threads of threads": """
        import threading
        threading.stack_size(1 << 16)
        def grow(depth):
            for _ in range(6 if depth else 0):
                threading.Thread(target=grow, args=(depth - 1,), daemon=True).start()
            time.sleep(9)
        grow(5)
    """,
    "threads of the C library": """
        threads, sleep = (ctypes.c_ulong * 1000)(), LIBC.sleep
        attributes = ctypes.create_string_buffer(256)
        LIBC.pthread_attr_init(attributes)
        LIBC.pthread_attr_setstacksize(attributes, ctypes.c_size_t(1 << 16))
        for number in range(1000):
            LIBC.pthread_create(ctypes.byref(threads, 8 * number), attributes, sleep, ctypes.c_void_p(9))
        return 'wanted'
    """,
}


@pytest.mark.parametrize("name", CROWDS)
async def test_more_threads_than_an_evaluation_may_have_end_it(name: str, level: Level, tmp_path: Path) -> None:
    async with neighbours(tmp_path, level) as beside:
        failure = (await beside.evaluate(CROWDS[name])).failure
        assert failure is not None
        assert failure.message.endswith(" started more threads than an evaluation may (128).")
        assert failure.kind is FailureKind.KILLED
        assert await beside.told("return 2") == "2"


HONEST_THREADS = {
    "a pool": """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(32) as pool:
            return sum(pool.map(int, "11" * 32)) - 62
    """,
    "a hundred that wait for each other": """
        import threading
        threading.stack_size(1 << 18)
        barrier, done = threading.Barrier(100), []
        threads = [threading.Thread(target=lambda: done.append(barrier.wait())) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return len(done) - 98
    """,
    "a thousand, one after the other": """
        import threading
        for _ in range(1000):
            thread = threading.Thread(target=int)
            thread.start()
            thread.join()
        return 2
    """,
    "asyncio": """
        import asyncio
        async def main():
            return sum(await asyncio.gather(*(asyncio.to_thread(int, "1") for _ in range(50))))
        return asyncio.run(main()) - 48
    """,
}


@pytest.mark.parametrize("name", HONEST_THREADS)
async def test_honest_code_has_the_threads_it_needs(name: str, level: Level, tmp_path: Path) -> None:
    async with neighbours(tmp_path, level) as beside:
        assert await beside.told(HONEST_THREADS[name]) == "2"


# --- what honest code does with its own files ------------------------------------------------

HONEST = {
    "copies": """
        import shutil
        open("a", "w").write("text")
        os.mkdir("from")
        open("from/a", "w").close()
        for copy in (shutil.copyfile, shutil.copy, shutil.copy2):
            copy("a", copy.__name__)
        shutil.copytree("from", "to")
        shutil.move("to", "there")
        shutil.rmtree("there")
        os.symlink("a", "link")
        shutil.copy2("link", "other", follow_symlinks=False)
        return 2
    """,
    "modes": """
        open("a", "w").close()
        for mode in (0o600, 0o755, 0o444):
            os.chmod("a", mode)
            assert os.stat("a").st_mode & 0o777 == mode
        os.chmod(os.path.abspath("a"), mode=0o640)
        os.chmod(os.open("a", os.O_RDONLY), 0o644)
        os.chmod(b"a", 0o600)
        os.mkdir("folder")
        os.chmod("folder", 0o750)
        os.chmod("a", 0o640, dir_fd=os.open(".", os.O_RDONLY))
        from pathlib import Path
        Path("a").chmod(0o600)
        return 2
    """,
    "times": """
        from pathlib import Path
        open("a", "w").close()
        os.utime("a", (5, 6))
        assert os.stat("a").st_mtime == 6
        os.utime("a", ns=(7, 8))
        assert os.stat("a").st_mtime_ns == 8
        os.utime("a")
        assert time.time() - os.path.getmtime("a") < 60
        Path("a").touch()
        return 2
    """,
    "small databases": """
        import dbm, shelve
        with dbm.open("names", "c") as names:
            names["a"] = "b"
        with shelve.open("shelf") as shelf:
            shelf["a"] = 1
        return 2
    """,
    "no such file": """
        for change in (lambda: os.chmod("missing", 0o600), lambda: os.utime("missing")):
            try:
                change()
            except FileNotFoundError as error:
                assert error.filename == "missing"
        return 2
    """,
    "no path": """
        for change in (lambda: os.chmod(1.5, 0o600), lambda: os.utime(None)):
            try:
                change()
            except TypeError:
                pass
        return 2
    """,
}
HONEST_ANYWHERE = {
    "archives": """
        import io, shutil, tarfile, zipfile
        os.mkdir("in")
        open("in/a", "w").write("text")
        shutil.make_archive("tar", "gztar", "in")
        shutil.make_archive("zip", "zip", "in")
        tarfile.open("tar.tar.gz").extractall("out")
        zipfile.ZipFile("zip.zip").extractall("out2")
        return len(os.listdir("out") + os.listdir("out2"))
    """,
    "temporary files": """
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile(dir=folder) as file:
            file.write(b"x")
        with tempfile.SpooledTemporaryFile(4) as file:
            file.write(b"x" * 99)
        return 2
    """,
    "a database": """
        import sqlite3
        for mode in ("delete", "wal", "truncate", "memory"):
            with sqlite3.connect("data.db") as data:
                data.execute(f"pragma journal_mode={mode}")
                data.execute("create table if not exists t (x)")
                data.execute("insert into t values (1)")
            data.close()
        other = sqlite3.connect("data.db")
        assert other.execute("select count(*) from t").fetchone() == (4,)
        memory = sqlite3.connect(":memory:")
        memory.execute("create table t (x)")
        return 2
    """,
    "two connections to a database": """
        import sqlite3
        one, other = sqlite3.connect("data.db", timeout=0), sqlite3.connect("data.db", timeout=0)
        one.execute("create table t (x)")
        one.execute("begin immediate")
        try:
            other.execute("begin immediate")
        except sqlite3.OperationalError as error:
            return 2 if "locked" in str(error) else 3
    """,
    "the project's database": """
        import sqlite3
        found = 0
        for how in ("mode=ro", "mode=ro&immutable=1"):
            with sqlite3.connect(f"file:{PROJECT}/data.db?{how}", uri=True) as data:
                found += len(data.execute("select * from t").fetchall())
        return found
    """,
    "a mailbox": """
        import mailbox
        box = mailbox.mbox("box")
        box.lock()
        box.add("From: a\\n\\nb")
        box.unlock()
        return 2
    """,
    "its own locks": """
        with open("own", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            fcntl.flock(file, fcntl.LOCK_UN)
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(file, fcntl.LOCK_UN)
            fcntl.lockf(file, fcntl.LOCK_EX, 10, 5, os.SEEK_SET)
        return 2
    """,
    "its processor and its memory": "return 2 if os.cpu_count() and os.sysconf('SC_PHYS_PAGES') > 0 else 3",
}


@pytest.mark.parametrize("name", [*HONEST, *HONEST_ANYWHERE])
async def test_honest_code_does_what_it_likes_with_its_own_files(name: str, level: Level, tmp_path: Path) -> None:
    if level is Level.LSM and name in HONEST:
        pytest.skip("without read-only mounts nothing can be told from the user's own files")
    with sqlite3.connect(tmp_path / "data.db") as data:
        data.execute("create table t (x)")
        data.execute("insert into t values (1)")
    data.close()
    async with neighbours(tmp_path, level) as beside:
        for _ in range(2):
            assert await beside.told({**HONEST, **HONEST_ANYWHERE}[name]) == "2"


# --- code of a package, which is imported before anything is locked down ---------------------

COMPANY = {
    "processes that wait": """
        for _ in range(150):
            if os.fork() == 0:
                time.sleep(30)
                os._exit(0)
    """,
    "processes that belong to nobody": """
        for _ in range(150):
            if os.fork() == 0:
                if os.fork() == 0:
                    os.setsid()
                    time.sleep(30)
                os._exit(0)
    """,
    "processes of processes": """
        for _ in range(7):
            os.fork()
        if os.getpid() != TEMPLATE:
            time.sleep(30)
            os._exit(0)
    """,
    "processes later": """
        import signal
        def later(*_):
            for _ in range(150):
                if os.fork() == 0:
                    time.sleep(30)
                    os._exit(0)
        signal.signal(signal.SIGALRM, later)
        signal.setitimer(signal.ITIMER_REAL, 1.0)
    """,
    "threads": """
        import _thread
        _thread.stack_size(1 << 15)
        for _ in range(2000):
            _thread.start_new_thread(time.sleep, (30,))
    """,
}


@pytest.mark.parametrize("name", COMPANY)
async def test_a_package_starts_no_more_processes_than_evaluations_are(name: str, level: Level, tmp_path: Path) -> None:
    packages = tmp_path / f".venv/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    packages.mkdir(parents=True)
    (tmp_path / ".venv/bin").mkdir()
    base = Path(sys._base_executable)  # type: ignore[attr-defined]  # typeshed leaves it out; `venv` uses it too
    (tmp_path / ".venv/bin/python").symlink_to(base)
    (tmp_path / ".venv/pyvenv.cfg").write_text(f"home = {base.parent}\n", encoding="utf-8")
    head = "import os, sys, time\nTEMPLATE = os.getpid()\nif 'mod' not in sys.modules:\n"
    (packages / "installed.py").write_text(head + indent(dedent(COMPANY[name]).strip(), "    "), encoding="utf-8")
    text = 'import json, installed\n\ndef f(x):\n    """\n    >>> f(1)\n    2\n    """\n    return x + 1\n'
    async with workspace(tmp_path, level, best=level) as ws:
        for _ in range(2):
            verdict = await ws.evaluate(text)
            assert verdict.passed, verdict.failure
        await asyncio.sleep(1.5 if "later" in name else 0)
        await until(lambda: len(processes_in(tmp_path)) < 40)
        assert (await ws.evaluate(text)).passed
    assert processes_in(tmp_path) == []
