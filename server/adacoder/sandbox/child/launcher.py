"""Start the user's interpreter in a process that locks itself down, and supervise the process from outside.

    launcher.py LIFELINE WRAPPER… -- CONFINEMENT… -- PROGRAM…

AdaCoder's own interpreter runs this file (`-I -S`, standard library only). So no code of the user runs before the
process is locked down.

The launcher forks. The parent is the *supervisor*. It kills all descendants of the child when the child has ended, or
when the other end of the pipe LIFELINE is closed, for example because the server died. It also kills groups with too
many processes. It stops a process with too many threads, and kills the process a second later, so that the server can
report the reason.

The child runs the command WRAPPER, which runs this file again inside the sandbox, without a LIFELINE. If there is no
WRAPPER, the child confines itself. When descriptor 0 has data to read, the child becomes PROGRAM, the user's
interpreter.

Each CONFINEMENT is a KEY=VALUE. All are optional:

    limit:NAME=N    lower `resource.RLIMIT_NAME` to N
    scratch=PATH    the folder to work in
    slots=N         create the folders 0 … N-1 in the scratch folder, one for each concurrent evaluation; with a filter,
                    only a few more than N processes are allowed
    statm=D         leave the process's own `/proc/self/statm` open as descriptor D, if possible
    landlock=ABI    restrict files, network and signals with this version of Landlock; then only the scratch folder and
                    `read`, `list` and `device` paths are accessible
    rulesets=D      for each slot I, leave open a Landlock ruleset as descriptor D + I; it allows only slot I of the
                    scratch folder
    group=N         after these descriptors, leave open a ruleset for each group of N slots; it allows all slots of the
                    group
    read=PATH       may be read and executed, with everything in it
    list=PATH       may be listed, with all folders in it
    device=PATH     may be read and written
    filter=HEX      a seccomp program
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` without its slow imports
import os
import resource
import select
import struct
import sys
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn

LINUX = sys.platform == "linux"
_MOST_DESCRIPTORS = 65536
_COUNTED_MS = 100
"""Milliseconds between two checks of the number of processes."""
_OWN_PROCESSES = 8
"""Number of processes that a group may have besides evaluations: bwrap, the template, and processes that are ending."""
_BOMB = 8
"""A process group with this many times the allowed processes is killed at once."""
_MOST_THREADS = 1000
"""Maximum number of threads of a process. The server has a lower limit, and usually ends the process earlier."""
_STOPPED_SECONDS = 1.0
"""Seconds between stopping and killing a process with too many threads. In this time, the server can end the process
and report the reason.
"""


# linux/prctl.h
_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_SIGKILL, _SIGSTOP = 9, 19
_CAPABILITIES = 64
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION_3 = 0x20080522

HIDDEN_PROC = "/.proc"
"""Path of `/proc` inside bubblewrap, for this file only.

