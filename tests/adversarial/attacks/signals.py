"""Attacks on other processes: kill, stop or slow them in every way that the kernel offers."""

from __future__ import annotations

from adacoder.domain import FailureKind
from adversarial.attack import Attack, Ending, Harm, Harness

_STOPPED: tuple[Ending, ...] = (FailureKind.DENIED, FailureKind.EXCEPTION)
_HONEST = "os.kill(os.getpid(), 0)\nreturn 2"


def _on_server(name: str, body: str, *ends: Ending, harness: Harness = Harness.REPORT) -> Attack:
    """An attack that ends or stops the evaluator."""
    ending = ends or (*_STOPPED, FailureKind.WRONG_OUTPUT, FailureKind.KILLED)
    return Attack(name, body, ending, Harm.SERVER_ENDED, harness, _HONEST)


def _on_bystander(name: str, body: str, *ends: Ending, twin: str = _HONEST, machine: str = "") -> Attack:
    """An attack that harms an unrelated process."""
    return Attack(name, body, ends or _STOPPED, Harm.BYSTANDER_HIT, twin=twin, machine=machine)


ATTACKS = (
    _on_server("kills its parent", "os.kill(os.getppid(), 9)\nreturn 3"),
    _on_server("stops its parent", "os.kill(os.getppid(), 19)\nreturn 3"),
    _on_server("kills its group", "os.kill(0, 9)\nreturn 3"),
    _on_server("kills everyone", "os.kill(-1, KILL_ALL)\nreturn 2"),
    _on_server("kills everyone by system call", "syscall('kill', -1, KILL_ALL)\nreturn 2"),
    _on_bystander("kills by the module under os", "import posix\nposix.kill(BYSTANDER, 9)\nreturn 2"),
    _on_bystander("stops another", "os.kill(BYSTANDER, 19)\nreturn 2"),
    _on_bystander("kills a group", "os.killpg(BYSTANDER, 9)\nreturn 2"),
    _on_bystander("kills by the C library", "import ctypes\nreturn 2 + ctypes.CDLL(None).kill(BYSTANDER, 9)",
                  FailureKind.WRONG_OUTPUT),
    _on_bystander("kills by system call", "syscall('kill', BYSTANDER, 9)\nreturn 2"),
    _on_bystander("kills a thread", "syscall('tkill', BYSTANDER, 9)\nreturn 2"),
    _on_bystander("kills a thread of a group", "syscall('tgkill', BYSTANDER, BYSTANDER, 9)\nreturn 2"),
    _on_bystander(
        "kills by a handle",
        """
        import signal
        signal.pidfd_send_signal(os.pidfd_open(BYSTANDER), 9)
        return 2
        """,
    ),
    _on_bystander(
        "kills by a queued signal",
        """
        import struct
        syscall("rt_sigqueueinfo", BYSTANDER, 9, struct.pack("3i", 9, 0, -1) + bytes(116))
        return 2
        """,
    ),
    _on_bystander(
        "kills by 32-bit instructions",
        """
        import ctypes, struct
        # push ebx; eax = kill, ebx = process, ecx = signal; int 0x80; pop ebx; ret
        code = b"\\x53\\xb8" + struct.pack("<I", 37) + b"\\xbb" + struct.pack("<I", BYSTANDER)
        code += b"\\xb9" + struct.pack("<I", 9) + b"\\xcd\\x80\\x5b\\xc3"
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(code)
        return 2 + ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
        """,
        FailureKind.KILLED, FailureKind.WRONG_OUTPUT,
        machine="x86_64",
    ),
    _on_bystander(
        "kills by a descriptor's owner",
        """
        import fcntl
        set_signal = 10
        read, write = os.pipe()
        fcntl.fcntl(read, fcntl.F_SETOWN, BYSTANDER)
        fcntl.fcntl(read, set_signal, 9)
        fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC)
        os.write(write, b"x")
        return 3
        """,
        *_STOPPED, FailureKind.WRONG_OUTPUT,
        twin="read, write = os.pipe()\nreturn os.write(write, b'ab')",
    ),
    _on_bystander("slows another down", "os.setpriority(os.PRIO_PROCESS, BYSTANDER, 19)\nreturn 2"),
    _on_bystander(
        "binds another to one processor",
        """
        os.sched_setaffinity(BYSTANDER, {max(os.sched_getaffinity(0))})
        return 2
        """,
        twin="return 2 * bool(os.sched_getaffinity(0))",
    ),
    _on_bystander(
        "limits another's files",
        """
        import resource
        resource.prlimit(BYSTANDER, resource.RLIMIT_NOFILE, (5, 5))
        return 2
        """,
        twin="import resource\nreturn len(resource.getrlimit(resource.RLIMIT_NOFILE))",
    ),
    _on_bystander(
        "offers another to the memory killer",
        """
        with open(f"/proc/{BYSTANDER}/oom_score_adj", "w") as file:
            file.write("999")
        return 2
        """,
    ),
)  # fmt: skip
