"""The seccomp filters: their answers for each kind of machine, and the real kernel's behaviour on this one."""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adacoder.sandbox.isolation import syscalls
from adacoder.sandbox.isolation.seccomp import MACHINES, OWN_PID, UnsupportedMachine, child_filter, template_filter
from adacoder.sandbox.unavailable import SandboxError
from support import bpf
from support.bpf import ALLOW, KILL, Answer, Call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# numbers of Linux's system calls, whatever system runs the tests
SUCCESS, EPERM, EAGAIN, ENOSYS, EAFNOSUPPORT, ENETUNREACH = 0, 1, 11, 38, 97, 101

X86_64, AARCH64, I386, ARM = 0xC000003E, 0xC00000B7, 0x40000003, 0x40000028
ARCHITECTURE = {"x86_64": X86_64, "aarch64": AARCH64}
Case: TypeAlias = tuple[str, tuple[int, ...], Answer]
"""A system call's name and arguments, and the filter's answer."""

PID = 4711
HIGH = 1 << 32
"""A bit in the upper half of a register. The kernel ignores it for an `int` argument."""

UNTOUCHED: Mapping[str, tuple[int | None, int | None]] = {
    # numbers on x86-64 and arm64 of calls that no filter names
    "read": (0, 63),
    "write": (1, 64),
    "rt_sigaction": (13, 134),
    "recvmsg": (47, 212),
    "sendto": (44, 206),
    "wait4": (61, 260),
    "ftruncate": (77, 46),
    "creat": (85, None),
    "setrlimit": (160, 164),
    "futex": (202, 98),
    "exit_group": (231, 94),
    "seccomp": (317, 277),
    "rseq": (334, 293),
    "uretprobe": (335, None),
    "close_range": (436, 436),
    "landlock_restrict_self": (446, 446),
    "statmount": (457, 457),
    "listmount": (458, 458),
}
TOO_NEW_FOR_LIBSECCOMP = frozenset(
    ["fchmodat2", "lsm_set_self_attr", "setxattrat", "removexattrat", "open_tree_attr", "file_setattr"]
)
"""Calls that libseccomp 2.5, a common version, does not know."""


def number(machine: str, name: str) -> int | None:
    """Return the call's number; None if the machine has no such call."""
    if name in UNTOUCHED:
        return UNTOUCHED[name][list(ARCHITECTURE).index(machine)]
    return next(iter(syscalls.MACHINES[machine].numbers([name])), None)


def template(machine: str, *, files: bool = True, signals: bool = False) -> bytes:
    return template_filter(machine, files=files, signals=signals)


def child(machine: str) -> bytes:
    return child_filter(machine).replace(struct.pack("<I", OWN_PID), struct.pack("<I", PID))


def answer(program: bytes, machine: str, name: str, arguments: tuple[int, ...]) -> Answer:
    called = number(machine, name)
    assert called is not None
    return bpf.run(program, Call(ARCHITECTURE[machine], called, arguments))


def on_each_machine(cases: Sequence[Case]) -> pytest.MarkDecorator:
    """Run a test for each case, on each kind of machine that has the call."""
    values = [
        (machine, *case) for machine in sorted(MACHINES) for case in cases if number(machine, case[0]) is not None
    ]
    return pytest.mark.parametrize(("machine", "name", "arguments", "expected"), values, ids=str)


def plain(expected: Answer, calls: str) -> list[Case]:
    """Return calls whose answer does not depend on their arguments."""
    return [(name, (), expected) for name in calls.split()]