Inside, `/proc` itself does not exist, because some libraries fail if `/proc` exists but cannot be read.
"""
# linux/landlock.h; the numbers are the same on every machine.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 10, 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_NET_ALL = 0b11  # the rights to bind and to connect over TCP
_SCOPE_ALL = 0b11  # the scopes of abstract Unix sockets and of signals


class suppress:  # noqa: N801
    """`contextlib.suppress` without its slow imports. Each template starts this program twice."""

    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is not None and issubclass(kind, self._errors)


def main() -> NoReturn:
    _, lifeline, *rest = sys.argv
    end = rest.index("--")
    wrapper, inside = rest[:end], rest[end + 1 :]

    def go_on() -> NoReturn:
        if wrapper:
            us = sys.orig_argv[: sys.orig_argv.index(__file__) + 1]
            become([*wrapper, *us, "", "--", *inside])
        end = inside.index("--")
        confine(inside[:end])
        wait_for_word()
        become(inside[end + 1 :])

    if lifeline:
        supervise(int(lifeline), most_processes(inside), go_on)
    go_on()


def most_processes(confinement: Sequence[str]) -> int:
    """Return the maximum number of processes in a process group.

    A template and its evaluations are one group. Each importer, a process that imports a module for several
    evaluations, is in another group with its descendants. Without a seccomp filter, there is no maximum.
    """
    wishes = dict(argument.partition("=")[::2] for argument in confinement)
    group = int(wishes.get("group", "1"))
    evaluations = int(wishes["slots"]) if group == 1 else 2 * group
    return _OWN_PROCESSES + evaluations if "filter" in wishes else sys.maxsize


def become(program: list[str]) -> NoReturn:
    os.execv(program[0], program)  # noqa: S606  # This is the purpose of this file.


# --- outside ---------------------------------------------------------------------------------


def supervise(lifeline: int, most: int, go_on: Callable[[], NoReturn]) -> NoReturn:
    """Fork, and call `go_on` in the child. The parent supervises the child and its descendants until they end.

    `most` is the maximum number of processes in a process group.
    """
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)  # Let the kernel reap children.
    if LINUX:
        prctl(_PR_SET_CHILD_SUBREAPER, 1)  # Adopt orphans, so that this process can kill them.
    supervisor = os.getpid()
    child = os.fork()
    if child == 0:
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        os.close(lifeline)
        os.setsid()
        if LINUX:
            prctl(_PR_SET_PDEATHSIG, _SIGKILL)
        if os.getppid() != supervisor:
            os._exit(1)
        go_on()
    os.closerange(0, lifeline)
    os.closerange(lifeline + 1, most_descriptors())
    wait_for_end(child, lifeline, most)
    kill(os.killpg, child)
    while left := children(os.getpid()):
        for pid in left:
            kill(os.kill, pid)
            with suppress(OSError):  # Ignore a process that has ended.
                if (group := os.getpgid(pid)) != os.getpgrp():
                    kill(os.killpg, group)  # Kill the whole group at once, because its processes may fork quickly.
    with suppress(ChildProcessError):
        os.wait()  # Some systems cannot list a process's children, so wait for any child.
    os._exit(0)


def kill(how: Callable[[int, int], None], target: int, signal: int = _SIGKILL) -> None:
    with suppress(ProcessLookupError, PermissionError):  # Ignore a process that has ended.
        how(target, signal)


def wait_for_end(child: int, lifeline: int, most: int) -> None:
    """Wait until the child ends or the lifeline is closed. Meanwhile, enforce the limits of processes and threads."""
    if sys.platform == "linux":
        watch = select.poll()
        watch.register(lifeline, 0)  # poll(2) reports a closed pipe even if no event is requested.
        with suppress(ProcessLookupError):  # Ignore a child that has ended.
            watch.register(os.pidfd_open(child), select.POLLIN)
            warned: set[int] = set()
            stopped: dict[int, float] = {}
            while not watch.poll(_COUNTED_MS if most < sys.maxsize else None):
                end_excess(most, warned, stopped)
    else:
        events = [
            select.kevent(lifeline, select.KQ_FILTER_READ, select.KQ_EV_ADD),
            select.kevent(child, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT),
        ]
        select.kqueue().control(events, 1)


def end_excess(most: int, warned: set[int], stopped: dict[int, float]) -> None:
    """End descendants if there are too many processes or threads.

    In a process group with more than `most` processes, kill the smallest process tree that alone has more than `most`.
    If there is no such tree, or if a tree in the group was killed before, kill the whole group. Stop a process with too
    many threads, and kill it later.

    `warned` are the groups in which a tree was killed. `stopped` has the time when each process was stopped.
    """
    groups: dict[int, int] = {}
    parents: dict[int, int] = {}
    sizes: dict[int, int] = {}
    found = [os.getpid()]
    for parent in found:  # This loop also visits the processes that it appends to the list.
        for pid in children(parent):
            try:
                group, threads = group_and_threads(pid)
            except OSError:  # Ignore a process that has ended.
                continue
            found.append(pid)
            groups[pid], parents[pid] = group, parent
            sizes[group] = sizes.get(group, 0) + 1
            if threads > _MOST_THREADS:
                end = stopped.setdefault(pid, monotonic()) + _STOPPED_SECONDS
                kill(os.kill, pid, _SIGSTOP if monotonic() < end else _SIGKILL)
            if sizes[group] > _BOMB * most:  # Do not wait, because the group may fork faster than this loop runs.
                kill(os.killpg, group)
    for group in [group for group, size in sizes.items() if size > most]:
        tree = smallest_tree([pid for pid in groups if groups[pid] == group], parents, most)
        if not tree or group in warned:
            kill(os.killpg, group)
        warned.add(group)
        for pid in tree:
            kill(os.kill, pid)


def smallest_tree(members: Sequence[int], parents: Mapping[int, int], most: int) -> list[int]:
    """Return the smallest process tree with more than `most` processes, or an empty list if there is none.

    In `members`, parents must come before their children.
    """
    below = {pid: [pid] for pid in members}
    for pid in reversed(members):
        if len(below[pid]) > most:
            return below[pid]
        if parents[pid] in below:
            below[parents[pid]] += below[pid]
    return []


def group_and_threads(pid: int) -> tuple[int, int]:
    """Return the process group and the number of threads of a process.

    Raises:
        OSError: the process has ended.
    """
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()  # The name in parentheses may contain anything, see proc(5).
    return int(fields[2]), int(fields[17])


def children(parent: int) -> list[int]:
    """Return the children of a process, including adopted orphans. Empty if unknown."""
    found: list[int] = []
    with suppress(OSError):  # The folder is missing on other systems than Linux, and if the process has ended.
        for thread in os.listdir(f"/proc/{parent}/task"):
            with open(f"/proc/{parent}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    return found


# --- inside ----------------------------------------------------------------------------------


def confine(confinement: Sequence[str]) -> None:
    """Lock this process down for good."""
    wishes: dict[str, list[str]] = {}
    for argument in confinement:
        key, _, value = argument.partition("=")
        wishes.setdefault(key, []).append(value)

    os.closerange(3, most_descriptors())
    for key, values in wishes.items():
        if key.startswith("limit:"):
            lower_limit(key[len("limit:") :], int(*values))
    (scratch,) = wishes["scratch"]
    slots = [f"{scratch}/{slot}" for slot in range(int(*wishes["slots"]))]
    for slot in slots:
        os.makedirs(slot, exist_ok=True)
        os.chmod(slot, 0o700)
    os.chdir(scratch)
    for descriptor in wishes.get("statm", ()):
        for proc in (HIDDEN_PROC, "/proc"):  # Some systems have neither folder.
            with suppress(OSError):
                keep_open(os.open(f"{proc}/self/statm", os.O_RDONLY), int(descriptor))
                break
    if LINUX:
        prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if "landlock" in wishes:
        drop_capabilities()
        group = int(*wishes.get("group", ["1"]))
        hold(int(*wishes["landlock"]), int(*wishes["rulesets"]), wishes, scratch, slots, group)
    for program in wishes.get("filter", ()):
        load_filter(bytes.fromhex(program))


def lower_limit(name: str, value: int) -> None:
    kind = getattr(resource, f"RLIMIT_{name}", None)  # Some systems lack some limits.
    if kind is None:
        return
    hard = resource.getrlimit(kind)[1]
    if hard == resource.RLIM_INFINITY or hard > value:
        resource.setrlimit(kind, (value, value))


def drop_capabilities() -> None:
    """Give up root's capabilities. Otherwise root could do more than Landlock and seccomp deny."""
    for capability in range(_CAPABILITIES):
        with suppress(OSError):  # Skip capabilities that the kernel does not know.
            prctl(_PR_CAPBSET_DROP, capability)
    nothing = struct.pack("6I", *[0] * 6)
    syscall(_CAPSET[os.uname().machine], struct.pack("Ii", _CAPABILITY_VERSION_3, 0), nothing)


