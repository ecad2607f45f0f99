"""An evaluation gets enough threads, files and processes for honest code, but no more."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from pathlib import Path
from textwrap import dedent, indent

import pytest

from adacoder.domain import FailureKind, Level
from adversarial.beside import neighbours
from support.evaluating import processes_in, until, workspace
from support.layouts import BASE_PYTHON

pytestmark = pytest.mark.isolation


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


@pytest.mark.parametrize("name", HONEST)
async def test_honest_code_changes_its_own_files(name: str, level: Level, tmp_path: Path) -> None:
    """Two kinds are left out: files that look like the user's (at level `lsm`, all files), and root's device nodes."""
    async with neighbours(tmp_path, level) as beside:
        for _ in range(2):
            failure = (await beside.evaluate(HONEST[name])).failure
            assert failure is not None
            if level is Level.FULL and os.geteuid():
                assert failure.got == "2\n", failure.message
            else:
                assert failure.got == "2\n" or failure.kind is FailureKind.DENIED, failure.message


@pytest.mark.parametrize("name", HONEST_ANYWHERE)
async def test_honest_code_does_what_it_likes_with_its_own_files(name: str, level: Level, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "data.db") as data:
        data.execute("create table t (x)")
        data.execute("insert into t values (1)")
    data.close()
    async with neighbours(tmp_path, level) as beside:
        for _ in range(2):
            assert await beside.told(HONEST_ANYWHERE[name]) == "2"


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
    base = BASE_PYTHON
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
    await until(lambda: not processes_in(tmp_path))
