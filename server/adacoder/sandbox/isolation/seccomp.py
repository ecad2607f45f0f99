"""Seccomp programs of the sandbox: the denied system calls, and the answer to each (seccomp(2)).

The programs are in classic BPF. The *template* filter applies to the user's interpreter and all its descendants, from
before its start. The *child* filter is added for the process of one evaluation, and denies the calls that only its
template needs. It is small because it is loaded for each evaluation. This module only writes the programs, as the array
of `struct sock_filter` that prctl(PR_SET_SECCOMP) takes, for any supported machine. If several filters apply, the
kernel uses the strictest answer.

A call that is not denied is allowed, except for calls that the filters do not know yet. Locks on files are an
exception: the call reports success, but no lock is taken. The other answers show the reason:

    EAFNOSUPPORT, ENETUNREACH   the network
    EAGAIN                      a new process or program
    ENOSYS                      a call with an older form, which libraries fall back to
    EPERM                       anything else
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, TypeAlias

from adacoder.sandbox.isolation import syscalls
from adacoder.sandbox.isolation.syscalls import NEWEST, Machine
from adacoder.sandbox.unavailable import SandboxError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MACHINES = frozenset(syscalls.MACHINES)
"""Supported machines, as uname(2) names them."""

OWN_PID = int.from_bytes(b"pid?", "little")
"""Placeholder in the child filter for the process's own id, as 4 little-endian bytes that occur nowhere else.

No process has this id, so a filter in which it was not replaced denies every signal.
"""


class UnsupportedMachine(SandboxError):
    """There is no filter for this kind of machine."""

    def __init__(self, machine: str) -> None:
        known = " or ".join(sorted(MACHINES))
        super().__init__(f"There are no system call filters for {machine}: to confine code by them, run it on {known}.")


def template_filter(machine: str, *, files: bool, signals: bool) -> bytes:
    """Return the filter for the start of the user's interpreter. Fork, exec and further locks stay allowed.

    `machine` is as in uname(2). `files` also denies changes to files that Landlock does not control, even through open
    descriptors. It is needed if there are no read-only mounts. `signals` also denies every signal. It is needed if
    there is neither a process namespace nor a Landlock scope. Raises UnsupportedMachine.
    """
    known = _machine(machine)
    denials = [*_ALWAYS, *(_FILES if files else ()), *(_SIGNALS if signals else ())]
    return _assemble(
        *_foreign(known),
        # The frequent calls come first that cannot be decided by number alone.
        *_on(known, "open", _truncation(1)),
        *_on(known, "openat", _truncation(2)),
        *_on(known, "mmap", _NO_SHARED_MEMORY),
        *_on(known, "fcntl", _COMMANDS),
        *_on(known, "ioctl", (*_CONTROLS, *_ALLOW)),
        *_on(known, "socketpair", _CONNECTED_PAIRS),
        *_on(known, "clone", _NO_NAMESPACES),
        *_on(known, "prlimit64", _OWN_LIMITS),
        *_deny(known, denials),
        *_ALLOW,
    )


def importer_filter(machine: str, *, owns_devices: bool = False, signals: bool) -> bytes:
    """Return the filter of a process that imports a module, and then forks the evaluations of its examples.

    It denies the same calls as an evaluation's filter, except calls needed for importing and forking. `signals`: True
    if the process could otherwise send signals to other processes. In that case, its evaluations cannot send any
    signals, because the filter also covers them. The other arguments are as for `child_filter`.
    """
    known = _machine(machine)
    return _assemble(
        *_foreign(known),
        *(_on(known, "kill tgkill", _OWN_SIGNALS) if signals else ()),
        *(() if owns_devices else _on(known, "utimensat", _BY_DESCRIPTOR)),
        *_on(known, "prctl", _ADOPTING),
        *_deny(known, [*_IMPORTER, *(_ATTRIBUTES if owns_devices else ())]),
        *_ALLOW,
    )


def child_filter(machine: str, *, owns_devices: bool = False) -> bytes:
    """Return the filter of an evaluation's process.

    The process may have no children, and may send signals only to itself.

    The process cannot change the attributes of a file that it cannot open, because only Landlock knows which files are
    its own. With `owns_devices`, it cannot change any attributes: device nodes can be opened, and root could deny
    everyone access to them.

    The filter must be loaded last, over the template's filter and with OWN_PID replaced. `machine` is as in uname(2).
    Raises UnsupportedMachine.
    """
    known = _machine(machine)
    return _assemble(
        *_foreign(known),
        *_on(known, "clone", _THREADS),
        *_on(known, "kill tgkill", _OWN_SIGNALS),
        *_on(known, "prctl", _BOUND_TO_PARENT),
        *(() if owns_devices else _on(known, "utimensat", _BY_DESCRIPTOR)),
        *_deny(known, [*_CHILD, *_IMPORTER, *(_ATTRIBUTES if owns_devices else ())]),
        *_ALLOW,
    )


def _machine(name: str) -> Machine:
    if name not in syscalls.MACHINES:
        raise UnsupportedMachine(name)
    return syscalls.MACHINES[name]


# --- classic BPF: linux/filter.h, linux/seccomp.h ---------------------------------------------


class Errno(IntEnum):
    """Linux's error numbers, the same on any system."""

    SUCCESS = 0
    """The call does nothing, and reports success."""
    EPERM = 1
    EAGAIN = 11
    ENOSYS = 38
    EAFNOSUPPORT = 97
    ENETUNREACH = 101


