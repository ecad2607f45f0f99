"""Build the seccomp programs of the sandbox (seccomp(2)). They deny system calls, each with a suitable error.

The launcher loads the *template* filter before the user's interpreter starts, so the filter applies to the interpreter
and all its descendants. Each evaluation adds the *child* filter to its own process. This filter denies the calls that
only the template needs. It is small, because it is loaded for each evaluation. If several filters apply, the kernel
uses the strictest answer.

A program is written in classic BPF. It is an array of `struct sock_filter`, as prctl(PR_SET_SECCOMP) takes it. This
module can build the programs for any supported machine, because it does not load them.

A filter allows every call that it does not deny. But it denies calls that are newer than its table of calls. For a lock
on a file, it reports success, but the kernel takes no lock. The other answers show the reason:

    EAFNOSUPPORT, ENETUNREACH   the network
    EAGAIN                      a new process or program
    ENOSYS                      a call that has an older form, so that libraries use that form
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
"""Placeholder for the process's own id in the child filter. Its 4 bytes (little-endian) occur nowhere else in it.

No process has this id, so a filter that still has the placeholder denies every signal.
"""


class UnsupportedMachine(SandboxError):
    """There is no filter for this kind of machine."""

    def __init__(self, machine: str) -> None:
        known = " or ".join(sorted(MACHINES))
        super().__init__(f"There are no system call filters for {machine}: to confine code by them, run it on {known}.")


def template_filter(machine: str, *, files: bool, signals: bool) -> bytes:
    """Return the filter for the start of the user's interpreter. Fork, exec and further locks stay allowed.

    Args:
        machine: as in uname(2).
        files: True to deny the changes to files that Landlock does not control, even through open descriptors. Pass
            True if there are no read-only mounts.
        signals: True to deny every signal. Pass True if there is neither a process namespace nor a Landlock scope.

    Raises:
        UnsupportedMachine: there is no filter for this machine.
    """
    known = _machine(machine)
    denials = [*_ALWAYS, *(_FILES if files else ()), *(_SIGNALS if signals else ())]
    return _assemble(
        *_foreign(known),
        # Calls whose arguments decide come first, because they are frequent.
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
    """Return the filter of an *importer*: a process that imports a module, and then forks its evaluations.

    The filter denies the same calls as an evaluation's filter, except the calls needed for importing and forking. The
    arguments are as for `child_filter`, apart from `signals`. Pass True for `signals` if the importer could otherwise
    signal other processes. Its evaluations then cannot send any signals either, because the filter also applies to
    them.
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

    It can change the attributes of a file only through an open descriptor, so Landlock controls access to the file. If
    `owns_devices` is True, the process cannot change any attributes. Otherwise a process of root could open a device
    node, and deny everyone access to the device.

    Load this filter last, on top of the template's filter. First replace OWN_PID in it. `machine` is as in uname(2).

    Raises:
        UnsupportedMachine: there is no filter for this machine.
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
    """Error numbers of Linux. They are listed here because other systems have other numbers."""

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
    """Number of instructions to skip if the comparison holds. At most 255."""
    if_false: int = 0
    """Number of instructions to skip if the comparison does not hold. At most 255."""


_Block: TypeAlias = tuple[_Instruction, ...]
"""Consecutive instructions. A jump stays within the block, or leads to the instruction right after the block."""

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
    """Load the low word of a call's argument. This is enough, because the kernel ignores the high word of the arguments
    tested here.
    """
    return _load(16 + 8 * index)


def _mask(bits: int) -> _Block:
    return (_Instruction(_AND, bits),)


def _answer(errno: Errno) -> _Block:
    """End the program, and deny the call with this error."""
    return (_Instruction(_RETURN, 0x0005_0000 | errno),)


_ALLOW: _Block = (_Instruction(_RETURN, 0x7FFF_0000),)
_KILL_PROCESS: _Block = (_Instruction(_RETURN, 0x8000_0000),)

