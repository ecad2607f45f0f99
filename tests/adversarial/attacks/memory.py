"""Attacks on memory, of the candidate and of the evaluator.

An attack without any limit only reserves memory and never fills it, so that its test does not exhaust the machine.
"""

from __future__ import annotations

from adacoder.domain import FailureKind
from adacoder.sandbox.child.worker import pack
from adversarial.attack import Attack, Ending, Harm, Harness

_OUT_OF_MEMORY = FailureKind.OUT_OF_MEMORY
_WRONG_OUTPUT = FailureKind.WRONG_OUTPUT
_ANSWER = pack(["done", "", "3\n"])
_REFUSED: tuple[Ending, ...] = (_OUT_OF_MEMORY, FailureKind.EXCEPTION, FailureKind.DENIED)


def _greedy(name: str, body: str, twin: str, *ends: Ending, timeout: float = 10.0) -> Attack:
    """An attack that takes more memory than an evaluator should give. `f` returns 2 if it succeeds."""
    return Attack(name, body, ends or _REFUSED, Harm.PASSED, Harness.SCRIPT, twin, timeout=timeout)


def _flood(name: str, body: str, twin: str, *ends: Ending, harness: Harness = Harness.ANSWERS) -> Attack:
    """An attack that makes the evaluator store all its data."""
    return Attack(name, body, ends, Harm.EXHAUSTED, harness, twin)


ATTACKS = (
    _greedy("one huge object", "return len(bytes(8 << 30)) >> 32", "return len(bytes(8 << 20)) >> 22",
            _OUT_OF_MEMORY),
    Attack(
        "one huge object while it is imported",
        "return 2",
        (_OUT_OF_MEMORY,),
        Harm.PASSED,
        Harness.SCRIPT,
        top="HOARD = bytes(8 << 30)",
    ),
    _greedy(
        "many large objects",
        """
        hoard = [bytes(100 << 20) for _ in range(50)]
        return 2
        """,
        """
        hoard = [bytes(100 << 10) for _ in range(50)]
        return 2
        """,
        _OUT_OF_MEMORY,
    ),
    _greedy(
        "goes on when memory is out",
        """
        hoard = []
        while len(hoard) < 50:
            try:
                hoard.append(bytes(100 << 20))
            except MemoryError:
                continue
        return 2
        """,
        """
        try:
            raise MemoryError
        except MemoryError:
            return 2
        """,
        FailureKind.TIMED_OUT,
        timeout=0.3,
    ),
    _greedy(
        "shared memory",
        """
        mmap.mmap(-1, 8 << 30)
        return 2
        """,
        """
        mmap.mmap(-1, 8 << 20)
        return 2
        """,
    ),
    _greedy(
        "memory of the C library",
        """
        import ctypes
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        return 2 if libc.malloc(ctypes.c_size_t(8 << 30)) else 3
        """,
        """
        import ctypes
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        return 2 if libc.malloc(ctypes.c_size_t(8 << 10)) else 3
        """,
        _WRONG_OUTPUT,
    ),
    _greedy(
        "a file in memory",
        """
        os.truncate(os.memfd_create("hoard"), 8 << 30)
        return 2
        """,
        """
        return os.write(os.memfd_create("note"), b"ab")
        """,
    ),
    _greedy(
        "many files in memory",
        """
        hoard = [os.memfd_create(str(i)) for i in range(100)]
        for file in hoard:
            os.truncate(file, 15 << 20)
        return 2
        """,
        """
        hoard = [os.memfd_create(str(i)) for i in range(10)]
        for file in hoard:
            os.write(file, b"ab")
        return 2
        """,
    ),
    _greedy(
        "locked memory",
        """
        import ctypes
        page = ctypes.create_string_buffer(1 << 16)
        syscall("mlock", ctypes.addressof(page), 1 << 16)
        return 2
        """,
        """
        import ctypes
        page = ctypes.create_string_buffer(1 << 16)
        return len(page) >> 15
        """,
    ),
    _greedy(
        "a bomb of threads",
        """
        import threading
        threading.stack_size(32 << 20)
        end = threading.Event()
        threads = [threading.Thread(target=end.wait, args=(10,)) for _ in range(400)]
        try:
            for thread in threads:
                thread.start()
        finally:
            end.set()
        return 2
        """,
        """
        import threading
        threads = [threading.Thread(target=int) for _ in range(8)]
        for thread in threads:
            thread.start()
        return 2
        """,
    ),
    _flood(
        "much output",
        """
        for _ in range(100):
            sys.stdout.write("x" * (1 << 20))
        return 2
        """,
        """
        print(end="")
        return 2
        """,
        _WRONG_OUTPUT, _OUT_OF_MEMORY,
    ),
    _flood(
        "a result with a huge text",
        """
        class Huge:
            def __repr__(self):
                return "x" * (100 << 20)
        return Huge()
        """,
        """
        class Small:
            def __repr__(self):
                return "2"
        return Small()
        """,
        _WRONG_OUTPUT, _OUT_OF_MEMORY,
    ),
    _flood(
        "an exception with a huge text",
        "raise ValueError('x' * (100 << 20))",
        """
        try:
            raise ValueError("x" * (2 << 20))
        except ValueError:
            return 2
        """,
        FailureKind.EXCEPTION, _OUT_OF_MEMORY,
    ),
    _flood(
        "a flood on standard output",
        """
        for _ in range(100):
            os.write(1, b"x" * (1 << 20))
        return 3
        """,
        """
        os.write(1, b"x" * (1 << 20) + b"\\n")
        return 2
        """,
        _WRONG_OUTPUT,
        harness=Harness.REPORT,
    ),
    _flood(
        "a flood of answers",
        f"""
        for content in [{_ANSWER!r}, *[bytes(1 << 20)] * 100]:
            for descriptor in range(3, 64):
                try:
                    os.write(descriptor, content)
                except OSError:
                    pass
        return 3
        """,
        """
        for descriptor in os.pipe():
            os.close(descriptor)
        return 2
        """,
        FailureKind.PROTOCOL,
    ),
)  # fmt: skip
