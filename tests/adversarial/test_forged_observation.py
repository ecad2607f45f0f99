"""No module can fake that an example runs its target, or hide that an example does.

Each attack has a twin of the same form in which the target really runs. The twin is verified.
"""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent, indent

import pytest

from adacoder.domain import Status
from adacoder.sandbox.environment.interpreter import describe
from support.concluding import concluded
from support.evaluating import other_pythons, workspace

pytestmark = pytest.mark.isolation

PYTHONS = [Path(sys.executable), *other_pythons()]

MODULE = '''\
import gc
import sys
import threading
import types


def f(x):
    """
    >>> f(1)
    2
    >>> g(1)
    2
    """
    return x + 1


def g(x):
{forging}
    return RESULT


class Frame:
    """Something that looks as if it were in the target's code."""

    f_code = f.__code__
    f_lineno = f.__code__.co_firstlineno
    f_lasti = 2


def callbacks():
    """Whatever is called when something happens, as far as one can ask for it."""
    found = [getattr(threading, "_profile_hook", None), getattr(threading, "_trace_hook", None)]
    found += [sys.getprofile(), sys.gettrace()]
    monitoring = getattr(sys, "monitoring", None)
    if monitoring:
        for tool in range(6):
            for event in (1 << number for number in range(18)):
                try:
                    found.append(monitoring.register_callback(tool, event, None))
                    monitoring.register_callback(tool, event, found[-1])
                except Exception:
                    pass
    return [each for each in found if callable(each)]


def call_all():
    for callback in callbacks():
        for arguments in ((f.__code__, 0), (f.__code__, 7), (Frame(), "call", None), (Frame(), "line", None)):
            try:
                callback(*arguments)
            except Exception:
                pass
'''

FORGED = {
    "callbacks that are called": "call_all()",
    "callbacks that are called with a patched frame": """
        real = sys._getframe
        sys._getframe = lambda depth=0: Frame()
        call_all()
        sys._getframe = real
    """,
    "callbacks that are looked into": """
        for callback in callbacks():
            assert not any(hasattr(callback, name) for name in ("__self__", "__closure__", "__wrapped__", "__func__"))
    """,
    "code in lists and sets that are found": """
        for each in gc.get_objects():
            if type(each) is list and each and all(type(item) is type(f.__code__) for item in each):
                each.append(f.__code__)
            elif type(each) is set and each <= {f.__code__}:
                each.add(f.__code__)
    """,
    "a copy of its code": "types.FunctionType(f.__code__.replace(co_name='g'), globals())(x)",
    "a copy that is equal": "types.FunctionType(f.__code__.replace(), globals())(x)",
    "its text once more": "exec(compile(open.__doc__ and 'def f(x): return x + 1', __file__, 'exec'), {})",
    "other code for it": "f.__code__ = (lambda x: x + 1).__code__; f(x)",
    "its code, and no frame": "hash(f.__code__); f.__code__.co_consts; f.__code__ == f.__code__.replace()",
    "a profiler of its own": """
        profiled = []
        sys.setprofile(lambda *event: profiled.append(event))
        len(profiled)
        sys.setprofile(None)
    """,
    "monitoring that is patched": """
        if hasattr(sys, "monitoring"):
            for name in dir(sys.monitoring):
                if name[0] != "_" and name != "events":
                    setattr(sys.monitoring, name, lambda *given: f.__code__)
    """,
    "tools that are taken over": """
        if hasattr(sys, "monitoring"):
            for tool in range(6):
                name = sys.monitoring.get_tool(tool)
                if name:
                    sys.monitoring.free_tool_id(tool)
                    sys.monitoring.use_tool_id(tool, name)
    """,
    "events of other code": """
        if hasattr(sys, "monitoring"):
            for tool in range(6):
                if sys.monitoring.get_tool(tool):
                    sys.monitoring.set_local_events(tool, callbacks.__code__, sys.monitoring.events.PY_START)
            callbacks()
    """,
}
"""Bodies of `g` that do not run `f`."""


def forged(forging: str, result: str = "2") -> str:
    return MODULE.replace("{forging}", indent(dedent(forging).strip(), "    ")).replace("RESULT", result)


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.name)
async def test_nothing_makes_an_example_run_what_it_does_not(python: Path, tmp_path: Path) -> None:
    found = {}
    async with workspace(tmp_path, interpreter=describe(python)) as ws:
        for name, forging in FORGED.items():
            text = forged(forging).replace("    >>> f(1)\n    2\n", "")
            twin = forged(f"f(x)\n{dedent(forging).strip()}").replace("    >>> f(1)\n    2\n", "")
            outcomes = [await concluded(ws, each) for each in (text, twin)]
            found[name] = [outcome.status for outcome in outcomes]
            assert outcomes[1].reason is None, (name, outcomes[1].reason)
    assert found == {name: [Status.UNVERIFIED, Status.VERIFIED] for name in FORGED}


HIDING = {
    "tools that are freed": """
        if hasattr(sys, "monitoring"):
            for tool in range(6):
                if sys.monitoring.get_tool(tool):
                    sys.monitoring.free_tool_id(tool)
        sys.setprofile(None)
    """,
    "events that are switched off": """
        if hasattr(sys, "monitoring"):
            for tool in range(6):
                if sys.monitoring.get_tool(tool):
                    sys.monitoring.set_local_events(tool, f.__code__, 0)
        sys.setprofile(None)
    """,
    "callbacks that are taken away": """
        if hasattr(sys, "monitoring"):
            for tool in range(6):
                for event in (1, 2, 4, 32):
                    sys.monitoring.register_callback(tool, event, None)
        sys.setprofile(None)
    """,
    "a profiler in its place": "sys.setprofile(lambda *event: None)",
}
"""Code that tries to turn off the observation."""


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.name)
async def test_no_failure_is_hidden_by_blinding_what_observes(python: Path, tmp_path: Path) -> None:
    found = {}
    async with workspace(tmp_path, interpreter=describe(python)) as ws:
        for name, hiding in HIDING.items():
            wrong = forged(hiding, "f(x) + 1")
            right = forged(hiding, "f(x)")
            found[name] = [(await concluded(ws, text)).status for text in (wrong, right)]
    assert found == {name: [Status.PARTIAL, Status.VERIFIED] for name in HIDING}