# Each of these functions returns a block that runs `then` if a condition holds. `then` must end the program. If the
# condition does not hold, the program continues after the block.


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
    """System calls that are denied with `errno`. Their names are separated by spaces."""

    errno: Errno
    calls: str


_ALWAYS = (
    # No network. Socket pairs stay allowed (below), because asyncio uses a pair to wake itself.
    _Denial(Errno.EAFNOSUPPORT, "socket"),
    _Denial(Errno.ENETUNREACH, "connect bind listen accept accept4 sendmmsg recvmmsg"),
    # A filter cannot examine these calls, because their arguments are in memory, or because they run other calls.
    _Denial(Errno.ENOSYS, "clone3 openat2 io_uring_setup io_uring_enter io_uring_register io_setup"),
    # No access to the memory and descriptors of other processes. No signals that would bypass the rules for kill.
    _Denial(Errno.EPERM, "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp"),
    _Denial(Errno.EPERM, "pidfd_getfd pidfd_send_signal rt_sigqueueinfo rt_tgsigqueueinfo"),
    # No namespaces and mounts, because they would change the file system that the sandbox shows.
    _Denial(Errno.EPERM, "unshare setns chroot pivot_root mount umount2 mount_setattr"),
    _Denial(Errno.EPERM, "open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick"),
    # No access to files except by path, because Landlock and mounts confine only access by path. No device files.
    _Denial(Errno.EPERM, "name_to_handle_at open_by_handle_at fanotify_init mknod mknodat"),
    # No locks. Otherwise a process could lock any file that it can read, and make other programs wait. An evaluation
    # needs no locks on its own files, because no other process can open them.
    _Denial(Errno.SUCCESS, "flock"),
    # No attributes that outlast a file's content. No watches on files, because each user has only a few of them.
    _Denial(Errno.EPERM, "chown fchown lchown fchownat file_setattr"),
    _Denial(Errno.EPERM, "setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat"),
    _Denial(Errno.EPERM, "inotify_init inotify_init1 inotify_add_watch"),
    # No calls for administrators, and no calls in which attacks on the kernel often start.
    _Denial(Errno.EPERM, "bpf perf_event_open userfaultfd personality modify_ldt iopl ioperm lookup_dcookie syslog"),
    _Denial(Errno.EPERM, "init_module finit_module delete_module kexec_load kexec_file_load reboot vhangup"),
    _Denial(Errno.EPERM, "swapon swapoff acct quotactl quotactl_fd sethostname setdomainname"),
    _Denial(Errno.EPERM, "settimeofday clock_settime adjtimex clock_adjtime"),
    # No change of user, and no additional rights.
    _Denial(Errno.EPERM, "setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid"),
    _Denial(Errno.EPERM, "capset lsm_set_self_attr add_key request_key keyctl"),
    # No memory that the limit does not count, that cannot be swapped out, or that remains after the process.
    _Denial(Errno.EPERM, "shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl"),
    _Denial(Errno.EPERM, "mq_open mq_unlink mlock mlock2 mlockall memfd_create memfd_secret vmsplice"),
    # No scheduling calls, because these calls affect all of the user's processes.
    _Denial(Errno.EPERM, "sched_setaffinity sched_setscheduler sched_setparam sched_setattr setpriority ioprio_set"),
    _Denial(Errno.EPERM, "migrate_pages move_pages mbind set_mempolicy set_mempolicy_home_node"),
)

_FILES = (
    # Landlock does not control these calls, so they could change the user's own files.
    _Denial(Errno.EPERM, "chmod fchmod fchmodat fchmodat2 utime utimes futimesat utimensat"),
    # Landlock controls this call only from ABI 3 on.
    _Denial(Errno.EPERM, "truncate"),
    # A message can hold the descriptor of a deleted file, whose size no limit counts.
    _Denial(Errno.EPERM, "sendmsg"),
)

