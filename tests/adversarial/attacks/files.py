"""Attacks on the user's files: in the project, outside it, and on the shared disk."""

from __future__ import annotations

from adacoder.domain import FailureKind
from adversarial.attack import Attack, Ending, Harm, Harness

_STOPPED: tuple[Ending, ...] = (FailureKind.DENIED, FailureKind.EXCEPTION)


def _harmful(name: str, body: str, twin: str, *ends: Ending) -> Attack:
    """An attack that changes foreign files."""
    return Attack(name, body, ends or _STOPPED, Harm.VICTIM_CHANGED, twin=twin)


def _poison(name: str, path: str, harness: Harness = Harness.UNCONFINED) -> Attack:
    """An attack that leaves data for the next evaluation to find."""
    return Attack(
        name,
        f"open({path}, 'w').close()\nreturn 3",
        (*_STOPPED, FailureKind.WRONG_OUTPUT),
        Harm.POISONED,
        harness,
        twin="open('own', 'w').close()\nreturn 2",
        aftermath=f"return 3 if os.path.exists({path}) else 2",
    )


def _poison_by_call(name: str, leave: str, find: str) -> Attack:
    """The same without a path: one system call stores the data, and another finds it."""
    return Attack(
        name,
        f"syscall({leave})\nreturn 3",
        _STOPPED,
        Harm.POISONED,
        Harness.SCRIPT,
        aftermath=f"try:\n    syscall({find})\nexcept OSError:\n    return 2",
    )


_OWN = "open('own', 'w').close()\n"

