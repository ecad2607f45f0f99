"""Attacks on the verdict: candidates that are wrong, but try to be reported as passed."""

from __future__ import annotations

from adacoder.domain import FailureKind
from adacoder.sandbox.child.worker import pack
from adversarial.attack import Attack, Ending, Harm, Harness

_WRONG_OUTPUT, _KILLED, _PROTOCOL = FailureKind.WRONG_OUTPUT, FailureKind.KILLED, FailureKind.PROTOCOL
_FORGED = pack(["done", "0" * 16, "2\n"])
"""An answer in a worker's format, with an invented nonce."""
_ON_ALL = """
def on_all(content, end):
    for descriptor in range(1, end):
        try:
            os.write(descriptor, content)
        except OSError:
            pass
"""


def _fakes_report(name: str, body: str, twin: str, *ends: Ending, bottom: str = "") -> Attack:
    return Attack(name, body, ends or (_WRONG_OUTPUT,), Harm.PASSED, Harness.REPORT, twin, bottom=bottom)


def _fakes_exit(name: str, body: str, twin: str, *ends: Ending, bottom: str = "") -> Attack:
    return Attack(name, body, ends or (_WRONG_OUTPUT,), Harm.PASSED, Harness.SCRIPT, twin, bottom=bottom, top="")


def _fakes_answer(name: str, body: str, twin: str, *ends: Ending, harm: Harm = Harm.PASSED) -> Attack:
    return Attack(name, body, ends or (_PROTOCOL,), harm, Harness.ANSWERS, twin, top=_ON_ALL, timeout=2.0)


def _fools_comparison(name: str, body: str, twin: str, *ends: Ending) -> Attack:
    return Attack(name, body, ends or (_WRONG_OUTPUT,), Harm.PASSED, Harness.IN_PROCESS, twin)


def _knows(name: str, body: str, harness: Harness = Harness.REPORT, top: str = "") -> Attack:
    """An attack that passes by knowing the expected output. Doctest would accept this as well."""
    ends: tuple[Ending, ...] = ("passed", _WRONG_OUTPUT, _PROTOCOL, _KILLED, FailureKind.EXCEPTION)
    return Attack(name, body, ends, Harm.PASSED, harness, top=top, timeout=2.0, knows_want=True)