@dataclass(frozen=True, slots=True)
class _Instruction:
    """A `struct sock_filter`."""

    code: int
    operand: int
    if_true: int = 0
    """Number of instructions to skip if the comparison holds, at most 255."""
    if_false: int = 0
    """Number of instructions to skip if it does not hold, at most 255."""


_Block: TypeAlias = tuple[_Instruction, ...]
"""Consecutive instructions. Jumps stay within the block, or lead to the instruction right after it."""

_LOAD, _AND, _RETURN = 0x20, 0x54, 0x06
_IF_EQUAL, _IF_GREATER, _IF_AT_LEAST, _IF_ANY_BIT = 0x15, 0x25, 0x35, 0x45


def _assemble(*program: _Instruction) -> bytes:
    return b"".join(struct.pack("<HBBI", step.code, step.if_true, step.if_false, step.operand) for step in program)


def _load(offset: int) -> _Block:
    """Load a word of `struct seccomp_data`."""
    return (_Instruction(_LOAD, offset),)


_LOAD_NUMBER = _load(0)
_LOAD_ARCHITECTURE = _load(4)


def _load_argument(index: int) -> _Block:
    """Load the low word of a call's argument. The kernel reads no more of the arguments that are used here."""
    return _load(16 + 8 * index)


def _mask(bits: int) -> _Block:
    return (_Instruction(_AND, bits),)


def _answer(errno: Errno) -> _Block:
    """End the program by denying the call with this error."""
    return (_Instruction(_RETURN, 0x0005_0000 | errno),)


_ALLOW: _Block = (_Instruction(_RETURN, 0x7FFF_0000),)
_KILL_PROCESS: _Block = (_Instruction(_RETURN, 0x8000_0000),)

# Each of these functions runs `then` on a condition. `then` must end the program. Otherwise, the program continues
# after it.


def _if_any(values: Iterable[int], then: _Block) -> _Block:
    """Run `then` if one of the non-empty `values` is loaded."""
    *others, last = values
    tests = [_Instruction(_IF_EQUAL, value, if_true=len(others) - place) for place, value in enumerate(others)]
    return (*tests, _Instruction(_IF_EQUAL, last, if_false=len(then)), *then)


def _unless(value: int, then: _Block) -> _Block:
    """Run `then` if any value other than `value` is loaded."""
    return (_Instruction(_IF_EQUAL, value, if_true=len(then)), *then)


def _if_bits(bits: int, then: _Block) -> _Block:
    """Run `then` if any of `bits` is set in the loaded word."""
    return (_Instruction(_IF_ANY_BIT, bits, if_false=len(then)), *then)


def _if_above(value: int, then: _Block) -> _Block:
    """Run `then` if the loaded word is greater than `value`."""
    return (_Instruction(_IF_GREATER, value, if_false=len(then)), *then)


