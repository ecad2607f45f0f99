"""Build the seccomp programs (seccomp(2)) that deny system calls to code in the sandbox.

The launcher loads the *template* filter before the user's interpreter starts. Each evaluation adds the *child* filter,
which denies the calls that only the template needs. If several filters apply, the kernel uses the strictest answer.

A program is written in classic BPF, as an array of `struct sock_filter`. It can be built on any machine for any
supported machine.

A filter allows all calls that no rule denies, except calls that are newer than the table of known calls. Locks of files
report success but have no effect. The errors of denied calls are:

    EAFNOSUPPORT, ENETUNREACH   for the network
    EAGAIN                      for a new process or program
    ENOSYS                      for a call with an older form, so that libraries use that form
    EPERM                       for anything else
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
"""Placeholder in the child filter for the process's own id. Replace the placeholder before loading the filter.

Until then, the filter denies every signal, because no process has this id. The bytes of the placeholder occur nowhere
else in the filter.
"""


class UnsupportedMachine(SandboxError):
    """There is no filter for this kind of machine."""

    def __init__(self, machine: str) -> None:
        known = " or ".join(sorted(MACHINES))
        super().__init__(f"There are no system call filters for {machine}: to confine code by them, run it on {known}.")


def template_filter(machine: str, *, files: bool, signals: bool) -> bytes:
    """Return the filter that is loaded before the user's interpreter starts.

    Forking and running programs stay allowed.

    Args:
        machine: as in uname(2).
        files: True to deny changes of files that Landlock does not control. Needed without read-only mounts.
        signals: True to deny all signals. Needed without a process namespace and without Landlock's control of signals.

    Raises:
        UnsupportedMachine: there is no filter for this machine.
    """
    known = _machine(machine)
    denials = [*_ALWAYS, *(_FILES if files else ()), *(_SIGNALS if signals else ())]
    return _assemble(
        *_foreign(known),
        # Check frequent calls first.
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
    """Return the filter of an *importer*, a process that imports a module and then forks evaluations.

    The filter denies the same calls as `child_filter`, except calls that importing and forking need.

    `signals` is True if nothing else keeps the importer from signalling other processes. The evaluations then cannot
    send signals either, even to themselves.
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
    """Return the filter of an evaluation, which denies child processes and signals to other processes.

    Before loading the filter, replace OWN_PID in it. `machine` is as in uname(2).

    Code can change a file's attributes only through an open descriptor, so that Landlock controls the access.
    `owns_devices` is True if the process is root. All changes of attributes are then denied, because root could make a
    device inaccessible for everyone.

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
    """Error numbers of Linux. The `errno` module has the numbers of the current system, which may not be Linux."""

    SUCCESS = 0
    """The call reports success, but does nothing."""
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
    """Number of instructions to skip if the comparison is true. At most 255."""
    if_false: int = 0
    """Number of instructions to skip if the comparison is false. At most 255."""


_Block: TypeAlias = tuple[_Instruction, ...]
"""Consecutive instructions. A jump leads to another instruction of the block, or to the first instruction after the
block.
"""

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
    """Load the low 32 bits of a call's argument. The kernel ignores the high bits of the arguments that are tested
    here.
    """
    return _load(16 + 8 * index)


def _mask(bits: int) -> _Block:
    return (_Instruction(_AND, bits),)


def _answer(errno: Errno) -> _Block:
    return (_Instruction(_RETURN, 0x0005_0000 | errno),)


_ALLOW: _Block = (_Instruction(_RETURN, 0x7FFF_0000),)
_KILL_PROCESS: _Block = (_Instruction(_RETURN, 0x8000_0000),)

# Each of these functions returns instructions that run `then` if a condition is true. Otherwise the instructions after
# `then` run. `then` must end the program.


def _if_any(values: Iterable[int], then: _Block) -> _Block:
    """Run `then` if the loaded word is one of `values`."""
    *others, last = values
    tests = [_Instruction(_IF_EQUAL, value, if_true=len(others) - place) for place, value in enumerate(others)]
    return (*tests, _Instruction(_IF_EQUAL, last, if_false=len(then)), *then)


def _unless(value: int, then: _Block) -> _Block:
    """Run `then` if the loaded word is not `value`."""
    return (_Instruction(_IF_EQUAL, value, if_true=len(then)), *then)


def _if_bits(bits: int, then: _Block) -> _Block:
    """Run `then` if the loaded word has any of `bits`."""
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
    # Deny the network. Allow pairs of connected sockets, because asyncio needs a pair.
    _Denial(Errno.EAFNOSUPPORT, "socket"),
    _Denial(Errno.ENETUNREACH, "connect bind listen accept accept4 sendmmsg recvmmsg"),
    # Deny calls that a filter cannot check, because their arguments are in memory, or because they start other calls.
    _Denial(Errno.ENOSYS, "clone3 openat2 io_uring_setup io_uring_enter io_uring_register io_setup"),
    # Deny access to the memory and descriptors of other processes, and signals that bypass the rules for kill.
    _Denial(Errno.EPERM, "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp"),
    _Denial(Errno.EPERM, "pidfd_getfd pidfd_send_signal rt_sigqueueinfo rt_tgsigqueueinfo"),
    # Deny namespaces and mounts, because they could uncover hidden files.
    _Denial(Errno.EPERM, "unshare setns chroot pivot_root mount umount2 mount_setattr"),
    _Denial(Errno.EPERM, "open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick"),
    # Deny device files, and access to files without a path, because mounts and Landlock protect only paths.
    _Denial(Errno.EPERM, "name_to_handle_at open_by_handle_at fanotify_init mknod mknodat"),
    # Make locks do nothing. Otherwise code could lock any file that it can read, so that other programs wait.
    # Evaluations need no locks, because no other process can open an evaluation's files.
    _Denial(Errno.SUCCESS, "flock"),
    # Deny changes of owners and attributes, which remain after a file is emptied. Deny watches, because each user has
    # only a few watches.
    _Denial(Errno.EPERM, "chown fchown lchown fchownat file_setattr"),
    _Denial(Errno.EPERM, "setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat"),
    _Denial(Errno.EPERM, "inotify_init inotify_init1 inotify_add_watch"),
    # Deny calls for administrators, and calls that are often used to attack the kernel.
    _Denial(Errno.EPERM, "bpf perf_event_open userfaultfd personality modify_ldt iopl ioperm lookup_dcookie syslog"),
    _Denial(Errno.EPERM, "init_module finit_module delete_module kexec_load kexec_file_load reboot vhangup"),
    _Denial(Errno.EPERM, "swapon swapoff acct quotactl quotactl_fd sethostname setdomainname"),
    _Denial(Errno.EPERM, "settimeofday clock_settime adjtimex clock_adjtime"),
    # Deny changing the user and getting privileges.
    _Denial(Errno.EPERM, "setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid"),
    _Denial(Errno.EPERM, "capset lsm_set_self_attr add_key request_key keyctl"),
    # Deny memory that limits do not count, that cannot be swapped out, or that outlives the process.
    _Denial(Errno.EPERM, "shmget shmat shmctl semget semop semtimedop semctl msgget msgsnd msgrcv msgctl"),
    _Denial(Errno.EPERM, "mq_open mq_unlink mlock mlock2 mlockall memfd_create memfd_secret vmsplice"),
    # Deny scheduling calls, because they affect other processes of the user.
    _Denial(Errno.EPERM, "sched_setaffinity sched_setscheduler sched_setparam sched_setattr setpriority ioprio_set"),
    _Denial(Errno.EPERM, "migrate_pages move_pages mbind set_mempolicy set_mempolicy_home_node"),
)

_FILES = (
    # Deny calls that change files and that Landlock does not control.
    _Denial(Errno.EPERM, "chmod fchmod fchmodat fchmodat2 utime utimes futimesat utimensat"),
    # Before ABI 3, Landlock does not control this call.
    _Denial(Errno.EPERM, "truncate"),
    # Deny sending descriptors, because a message can hold a deleted file, which no limit counts.
    _Denial(Errno.EPERM, "sendmsg"),
)

_SIGNALS = (
    # Deny all signals, because the target may be any process of the user. Signals to the own process are denied as
    # well, because its id is not known yet.
    _Denial(Errno.EPERM, "kill tkill tgkill"),
)

_CHILD = (
    # Keep an evaluation to a single process, so that killing the process leaves nothing behind.
    _Denial(Errno.EAGAIN, "fork vfork"),
    _Denial(Errno.ENOSYS, "clone3"),
)

_IMPORTER = (
    _Denial(Errno.EAGAIN, "execve execveat"),
    # Keep the process in its process group, so that AdaCoder can kill the group.
    _Denial(Errno.EPERM, "setsid setpgid pidfd_open tkill rt_sigqueueinfo rt_tgsigqueueinfo"),
    # Deny changes by path, because the path may lead to another evaluation's folder.
    _Denial(Errno.EPERM, "chmod fchmodat fchmodat2 utime utimes futimesat"),
    # Deny new rules of Landlock, because a rule can hold a deleted file, which no limit counts.
    _Denial(Errno.EPERM, "landlock_create_ruleset landlock_add_rule"),
)

_ATTRIBUTES = (_Denial(Errno.EPERM, "fchmod utimensat"),)


def _deny(machine: Machine, denials: Iterable[_Denial]) -> Iterator[_Instruction]:
    """Yield instructions that deny the calls in `denials`. The number of the current call is already loaded."""
    listed = [*denials]
    for errno in Errno:
        names = [name for denial in listed if denial.errno is errno for name in denial.calls.split()]
        if numbers := machine.numbers(names):
            yield from _if_any(numbers, _answer(errno))


def _foreign(machine: Machine) -> _Block:
    """Deny calls that are not in the table, and kill a process that uses the calls of another architecture.

    On another architecture, the same numbers mean other calls. The x32 calls of x86-64 have high numbers, so they count
    as unknown. After these instructions, the number of the call is loaded.
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
    """Run `then` if the current call is one of `calls`. `then` must end the program."""
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
"""Deny new processes, but allow threads.

A thread must share its process's descriptors. Otherwise each thread would have its own limit of descriptors.
"""