O_RDONLY, O_WRONLY, O_RDWR, O_NEITHER, O_CREAT, O_TRUNC = 0, 1, 2, 3, 0o100, 0o1000
CLONE_THREAD, CLONE_FILES = 0x10000, 0x400
THREAD = 0x3D0F00  # the C library's arguments to start a thread
FORK = 0x1200011  # the C library's arguments to fork
NEW_NAMESPACES = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
AF_UNIX, AF_INET, AF_TIPC = 1, 2, 30
SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_CLOEXEC = 1, 2, 3, 5, 0x80000
F_DUPFD, F_GETFL, F_GETLK, F_SETLK, F_SETLKW, F_SETOWN, F_SETSIG, F_SETOWN_EX = 0, 3, 5, 6, 7, 8, 10, 15
F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW, F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ = 36, 37, 38, 1024, 1026, 1031
F_SET_RW_HINT, F_SET_FILE_RW_HINT, F_SETDELEG = 1036, 1038, 1040
TCGETS, TIOCSTI, TIOCLINUX, FIONREAD, FIOSETOWN, SIOCSPGRP = 0x5401, 0x5412, 0x541C, 0x541B, 0x8901, 0x8902
FICLONE, FICLONERANGE = 0x40049409, 0x4020940D
FS_IOC_SETFLAGS, FS_IOC_ENABLE_VERITY, FS_IOC_SETVERSION, FS_IOC_FSSETXATTR = (
    0x40086602,
    0x40806685,
    0x40087602,
    0x401C5820,
)
BTRFS_IOC_SNAP_DESTROY, F2FS_IOC_SET_PIN_FILE = 0x5000940F, 0x4004F50D
MAP_SHARED, MAP_PRIVATE, MAP_SHARED_VALIDATE, MAP_ANONYMOUS = 1, 2, 3, 0x20
PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_SECCOMP = 1, 15, 22

