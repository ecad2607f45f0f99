"""Attacks that start processes: many, lasting ones, and ones that do what Python may not do."""

from __future__ import annotations

from adacoder.domain import FailureKind
from adversarial.attack import Attack, Ending, Harm, Harness

_STOPPED: tuple[Ending, ...] = (FailureKind.DENIED, FailureKind.EXCEPTION, FailureKind.PROTOCOL, FailureKind.KILLED)
_HONEST = "return len([os.getpid(), os.getppid()])"
"""The code starts no process. Benign code may not start one either."""


def _stays(
    name: str, body: str, *, ends: tuple[Ending, ...] = (*_STOPPED, FailureKind.WRONG_OUTPUT), twin: str = _HONEST
) -> Attack:
    """An attack that leaves a process behind, which still runs after the evaluation."""
    return Attack(name, body, ends, Harm.PROCESS_LEFT, Harness.SCRIPT, twin)


ATTACKS = (
    _stays(
        "a bomb of processes",
        """
        first = os.getpid()
        for _ in range(6):
            os.fork()
        if os.getpid() != first:
            os.setsid()
            os.closerange(0, 64)
            time.sleep(999)
        return 3
        """,
    ),
    _stays("a daemon", "daemon()\nreturn 3"),
    _stays(
        "a process in a group of its own",
        """
        if os.fork() == 0:
            os.setpgid(0, 0)
            os.closerange(0, 64)
            time.sleep(999)
        return 3
        """,
    ),
    _stays(
        "a process of the shell",
        """
        import subprocess
        subprocess.run("setsid sleep 999 & sleep 0.1", shell=True, pass_fds=[MARKED])
        return 3
        """,
    ),
    _stays("a process of the C library", "os.system('setsid sleep 999 & sleep 0.1')\nreturn 3"),
    _stays(
        "a spawned process",
        """
        os.posix_spawn("/bin/sleep", ["sleep", "999"], {}, setsid=True)
        return 3
        """,
    ),
    _stays(
        "a process of multiprocessing",
        """
        import multiprocessing
        multiprocessing.get_context("fork").Process(target=lambda: (os.setsid(), time.sleep(999))).start()
        os._exit(3)
        """,
        twin="import multiprocessing\nreturn len([multiprocessing.cpu_count(), multiprocessing.current_process()])",
    ),
    _stays(
        "a process by system call",
        """
        import signal
        if syscall("clone", signal.SIGCHLD, 0, 0, 0, 0) == 0:
            os.setsid()
            os.closerange(0, 64)
            time.sleep(999)
        return 3
        """,
    ),
    _stays(
        "a sibling by system call",
        """
        import signal
        clone_parent = 0x8000
        if syscall("clone", signal.SIGCHLD | clone_parent, 0, 0, 0, 0) == 0:
            os.setsid()
            os.closerange(0, 64)
            time.sleep(999)
        return 3
        """,
    ),
    _stays(
        "a process by the newest system call",
        """
        import signal, struct
        if syscall("clone3", struct.pack("8Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64) == 0:
            os.setsid()
            os.closerange(0, 64)
            time.sleep(999)
        return 3
        """,
    ),
    Attack(
        "becomes another program",
        "os.execv('/bin/true', ['true'])",
        (FailureKind.DENIED, FailureKind.KILLED),
        Harm.PASSED,
        Harness.SCRIPT,
        _HONEST,
    ),
    Attack(
        "becomes a program made in memory",
        """
        program = os.memfd_create("program", 0)
        with open("/bin/true", "rb") as file:
            os.write(program, file.read())
        os.execve(program, ["true"], {})
        """,
        (FailureKind.DENIED, FailureKind.KILLED),
        Harm.PASSED,
        Harness.SCRIPT,
        "return os.write(os.memfd_create('note'), b'ab')",
    ),
    Attack(
        "a shell that writes",
        """
        import subprocess
        subprocess.run(["sh", "-c", 'echo owned > "$0"', VICTIM], check=True)
        return 2
        """,
        (FailureKind.DENIED, FailureKind.EXCEPTION),
        Harm.VICTIM_CHANGED,
        twin="import subprocess\nreturn len([subprocess.PIPE, subprocess.DEVNULL])",
    ),
)  # fmt: skip