_MAP_SHARED, _MAP_ANONYMOUS = 0x01, 0x20
_NO_SHARED_MEMORY = (
    *_load_argument(3),
    *_mask(_MAP_SHARED | _MAP_ANONYMOUS),
    *_if_any([_MAP_SHARED | _MAP_ANONYMOUS], _answer(Errno.EPERM)),
    *_ALLOW,
)
"""Deny shared memory without a file, because no limit counts this memory.

The mask also matches MAP_SHARED_VALIDATE, which contains the bit of MAP_SHARED.
"""

_OWN_SIGNALS = (*_load_argument(0), *_unless(OWN_PID, _answer(Errno.EPERM)), *_ALLOW)

_OWN_LIMITS = (*_load_argument(0), *_unless(0, _answer(Errno.EPERM)), *_ALLOW)

_SET_PDEATHSIG = 1
_BOUND_TO_PARENT = (*_load_argument(0), *_if_any([_SET_PDEATHSIG], _answer(Errno.EPERM)), *_ALLOW)
"""Keep the signal that kills the process when its parent ends."""

_SET_CHILD_SUBREAPER = 36
_ADOPTING = (
    *_load_argument(0),
    *_if_any([_SET_CHILD_SUBREAPER], (*_load_argument(1), *_if_any([0], _answer(Errno.EPERM)), *_ALLOW)),
    *_ALLOW,
)
"""Keep a process from giving up the adoption of orphans, so that AdaCoder can find and kill the orphans."""

