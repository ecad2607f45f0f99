"""The scene of an attack: a workspace, possible victims, secrets, servers and another process.

The scene reports the harm to them. Every test sets it twice: in the test's process, where an isolated attack must do no
harm, and inside the disposable sandbox, where the same attack must do its harm.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import resource
import select
import socket
import stat
import struct
import subprocess
import sysconfig
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent, indent
from typing import TYPE_CHECKING

from adversarial.attack import Harm
from support.layouts import BASE_PYTHON

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from adversarial.attack import Attack

TOKEN = "ADACODER_TEST_TOKEN"
"""Environment variable with the secret."""

_SECRET_FILES = (
    "home/.ssh/id_rsa",
    "home/notes.txt",
    "outside/secret.txt",
    "workspace/.env",
    "workspace/.git/config",
    "workspace/server.key",
    "workspace/app/.env",
    "workspace/app/deploy/id_rsa",
    "workspace/app/.git/config",
)
_SYSCALLS = {
    "x86_64": {
        "shmat": 30,
        "clone": 56,
        "kill": 62,
        "truncate": 76,
        "ptrace": 101,
        "personality": 135,
        "mlock": 149,
        "chroot": 161,
        "mount": 165,
        "sethostname": 170,
        "tkill": 200,
        "tgkill": 234,
        "add_key": 248,
        "unshare": 272,
        "setns": 308,
        "process_vm_readv": 310,
        "bpf": 321,
        "userfaultfd": 323,
        "perf_event_open": 298,
        "rt_sigqueueinfo": 129,
        "shmget": 29,
        "mq_open": 240,
    },
    "aarch64": {
        "shmat": 196,
        "clone": 220,
        "kill": 129,
        "truncate": 45,
        "ptrace": 117,
        "personality": 92,
        "mlock": 228,
        "chroot": 51,
        "mount": 40,
        "sethostname": 161,
        "tkill": 130,
        "tgkill": 131,
        "add_key": 217,
        "unshare": 97,
        "setns": 268,
        "process_vm_readv": 270,
        "bpf": 280,
        "userfaultfd": 282,
        "perf_event_open": 241,
        "rt_sigqueueinfo": 138,
        "shmget": 194,
        "mq_open": 180,
    },
}
_NEW_SYSCALLS = {
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "open_tree": 428,
    "pidfd_open": 434,
    "clone3": 435,
    "pidfd_getfd": 438,
    "landlock_create_ruleset": 444,
    "landlock_restrict_self": 446,
    "fchmodat2": 452,
    "setxattrat": 463,
    "file_setattr": 469,
}
"""Numbers of new system calls, which are the same on all machines."""

_MARKED = """
import mmap

MARKED = os.open(MARK, os.O_RDONLY)
os.set_inheritable(MARKED, True)
MARKED_MEMORY = mmap.mmap(MARKED, 0, access=mmap.ACCESS_READ)  # held even when all descriptors are closed
"""
_TOOLS = """
import os, sys, time


def syscall(name, *arguments):
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    arguments = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = libc.syscall(ctypes.c_long(SYSCALLS[name]), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def daemon(work=lambda: time.sleep(999)):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 64)
            work()
        os._exit(0)
"""
_FS_IOC_GETFLAGS = 0x80086601
_RMID = 0
_MUCH_MEMORY = 100 << 10
"""Maximum growth of an evaluator's memory in kilobytes."""