ALWAYS = [
    ("socket", (AF_INET, SOCK_STREAM), EAFNOSUPPORT),
    ("socket", (AF_UNIX, SOCK_STREAM), EAFNOSUPPORT),
    *plain(ENETUNREACH, "connect bind listen accept accept4 sendmmsg recvmmsg"),
    ("socketpair", (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC), ALLOW),
    ("socketpair", (AF_UNIX, SOCK_SEQPACKET), ALLOW),
    ("socketpair", (AF_UNIX, SOCK_DGRAM), EAFNOSUPPORT),
    ("socketpair", (AF_UNIX, SOCK_RAW | SOCK_CLOEXEC), EAFNOSUPPORT),
    ("socketpair", (AF_TIPC, SOCK_STREAM), EAFNOSUPPORT),
    *plain(ENOSYS, "clone3 openat2 io_uring_setup io_uring_enter io_uring_register io_setup"),
    *[("mmap", (0, 1 << 20, 3, flags, -1, 0), ALLOW) for flags in (0, MAP_SHARED, MAP_PRIVATE | MAP_ANONYMOUS)],
    *[("mmap", (0, 4096, 3, HIGH | kind | MAP_ANONYMOUS, -1, 0), EPERM) for kind in (MAP_SHARED, MAP_SHARED_VALIDATE)],
    *plain(EPERM, "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease pidfd_getfd kcmp"),
    *plain(EPERM, "pidfd_send_signal rt_sigqueueinfo rt_tgsigqueueinfo"),
    *plain(EPERM, "unshare setns mount umount2 pivot_root chroot move_mount open_tree open_tree_attr mount_setattr"),
    *plain(EPERM, "fsopen fsconfig fsmount fspick name_to_handle_at open_by_handle_at fanotify_init mknod mknodat"),
    *plain(EPERM, "bpf perf_event_open userfaultfd personality modify_ldt ioperm iopl keyctl add_key request_key"),
    *plain(EPERM, "init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff acct"),
    *plain(EPERM, "quotactl quotactl_fd settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname"),
    *plain(EPERM, "setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid capset"),
    *plain(EPERM, "shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl mq_open mq_unlink"),
    *plain(
        EPERM,
        "mlock mlock2 mlockall memfd_create memfd_secret vmsplice lsm_set_self_attr syslog vhangup lookup_dcookie",
    ),
    *plain(EPERM, "sched_setaffinity sched_setscheduler sched_setparam sched_setattr setpriority ioprio_set"),
    *plain(EPERM, "migrate_pages move_pages mbind set_mempolicy set_mempolicy_home_node"),
    # calls to start, to fork, and to restrict further
    *plain(ALLOW, "fork vfork execve execveat setsid setpgid pidfd_open prctl"),
    *plain(ALLOW, " ".join(UNTOUCHED)),
    ("clone", (FORK,), ALLOW),
    ("clone", (THREAD,), ALLOW),
    *[("clone", (FORK | flag,), EPERM) for flag in NEW_NAMESPACES],
    ("prlimit64", (0, 7), ALLOW),
    ("prlimit64", (HIGH, 7), ALLOW),
    ("prlimit64", (1, 7), EPERM),
    ("ioctl", (0, TCGETS), ALLOW),
    ("ioctl", (0, FIONREAD), ALLOW),
    ("ioctl", (0, FICLONE), ALLOW),
    ("ioctl", (0, FICLONERANGE), ALLOW),
    *[("ioctl", (0, HIGH | control), EPERM) for control in (TIOCSTI, TIOCLINUX, FIOSETOWN, SIOCSPGRP)],
    *[("fcntl", (0, control), ALLOW) for control in (F_DUPFD, F_GETFL, F_GETLK, F_OFD_GETLK)],
    *[("fcntl", (0, HIGH | control), EPERM) for control in (F_SETOWN, F_SETSIG, F_SETOWN_EX)],
    *[("fcntl", (0, HIGH | control), EPERM) for control in (F_SETLEASE, F_NOTIFY, F_SETPIPE_SZ)],
    *[("fcntl", (0, HIGH | control), EPERM) for control in (F_SET_RW_HINT, F_SET_FILE_RW_HINT, F_SETDELEG)],
    *[("fcntl", (0, HIGH | control), SUCCESS) for control in (F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW)],
    *plain(SUCCESS, "flock"),
    *plain(EPERM, "chown fchown lchown fchownat file_setattr inotify_init inotify_init1 inotify_add_watch"),
    *plain(EPERM, "setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat"),
    *[("ioctl", (0, HIGH | control), EPERM) for control in (FS_IOC_SETFLAGS, FS_IOC_ENABLE_VERITY)],
    *[("ioctl", (0, HIGH | control), EPERM) for control in (FS_IOC_SETVERSION, FS_IOC_FSSETXATTR)],
    *[("ioctl", (0, HIGH | control), EPERM) for control in (BTRFS_IOC_SNAP_DESTROY, F2FS_IOC_SET_PIN_FILE)],
    *[("openat", (0, 0, flags), ALLOW) for flags in (O_RDONLY, O_NEITHER, O_RDONLY | O_CREAT)],
    *[("openat", (0, 0, mode | O_CREAT | O_TRUNC), ALLOW) for mode in (O_WRONLY, O_RDWR)],
    *[("openat", (0, 0, mode | O_CREAT | O_TRUNC), EPERM) for mode in (O_RDONLY, O_NEITHER)],
    *[("open", (0, flags, 0), ALLOW) for flags in (O_NEITHER, O_WRONLY | O_TRUNC, O_RDWR | O_CREAT | O_TRUNC)],
    *[("open", (0, mode | O_TRUNC, 0), EPERM) for mode in (O_RDONLY, O_NEITHER)],
]
FILES = [
    *plain(EPERM, "chmod fchmod fchmodat fchmodat2 utime utimes futimesat utimensat truncate sendmsg"),
]
SIGNALS = plain(EPERM, "kill tkill tgkill")
CHILD = [
    *plain(EAGAIN, "fork vfork execve execveat"),
    *plain(ENOSYS, "clone3"),
    *plain(EPERM, "setsid setpgid pidfd_open tkill rt_sigqueueinfo rt_tgsigqueueinfo"),
    ("clone", (THREAD,), ALLOW),
    *[("clone", (THREAD & ~flag,), EAGAIN) for flag in (CLONE_THREAD, CLONE_FILES)],
    ("clone", (FORK,), EAGAIN),
    ("clone", (FORK | CLONE_THREAD * HIGH,), EAGAIN),
    ("kill", (PID, 9), ALLOW),
    ("kill", (HIGH | PID, 9), ALLOW),
    *[("kill", (goal, 9), EPERM) for goal in (0, 1, -1, -PID, PID + 1, OWN_PID)],
    ("tgkill", (PID, 1, 9), ALLOW),
    *[("tgkill", (goal, PID, 9), EPERM) for goal in (0, 1, -1, PID + 1)],
    ("prctl", (PR_SET_NAME,), ALLOW),
    ("prctl", (PR_SET_SECCOMP,), ALLOW),
    ("prctl", (PR_SET_PDEATHSIG, 0), EPERM),
    *plain(EPERM, "chmod fchmodat fchmodat2 utime utimes futimesat landlock_create_ruleset landlock_add_rule"),
    ("fchmod", (3, 0), ALLOW),
    ("utimensat", (3, 0, 0, 0), ALLOW),
    *[("utimensat", (3, path, 0, 0), EPERM) for path in (1, HIGH, 0x7FFF_0000_0000, 0xFFFF_FFFF)],
    *plain(ALLOW, " ".join(UNTOUCHED)),
]


def variants(machine: str) -> list[bytes]:
    templates = [
        template(machine, files=files, signals=signals) for files in (False, True) for signals in (False, True)
    ]
    return [*templates, child(machine)]


