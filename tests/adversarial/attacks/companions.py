"""Functions whose surroundings are hostile: the project, packages, the interpreter, or the examples."""

from __future__ import annotations

from collections.abc import Mapping

from adacoder.domain import FailureKind
from adacoder.sandbox.child.worker import pack
from adversarial.attack import ONE_EXAMPLE, Attack, Ending, Harm, Harness

_HONEST = "return x + 1"
_DIED: tuple[Ending, ...] = (FailureKind.KILLED, FailureKind.PROTOCOL, "refused")
_STOPPED: tuple[Ending, ...] = (FailureKind.IMPORT_ERROR, FailureKind.DENIED, *_DIED)
_ANY: tuple[Ending, ...] = ("passed", *_STOPPED)
"""The function itself is honest, so it may pass if its surroundings do no harm."""
_FORGED = pack(["ready"]) + pack(["done", "0" * 16, "2\n"])


def _module(
    name: str,
    helper: str,
    harm: Harm,
    *ends: Ending,
    harness: Harness = Harness.UNCONFINED,
    body: str = _HONEST,
    aftermath: str = _HONEST,
    timeout: float = 10.0,
    unshown: str = "",
) -> Attack:
    """An attack by a module of the project that the function's module imports."""
    return Attack(
        name,
        body,
        ends or _ANY,
        harm,
        harness,
        top="import helper",
        aftermath=aftermath,
        files={"helper.py": helper},
        timeout=timeout,
        unshown=unshown,
    )


def _poisonous(name: str, helper: str, aftermath: str) -> Attack:
    """An attack by a module that later evaluations do not import. Only `aftermath` notices its effect."""
    return _module(
        name, helper, Harm.POISONED, *_ANY, FailureKind.WRONG_OUTPUT, harness=Harness.IN_PROCESS, aftermath=aftermath
    )


def _environment(
    name: str, files: Mapping[str, str], harm: Harm, *ends: Ending, body: str = _HONEST, top: str = ""
) -> Attack:
    """An attack by the interpreter's environment."""
    return Attack(name, body, ends or _ANY, harm, Harness.SCRIPT, top=top, environment=files)


def _example(name: str, examples: str, harm: Harm, *ends: Ending, body: str = _HONEST, timeout: float = 10.0) -> Attack:
    """An attack by examples in the docstring."""
    return Attack(name, body, ends, harm, Harness.REPORT, examples=examples, timeout=timeout)


