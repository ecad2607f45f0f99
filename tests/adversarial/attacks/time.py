"""Attacks on the evaluator's time."""

from __future__ import annotations

from adacoder.domain import FailureKind
from adversarial.attack import Attack, Ending, Harm, Harness


def _endless(name: str, body: str, twin: str, *ends: Ending) -> Attack:
    """An endless attack. `ends` are the ways in which it may end with isolation, by default its timeout."""
    if ends:
        return Attack(name, body, ends, Harm.HUNG, Harness.SCRIPT, twin)
    return Attack(name, body, (FailureKind.TIMED_OUT,), Harm.HUNG, Harness.SCRIPT, twin, timeout=0.3)


ATTACKS = (
    _endless(
        "endless loop",
        """
        while True:
            pass
        """,
        """
        for _ in range(99):
            pass
        return 2
        """,
    ),
    Attack(
        "never ends while it is imported",
        "return 2",
        (FailureKind.TIMED_OUT,),
        Harm.HUNG,
        Harness.SCRIPT,
        top="while True:\n    pass",
        timeout=0.3,
    ),
    _endless("endless sleep", "time.sleep(10 ** 6)", "time.sleep(0.001) or 2\nreturn 2"),
    _endless("endless sum", "return sum(iter(int, 1))", "return sum(iter([1, 1, 0].pop, 5)) if False else 2"),
    _endless("a power too high", "return 9 ** 9 ** (8 + x)", "return len(str(9 ** 9 ** x)) - 7"),
    _endless(
        "a pattern that backtracks",
        """
        import re
        return re.match("(a+)+$", "a" * 64 + "b")
        """,
        """
        import re
        return re.match("(a+)+$", "aa").end()
        """,
    ),
    _endless(
        "a loop deaf to signals",
        """
        import signal
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        while True:
            pass
        """,
        """
        import signal
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
        return 2
        """,
    ),
    _endless(
        "a loop that swallows every exception",
        """
        while True:
            try:
                time.sleep(1)
            except BaseException:
                continue
        """,
        """
        try:
            raise KeyboardInterrupt
        except BaseException:
            return 2
        """,
    ),
    _endless(
        "an exception with an endless text",
        """
        class Endless(Exception):
            def __str__(self):
                while True:
                    pass
        raise Endless
        """,
        """
        class Short(Exception):
            def __str__(self):
                return "2"
        try:
            raise Short
        except Short as error:
            return int(str(error))
        """,
    ),
    _endless(
        "a result whose text is endless",
        """
        class Endless:
            def __repr__(self):
                while True:
                    pass
            def __eq__(self, other):
                while True:
                    pass
        return Endless()
        """,
        """
        class Short:
            def __repr__(self):
                return "2"
            def __eq__(self, other):
                return other == 2
        return Short()
        """,
    ),
    _endless(
        "an object that never dies",
        """
        class Undying:
            def __del__(self):
                while True:
                    pass
        Undying()
        """,
        """
        class Mortal:
            def __del__(self):
                pass
        Mortal()
        return 2
        """,
    ),
    _endless(
        "a trace function that never returns",
        """
        def trace(*_):
            while True:
                pass
        sys.settrace(trace)
        (lambda: None)()
        """,
        """
        sys.settrace(lambda *_: None)
        (lambda: None)()
        sys.settrace(None)
        return 2
        """,
    ),
    _endless(
        "a deadlock",
        """
        import threading
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
        """,
        """
        import threading
        lock = threading.Lock()
        lock.acquire()
        lock.release()
        return 2
        """,
    ),
    _endless(
        "a pipe that nobody writes to",
        """
        read, write = os.pipe()
        os.read(read, 1)
        """,
        """
        read, write = os.pipe()
        os.write(write, b"ab")
        return len(os.read(read, 9))
        """,
    ),
    _endless(
        "stops itself",
        """
        import signal
        os.kill(os.getpid(), signal.SIGSTOP)
        """,
        """
        import signal
        os.kill(os.getpid(), 0)
        return 2
        """,
    ),
    _endless(
        "waits for the user's input",
        "return input()",
        """
        import io
        sys.stdin = io.StringIO("2")
        return int(input())
        """,
        FailureKind.EXCEPTION,
    ),
    _endless(
        "hangs at the exit",
        """
        import atexit
        atexit.register(time.sleep, 10 ** 6)
        return 3
        """,
        """
        import atexit
        atexit.register(int)
        return 2
        """,
        FailureKind.WRONG_OUTPUT,
    ),
    _endless(
        "leaves threads behind",
        """
        import threading
        for _ in range(8):
            threading.Thread(target=time.sleep, args=(10 ** 6,)).start()
        return 3
        """,
        """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(8) as pool:
            return sum(pool.map(int, "11"))
        """,
        FailureKind.WRONG_OUTPUT,
    ),
    _endless(
        "a child that answers instead",
        """
        if os.fork():
            time.sleep(10 ** 6)
        return 3
        """,
        """
        return len([os.getpid(), os.getppid()])
        """,
        FailureKind.WRONG_OUTPUT, FailureKind.DENIED,
    ),
)  # fmt: skip