_UNIX, _DATAGRAM = 1, 2
_CONNECTED_PAIRS = (
    *_load_argument(0),
    *_unless(_UNIX, _answer(Errno.EAFNOSUPPORT)),
    *_load_argument(1),
    *_if_bits(_DATAGRAM, _answer(Errno.EAFNOSUPPORT)),
    *_ALLOW,
)
"""Allow only pairs of stream sockets. A datagram socket could send to sockets of other programs.

`_DATAGRAM` is a bit of SOCK_DGRAM and SOCK_RAW, but not of SOCK_STREAM and SOCK_SEQPACKET.
"""

_BY_DESCRIPTOR = (
    *_load(16 + 8),
    *_unless(0, _answer(Errno.EPERM)),
    *_load(16 + 8 + 4),
    *_unless(0, _answer(Errno.EPERM)),
    *_ALLOW,
)
"""Allow changes of a file's times only through a descriptor. The call then has no path, so both words of the pointer
are 0.
"""

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
"""Deny dangerous commands of fcntl:

* Locks have no effect, as with `flock`.
* The owner of a descriptor can get any signal. So code could make another process the owner, and kill this process.
* A lease makes other programs wait when they open the file.
* Each user has only a few watches on folders.
* A large pipe uses memory that all pipes of the user share.
* A hint on a file needs no write access, so it could pass data to the next evaluation.
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
"""Deny dangerous requests of ioctl.

These are setting a socket's owner, typing into the terminal, and most requests to file systems, because many can change
a file that is open only for reading. The second byte of a request shows the file system: any (f, v, X), Btrfs (0x94) or
F2FS (0xf5). Cloning a file stays allowed, because cloning needs write access.

These instructions do not end the program, so others can follow.
"""

_TRUNC, _ACCESS_MODE = 0o1000, 0o3


def _truncation(flags: int) -> _Block:
    """Deny emptying a file (O_TRUNC) without write access, because Landlock denies this only since ABI 3.

    `flags` is the index of the call's argument with the flags. The kernel also accepts mode 3, which gives no write
    access.
    """
    truncating = (*_mask(_ACCESS_MODE), *_if_any([0, 3], _answer(Errno.EPERM)), *_ALLOW)
    return (*_load_argument(flags), *_if_bits(_TRUNC, truncating), *_ALLOW)