ATTACKS = (
    _harmful("writes to the project", "open(VICTIM, 'w').write('gone')\nreturn 2",
             "return open('own', 'w').write('ab')"),
    _harmful("appends to a file", "open(VICTIM, 'a').write('more')\nreturn 2", "return open('own', 'a').write('ab')"),
    _harmful(
        "adds a file to the project",
        "open(os.path.join(WORKSPACE, 'conftest.py'), 'w').close()\nreturn 2",
        """
        import tempfile
        with tempfile.NamedTemporaryFile() as file:
            return file.write(b"ab")
        """,
    ),
    _harmful(
        "leaves bytecode in the project",
        """
        folder = os.path.join(WORKSPACE, "__pycache__")
        os.mkdir(folder)
        open(os.path.join(folder, "mod.cpython-311.pyc"), "wb").close()
        return 2
        """,
        "os.mkdir('own')\nos.rmdir('own')\nreturn 2",
    ),
    _harmful("deletes a file", "os.remove(VICTIM)\nreturn 2", _OWN + "os.remove('own')\nreturn 2"),
    _harmful("deletes by the module under os", "import posix\nposix.unlink(VICTIM)\nreturn 2",
             _OWN + "import posix\nposix.unlink('own')\nreturn 2"),
    Attack(
        "deletes a file while it is imported",
        "return 2",
        (FailureKind.IMPORT_ERROR, FailureKind.DENIED),
        Harm.VICTIM_CHANGED,
        top="os.remove(VICTIM)",
    ),
    _harmful(
        "deletes the project",
        "import shutil\nshutil.rmtree(WORKSPACE, ignore_errors=True)\nreturn 3",
        "import shutil\nos.makedirs('own/inner')\nshutil.rmtree('own')\nreturn 2",
        FailureKind.WRONG_OUTPUT,
    ),
    _harmful("renames a file", "os.rename(VICTIM, VICTIM + '.old')\nreturn 2",
             _OWN + "os.rename('own', 'other')\nreturn 2"),
    _harmful("puts another in a file's place", _OWN + "os.replace('own', VICTIM)\nreturn 2",
             _OWN + "os.replace('own', 'other')\nreturn 2"),
    _harmful("empties a file", "os.truncate(VICTIM, 0)\nreturn 2", "open('own', 'w').truncate(0)\nreturn 2"),
    _harmful("empties a file by system call", "syscall('truncate', os.fsencode(VICTIM), 0)\nreturn 2",
             "open('own', 'w').truncate(0)\nreturn 2"),
    _harmful("empties a file that it opens for reading", "os.open(VICTIM, os.O_RDONLY | os.O_TRUNC)\nreturn 2",
             "os.open(VICTIM, os.O_RDONLY)\nreturn 2"),
    _harmful("changes a file's mode", "os.chmod(VICTIM, 0)\nreturn 2", "return 2 * bool(os.stat(VICTIM).st_mode)"),
    _harmful("changes the mode of an open file", "os.fchmod(os.open(VICTIM, os.O_RDONLY), 0)\nreturn 2",
             "return 2 * bool(os.fstat(os.open(VICTIM, os.O_RDONLY)).st_mode)"),
    _harmful("changes a file's mode by a new system call",
             "syscall('fchmodat2', -100, os.fsencode(VICTIM), 0, 0)\nreturn 2",
             "return 2 * bool(os.stat(VICTIM).st_mode)"),
    _harmful("changes a file's owner", "os.chown(TOOL, os.getuid(), os.getgid())\nreturn 2",
             "return 2 + 0 * os.stat(TOOL).st_uid"),
    _harmful("changes a file's time", "os.utime(VICTIM, (0, 0))\nreturn 2",
             "return 2 * bool(os.stat(VICTIM).st_mtime)"),
    _harmful("changes the time of an open file", "os.utime(os.open(VICTIM, os.O_RDONLY), (0, 0))\nreturn 2",
             "return 2 * bool(os.stat(VICTIM).st_mtime)"),
    _harmful("names an attribute of a file", "os.setxattr(VICTIM, 'user.owned', b'1')\nreturn 2",
             "return len(os.listxattr(VICTIM)) + 2"),
    _harmful(
        "names an attribute of a file by a new system call",
        """
        import ctypes, struct
        value = ctypes.create_string_buffer(b"1", 1)
        arguments = struct.pack("QII", ctypes.addressof(value), 1, 0)
        syscall("setxattrat", -100, os.fsencode(VICTIM), 0, b"user.owned", arguments, 16)
        return 2
        """,
        "return len(os.listxattr(VICTIM)) + 2",
    ),
    _harmful(
        "sets a file's flags",
        """
        import fcntl, struct
        set_flags, no_dump = 0x40086602, 0x40
        fcntl.ioctl(os.open(VICTIM, os.O_RDONLY), set_flags, struct.pack("l", no_dump))
        return 2
        """,
        "import fcntl\nreturn 2 + 0 * fcntl.fcntl(os.open(VICTIM, os.O_RDONLY), fcntl.F_GETFL)",
    ),
    _harmful(
        "sets a file's flags by a new system call",
        """
        import struct
        no_dump = 0x80
        syscall("file_setattr", -100, os.fsencode(VICTIM), struct.pack("Q4I", no_dump, 0, 0, 0, 0), 24, 0)
        return 2
        """,
        "return 2 * bool(os.stat(VICTIM).st_mode)",
    ),
    _harmful("opens a file once more for writing",
             "own = os.open(VICTIM, os.O_RDONLY)\nos.truncate(f'/proc/self/fd/{own}', 0)\nreturn 2",
             "own = os.open(VICTIM, os.O_RDONLY)\nreturn len(os.read(own, 2))"),
    _harmful(
        "writes through a symbolic link",
        """
        os.symlink(VICTIM, "own")
        return open("own", "w").write("go")
        """,
        """
        os.symlink("there", "own")
        return open("own", "w").write("ab")
        """,
    ),
    _harmful(
        "writes through a hard link",
        """
        os.link(VICTIM, "own")
        return open("own", "w").write("go")
        """,
        _OWN + "os.link('own', 'other')\nreturn open('other', 'w').write('ab')",
    ),
    _harmful("links out of the project", "os.symlink('/', os.path.join(WORKSPACE, 'all'))\nreturn 2",
             "os.symlink('/', 'all')\nreturn 2"),
    _harmful("leaves a pipe in the project", "os.mkfifo(os.path.join(WORKSPACE, 'pipe'))\nreturn 2",
             "return len(os.pipe())"),
    _harmful("writes to the home folder", "open(os.path.join(USER, '.profile'), 'w').close()\nreturn 2",
             "open(os.path.expanduser('~/own'), 'w').close()\nreturn 2"),
    _harmful("writes beside the project", "open(os.path.join(OUTSIDE, 'more'), 'w').close()\nreturn 2",
             "open(os.path.join(os.getcwd(), 'more'), 'w').close()\nreturn 2"),
    _harmful(
        "writes to others' shared memory",
        """
        from multiprocessing.shared_memory import SharedMemory
        shared = SharedMemory(SHARED)
        shared.buf[:5] = b"owned"
        return 2
        """,
        "shared = mmap.mmap(-1, 4096)\nshared[:2] = b'ab'\nreturn len(shared[:2])",
    ),
    _harmful(
        "writes to others' System V memory",
        """
        import ctypes
        address = syscall("shmat", SEGMENT, 0, 0)
        ctypes.memset(address, 1, 1)
        return 2
        """,
        "import ctypes\nreturn len(ctypes.create_string_buffer(2))",
    ),
    Attack(
        "a file too large",
        "with open('large', 'wb') as file:\n    file.truncate(1 << 40)\nreturn 2",
        (FailureKind.EXCEPTION, FailureKind.DENIED),
        Harm.PASSED,
        Harness.SCRIPT,
        "with open('small', 'wb') as file:\n    file.truncate(1 << 10)\nreturn 2",
    ),
    Attack(
        "fills the disk",
        """
        for number in range(20):
            with open(str(number), "wb") as file:
                file.write(bytes(10 << 20))
        return 2
        """,
        (FailureKind.EXCEPTION, FailureKind.DENIED, FailureKind.KILLED),
        Harm.PASSED,
        Harness.SCRIPT,
        twin="""
        with open("part", "wb") as file:
            file.write(bytes(10 << 20))
        return 2
        """,
    ),
    Attack(
        "a flood of files",
        """
        number = 0
        while True:
            open(f"{number}", "w").close()
            number += 1
        """,
        (FailureKind.TIMED_OUT, FailureKind.EXCEPTION, FailureKind.KILLED),
        Harm.HUNG,
        Harness.SCRIPT,
        "for number in range(99):\n    open(f'{number}', 'w').close()\nreturn 2",
        timeout=0.3,
    ),
    Attack(
        "a folder too deep to remove",
        """
        for _ in range(2000):
            os.mkdir("deep")
            os.chdir("deep")
        return 3
        """,
        (FailureKind.WRONG_OUTPUT, FailureKind.KILLED),
        Harm.SERVER_ENDED,
        Harness.REPORT,
        "os.makedirs('a/b/c/d')\nos.chdir('a/b/c/d')\nreturn 2",
    ),
    Attack(
        "a descriptor for every number",
        """
        hoard = [os.open(os.devnull, os.O_RDONLY) for _ in range(100)]
        return 2
        """,
        (FailureKind.EXCEPTION,),
        Harm.PASSED,
        Harness.SCRIPT,
        "hoard = [os.open(os.devnull, os.O_RDONLY) for _ in range(10)]\nreturn 2",
    ),
    Attack(
        "puts a link in the place of the folder it works in",
        """
        import shutil
        own = os.getcwd()
        os.chdir("/")
        shutil.rmtree(own)
        os.symlink(WORKSPACE, own)
        return 3
        """,
        (*_STOPPED, FailureKind.WRONG_OUTPUT),
        Harm.VICTIM_CHANGED,
        Harness.SCRIPT,
        "import shutil\nos.mkdir('own')\nshutil.rmtree('own')\nos.symlink(WORKSPACE, 'own')\nreturn 2",
        aftermath="open('more', 'w').close()\nreturn 2",
    ),
    _poison("poisons the folder it works in", "POISON", Harness.SCRIPT),
    _poison("poisons temporary files", "os.path.join('/tmp', POISON)"),
    _poison("poisons the folder for temporary files", "__import__('tempfile').gettempdir() + '/' + POISON",
            Harness.SCRIPT),
    _poison("poisons the home folder", "os.path.expanduser('~/' + POISON)", Harness.SCRIPT),
    _poison("poisons shared memory", "os.path.join('/dev/shm', POISON)"),
    _poison_by_call("leaves System V memory", "'shmget', 7, 4096, 0o1600", "'shmget', 7, 0, 0"),
    _poison_by_call("leaves a message queue", "'mq_open', b'left', 0o102, 0o600, 0", "'mq_open', b'left', 0, 0, 0"),
    Attack(
        "poisons the modules that are next imported",
        """
        for folder in (".", "/tmp", *sys.path):
            try:
                with open(os.path.join(folder, "colorsys.py"), "w") as file:
                    file.write("import os; os._exit(1)")
            except OSError:
                pass
        return 3
        """,
        (FailureKind.WRONG_OUTPUT,),
        Harm.POISONED,
        Harness.SCRIPT,
        "import colorsys\nreturn 2",
        aftermath="import colorsys\nreturn 2 + (os.path.dirname(colorsys.__file__) in ('', '/tmp', os.getcwd()))",
    ),
)  # fmt: skip