_SIGNALS = (
    # The target may be any process of the user. The template's filter cannot allow an evaluation to signal itself,
    # because it does not know the id of each child.
    _Denial(Errno.EPERM, "kill tkill tgkill"),
)

_CHILD = (
    # An evaluation has only one process. So killing this process at the end leaves nothing behind.
    _Denial(Errno.EAGAIN, "fork vfork"),
    _Denial(Errno.ENOSYS, "clone3"),
)

_IMPORTER = (
    _Denial(Errno.EAGAIN, "execve execveat"),
    # The process must stay in its session and group, so that AdaCoder can kill the group. It must not get a handle to
    # other processes.
    _Denial(Errno.EPERM, "setsid setpgid pidfd_open tkill rt_sigqueueinfo rt_tgsigqueueinfo"),
    # A path may lead to the folder of another evaluation. Calls with a descriptor are safe, because Landlock decides
    # which files can be opened.
    _Denial(Errno.EPERM, "chmod fchmodat fchmodat2 utime utimes futimesat"),
    # A Landlock rule keeps its file even after the file is deleted, so no limit would count the file.
    _Denial(Errno.EPERM, "landlock_create_ruleset landlock_add_rule"),
)

_ATTRIBUTES = (_Denial(Errno.EPERM, "fchmod utimensat"),)


def _deny(machine: Machine, denials: Iterable[_Denial]) -> Iterator[_Instruction]:
    """Yield instructions that deny these calls. The number of the current call must be loaded."""
    listed = [*denials]
    for errno in Errno:
        names = [name for denial in listed if denial.errno is errno for name in denial.calls.split()]
        if numbers := machine.numbers(names):
            yield from _if_any(numbers, _answer(errno))


def _foreign(machine: Machine) -> _Block:
    """Deny unknown calls, and kill a process that uses the calls of another architecture.

    On another architecture, the same numbers mean other calls. The x32 calls of x86-64 have numbers above all others,
    so they count as unknown. Afterwards, the number of the call stays loaded.
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
    """Run `then` if the number of one of these calls is loaded. `then` must end the program."""
    numbers = machine.numbers(calls.split())
    return _if_any(numbers, then) if numbers else ()


_CLONE_THREAD, _CLONE_FILES = 0x0001_0000, 0x0000_0400
_CLONE_NEW = 0x7E02_0000
"""The flags CLONE_NEWNS, CLONE_NEWCGROUP, -UTS, -IPC, -USER, -PID and -NET."""
_NO_NAMESPACES = (*_load_argument(0), *_if_bits(_CLONE_NEW, _answer(Errno.EPERM)), *_ALLOW)
_THREADS = (
    *_load_argument(0),
    *_mask(_CLONE_THREAD | _CLONE_FILES),
    *_unless(_CLONE_THREAD | _CLONE_FILES, _answer(Errno.EAGAIN)),
    *_ALLOW,
)
"""Allow only threads that share their descriptors. Otherwise the limit of descriptors would apply to each thread alone.
"""

_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20
_NO_SHARED_MEMORY = (
    *_load_argument(3),
    *_mask(_MAP_SHARED | _MAP_ANONYMOUS),
    *_if_any([_MAP_SHARED | _MAP_ANONYMOUS], _answer(Errno.EPERM)),
    *_ALLOW,
)
"""Deny shared memory without a file. No limit counts this memory, and one mapped page can keep all of it.

