"""Attacks on the interpreter's state, for evaluators that reuse an interpreter."""

from __future__ import annotations

from adacoder.domain import FailureKind
from adversarial.attack import Attack, Ending, Harm, Harness


def _lasting(name: str, body: str, aftermath: str, *ends: Ending, harm: Harm = Harm.POISONED) -> Attack:
    """An attack that changes the interpreter. After it, `aftermath` returns 2 only in an unchanged one."""
    return Attack(name, body, ends or (FailureKind.WRONG_OUTPUT,), harm, Harness.IN_PROCESS, aftermath=aftermath)


ATTACKS = (
    _lasting("patches a built-in function", "import builtins\nbuiltins.sum = lambda *_: 3\nreturn 3",
             "return sum([x, 1])"),
    _lasting("patches a library", "import math\nmath.floor = lambda *_: 3\nreturn 3",
             "import math\nreturn math.floor(x + 1.5)"),
    _lasting("replaces a library", "import types\nsys.modules['colorsys'] = types\nreturn 3",
             "import colorsys\nreturn 1 + callable(colorsys.rgb_to_hsv)"),
    _lasting("puts a folder first", "sys.path.insert(0, 'here-i-was')\nreturn 3",
             "return 2 + ('here-i-was' in sys.path)"),
    _lasting(
        "finds modules itself",
        """
        class Finder:
            def find_spec(self, name, *_):
                raise ImportError("owned")
        sys.meta_path.insert(0, Finder())
        return 3
        """,
        "import colorsys\nreturn 2",
    ),
    _lasting("changes the environment", "os.environ['LOCAL'] = 'yes'\nreturn 3", "return 2 + ('LOCAL' in os.environ)"),
    _lasting("changes the working folder", "os.chdir('/')\nreturn 3", "return 2 + (os.getcwd() == '/')"),
    _lasting("lowers the recursion limit", "sys.setrecursionlimit(40)\nreturn 3",
             "return 2 + (sys.getrecursionlimit() < 99)"),
    _lasting("lowers its limits", "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))\nreturn 3",
             "hoard = [os.open(os.devnull, os.O_RDONLY) for _ in range(12)]\nreturn 2", harm=Harm.SERVER_ENDED),
    _lasting("changes the mask of new files", "os.umask(0o777)\nreturn 3",
             "mask = os.umask(0)\nos.umask(mask)\nreturn 2 + (mask == 0o777)"),
    _lasting("silences a signal", "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nreturn 3",
             "import signal\nreturn 2 + (signal.getsignal(signal.SIGTERM) == signal.SIG_IGN)"),
    _lasting(
        "sets an alarm",
        """
        import signal
        def late(*_):
            raise MemoryError
        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        return 3
        """,
        "time.sleep(0.05)\nreturn 2",
    ),
    _lasting(
        "leaves a thread that meddles",
        """
        import builtins, threading
        def meddle():
            time.sleep(0.02)
            builtins.len = lambda *_: 3
        threading.Thread(target=meddle).start()
        return 3
        """,
        "time.sleep(0.05)\nreturn len('ab')",
    ),
    _lasting(
        "swaps two numbers",
        """
        import ctypes
        ctypes.c_uint32.from_address(id(2) + int.__basicsize__).value = 3
        return 3
        """,
        "return x + 1",
        FailureKind.WRONG_OUTPUT, FailureKind.KILLED, FailureKind.PROTOCOL, FailureKind.EXCEPTION,
        harm=Harm.PASSED,
    ),
)  # fmt: skip