ATTACKS = (
    _fakes_report(
        "a report of its own",
        """
        os.write(1, b'{"passed": true}\\n')
        os._exit(0)
        """,
        "sys.__stdout__.write('{}\\n')\nreturn 2",
        _KILLED,
    ),
    _fakes_report(
        "a report on every descriptor",
        """
        for descriptor in range(1, 64):
            try:
                os.write(descriptor, b'{"passed": true}\\n')
            except OSError:
                pass
        os._exit(0)
        """,
        "os.write(1, b'{}\\n')\nreturn 2",
        _KILLED, _PROTOCOL,
    ),
    _fakes_report(
        "a doctest that never fails",
        """
        import doctest
        doctest.OutputChecker.check_output = lambda *_: True
        doctest.DocTestRunner._DocTestRunner__record_outcome = lambda *_: None
        return 3
        """,
        "import doctest\nreturn 2 * doctest.OutputChecker().check_output('', '', 0)",
    ),
    _fakes_report(
        "JSON that says one thing",
        """
        import json
        json.dumps = lambda *_: '{"passed": true}'
        return 3
        """,
        "import json\nreturn json.loads(json.dumps(2))",
    ),
    _fakes_report(
        "a display that shows something else",
        """
        sys.displayhook = sys.__displayhook__ = lambda value: print(2)
        return 3
        """,
        "sys.displayhook = print\nreturn 2",
    ),
    _fakes_report(
        "a print that says something else",
        """
        import builtins
        builtins.print = lambda *_: sys.__stdout__.write('{"passed": true}\\n')
        return 3
        """,
        "print(end='')\nreturn 2",
    ),
    _fakes_report(
        "an output that lies of itself",
        """
        sys.stdout.getvalue = lambda: "2\\n"
        return 3
        """,
        "return sys.stdout.write('') + 2",
        _WRONG_OUTPUT, FailureKind.EXCEPTION,
    ),
    _fakes_report("a docstring that is gone", "return 3", "return 2", bottom="f.__doc__ = None"),
    _fakes_report("a function that is none", "return 3", "return 2", bottom="f = __import__('functools').partial(f)"),
    _fakes_exit("exits without a word", "os._exit(0)", "return 2 * callable(os._exit)", _KILLED),
    _fakes_exit("exits", "sys.exit(0)",
                "try:\n    sys.exit(0)\nexcept SystemExit:\n    return 2", FailureKind.EXCEPTION),
    _fakes_exit("exits while it is imported", "return 3", "return 2", FailureKind.IMPORT_ERROR, bottom="sys.exit(0)"),
    _fakes_exit("exits without a word while it is imported", "return 3", "return 2", _KILLED, bottom="os._exit(0)"),
    _fakes_exit(
        "corrects the exit status",
        """
        import atexit
        atexit.register(os._exit, 0)
        return 3
        """,
        "import atexit\natexit.register(int)\nreturn 2",
    ),
    _fakes_exit(
        "hides its exception",
        """
        sys.excepthook = lambda *_: os._exit(0)
        return 3
        """,
        "sys.excepthook = print\nreturn 2",
    ),
    _fakes_exit(
        "exits in time from a thread",
        """
        import threading
        threading.Timer(0.05, os._exit, (0,)).start()
        time.sleep(2)
        return 3
        """,
        "import threading\nthreading.Timer(0, int).start()\nreturn 2",
        _KILLED,
    ),
    _fakes_exit(
        "exits at the next call",
        """
        sys.settrace(lambda *_: os._exit(0))
        (lambda: None)()
        """,
        "sys.settrace(lambda *_: None)\nreturn 2",
        _KILLED,
    ),
    _fakes_answer("an answer of its own", f"on_all({_FORGED!r}, 64)\nreturn 3", "os.write(1, b'done')\nreturn 2"),
    _fakes_answer(
        "an answer of its own, and silence",
        f"on_all({_FORGED!r}, 64)\nos._exit(0)",
        "os.write(2, b'done')\nreturn 2",
        _PROTOCOL, _KILLED,
    ),
    _fakes_answer(
        "an answer put in the place of the true one",
        f"""
        write = os.write
        os.write = lambda descriptor, _: write(descriptor, {_FORGED!r})
        return 3
        """,
        "os.read = None\nreturn 2",
        _WRONG_OUTPUT,
    ),
    _fakes_answer(
        "a text for everything",
        """
        import builtins
        builtins.repr = lambda value: "2"
        builtins.compile = None
        return 3
        """,
        "import builtins\nbuiltins.ascii = None\nreturn 2",
        _WRONG_OUTPUT,
    ),
    _fakes_answer("garbage on every descriptor", "on_all(b'\\xff' * 99, 64)\nreturn 2",
                  "os.write(1, b'\\xff')\nreturn 2",
                  harm=Harm.SERVER_ENDED),
    Attack(
        "garbage on every descriptor while it is imported",
        "return 2",
        (_PROTOCOL,),
        Harm.SERVER_ENDED,
        Harness.ANSWERS,
        top=f"{_ON_ALL}\non_all(b'\\xff' * 99, 64)",
    ),
    _fakes_answer("an answer that never comes to its end", "on_all((1 << 30).to_bytes(4, 'little'), 64)\nos._exit(0)",
                  "return 2", _PROTOCOL, _KILLED, harm=Harm.SERVER_ENDED),
    _fakes_answer("no answer", "os.closerange(0, 64)\nreturn 2",
                  "read, write = os.pipe()\nos.close(write)\nreturn 2", _KILLED, _PROTOCOL, harm=Harm.SERVER_ENDED),
    _fakes_answer(
        "no answer, and no end",
        """
        os.closerange(3, 64)
        time.sleep(60)
        """,
        "time.sleep(0.01)\nreturn 2",
        _PROTOCOL, harm=Harm.HUNG,
    ),
    _fakes_answer(
        "descriptors instead of answers",
        """
        import array, socket
        for descriptor in range(3, 64):
            try:
                with socket.socket(fileno=os.dup(descriptor)) as line:
                    mine = array.array("i", [MARKED])
                    for _ in range(99):
                        line.sendmsg([b"\\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, mine)])
            except OSError:
                pass
        on_all(b"\\xff", 64)
        return 2
        """,
        "import socket\nreturn len(socket.socketpair())",
        _PROTOCOL, FailureKind.TIMED_OUT,  # if sending descriptors is forbidden, only part of a size arrives
        harm=Harm.SERVER_ENDED,
    ),
    Attack(
        "text that is no text",
        """
        print("\\ud800\\0")
        return 3
        """,
        (_WRONG_OUTPUT,),
        Harm.SERVER_ENDED,
        Harness.REPORT,
        "print(end='')\nreturn len('\\ud800\\0')",
    ),
    Attack(
        "bytes that are no text",
        "os.write(1, b'\\xff\\xfe')\nos.write(2, b'\\xff')\nreturn 3",
        (_WRONG_OUTPUT,),
        Harm.SERVER_ENDED,
        Harness.REPORT,
        "os.write(1, b'text\\n')\nreturn 2",
    ),
    _fools_comparison(
        "equal to everything",
        """
        class Equal:
            def __eq__(self, other):
                return True
            def __str__(self):
                return "2"
        return Equal()
        """,
        "class Equal(int):\n    pass\nreturn Equal(2)",
    ),
    _fools_comparison(
        "a number equal to everything",
        """
        class Equal(int):
            def __eq__(self, other):
                return True
            __hash__ = None
        return Equal(3)
        """,
        "return int(2.0)",
    ),
    _fools_comparison(
        "a result whose class is another",
        """
        class Two:
            __class__ = int
            def __eq__(self, other):
                return other == 2
            def __format__(self, form):
                return "2"
        return Two()
        """,
        "return type(x)(2)",
    ),
    _fools_comparison(
        "a word in its evaluator's frame",
        """
        frame = sys._getframe()
        while frame is not None:
            for value in frame.f_locals.values():
                if type(value) is list and not value:
                    value.append("passed")
            frame = frame.f_back
        return 3
        """,
        "return 1 + bool(sys._getframe().f_locals)",
        _WRONG_OUTPUT, _PROTOCOL, _KILLED, FailureKind.EXCEPTION,
    ),
    _fools_comparison(
        "a word in every list there is",
        """
        import gc
        for value in gc.get_objects():
            if type(value) is list and not value:
                value.append("passed")
        return 3
        """,
        "import gc\nreturn 1 + bool(gc.get_objects())",
        _WRONG_OUTPUT, _PROTOCOL, _KILLED, FailureKind.EXCEPTION,
    ),
    _fools_comparison(
        "an error that leaves the comparison",
        """
        class Leaving:
            def __eq__(self, other):
                frame = sys._getframe(1)
                frame.f_locals["result"].append("passed")
                raise ValueError
        return Leaving()
        """,
        "return max(x, 2)",
    ),
    _knows("knows the example", "return 2 if x == 1 else 0"),
    _knows("prints what is wanted", "print(2)"),
    _knows("shows itself as wanted", "class Two:\n    def __repr__(self):\n        return '2'\nreturn Two()"),
    _knows("reads its own docstring", "return int(f.__doc__.split()[-1])"),
    _knows(
        "writes where its output is kept",
        """
        import gc, io
        for value in gc.get_objects():
            if isinstance(value, io.StringIO):
                value.write("2\\n")
        """,
    ),
    _knows(
        "makes every output what is wanted",
        """
        type(sys.stdout).getvalue = lambda self: "2\\n"
        return 3
        """,
    ),
    _knows(
        "answers with its evaluator's own words",
        f"""
        nonces = []
        frame = sys._getframe()
        while frame is not None:
            nonces += [value for value in frame.f_locals.values() if type(value) is str and len(value) == 16]
            frame = frame.f_back
        for nonce in nonces or ["0" * 16]:
            on_all({_FORGED!r}.replace(b"0" * 16, nonce.encode()), 64)
        time.sleep(0.1)
        os._exit(0)
        """,
        Harness.ANSWERS,
        _ON_ALL,
    ),
)  # fmt: skip