The mask works, because MAP_SHARED_VALIDATE contains the bit of MAP_SHARED, and MAP_PRIVATE does not.
"""

_OWN_SIGNALS = (*_load_argument(0), *_unless(OWN_PID, _answer(Errno.EPERM)), *_ALLOW)

_OWN_LIMITS = (*_load_argument(0), *_unless(0, _answer(Errno.EPERM)), *_ALLOW)

_SET_PDEATHSIG = 1
_BOUND_TO_PARENT = (*_load_argument(0), *_if_any([_SET_PDEATHSIG], _answer(Errno.EPERM)), *_ALLOW)
"""Deny a change of the signal that kills the process when its parent ends."""

_SET_CHILD_SUBREAPER = 36
_ADOPTING = (
    *_load_argument(0),
    *_if_any([_SET_CHILD_SUBREAPER], (*_load_argument(1), *_if_any([0], _answer(Errno.EPERM)), *_ALLOW)),
    *_ALLOW,
)
"""Make sure that the process continues to adopt its orphans, so that AdaCoder can find them."""

_UNIX, _DATAGRAM = 1, 2
_CONNECTED_PAIRS = (
    *_load_argument(0),
    *_unless(_UNIX, _answer(Errno.EAFNOSUPPORT)),
    *_load_argument(1),
    *_if_bits(_DATAGRAM, _answer(Errno.EAFNOSUPPORT)),
    *_ALLOW,
)
"""Allow only streams. A datagram socket of a pair could send to any other socket, by sendto or sendmsg.

The bit is set in SOCK_DGRAM, and in SOCK_RAW, which means the same for Unix sockets. It is not set in SOCK_STREAM and
SOCK_SEQPACKET.
"""

_BY_DESCRIPTOR = (
    *_load(16 + 8),
    *_unless(0, _answer(Errno.EPERM)),
    *_load(16 + 8 + 4),
    *_unless(0, _answer(Errno.EPERM)),
    *_ALLOW,
)
"""Allow changes of a file's times only if the file is open. In such a call, both words of the path pointer are 0."""

_LOCKS = (6, 7, 37, 38)
"""The commands F_SETLK, F_SETLKW, F_OFD_SETLK and F_OFD_SETLKW."""
_SETOWN, _SETSIG, _SETOWN_EX, _SETLEASE, _NOTIFY, _SETPIPE_SZ = 8, 10, 15, 1024, 1026, 1031
_SET_RW_HINT, _SET_FILE_RW_HINT, _SETDELEG = 1036, 1038, 1040
_COMMANDS = (
    *_load_argument(1),
    *_if_any(_LOCKS, _answer(Errno.SUCCESS)),
    *_if_any([_SETOWN, _SETSIG, _SETOWN_EX, _SETLEASE, _NOTIFY, _SETPIPE_SZ], _answer(Errno.EPERM)),
    *_if_any([_SET_RW_HINT, _SET_FILE_RW_HINT, _SETDELEG], _answer(Errno.EPERM)),
    *_ALLOW,
)
"""Deny some commands of fcntl. Commands for locks get the same answer as `flock`. The reasons for the others:

* The owner of a descriptor gets a signal of any kind, even SIGKILL, when there is something to read. So code could
  kill another process by making it the owner.
* A lease on a file makes other programs wait when they open the file.
* Each user has only a few watches on folders.
* A larger pipe takes memory that all pipes of the user share.
* A hint on a file works without write access, so it could pass data to the next evaluation.
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
"""Deny some requests of ioctl: an owner of a socket (as above), typing into the terminal, and requests to file systems.

Many requests to file systems change a file, or its attributes, even if the file is open only for reading. The second
byte of a request's number shows whether it belongs to all file systems (f, v, X), to Btrfs (0x94) or to F2FS (0xf5).
Cloning a file into another file stays allowed, because it needs write access. The block does not end the program, so
other blocks can follow.
"""

_TRUNC, _ACCESS_MODE = 0o1000, 0o3


def _truncation(flags: int) -> _Block:
    """Deny O_TRUNC without write access, because Landlock controls truncation only from ABI 3 on.

    `flags` is the index of the argument with the flags. O_RDONLY (0) gives no write access. The undefined mode 3, which
    the kernel accepts, gives no write access either.
    """
    truncating = (*_mask(_ACCESS_MODE), *_if_any([0, 3], _answer(Errno.EPERM)), *_ALLOW)
    return (*_load_argument(flags), *_if_bits(_TRUNC, truncating), *_ALLOW)
