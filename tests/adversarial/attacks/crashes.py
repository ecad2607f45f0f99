"""Attacks that end or break their process, which may be the evaluator's."""

from __future__ import annotations

from adacoder.domain import FailureKind
from adversarial.attack import Attack, Ending, Harm, Harness

_KILLED = FailureKind.KILLED


def _breaks(name: str, body: str, twin: str, *ends: Ending) -> Attack:
    return Attack(name, body, ends or (_KILLED,), Harm.SERVER_ENDED, Harness.IN_PROCESS, twin)


ATTACKS = (
    _breaks("reads from nowhere", "import ctypes\nctypes.string_at(0)",
            "import ctypes\nreturn len(ctypes.string_at(b'ab'))"),
    _breaks("aborts", "os.abort()", "return 2 * callable(os.abort)"),
    _breaks("kills itself", "os.kill(os.getpid(), 9)", "os.kill(os.getpid(), 0)\nreturn 2"),
    _breaks("exits with an error", "os._exit(3)",
            "try:\n    sys.exit(3)\nexcept SystemExit as error:\n    return error.code - 1"),
    _breaks(
        "exits from a thread",
        """
        import threading
        threading.Thread(target=os._exit, args=(1,)).start()
        time.sleep(5)
        """,
        """
        import threading
        threading.Thread(target=int).start()
        return 2
        """,
    ),
    _breaks(
        "runs off the stack",
        """
        sys.setrecursionlimit(10 ** 9)
        def dig(n):
            return max([n], key=dig)
        return dig(x)
        """,
        """
        def dig(n):
            return n if n < 2 else dig(n - 1)
        return dig(99) + 1
        """,
        _KILLED, FailureKind.OUT_OF_MEMORY,
    ),
    _breaks(
        "runs broken bytecode",
        """
        code = (lambda: None).__code__
        exec(code.replace(co_code=bytes([100, 255] * 8), co_consts=(), co_stacksize=0))
        """,
        "exec((lambda: None).__code__)\nreturn 2",
        _KILLED, FailureKind.EXCEPTION,
    ),
    _breaks(
        "writes over the interpreter",
        """
        import ctypes
        ctypes.memset(id(type), 0, 400)
        return type(x)
        """,
        "return 1 + type(x)(x)",
    ),
    _breaks(
        "clears the built-ins",
        """
        import builtins
        builtins.__dict__.clear()
        return 3
        """,
        "import builtins\nreturn 1 + len(vars(builtins)['__name__'][:1])",
        FailureKind.WRONG_OUTPUT, _KILLED, FailureKind.EXCEPTION, FailureKind.PROTOCOL,
    ),
    _breaks(
        "raises in every function",
        """
        def trace(frame, event, argument):
            if frame.f_code.co_name != "f":
                os._exit(9)
            return trace
        sys.setprofile(trace)
        return 2
        """,
        "sys.setprofile(None)\nreturn 2",
    ),
)  # fmt: skip