def _if_within(values: range, then: _Block) -> _Block:
    """Run `then` if the loaded word is in this range."""
    above = _Instruction(_IF_AT_LEAST, values.stop, if_true=len(then))
    return (_Instruction(_IF_AT_LEAST, values.start, if_false=1 + len(then)), above, *then)


# --- denied regardless of arguments ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Denial:
    """System calls, separated by spaces, that are denied with `errno`."""

    errno: Errno
    calls: str


_ALWAYS = (
    # No network. Socket pairs that are connected from the start stay allowed (below), because asyncio wakes itself with
    # one.
    _Denial(Errno.EAFNOSUPPORT, "socket"),
    _Denial(Errno.ENETUNREACH, "connect bind listen accept accept4 sendmmsg recvmmsg"),
    # The arguments of these calls are in memory, which filters cannot see, or the calls do the work of other calls
    # unseen.
    _Denial(Errno.ENOSYS, "clone3 openat2 io_uring_setup io_uring_enter io_uring_register io_setup"),
    # No access to other processes' memory, descriptors or signals by ways that the rules for kill do not cover.
    _Denial(Errno.EPERM, "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp"),
    _Denial(Errno.EPERM, "pidfd_getfd pidfd_send_signal rt_sigqueueinfo rt_tgsigqueueinfo"),
    # No namespaces and mounts, which would undo the file system that the sandbox shows.
    _Denial(Errno.EPERM, "unshare setns chroot pivot_root mount umount2 mount_setattr"),
    _Denial(Errno.EPERM, "open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick"),
    # Access to files only by their paths, because Landlock and mounts confine paths. No device files.
    _Denial(Errno.EPERM, "name_to_handle_at open_by_handle_at fanotify_init mknod mknodat"),
    # A lock would make all others wait, and any process that can open a file for reading can lock it. Other processes
    # cannot open the evaluation's own files, so a lock that is not taken does no harm.
    _Denial(Errno.SUCCESS, "flock"),
    # No attributes that outlast their file's content, and no watches on other activity. A user has few watches.
    _Denial(Errno.EPERM, "chown fchown lchown fchownat file_setattr"),
    _Denial(Errno.EPERM, "setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat"),
    _Denial(Errno.EPERM, "inotify_init inotify_init1 inotify_add_watch"),
    # No parts of the kernel that only administrators need, or that attacks on the kernel often start with.
    _Denial(Errno.EPERM, "bpf perf_event_open userfaultfd personality modify_ldt iopl ioperm lookup_dcookie syslog"),
    _Denial(Errno.EPERM, "init_module finit_module delete_module kexec_load kexec_file_load reboot vhangup"),
    _Denial(Errno.EPERM, "swapon swapoff acct quotactl quotactl_fd sethostname setdomainname"),
    _Denial(Errno.EPERM, "settimeofday clock_settime adjtimex clock_adjtime"),
    # No change of user, and no additional rights.
    _Denial(Errno.EPERM, "setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid"),
    _Denial(Errno.EPERM, "capset lsm_set_self_attr add_key request_key keyctl"),
    # No memory that its limit does not count, that cannot be swapped out, or that outlives the process.
    _Denial(Errno.EPERM, "shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl"),
    _Denial(Errno.EPERM, "mq_open mq_unlink mlock mlock2 mlockall memfd_create memfd_secret vmsplice"),
    # No influence on when and where processes run, because these calls affect all of the user's processes.
    _Denial(Errno.EPERM, "sched_setaffinity sched_setscheduler sched_setparam sched_setattr setpriority ioprio_set"),
    _Denial(Errno.EPERM, "migrate_pages move_pages mbind set_mempolicy set_mempolicy_home_node"),
)

_FILES = (
    # These calls need no right that Landlock controls, and could change the user's own files.
    _Denial(Errno.EPERM, "chmod fchmod fchmodat fchmodat2 utime utimes futimesat utimensat"),
    # Landlock controls this call only from ABI 3 on.
    _Denial(Errno.EPERM, "truncate"),
    # A deleted file can stay in a message with its descriptor, where no limit counts its size.
    _Denial(Errno.EPERM, "sendmsg"),
)

