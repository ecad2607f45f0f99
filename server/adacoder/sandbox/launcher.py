"""Launcher of the user's interpreter: one process watches over it from outside, another locks itself down and becomes
it.

    launcher.py LIFELINE WRAPPER… -- CONFINEMENT… -- PROGRAM…

Our own interpreter runs this file (`-I -S`, standard library only), so that nothing of the user's, neither a
`.venv/bin/python` nor a `.pth` file, runs before the locks are closed.

With a LIFELINE, a descriptor that nothing is ever written to, it forks, and stays outside as the *supervisor*: when
the lifeline's other end is gone, because the server closed it or died, or when the child has ended, it kills whatever
came of the child and ends when nothing is left. Meanwhile it kills what has too many processes or threads. The child
becomes WRAPPER, a command that runs this file again inside, with an empty LIFELINE; where there is no WRAPPER it goes
on itself: it confines itself and, as soon as descriptor 0 has something to read, becomes PROGRAM.

Each CONFINEMENT is a KEY=VALUE, all of them optional:

    limit:NAME=N    `resource.RLIMIT_NAME`; one that is lower already stays
    scratch=PATH    the folder to work in
    slots=N         folders 0 … N-1 to make in it where they are missing, one for each evaluation that may run at a
                    time; under a filter there may be little more than so many processes
    statm=D         leave its own `/proc/self/statm` open for the interpreter as descriptor D, if there is a `/proc`
    landlock=ABI    hold files, network and signals with this version of Landlock; then `read`, `list` and `device`
                    are all that may be got at besides the scratch folder
    rulesets=D      leave a Landlock ruleset that allows of the scratch folder only slot I open as descriptor D + I
    group=N         after those leave one open for each N slots, that allows these
    read=PATH       may be read and executed, with all that is in it
    list=PATH       its entries may be listed, and those of the folders in it
    device=PATH     may be read and written
    filter=HEX      a seccomp program
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` without what takes long to import
import os
import resource
import select
import struct
import sys
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn

LINUX = sys.platform == "linux"
_MOST_DESCRIPTORS = 65536
_COUNTED_MS = 100
"""Interval for counting processes."""
_OWN_PROCESSES = 8
"""Allowance beyond the evaluations of a group: for bwrap, the template, and killed processes that are not gone yet."""
_BOMB = 8
"""How many times its limit a process group may be until it is killed as a whole."""
_MOST_THREADS = 1000
"""Maximum for one process: an evaluation is ended long before, and imported libraries start a few for each
processor."""

# linux/prctl.h
_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_SIGKILL = 9
_CAPABILITIES = 64
_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION_3 = 0x20080522

# linux/landlock.h; the system calls have the same numbers on every machine.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 10, 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_NET_ALL = 0b11  # bind and connect over TCP
_SCOPE_ALL = 0b11  # abstract sockets and signals


def main(arguments: list[str]) -> None:
    lifeline, *rest = arguments
    end = rest.index("--")
    wrapper, inside = rest[:end], rest[end + 1 :]

    def go_on() -> NoReturn:
        if wrapper:
            us = [sys.executable, "-I", "-S", __file__]
            become([*wrapper, *us, "", "--", *inside])
        end = inside.index("--")
        confine(inside[:end])
        wait_for_word()
        become(inside[end + 1 :])

    if lifeline:
        supervise(int(lifeline), most_processes(inside), go_on)
    go_on()


def most_processes(confinement: Sequence[str]) -> int:
    """Maximum number of processes in a process group.

    A template and its evaluations are one group, and each importer with its desks and their evaluations is another. An
    evaluation has no process of its own if there is a filter. Without a filter there is no limit.
    """
    wishes = dict(argument.partition("=")[::2] for argument in confinement)
    group = int(wishes.get("group", "1"))
    evaluations = int(wishes["slots"]) if group == 1 else 2 * group
    return _OWN_PROCESSES + evaluations if "filter" in wishes else sys.maxsize


def become(program: list[str]) -> NoReturn:
    os.execv(program[0], program)  # noqa: S606  # becoming the user's interpreter is what this file is for


# --- outside ---------------------------------------------------------------------------------


def supervise(lifeline: int, most: int, go_on: Callable[[], NoReturn]) -> NoReturn:
    """Fork, and go on in the child. The parent watches over it and all its descendants, to the end.

    `most`: maximum number of processes in a process group.
    """
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)  # what ends is gone at once, and no zombies pile up
    if LINUX:
        prctl(_PR_SET_CHILD_SUBREAPER, 1)  # so that all orphans below become ours, and none is lost
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
            with suppress(OSError):  # it has ended
                if (group := os.getpgid(pid)) != os.getpgrp():
                    kill(os.killpg, group)  # all at once, so that nothing can fork faster than it is killed
    with suppress(ChildProcessError):
        os.wait()  # for those that the system did not tell of
    os._exit(0)


def kill(how: Callable[[int, int], None], target: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it has ended
        how(target, _SIGKILL)


def wait_for_end(child: int, lifeline: int, most: int) -> None:
    """Wait until the child has ended, or the other end of the lifeline is gone. Meanwhile end what is excessive."""
    if sys.platform == "linux":
        watch = select.poll()
        watch.register(lifeline, 0)  # a hang-up is told unasked
        with suppress(ProcessLookupError):  # it has ended
            watch.register(os.pidfd_open(child), select.POLLIN)
            warned: set[int] = set()
            while not watch.poll(_COUNTED_MS if most < sys.maxsize else None):
                end_excess(most, warned)
    else:
        events = [
            select.kevent(lifeline, select.KQ_FILTER_READ, select.KQ_EV_ADD),
            select.kevent(child, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT),
        ]
        select.kqueue().control(events, 1)


def end_excess(most: int, warned: set[int]) -> None:
    """Kill what has too many processes or threads below this process, and nothing else.

    Of a process group of more than `most` processes, the smallest tree of processes that is larger is killed. If there
    is no such tree, or if one was killed before, the whole group is: nothing in it can fork faster than it is killed.

    `warned`: groups of which a tree was killed.
    """
    groups: dict[int, int] = {}
    parents: dict[int, int] = {}
    sizes: dict[int, int] = {}
    found = [os.getpid()]
    for parent in found:  # the loop comes to what it adds, too
        for pid in children(parent):
            try:
                group, threads = group_and_threads(pid)
            except OSError:  # it has ended
                continue
            found.append(pid)
            groups[pid], parents[pid] = group, parent
            sizes[group] = sizes.get(group, 0) + 1
            if threads > _MOST_THREADS:
                kill(os.kill, pid)
            if sizes[group] > _BOMB * most:  # it may fork faster than this loop goes on
                kill(os.killpg, group)
    for group in [group for group, size in sizes.items() if size > most]:
        tree = smallest_tree([pid for pid in groups if groups[pid] == group], parents, most)
        if not tree or group in warned:
            kill(os.killpg, group)
        warned.add(group)
        for pid in tree:
            kill(os.kill, pid)


def smallest_tree(members: Sequence[int], parents: Mapping[int, int], most: int) -> list[int]:
    """The deepest of `members` that has more than `most` descendants among them, with those; empty if none has.

    Parents come before their children in `members`.
    """
    below = {pid: [pid] for pid in members}
    for pid in reversed(members):
        if len(below[pid]) > most:
            return below[pid]
        if parents[pid] in below:
            below[parents[pid]] += below[pid]
    return []


def group_and_threads(pid: int) -> tuple[int, int]:
    """Process group and number of threads of a process.

    Raises:
        OSError: it has ended.
    """
    with open(f"/proc/{pid}/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()  # proc(5): the name in parentheses may hold anything
    return int(fields[2]), int(fields[17])


def children(parent: int) -> list[int]:
    """Child processes of one, adopted orphans included; empty if the system does not tell."""
    found: list[int] = []
    with suppress(OSError):  # it has ended, or this is not Linux
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
        with suppress(OSError):  # there may be no /proc
            keep_open(os.open("/proc/self/statm", os.O_RDONLY), int(descriptor))
    if LINUX:
        prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if "landlock" in wishes:
        drop_capabilities()
        group = int(*wishes.get("group", ["1"]))
        hold(int(*wishes["landlock"]), int(*wishes["rulesets"]), wishes, scratch, slots, group)
    for program in wishes.get("filter", ()):
        load_filter(bytes.fromhex(program))


def lower_limit(name: str, value: int) -> None:
    kind = getattr(resource, f"RLIMIT_{name}", None)  # not every system knows every limit
    if kind is None:
        return
    hard = resource.getrlimit(kind)[1]
    if hard == resource.RLIM_INFINITY or hard > value:
        resource.setrlimit(kind, (value, value))


def drop_capabilities() -> None:
    """Give up root's powers; Landlock and seccomp restrict root too, but there is no reason to rely on that."""
    for capability in range(_CAPABILITIES):
        with suppress(OSError):  # it has none to give up, or the kernel does not know this one
            prctl(_PR_CAPBSET_DROP, capability)
    nothing = struct.pack("6I", *[0] * 6)
    syscall(_CAPSET[os.uname().machine], struct.pack("Ii", _CAPABILITY_VERSION_3, 0), nothing)


