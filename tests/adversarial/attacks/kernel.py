"""Attacks that ask the kernel for powers: namespaces, mounts, limits, and rare system calls."""

from __future__ import annotations

from adacoder.domain import FailureKind
from adversarial.attack import Attack, Ending, Harm, Harness

_STOPPED: tuple[Ending, ...] = (FailureKind.DENIED, FailureKind.EXCEPTION)


def _asks(name: str, body: str, *ends: Ending, harness: Harness = Harness.UNCONFINED, unshown: str = "") -> Attack:
    """An attack that asks for a power that no candidate needs. `f` returns 2 if the kernel grants it."""
    return Attack(name, body, ends or _STOPPED, Harm.PASSED, harness, unshown=unshown)


_FILTER = """
def install(instructions):
    import ctypes, struct
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in instructions)
    buffer = ctypes.create_string_buffer(code, len(code))
    libc = ctypes.CDLL(None)
    libc.prctl(38, 1, 0, 0, 0)
    libc.prctl(22, 2, struct.pack("HP", len(instructions), ctypes.addressof(buffer)))
"""

ATTACKS = (
    _asks("a user namespace", "syscall('unshare', 0x10000000)\nreturn 2"),
    _asks("a network namespace", "syscall('unshare', 0x40000000)\nreturn 2"),
    _asks("a user namespace by a child",
          "import signal\nsyscall('clone', 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0) or os._exit(0)\nreturn 2"),
    _asks("another's namespace", "syscall('setns', os.open(f'/proc/{BYSTANDER}/ns/net', 0), 0)\nreturn 2"),
    Attack(
        "a mount over the project",
        "syscall('mount', b'none', os.fsencode(WORKSPACE), b'tmpfs', 0, 0)\nreturn 2",
        _STOPPED,
        Harm.VICTIM_CHANGED,
    ),
    _asks("a copy of a mount", "syscall('open_tree', -100, b'/', 1)\nreturn 2"),
    _asks("another root folder", "syscall('chroot', os.fsencode(WORKSPACE))\nreturn 2"),
    _asks(
        "another name for the machine",
        """
        name = os.uname().nodename.encode()
        syscall("sethostname", name, len(name))
        return 2
        """,
    ),
    _asks("a ring of I/O requests",
          "import ctypes\nsyscall('io_uring_setup', 8, ctypes.create_string_buffer(120))\nreturn 2",
          harness=Harness.SCRIPT),
    _asks("a handler of page faults", "syscall('userfaultfd', 1)\nreturn 2"),
    _asks(
        "a performance counter",
        """
        import struct
        task_clock, size, without_kernel = 1, 128, 1 << 5 | 1 << 6
        attributes = struct.pack("IIQ", 1, size, task_clock).ljust(40, b"\\0") + struct.pack("Q", without_kernel)
        syscall("perf_event_open", attributes.ljust(size, b"\\0"), 0, -1, -1, 0)
        return 2
        """,
    ),
    _asks("a key in the keyring", "syscall('add_key', b'user', b'adacoder', b'value', 5, -2)\nreturn 2"),
    _asks("an address space without chance", "syscall('personality', 0x0040000)\nreturn 2"),
    _asks(
        "a program in the kernel",
        "import struct\nsyscall('bpf', 0, struct.pack('4I', 2, 4, 4, 1).ljust(72, b'\\0'), 72)\nreturn 2",
        unshown="kernels deny it to all but root outside of every namespace",
    ),
    _asks(
        "higher limits",
        """
        import resource
        hard = 4096
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        hoard = [os.open(os.devnull, os.O_RDONLY) for _ in range(200)]
        return 2
        """,
        harness=Harness.SCRIPT,
    ),
    _asks("to be traced by its parent", "syscall('ptrace', 0, 0, 0, 0)\nreturn 2"),
    Attack(
        "to trace its parent",
        "syscall('ptrace', 16, os.getppid(), 0, 0)\nreturn 2",
        _STOPPED,
        Harm.SERVER_ENDED,
        Harness.REPORT,
    ),
    Attack(
        "a filter that makes writing do nothing",
        """
        write = {"x86_64": 1, "aarch64": 64}[os.uname().machine]
        load, equal, answer, allow, pretend = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000
        install([(load, 0, 0, 0), (equal, 0, 1, write), (answer, 0, 0, pretend), (answer, 0, 0, allow)])
        return 3
        """,
        (*_STOPPED, FailureKind.TIMED_OUT, FailureKind.KILLED, FailureKind.PROTOCOL, FailureKind.WRONG_OUTPUT),
        Harm.HUNG,
        Harness.IN_PROCESS,
        top=_FILTER,
        timeout=0.5,
    ),
    Attack(
        "a cage around its process",
        """
        import ctypes, struct
        writing = 1 << 1 | 1 << 8
        rules = syscall("landlock_create_ruleset", struct.pack("Q", writing), 8, 0)
        ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
        syscall("landlock_restrict_self", rules, 0)
        return 3
        """,
        (*_STOPPED, FailureKind.WRONG_OUTPUT),
        Harm.SERVER_ENDED,
        Harness.IN_PROCESS,
    ),
)  # fmt: skip