_MODULES = (
    _module("a module that deletes", "os.remove(VICTIM)", Harm.VICTIM_CHANGED),
    _module("a module that deletes, and says nothing", "try:\n    os.remove(VICTIM)\nexcept OSError:\n    pass",
            Harm.VICTIM_CHANGED),
    _module("a module that exits", "sys.exit(0)", Harm.PASSED, FailureKind.IMPORT_ERROR, harness=Harness.SCRIPT,
            body="return 3"),
    _module("a module that exits without a word", "os._exit(0)", Harm.PASSED, *_STOPPED, harness=Harness.SCRIPT,
            body="return 3"),
    _module("a module that never ends", "while True:\n    pass", Harm.HUNG, FailureKind.TIMED_OUT,
            harness=Harness.SCRIPT, timeout=0.3),
    _module("a module that crashes", "import ctypes\nctypes.string_at(0)", Harm.SERVER_ENDED, *_STOPPED,
            harness=Harness.IN_PROCESS),
    _module("a module that leaves a process", "daemon(lambda: (os.open(MARK, 0), time.sleep(999)))", Harm.PROCESS_LEFT,
            harness=Harness.SCRIPT),
    _module(
        "a module that leaves a process, and says nothing",
        """
        try:
            daemon(lambda: (os.open(MARK, 0), time.sleep(999)))
        except OSError:
            pass
        """,
        Harm.PROCESS_LEFT,
        harness=Harness.SCRIPT,
    ),
    _module("a module that kills its parent", "os.kill(os.getppid(), 9)", Harm.SERVER_ENDED, harness=Harness.REPORT),
    _module("a module that kills everyone", "os.kill(-1, KILL_ALL)", Harm.SERVER_ENDED, *_STOPPED,
            harness=Harness.REPORT),
    _module("a module that kills another", "os.kill(BYSTANDER, 9)", Harm.BYSTANDER_HIT),
    _module("a module that calls a port", "import socket\nsocket.create_connection(('127.0.0.1', PORT), 5)",
            Harm.REACHED),
    _module(
        "a module that knows a secret",
        """
        try:
            FOUND = open(os.path.join(USER, ".ssh/id_rsa")).read()
        except OSError:
            FOUND = None
        """,
        Harm.SECRET_TOLD,
        *_STOPPED, FailureKind.WRONG_OUTPUT,
        body="return helper.FOUND",
    ),
    _module(
        "a module that knows the project's secret",
        """
        try:
            FOUND = open(os.path.join(WORKSPACE, "app/.env")).read()
        except OSError:
            FOUND = None
        """,
        Harm.SECRET_TOLD,
        *_STOPPED, FailureKind.WRONG_OUTPUT,
        body="return helper.FOUND",
    ),
    _module("a module that takes memory", "HOARD = bytes(8 << 30)", Harm.PASSED, FailureKind.OUT_OF_MEMORY,
            FailureKind.IMPORT_ERROR, harness=Harness.SCRIPT),
    _module(
        "a module that answers instead",
        f"""
        for descriptor in range(1, 64):
            try:
                os.write(descriptor, {_FORGED!r}[0 if descriptor < 3 else {len(pack(["ready"]))} :])
            except OSError:
                pass
        """,
        Harm.PASSED,
        *_STOPPED, FailureKind.WRONG_OUTPUT,
        harness=Harness.ANSWERS,
        body="return 3",
    ),
    _module(
        "a module with many names",
        """
        sys.modules.update({f"name{number}": sys for number in range(3000)})
        sys.modules["no name\\0"] = sys.modules["\\ud800"] = sys
        """,
        Harm.POISONED,
        unshown="no other evaluator asks which modules were imported",
    ),
    _module("a module whose name is a number", "sys.modules[5] = sys", Harm.POISONED,
            *_ANY, unshown="no other evaluator asks which modules were imported"),
    _module("a module whose file has an impossible name", "__file__ = 'no\\0file'", Harm.POISONED,
            *_ANY, unshown="no other evaluator asks for the files of modules"),
    _module("a module whose file has no name that can be written", "__file__ = '/\\ud800'", Harm.POISONED,
            *_ANY, unshown="no other evaluator asks for the files of modules"),
    _module("a module whose file is a pipe that nobody writes to", "__file__ = '/proc/self/fd/0'", Harm.POISONED,
            *_ANY, unshown="no other evaluator asks for the files of modules"),
    _poisonous("a module that patches a built-in function", "import builtins\nbuiltins.sum = lambda *_: 3",
               "return sum([x, 1])"),
    _poisonous("a module that patches a library", "import math\nmath.floor = lambda *_: 3",
               "import math\nreturn math.floor(x + 1.5)"),
    _poisonous("a module that lowers the recursion limit", "sys.setrecursionlimit(70)",
               "return 2 + (sys.getrecursionlimit() < 99)"),
    _poisonous("a module that changes the path", "sys.path[:] = []", "import fractions\nreturn 2 + (sys.path == [])"),
    _poisonous(
        "a module that finds all others",
        """
        class Finder:
            def find_spec(self, name, *_):
                raise ImportError("owned")
        sys.meta_path.insert(0, Finder())
        """,
        "import colorsys\nreturn 2",
    ),
    _poisonous(
        "a module that leaves a thread",
        """
        import builtins, threading
        def meddle():
            time.sleep(0.05)
            builtins.len = lambda *_: 3
        threading.Thread(target=meddle).start()
        """,
        "time.sleep(0.1)\nreturn len('ab')",
    ),
    _poisonous(
        "a module that swaps another's code",
        """
        import types
        for module in list(sys.modules.values()):
            for name, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType) and name == "dedent":
                    value.__code__ = (lambda *_: "owned").__code__
        """,
        "import textwrap\nreturn len(textwrap.dedent('ab'))",
    ),
    _module(
        "a module that takes the locks away",
        """
        frame = sys._getframe()
        while frame is not None:
            for value in list(frame.f_globals.values()):
                if isinstance(value, type) and value.__name__ == "Lock":
                    value.close = lambda *_: None
            frame = frame.f_back
        """,
        Harm.PROCESS_LEFT,
        *_STOPPED, FailureKind.WRONG_OUTPUT,
        harness=Harness.SCRIPT,
        body="daemon()\nreturn 3",
    ),
    Attack(
        "names a module that never ends",
        "sys.modules['endless'] = sys\nreturn 3",
        (FailureKind.WRONG_OUTPUT,),
        Harm.POISONED,
        top="sys.modules['endless'] = sys",
        files={"endless.py": "while True:\n    pass"},
        unshown="no other evaluator asks which modules were imported",
    ),
)  # fmt: skip