@on_each_machine(ALWAYS)
def test_every_template_filter_answers(machine: str, name: str, arguments: tuple[int, ...], expected: Answer) -> None:
    for program in variants(machine)[:4]:
        assert answer(program, machine, name, arguments) == expected


@on_each_machine(FILES)
def test_files_are_held_where_asked(machine: str, name: str, arguments: tuple[int, ...], expected: Answer) -> None:
    assert answer(template(machine, files=True), machine, name, arguments) == expected
    assert answer(template(machine, files=False), machine, name, arguments) == ALLOW


@on_each_machine(SIGNALS)
def test_signals_are_denied_where_asked(machine: str, name: str, arguments: tuple[int, ...], expected: Answer) -> None:
    assert answer(template(machine, signals=True), machine, name, arguments) == expected
    assert answer(template(machine, signals=False), machine, name, arguments) == ALLOW


@on_each_machine(CHILD)
def test_the_child_filter_answers(machine: str, name: str, arguments: tuple[int, ...], expected: Answer) -> None:
    assert answer(child(machine), machine, name, arguments) == expected


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_numbers_that_mean_other_calls_are_not_looked_up(machine: str) -> None:
    own, read = ARCHITECTURE[machine], number(machine, "read")
    assert read is not None
    for program in variants(machine):
        assert bpf.run(program, Call(own, read)) == ALLOW
        for other in {X86_64, AARCH64, I386, ARM} - {own}:
            assert bpf.run(program, Call(other, read)) == KILL
        assert bpf.run(program, Call(own, 0x4000_0000 | read)) == ENOSYS, "the x32 form"


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_calls_that_are_not_known_yet_are_answered_as_older_kernels_do(machine: str) -> None:
    first_unassigned = {"x86_64": 337, "aarch64": 295}[machine]
    for program in variants(machine):
        for known in (first_unassigned - 1, 424, 469):
            assert bpf.run(program, Call(ARCHITECTURE[machine], known)) != ENOSYS
        for unknown in (first_unassigned, 423, 470, 471, 512, 0x7FFF_FFFF, 0xFFFF_FFFF):
            assert bpf.run(program, Call(ARCHITECTURE[machine], unknown)) == ENOSYS


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_a_filter_without_its_process_denies_every_signal(machine: str) -> None:
    unbound = child_filter(machine)
    assert unbound.count(struct.pack("<I", OWN_PID)) == 1
    for goal in (PID, 1, 0, -1):
        assert answer(unbound, machine, "kill", (goal, 9)) == EPERM
    assert answer(child(machine), machine, "kill", (PID, 9)) == ALLOW
    assert OWN_PID > 1 << 22, "more than the greatest process id that Linux gives"


@given(
    machine=st.sampled_from(sorted(MACHINES)),
    architecture=st.sampled_from([X86_64, AARCH64]) | st.integers(0, 2**32 - 1),
    called=st.integers(0, 480) | st.integers(0, 2**32 - 1),
    arguments=st.lists(st.integers(0, 2**64 - 1), max_size=6).map(tuple),
)
def test_whatever_is_called_gets_an_answer(
    machine: str, architecture: int, called: int, arguments: tuple[int, ...]
) -> None:
    for program in variants(machine):
        answered = bpf.run(program, Call(architecture, called, arguments))
        assert answered in {ALLOW, KILL, SUCCESS, EPERM, EAGAIN, ENOSYS, EAFNOSUPPORT, ENETUNREACH}
        assert (answered == KILL) == (architecture != ARCHITECTURE[machine])


def test_the_child_filter_is_small() -> None:
    """The filter is loaded for each evaluation, at a cost that grows with its length."""
    for machine in MACHINES:
        assert len(bpf.load(child(machine))) <= 64


def test_other_machines_are_named_in_the_error() -> None:
    assert issubclass(UnsupportedMachine, SandboxError)
    for make in (child_filter, template):
        with pytest.raises(UnsupportedMachine, match=r"for riscv64: .* aarch64 or x86_64\.$"):
            make("riscv64")


def instructions(*steps: tuple[int, int, int, int]) -> bytes:
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


ALLOWING = (bpf.RETURN, 0, 0, 0x7FFF_0000)