_SIGNALS = (
    # An id may belong to any of the user's processes, and the template's filter cannot know each child's own id.
    _Denial(Errno.EPERM, "kill tkill tgkill"),
)

_CHILD = (
    # One process for each evaluation, so that the process that is judged is also the one that is killed at the end.
    _Denial(Errno.EAGAIN, "fork vfork"),
    _Denial(Errno.ENOSYS, "clone3"),
)

_IMPORTER = (
    _Denial(Errno.EAGAIN, "execve execveat"),
    # The process stays in its session and group, and gets no handle to other processes.
    _Denial(Errno.EPERM, "setsid setpgid pidfd_open tkill rt_sigqueueinfo rt_tgsigqueueinfo"),
    # A path may lead to the folder of another evaluation. Landlock decides which files get a descriptor.
    _Denial(Errno.EPERM, "chmod fchmodat fchmodat2 utime utimes futimesat"),
    # A Landlock rule pins the file that it names, even after the file is deleted.
    _Denial(Errno.EPERM, "landlock_create_ruleset landlock_add_rule"),
)

_ATTRIBUTES = (_Denial(Errno.EPERM, "fchmod utimensat"),)


def _deny(machine: Machine, denials: Iterable[_Denial]) -> Iterator[_Instruction]:
    """Deny calls by the loaded number."""
    listed = [*denials]
    for errno in Errno:
        names = [name for denial in listed if denial.errno is errno for name in denial.calls.split()]
        if numbers := machine.numbers(names):
            yield from _if_any(numbers, _answer(errno))


def _foreign(machine: Machine) -> _Block:
    """Deny calls of other machines and unknown calls. Leave the number of a known call loaded.

    On another architecture, the same numbers mean other calls. The x32 calls of x86-64 have numbers above all others.
    """
    return (
        *_LOAD_ARCHITECTURE,
        *_unless(machine.architecture, _KILL_PROCESS),
        *_LOAD_NUMBER,
        *_if_above(NEWEST, _answer(Errno.ENOSYS)),
        *_if_within(machine.unassigned, _answer(Errno.ENOSYS)),
    )


# --- denied because of arguments -------------------------------------------------------------


def _on(machine: Machine, calls: str, then: _Block) -> _Block:
    """Run `then`, which must end the program, if the number of one of these calls is loaded."""
    numbers = machine.numbers(calls.split())
    return _if_any(numbers, then) if numbers else ()


_CLONE_THREAD, _CLONE_FILES = 0x0001_0000, 0x0000_0400
_CLONE_NEW = 0x7E02_0000
"""CLONE_NEWNS, -CGROUP, -UTS, -IPC, -USER, -PID and -NET."""
_NO_NAMESPACES = (*_load_argument(0), *_if_bits(_CLONE_NEW, _answer(Errno.EPERM)), *_ALLOW)
_THREADS = (
    *_load_argument(0),
    *_mask(_CLONE_THREAD | _CLONE_FILES),
    *_unless(_CLONE_THREAD | _CLONE_FILES, _answer(Errno.EAGAIN)),
    *_ALLOW,
)
"""Allow only threads that share their descriptors, because the limit of descriptors applies to each table."""

_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20
_NO_SHARED_MEMORY = (
    *_load_argument(3),
    *_mask(_MAP_SHARED | _MAP_ANONYMOUS),
    *_if_any([_MAP_SHARED | _MAP_ANONYMOUS], _answer(Errno.EPERM)),
    *_ALLOW,
)
"""Deny shared memory without a file: a mapping of a single page keeps all of it, and no limit counts it.

MAP_SHARED_VALIDATE has the bit of MAP_SHARED; MAP_PRIVATE does not.
"""

_OWN_SIGNALS = (*_load_argument(0), *_unless(OWN_PID, _answer(Errno.EPERM)), *_ALLOW)

_OWN_LIMITS = (*_load_argument(0), *_unless(0, _answer(Errno.EPERM)), *_ALLOW)

_SET_PDEATHSIG = 1
_BOUND_TO_PARENT = (*_load_argument(0), *_if_any([_SET_PDEATHSIG], _answer(Errno.EPERM)), *_ALLOW)
"""Prevent the process from outliving its parent."""