@dataclass(frozen=True, slots=True)
class Scene:
    """All targets of an attack."""

    root: Path
    secret: str
    signal: int
    """Signal that attacks send to every process: a deadly one, or 0 if no namespace protects the machine."""
    bystander: subprocess.Popen[bytes]
    listeners: tuple[socket.socket, ...]
    """A TCP and a UDP socket; Unix sockets outside the project, inside it, and without a path; a datagram socket in
    the project.
    """
    segment: int
    """Id of a System V shared memory segment."""
    mark: int
    """Descriptor of the file that every module of the scene opens."""
    files: dict[str, object]
    """State of all files at the start."""
    standing: object
    """State of the other process at the start."""
    memory: int
    """Peak memory of this process in kilobytes at the start."""

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def temporary(self) -> Path:
        """Folder for the evaluator's temporary files."""
        return self.root / "tmp"

    @property
    def python(self) -> Path:
        """Interpreter of the environment that `furnish` makes."""
        return self.root / "venv/bin/python"

    @property
    def shared_file(self) -> Path:
        """File of the POSIX shared memory."""
        return _shared_file(self.secret)

    @property
    def constants(self) -> str:
        """Python code that defines the scene's constants for attacks."""
        tcp, udp, outside, inside, abstract, datagrams = self.listeners
        names = {
            "WORKSPACE": str(self.workspace),
            "VICTIM": str(self.workspace / "victim.txt"),
            "TOOL": str(self.workspace / "tool.sh"),
            "MARK": str(self.workspace / "mark"),
            "USER": str(self.home),
            "OUTSIDE": str(self.root / "outside"),
            "TOKEN": TOKEN,
            "PORT": tcp.getsockname()[1],
            "UDP_PORT": udp.getsockname()[1],
            "SOCKET": outside.getsockname(),
            "PROJECT_SOCKET": inside.getsockname(),
            "ABSTRACT_SOCKET": abstract.getsockname(),
            "DATAGRAM_SOCKET": datagrams.getsockname(),
            "SHARED": self.shared_file.name,
            "SEGMENT": self.segment,
            "BYSTANDER": self.bystander.pid,
            "POISON": f"poison-{self.secret[:6]}",
            "KILL_ALL": int(self.signal),
            "SYSCALLS": _SYSCALLS.get(platform.machine(), {}) | _NEW_SYSCALLS,
        }
        return "".join(f"{name} = {value!r}\n" for name, value in names.items())

    def module(self, body: str, attack: Attack | None = None) -> str:
        """Return a module with a function `f` of this body, and the attack's text around it."""
        top, bottom, examples = (attack.top, attack.bottom, attack.examples) if attack else ("", "", ">>> f(1)\n2")
        lines = indent(f'"""\n{dedent(examples).strip()}\n"""\n{dedent(body).strip()}', "    ")
        head = f"{self.constants}{_TOOLS}{_MARKED}\n{dedent(top).strip()}"
        return f"{head}\n\ndef f(x):\n{lines}\n\n{dedent(bottom).strip()}\n"

    def furnish(self, attack: Attack) -> Scene:
        """Add an attack's files and environment to the scene. Return the scene."""
        for name, text in attack.files.items():
            path = self.workspace / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{self.constants}{_TOOLS}\n{dedent(text).strip()}\n", encoding="utf-8")
        if attack.environment:
            self._make_environment(attack.environment)
        files = _state(self.root, self.shared_file)
        return replace(self, files=files, memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    def _make_environment(self, files: Mapping[str, str]) -> None:
        """Make a virtual environment based on this interpreter, and add `files` to it."""
        folder = self.root / "venv"
        base = BASE_PYTHON
        library = f"lib/python{sysconfig.get_python_version()}"
        (folder / "bin").mkdir(parents=True)
        (folder / library / "site-packages").mkdir(parents=True)
        self.python.symlink_to(base)
        home = base.parent
        if any(name.startswith("library/") for name in files):
            home = folder / "base/bin"
            home.mkdir(parents=True)
        (folder / "pyvenv.cfg").write_text(f"home = {home}\n", encoding="utf-8")
        places = {"packages": f"{library}/site-packages", "library": f"base/{library}"}
        for name, text in files.items():
            start, _, rest = name.partition("/")
            path = folder / places.get(start, start) / rest
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.write_text(self._with_constants(path, text), encoding="utf-8")
            path.chmod(0o755)

    def _with_constants(self, path: Path, text: str) -> str:
        match path.suffix:
            case ".pth":  # a `.pth` file needs a single line
                return f"import os; {'; '.join(self.constants.splitlines())}; {text}\n"
            case ".py":
                return f"{self.constants}\n{dedent(text).strip()}\n"
        return f"#!/bin/sh\nVICTIM='{self.workspace}/victim.txt'\n{dedent(text).strip()}\n"

    def harms(self) -> set[Harm]:
        """Return the harm to the scene that is visible from here."""
        found = set()
        if _state(self.root, self.shared_file) != self.files or _segment_byte(self.segment):
            found.add(Harm.VICTIM_CHANGED)
        if select.select(self.listeners, [], [], 0)[0]:
            found.add(Harm.REACHED)
        if _standing(self.bystander) != self.standing:
            found.add(Harm.BYSTANDER_HIT)
        if any(self.temporary.iterdir()):
            found.add(Harm.LITTERED)
        if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > self.memory + _MUCH_MEMORY:
            found.add(Harm.EXHAUSTED)
        return found

    @property
    def is_marked(self) -> bool:
        """Return True if a process with a module of this scene has the mark open.

        The kernel grants a lease for writing only if nobody else has the file open, in any namespace.
        """
        try:
            fcntl.fcntl(self.mark, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        except BlockingIOError:
            return True
        fcntl.fcntl(self.mark, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        return False


@contextmanager
def scene(root: Path, secret: str, signal: int) -> Iterator[Scene]:
    """Set the scene in the folder `root`, which must be empty."""
    with ExitStack() as cleanup:
        _make_files(root, secret, cleanup)
        bystander = _bystander(root, secret)
        cleanup.callback(_end, bystander)
        listeners = tuple(cleanup.enter_context(listener) for listener in _listeners(root, secret))
        segment = _LIBC.shmget(0, 4096, 0o1600)
        cleanup.callback(_LIBC.shmctl, segment, _RMID, None)
        mark = os.open(root / "workspace/mark", os.O_RDONLY)
        cleanup.callback(os.close, mark)
        yield Scene(
            root,
            secret,
            signal,
            bystander,
            listeners,
            segment,
            mark,
            _state(root, _shared_file(secret)),
            _standing(bystander),
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        )


_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.shmat.restype = ctypes.c_void_p
_LIBC.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
_LIBC.shmdt.argtypes = [ctypes.c_void_p]


def _shared_file(secret: str) -> Path:
    return Path("/dev/shm") / f"adacoder-{secret[:6]}"


def _make_files(root: Path, secret: str, cleanup: ExitStack) -> None:
    for name in _SECRET_FILES:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(secret, encoding="utf-8")
    (root / "tmp").mkdir()
    workspace = root / "workspace"
    for name in ("victim.txt", "mark", "src/inner.txt"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text("alive", encoding="utf-8")
    (workspace / "tool.sh").write_text("#!/bin/sh\n", encoding="utf-8")
    (workspace / "tool.sh").chmod(0o6755)
    (workspace / "way-out").symlink_to("../outside")
    shared = _shared_file(secret)
    shared.write_bytes(b"alive")
    cleanup.callback(shared.unlink, missing_ok=True)


def _bystander(root: Path, secret: str) -> subprocess.Popen[bytes]:
    """Start a process of the same user. Its environment and its standard input have the secret."""
    with (root / "outside/secret.txt").open("rb") as stdin:
        return subprocess.Popen(
            ["sleep", "3600"], env={**os.environ, TOKEN: secret}, stdin=stdin, cwd=root / "home", start_new_session=True
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _listeners(root: Path, secret: str) -> Iterator[socket.socket]:
    yield socket.create_server(("127.0.0.1", 0))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    yield udp
    for address in (str(root / "outside/server.sock"), str(root / "workspace/server.sock"), f"\0adacoder-{secret}"):
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(address)
        unix.listen()
        yield unix
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    datagrams.bind(str(root / "workspace/datagrams.sock"))
    yield datagrams


def _state(root: Path, *others: Path) -> dict[str, object]:
    """Return the state of the files below `root`, except temporary ones."""
    found: dict[str, object] = {}
    folders = [folder for folder in root.iterdir() if folder.name != "tmp"]
    for path in sorted([*folders, *(path for folder in folders for path in folder.rglob("*")), *others]):
        with suppress(FileNotFoundError):
            status = path.lstat()
            content: object = None
            if stat.S_ISLNK(status.st_mode):
                content = path.readlink()
            elif stat.S_ISREG(status.st_mode):
                content = (path.read_bytes(), _attributes(path), os.listxattr(path))
            found[str(path)] = (status.st_mode, status.st_uid, status.st_mtime_ns, status.st_nlink, content)
    return found


def _attributes(path: Path) -> int:
    """Return a file's attributes as set by chattr(1); 0 if the file system has none."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return int(struct.unpack("l", fcntl.ioctl(descriptor, _FS_IOC_GETFLAGS, bytes(8)))[0])
    except OSError:
        return 0
    finally:
        os.close(descriptor)


def _segment_byte(segment: int) -> int:
    address = _LIBC.shmat(segment, None, 0)
    try:
        return ctypes.string_at(address, 1)[0]
    finally:
        _LIBC.shmdt(address)


def _standing(process: subprocess.Popen[bytes]) -> object:
    """Return the state of a process that other processes could change."""
    if process.poll() is not None:
        return "ended"
    folder = Path("/proc") / str(process.pid)
    state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
    return (
        state in "Tt",
        os.getpriority(os.PRIO_PROCESS, process.pid),
        os.sched_getaffinity(process.pid),
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE),
        (folder / "oom_score_adj").read_text(),
    )
