"""Attacks on secrets: in files, environments, and other processes' memory and descriptors."""

from __future__ import annotations

from adacoder.domain import FailureKind
from adversarial.attack import Attack, Harm, Harness

_ENDS = (FailureKind.DENIED, FailureKind.EXCEPTION, FailureKind.WRONG_OUTPUT)
_READ = "return len(open(VICTIM).read()) - 3"


def _spy(name: str, body: str, twin: str = _READ, harness: Harness = Harness.UNCONFINED) -> Attack:
    """An attack that returns the secret if it finds it."""
    return Attack(name, body, _ENDS, Harm.SECRET_TOLD, harness, twin)


def _file(name: str, folder: str, path: str) -> Attack:
    return _spy(name, f"return open(os.path.join({folder}, {path!r})).read()")


_SEARCH_STACK = """
def search_stack(process, read):
    for line in open(f"/proc/{process}/maps"):
        if line.rstrip().endswith("[stack]"):
            start, end = (int(number, 16) for number in line.split()[0].split("-"))
            stack = read(start, end - start)
            place = stack.find(TOKEN.encode() + b"=")
            return stack[place : place + 60]
"""


def _memory_spy(name: str, body: str, harness: Harness = Harness.UNCONFINED) -> Attack:
    return Attack(name, body, _ENDS, Harm.SECRET_TOLD, harness, _READ, top=_SEARCH_STACK)


ATTACKS = (
    _file("reads a key in the home folder", "USER", ".ssh/id_rsa"),
    _file("reads a file in the home folder", "USER", "notes.txt"),
    _file("reads beside the project", "OUTSIDE", "secret.txt"),
    _file("reads out of the project by dots", "WORKSPACE", "../outside/secret.txt"),
    _file("reads out of the project by a link", "WORKSPACE", "way-out/secret.txt"),
    _file("reads the project's settings", "WORKSPACE", ".env"),
    _file("reads the repository", "WORKSPACE", ".git/config"),
    _file("reads the project's key", "WORKSPACE", "server.key"),
    _file("reads settings deeper in the project", "WORKSPACE", "app/.env"),
    _file("reads a key deeper in the project", "WORKSPACE", "app/deploy/id_rsa"),
    _file("reads a repository deeper in the project", "WORKSPACE", "app/.git/config"),
    _spy(
        "reads settings through a hard link",
        """
        os.link(os.path.join(WORKSPACE, ".env"), "own")
        return open("own").read()
        """,
    ),
    _spy(
        "reads settings through a path descriptor",
        """
        handle = os.open(os.path.join(WORKSPACE, ".env"), os.O_PATH)
        return open(f"/proc/self/fd/{handle}").read()
        """,
    ),
    _spy("reads its environment", "return os.environ.get(TOKEN)", "return len(os.environ.get('none', 'no'))",
         Harness.REPORT),
    _spy("reads its first environment", "return open('/proc/self/environ').read()",
         "return 2 * bool(os.environ.get('PATH'))", Harness.REPORT),
    _spy("reads its parent's environment", "return open(f'/proc/{os.getppid()}/environ').read()",
         harness=Harness.REPORT),
    _spy("reads another's environment", "return open(f'/proc/{BYSTANDER}/environ').read()"),
    _spy(
        "reads everyone's environment",
        """
        found = ""
        for name in os.listdir("/proc"):
            try:
                found += open(f"/proc/{name}/environ").read()
            except OSError:
                pass
        return [line for line in found.split("\\0") if line.startswith(TOKEN)]
        """,
    ),
    _spy("reads another's open file", "return open(f'/proc/{BYSTANDER}/fd/0').read()"),
    _spy("reads files by another's root", "return open(f'/proc/{BYSTANDER}/root{USER}/notes.txt').read()"),
    _spy("reads files by another's working folder", "return open(f'/proc/{BYSTANDER}/cwd/notes.txt').read()"),
    _memory_spy(
        "reads another's memory",
        """
        def read(start, size):
            with open(f"/proc/{BYSTANDER}/mem", "rb") as memory:
                memory.seek(start)
                return memory.read(size)
        return search_stack(BYSTANDER, read)
        """,
    ),
    _memory_spy(
        "reads its parent's memory",
        """
        def read(start, size):
            with open(f"/proc/{os.getppid()}/mem", "rb") as memory:
                memory.seek(start)
                return memory.read(size)
        return search_stack(os.getppid(), read)
        """,
        Harness.REPORT,
    ),
    _memory_spy(
        "reads another's memory by system call",
        """
        import ctypes, struct
        def read(start, size):
            buffer = ctypes.create_string_buffer(size)
            here, there = struct.pack("2Q", ctypes.addressof(buffer), size), struct.pack("2Q", start, size)
            syscall("process_vm_readv", BYSTANDER, here, 1, there, 1, 0)
            return buffer.raw
        return search_stack(BYSTANDER, read)
        """,
    ),
    _memory_spy(
        "reads another's memory as its debugger",
        """
        import ctypes
        attach, peek = 16, 2
        syscall("ptrace", attach, BYSTANDER, 0, 0)
        os.waitpid(BYSTANDER, 0x40000000)
        def read(start, size):
            word = ctypes.c_long()
            found = b""
            for offset in range(max(0, size - 8192), size, 8):
                syscall("ptrace", peek, BYSTANDER, start + offset, ctypes.addressof(word))
                found += bytes(word)
            return found
        return search_stack(BYSTANDER, read)
        """,
    ),
    _spy(
        "takes another's descriptor",
        """
        taken = syscall("pidfd_getfd", syscall("pidfd_open", BYSTANDER, 0), 0, 0)
        return os.pread(taken, 99, 0)
        """,
    ),
)  # fmt: skip