_ENVIRONMENTS = (
    _environment("a path file that deletes", {"packages/hostile.pth": "os.remove(VICTIM)"}, Harm.VICTIM_CHANGED),
    _environment("a path file that writes beside the project",
                 {"packages/hostile.pth": "open(os.path.join(OUTSIDE, 'more'), 'w').close()"}, Harm.VICTIM_CHANGED),
    _environment("a path file that exits", {"packages/hostile.pth": "os._exit(0)"}, Harm.PASSED, "refused",
                 body="return 3"),
    _environment("a path file that never ends", {"packages/hostile.pth": "import time; time.sleep(999)"}, Harm.HUNG,
                 "refused"),
    _environment("a path file that kills another", {"packages/hostile.pth": "os.kill(BYSTANDER, 9)"},
                 Harm.BYSTANDER_HIT),
    _environment(
        "a path file that leaves a process",
        {"packages/hostile.pth": "import time; os.fork() or (os.setsid(), os.open(MARK, 0), time.sleep(999))"},
        Harm.PROCESS_LEFT,
    ),
    _environment(
        "a customization that calls a port",
        {"packages/sitecustomize.py": "import socket\nsocket.create_connection(('127.0.0.1', PORT), 5)"},
        Harm.REACHED,
    ),
    _environment("a customization that writes to the home folder",
                 {"packages/sitecustomize.py": "import os\nopen(os.path.join(USER, '.profile'), 'w').close()"},
                 Harm.VICTIM_CHANGED),
    _environment("a package that deletes", {"packages/hostile/__init__.py": "import os\nos.remove(VICTIM)"},
                 Harm.VICTIM_CHANGED, top="import hostile"),
    _environment("an interpreter that is a script", {"bin/python": 'rm "$VICTIM"\nexec true'}, Harm.VICTIM_CHANGED,
                 "refused"),
    _environment(
        "a standard library that deletes",
        {"library/encodings/__init__.py": "import posix\nposix.remove(VICTIM)", "library/os.py": ""},
        Harm.VICTIM_CHANGED,
        "refused",
    ),
)  # fmt: skip

_EXAMPLES = (
    _example("an example that exits", f">>> import os; os._exit(0)\n{ONE_EXAMPLE}", Harm.SERVER_ENDED,
             FailureKind.KILLED, body="return 3"),
    _example("an example that never ends", ">>> while f(1): pass", Harm.HUNG, FailureKind.TIMED_OUT, timeout=0.3),
    _example("an example that deletes", f">>> os.remove(VICTIM)\n{ONE_EXAMPLE}", Harm.VICTIM_CHANGED,
             "passed", FailureKind.EXCEPTION, FailureKind.DENIED),
    _example("an example that tells a secret", ">>> f(0) * open(os.path.join(USER, 'notes.txt')).read()\n2",
             Harm.SECRET_TOLD, FailureKind.DENIED, FailureKind.EXCEPTION),
    _example("an example that leaves a process", f">>> daemon()\n{ONE_EXAMPLE}", Harm.PROCESS_LEFT,
             "passed", FailureKind.EXCEPTION, FailureKind.DENIED),
    _example("an example that kills its parent", f">>> os.kill(os.getppid(), 9)\n{ONE_EXAMPLE}", Harm.SERVER_ENDED,
             "passed", FailureKind.EXCEPTION, FailureKind.DENIED, FailureKind.KILLED),
    _example("an example that takes memory", ">>> (f(1), len(bytes(8 << 30)))[0]\n2", Harm.PASSED,
             FailureKind.OUT_OF_MEMORY),
    _example(
        "an example that corrects doctest",
        f"""
        >>> import doctest
        >>> doctest.DocTestRunner._DocTestRunner__record_outcome = lambda *_: None
        {ONE_EXAMPLE.splitlines()[0]}
        2
        """,
        Harm.PASSED,
        FailureKind.WRONG_OUTPUT,
        body="return 3",
    ),
)  # fmt: skip

ATTACKS = (*_MODULES, *_ENVIRONMENTS, *_EXAMPLES)