@pytest.mark.parametrize(
    "program",
    [
        b"",
        instructions(ALLOWING)[:-1],
        instructions(ALLOWING, (bpf.LOAD, 0, 0, 0)),
        instructions((bpf.LOAD, 0, 0, 2), ALLOWING),
        instructions((bpf.LOAD, 0, 0, 64), ALLOWING),
        instructions((bpf.IF_EQUAL, 1, 0, 0), ALLOWING),
        instructions((bpf.IF_EQUAL, 0, 1, 0), ALLOWING),
        instructions((0x28, 0, 0, 0), ALLOWING),
        instructions(ALLOWING) * 4097,
    ],
)
def test_the_interpreter_refuses_what_the_kernel_does(program: bytes) -> None:
    with pytest.raises(bpf.Refused):
        bpf.load(program)
    bpf.load(instructions((bpf.LOAD, 0, 0, 60), (bpf.IF_EQUAL, 0, 0, 0), ALLOWING))


@pytest.mark.parametrize("machine", sorted(MACHINES))
def test_libseccomp_knows_the_calls_by_the_same_numbers(machine: str) -> None:
    name = ctypes.util.find_library("seccomp")
    if name is None:
        pytest.skip("libseccomp is not installed")
    resolve = ctypes.CDLL(name).seccomp_syscall_resolve_name_arch
    resolve.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
    checked = 0
    for call in [*syscalls._TABLE, *syscalls._SHARED, *UNTOUCHED]:
        theirs = resolve(ARCHITECTURE[machine], call.encode())
        if theirs == -1:  # __NR_SCMP_ERROR: libseccomp does not know this call
            assert call in TOO_NEW_FOR_LIBSECCOMP | {"statmount", "listmount", "uretprobe"}
            continue
        checked += 1
        # libseccomp's numbers below -1 mean that a machine lacks the call
        assert number(machine, call) == (theirs if theirs >= 0 else None), call
    assert checked > 150


HEADER = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")


@pytest.mark.skipif(not HEADER.exists(), reason="the headers of an x86-64 kernel are not installed")
def test_the_kernels_headers_know_the_calls_by_the_same_numbers() -> None:
    theirs = dict(re.findall(r"#define __NR_(\w+) (\d+)", HEADER.read_text(encoding="ascii")))
    for call in {*syscalls._TABLE, *syscalls._SHARED} - TOO_NEW_FOR_LIBSECCOMP:
        assert number("x86_64", call) == int(theirs[call]), call


ATTEMPTS = r"""
import asyncio, concurrent.futures, ctypes, errno, fcntl, json, os, resource, signal, socket, sqlite3, struct
import subprocess, sys, tempfile, threading

libc = ctypes.CDLL(None, use_errno=True)
PARENT = os.getppid()

def load(program):
    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
    prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    prctl(22, 2, ctypes.byref(Program(len(program) // 8, program)), 0, 0)  # PR_SET_SECCOMP

def prctl(*arguments):
    if libc.prctl(*arguments) != 0:
        raise OSError(ctypes.get_errno(), "prctl")

def thread():
    done = []
    worker = threading.Thread(target=done.append, args=[1])
    worker.start()
    worker.join()
    assert done

def pool():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(abs, range(10))) == 45

def pair():
    one, other = socket.socketpair()
    one.sendall(b"x")
    assert other.recv(1) == b"x"

def fork():
    pid = os.fork()
    if not pid:
        os._exit(0)
    os.waitpid(pid, 0)

def truncate_by_opening():
    os.close(os.open(path, os.O_RDONLY | os.O_TRUNC))

def file():
    with open(path, "r+b") as opened:
        opened.write(b"something")
        opened.truncate(4)
    assert open(path, "rb").read() == b"some"

def flock():
    with open(path) as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)

def database():
    with sqlite3.connect(os.path.join(folder, "data")) as data:
        data.execute("create table t (x)")
    data.close()

def lock():
    with open(path, "r+b") as opened:
        fcntl.lockf(opened, fcntl.LOCK_EX)

def attribute():
    try:
        os.setxattr(path, "user.own", b"1")
    except OSError as error:
        if error.errno != errno.ENOTSUP:  # not every file system has them
            raise

def watch():
    descriptor = libc.inotify_init()
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "inotify_init")
    os.close(descriptor)

def times_of_open():
    with open(path) as opened:
        os.utime(opened.fileno())

def own(control, *number):
    reading, _ = os.pipe()
    control(reading, *number, PARENT)

folder = tempfile.mkdtemp(dir=sys.argv[1])
path = os.path.join(folder, "file")
open(path, "w").close()
for program in sys.argv[2:]:
    load(bytes.fromhex(program).replace(b"pid?", struct.pack("<I", os.getpid())))

attempts = {
    "thread": thread,
    "pool": pool,
    "asyncio": lambda: asyncio.run(asyncio.sleep(0)),
    "database": database,
    "file": file,
    "socket": socket.socket,
    "pair": pair,
    "datagrams": lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
    "fork": fork,
    "program": lambda: subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True),
    "signal self": lambda: os.kill(os.getpid(), 0),
    "signal thread": lambda: signal.pthread_kill(threading.get_ident(), 0),
    "signal parent": lambda: os.kill(PARENT, 0),
    "own a pipe": lambda: own(fcntl.fcntl, fcntl.F_SETOWN),
    "limit parent": lambda: resource.prlimit(PARENT, resource.RLIMIT_NOFILE),
    "limit self": lambda: resource.prlimit(0, resource.RLIMIT_NOFILE),
    "hold parent": lambda: os.close(os.pidfd_open(PARENT)),
    "outlive parent": lambda: prctl(1, 0, 0, 0, 0),
    "leave group": lambda: os.setpgid(0, 0),
    "slow down": lambda: os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0)),
    "chmod": lambda: os.chmod(path, 0o600),
    "fchmod": lambda: os.chmod(os.open(path, os.O_RDONLY), 0o600),
    "chown": lambda: os.chown(path, os.getuid(), os.getgid()),
    "times of open": times_of_open,
    "watch": watch,
    "name an attribute": attribute,
    "lock": lock,
    "utime": lambda: os.utime(path),
    "truncate": lambda: os.truncate(path, 0),
    "truncate by opening": truncate_by_opening,
    "flock": flock,
}
answers = {}
for name, attempt in attempts.items():
    try:
        attempt()
        answers[name] = None
    except OSError as error:
        answers[name] = error.errno
print(json.dumps(answers))
"""