def hold(
    abi: int, rulesets: int, wishes: Mapping[str, Sequence[str]], scratch: str, slots: Sequence[str], group: int
) -> None:
    """Restrict this process by Landlock.

    Also open a stricter ruleset for each slot and for each group of slots, and leave these rulesets open.
    """
    everything = all_rights(abi)
    rules = [
        *((path, _EXECUTE | _READ_FILE | _READ_DIR) for path in wishes.get("read", ())),
        *((path, _READ_DIR) for path in wishes.get("list", ())),
        # Do not allow writing to /dev/zero, because no limit counts the memory of a writable mapping of /dev/zero.
        *((path, _READ_FILE | (0 if path == "/dev/zero" else _WRITE_FILE)) for path in wishes.get("device", ())),
    ]
    writing = everything & ~(_MAKE_CHAR | _MAKE_BLOCK | _MAKE_SOCK | _MAKE_FIFO | _IOCTL_DEV)
    groups = [slots[start : start + group] for start in range(0, len(slots), group)] if group > 1 else []
    narrow = dict(enumerate([*([slot] for slot in slots), *groups], start=rulesets))
    for number in narrow:
        keep_open(ruleset(abi, everything), number)
    # Let the template write only to the evaluations' folders, because files in other folders are not counted.
    own = ruleset(abi, everything)
    for path, allowed in rules:
        allow([*narrow, own], path, allowed)
    for number, places in narrow.items():
        for place in places:
            allow([number, own], place, writing)
    allow([own], scratch, _READ_DIR)
    syscall(_RESTRICT_SELF, own, 0)
    os.close(own)