def hold(
    abi: int, rulesets: int, wishes: Mapping[str, Sequence[str]], scratch: str, slots: Sequence[str], group: int
) -> None:
    """Restrict this process by Landlock, and prepare narrower rulesets for each slot and each group of slots."""
    everything = all_rights(abi)
    rules = [
        *((path, _EXECUTE | _READ_FILE | _READ_DIR) for path in wishes.get("read", ())),
        *((path, _READ_DIR) for path in wishes.get("list", ())),
        # What is written to /dev/zero is lost; but a mapping of it that can be written is memory that nothing counts.
        *((path, _READ_FILE | (0 if path == "/dev/zero" else _WRITE_FILE)) for path in wishes.get("device", ())),
    ]
    writing = everything & ~(_MAKE_CHAR | _MAKE_BLOCK | _MAKE_SOCK | _MAKE_FIFO | _IOCTL_DEV)
    groups = [slots[start : start + group] for start in range(0, len(slots), group)] if group > 1 else []
    for number, places in enumerate([*([slot] for slot in slots), *groups]):
        keep_open(ruleset(abi, everything, [*rules, *((place, writing) for place in places)]), rulesets + number)
    # Of the scratch folder the template too may fill the slots only, whose files are counted.
    own = ruleset(abi, everything, [*rules, (scratch, _READ_DIR), *((slot, writing) for slot in slots)])
    syscall(_RESTRICT_SELF, own, 0)
    os.close(own)