needs_kernel = pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine not in MACHINES, reason="there is no filter for this machine"
)


def attempted(folder: Path, *programs: bytes) -> dict[str, int]:
    """Return the calls that these filters deny in a process, with the errno of each."""
    command = [sys.executable, "-c", ATTEMPTS, str(folder), *(program.hex() for program in programs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    answers: dict[str, int | None] = json.loads(done.stdout)
    return {name: answered for name, answered in answers.items() if answered is not None}


ALWAYS_DENIED = {
    "socket": errno.EAFNOSUPPORT,
    "datagrams": errno.EAFNOSUPPORT,
    "own a pipe": errno.EPERM,
    "limit parent": errno.EPERM,
    "slow down": errno.EPERM,
    "truncate by opening": errno.EPERM,
    "chown": errno.EPERM,
    "watch": errno.EPERM,
    "name an attribute": errno.EPERM,
}


@needs_kernel
def test_without_a_filter_all_attempts_succeed(tmp_path: Path) -> None:
    assert attempted(tmp_path) == {}


@needs_kernel
def test_the_kernel_denies_by_the_template_filter(tmp_path: Path) -> None:
    machine = os.uname().machine
    assert attempted(tmp_path, template(machine, files=False)) == ALWAYS_DENIED
    held = dict.fromkeys(["chmod", "fchmod", "utime", "times of open", "truncate"], errno.EPERM)
    assert attempted(tmp_path, template(machine, files=True)) == ALWAYS_DENIED | held
    silent = dict.fromkeys(["signal self", "signal thread", "signal parent"], errno.EPERM)
    assert attempted(tmp_path, template(machine, signals=True)) == ALWAYS_DENIED | held | silent


@needs_kernel
def test_the_kernel_denies_by_the_child_filter(tmp_path: Path) -> None:
    machine = os.uname().machine
    alone = dict.fromkeys(["fork", "program"], errno.EAGAIN) | dict.fromkeys(
        ["signal parent", "hold parent", "outlive parent", "leave group", "chmod", "utime"], errno.EPERM
    )
    assert attempted(tmp_path, child_filter(machine)) == alone
    assert attempted(tmp_path, template(machine, files=False), child_filter(machine)) == ALWAYS_DENIED | alone
    attributes = dict.fromkeys(["fchmod", "times of open"], errno.EPERM)
    assert attempted(tmp_path, child_filter(machine, owns_devices=True)) == alone | attributes