_SET_CHILD_SUBREAPER = 36
_ADOPTING = (
    *_load_argument(0),
    *_if_any([_SET_CHILD_SUBREAPER], (*_load_argument(1), *_if_any([0], _answer(Errno.EPERM)), *_ALLOW)),
    *_ALLOW,
)
"""Make sure that the process continues to adopt its orphans."""

_UNIX, _DATAGRAM = 1, 2
_CONNECTED_PAIRS = (
    *_load_argument(0),
    *_unless(_UNIX, _answer(Errno.EAFNOSUPPORT)),
    *_load_argument(1),
    *_if_bits(_DATAGRAM, _answer(Errno.EAFNOSUPPORT)),
    *_ALLOW,
)
"""Allow only streams: a datagram socket of a pair can send to any other socket, by sendto or sendmsg.

SOCK_DGRAM has the bit, as does SOCK_RAW, which means the same here. SOCK_STREAM and SOCK_SEQPACKET do not.
"""

_BY_DESCRIPTOR = (
    *_load(16 + 8),
    *_unless(0, _answer(Errno.EPERM)),
    *_load(16 + 8 + 4),
    *_unless(0, _answer(Errno.EPERM)),
    *_ALLOW,
)
"""Allow changes only to the times of an open file: without a path, both words of that pointer are 0."""

_LOCKS = (6, 7, 37, 38)
"""F_SETLK, F_SETLKW, F_OFD_SETLK and F_OFD_SETLKW."""
_SETOWN, _SETSIG, _SETOWN_EX, _SETLEASE, _NOTIFY, _SETPIPE_SZ = 8, 10, 15, 1024, 1026, 1031
_SET_RW_HINT, _SET_FILE_RW_HINT, _SETDELEG = 1036, 1038, 1040
_COMMANDS = (
    *_load_argument(1),
    *_if_any(_LOCKS, _answer(Errno.SUCCESS)),
    *_if_any([_SETOWN, _SETSIG, _SETOWN_EX, _SETLEASE, _NOTIFY, _SETPIPE_SZ], _answer(Errno.EPERM)),
    *_if_any([_SET_RW_HINT, _SET_FILE_RW_HINT, _SETDELEG], _answer(Errno.EPERM)),
    *_ALLOW,
)
"""Deny an owner of a descriptor: the owner gets any signal, even SIGKILL, when there is something to read.

Deny a lease on a file, because it makes others wait when they open the file. Deny a watch on a folder. Deny more than
its share of the memory that all pipes of a user may take. Deny a hint on a file that is only read, because the next
evaluation could read the hint. Locks are as for `flock`.
"""

_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX = 0x8901, 0x8902, 0x5412, 0x541C
_FICLONE, _FICLONERANGE = 0x4004_9409, 0x4020_940D
_CONTROLS = (
    *_load_argument(1),
    *_if_any([_FIOSETOWN, _SIOCSPGRP, _TIOCSTI, _TIOCLINUX], _answer(Errno.EPERM)),
    *_if_any([_FICLONE, _FICLONERANGE], _ALLOW),
    *_mask(0xFF00),
    *_if_any([ord(kind) << 8 for kind in "fvX\x94\xf5"], _answer(Errno.EPERM)),
)
"""Deny an owner of a socket, as above, typing into the terminal, and calls of file systems. More tests can follow.

Many of those calls change a file that is open only for reading, or its attributes. The second byte of a call's number
shows its owner: all file systems (f, v, X), Btrfs (0x94), or F2FS (0xf5). Cloning a file into another needs write
access and stays allowed.
"""

_TRUNC, _ACCESS_MODE = 0o1000, 0o3


def _truncation(flags: int) -> _Block:
    """Deny O_TRUNC without write access, which Landlock controls only from ABI 3 on.

    `flags` is the index of that argument.

    Neither O_RDONLY nor 3 gives write access. 3 is not a defined mode, but the kernel accepts it.
    """
    truncating = (*_mask(_ACCESS_MODE), *_if_any([0, 3], _answer(Errno.EPERM)), *_ALLOW)
    return (*_load_argument(flags), *_if_bits(_TRUNC, truncating), *_ALLOW)