def all_rights(abi: int) -> int:
    """All file system rights that a version of Landlock can deny."""
    rights = _REFER - 1
    for right, since in ((_REFER, 2), (_TRUNCATE, 3), (_IOCTL_DEV, 5)):
        if abi >= since:
            rights |= right
    return rights


def ruleset(abi: int, rights: int, rules: Sequence[tuple[str, int]]) -> int:
    """Create a Landlock ruleset that denies `rights`, the network and signals, except for what `rules` allow."""
    attributes = struct.pack("QQQ", rights, _NET_ALL, _SCOPE_ALL)[: 8 if abi < 4 else 16 if abi < 6 else 24]
    handle = syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    for path, allowed in rules:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # it is not there, or is not ours to see: nothing to allow
            continue
        if not os.path.isdir(path):
            allowed &= _ON_FILES
        syscall(_ADD_RULE, handle, _RULE_PATH_BENEATH, struct.pack("=Qi", allowed & rights, place), 0)
        os.close(place)
    return handle


def load_filter(program: bytes) -> None:
    """Load a seccomp program, an array of `struct sock_filter`."""
    import ctypes

    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HP", len(program) // 8, ctypes.addressof(buffer))
    prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header)


def wait_for_word() -> None:
    """Wait for the first message to the interpreter, which is on descriptor 0: nothing of the user's runs before it.

    So all that takes time is done while it is still proved that this confines.
    """
    watch = select.poll()
    watch.register(0, select.POLLIN)
    ((_, events),) = watch.poll()
    if events & ~select.POLLIN:  # whoever was to send it is gone
        os._exit(1)


# --- the kernel ------------------------------------------------------------------------------


def keep_open(descriptor: int, number: int) -> None:
    """Move `descriptor` to `number`, which the interpreter inherits."""
    os.dup2(descriptor, number)
    if descriptor != number:
        os.close(descriptor)


def most_descriptors() -> int:
    return min(os.sysconf("SC_OPEN_MAX"), _MOST_DESCRIPTORS)


def prctl(option: int, *values: int | bytes) -> None:
    import ctypes

    _call("prctl", ctypes.c_int, option, *values, *[0] * (4 - len(values)))


def syscall(number: int, *values: int | bytes) -> int:
    import ctypes

    return _call("syscall", ctypes.c_long, number, *values)


def _call(name: str, kind: type[ctypes.c_int | ctypes.c_long], *values: int | bytes) -> int:
    """Call a function of the C library. Any argument may be as wide as a pointer.

    Raises:
        OSError: it failed.
    """
    import ctypes

    function = ctypes.CDLL(None, use_errno=True)[name]
    function.restype = kind
    wide = [ctypes.c_long(value) if isinstance(value, int) else ctypes.c_char_p(value) for value in values]
    result: int = function(*wide)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