def all_rights(abi: int) -> int:
    """Return all rights to files that this version of Landlock controls."""
    rights = _REFER - 1
    for right, since in ((_REFER, 2), (_TRUNCATE, 3), (_IOCTL_DEV, 5)):
        if abi >= since:
            rights |= right
    return rights


def ruleset(abi: int, rights: int) -> int:
    """Create a Landlock ruleset that denies `rights`, the network and signals. Return its descriptor."""
    attributes = struct.pack("QQQ", rights, _NET_ALL, _SCOPE_ALL)[: 8 if abi < 4 else 16 if abi < 6 else 24]
    return syscall(_CREATE_RULESET, attributes, len(attributes), 0)


def allow(rulesets: Sequence[int], path: str, rights: int) -> None:
    """Allow `rights` to `path` in each of the Landlock rulesets."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # Skip a path that this user cannot reach.
        return
    if not os.path.isdir(path):
        rights &= _ON_FILES
    rule = struct.pack("=Qi", rights, place)
    for each in rulesets:
        syscall(_ADD_RULE, each, _RULE_PATH_BENEATH, rule, 0)
    os.close(place)


def load_filter(program: bytes) -> None:
    """Load a seccomp program, an array of `struct sock_filter`."""
    import ctypes

    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HP", len(program) // 8, ctypes.addressof(buffer))
    prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header)


def wait_for_word() -> None:
    """Wait until the server sends the interpreter's first message, on descriptor 0.

    No code of the user runs before this message. So the server can start this process while it still tests the
    isolation.
    """
    watch = select.poll()
    watch.register(0, select.POLLIN)
    ((_, events),) = watch.poll()
    if events & ~select.POLLIN:  # The server has closed the connection.
        os._exit(1)


# --- the kernel ------------------------------------------------------------------------------


def keep_open(descriptor: int, number: int) -> None:
    """Give `descriptor` the number `number`, so that the interpreter inherits it."""
    os.dup2(descriptor, number)
    if descriptor != number:
        os.close(descriptor)


def most_descriptors() -> int:
    return min(os.sysconf("SC_OPEN_MAX"), _MOST_DESCRIPTORS)


_functions: dict[str, ctypes._NamedFuncPointer] = {}
"""Cache of functions of the C library. A lookup is slower than a call."""


def prctl(option: int, *values: int | bytes) -> None:
    import ctypes

    _call("prctl", ctypes.c_int, option, *values, *[0] * (4 - len(values)))


def syscall(number: int, *values: int | bytes) -> int:
    import ctypes

    return _call("syscall", ctypes.c_long, number, *values)


def _call(name: str, kind: type[ctypes.c_int | ctypes.c_long], *values: int | bytes) -> int:
    """Call a function of the C library with arguments as wide as pointers.

    Raises:
        OSError: the call failed.
    """
    import ctypes

    if name not in _functions:
        _functions[name] = ctypes.CDLL(None, use_errno=True)[name]
        _functions[name].restype = kind
    function = _functions[name]
    wide = [ctypes.c_long(value) if isinstance(value, int) else ctypes.c_char_p(value) for value in values]
    result: int = function(*wide)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
