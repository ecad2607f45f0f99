"""Observe whether code of the target, the function or class under test, runs, and which of its lines.

This file runs confined in the user's interpreter, so it uses only the standard library of Python 3.8 and later.

The target is recognised by its code objects, never by a name or file. Since Python 3.12, the interpreter reports events
of code objects (`sys.monitoring`). In older versions, a profiler or tracer watches until the target begins. Observation
changes neither recursion depth nor tracebacks.

Hostile code cannot fake an observation. A callback gives no access to the results, and ignores calls by other code than
the target.
"""

from __future__ import annotations

import builtins
import sys
from functools import _lru_cache_wrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import CodeType, FrameType
    from typing import Any

# Use a copy of the built-ins, because a candidate may change the real ones.
globals()["__builtins__"] = dict(vars(builtins))

_getframe = sys._getframe  # noqa: SLF001  # It shows the caller of a callback.
_NAME = "adacoder"
_TOOLS = (5, 4, 3, 2, 1, 0)
"""Tool numbers of `sys.monitoring`, starting with those that other tools rarely use."""
_SUSPENDS = 0x20 | 0x80 | 0x100 | 0x200
"""Flags that mark the code of generators and coroutines."""


def by_name(module: CodeType) -> dict[str, list[CodeType]]:
    """Return the code objects in a module by name. Outer code objects come before nested code objects."""
    found: dict[str, list[CodeType]] = {}
    pending = [module]
    for code in pending:
        found.setdefault(code.co_name, []).append(code)
        pending += [each for each in code.co_consts if type(each) is type(module)]
    return found


def code_of(codes: Mapping[str, Sequence[CodeType]], qualname: str, first: int, last: int) -> tuple[CodeType, ...]:
    """Return the code objects of the function or class in lines `first` to `last`, including nested code objects.

    `codes` is the result of `by_name`. Code in decorators, defaults and annotations is left out.
    """
    named = codes.get(qualname.rpartition(".")[2], ())
    # Compare code objects by id, because different code objects with the same text are equal.
    found = {id(code): code for code in named if first <= code.co_firstlineno <= last}
    pending = [*found.values()]
    for code in pending:
        nested = [each for each in code.co_consts if type(each) is type(code) and id(each) not in found]
        found.update({id(each): each for each in nested})
        pending += nested
    return tuple(found.values())


def _hidden(callback: Callable[..., object]) -> Callable[..., object]:
    """Wrap a callback in a cache of size 0. The wrapper is written in C, so hostile code cannot get at the callback."""
    return _lru_cache_wrapper(callback, 0, False, tuple)  # type: ignore[call-arg]


class Observer:
    """Observes whether some code runs, and which of its lines and branches."""

    def __init__(self, codes: Sequence[CodeType], *, by_line: bool) -> None:
        """`codes` are the code objects to observe. Lines and branches are observed only if `by_line` is True."""
        self.codes = codes
        self._ids = frozenset(map(id, codes))  # Compare by id, because different code objects may be equal.
        self._by_line = by_line
        self.entered = False
        self.lines: set[int] = set()
        self.branches: set[tuple[int, int]] = set()
        """Pairs of a test's line and the line that it led to."""

    def forget(self) -> None:
        """Discard the results before the next example."""
        self.entered = False
        self.lines.clear()
        self.branches.clear()

    def start(self) -> None:
        """Start or continue observing."""
        raise NotImplementedError

    def is_undisturbed(self) -> bool:
        """Return True if no code has switched the observation off since `start`."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop observing. The results are complete only after this call."""

    def _holds(self, code: object) -> bool:
        return id(code) in self._ids


class Monitored(Observer):
    """Observes with `sys.monitoring`, in Python 3.12 and later."""

    def __init__(self, codes: Sequence[CodeType], *, by_line: bool) -> None:
        super().__init__(codes, by_line=by_line)
        self._tool: int | None = None
        begins = _hidden(self._begins)
        self._callbacks = {_EVENTS.PY_START: begins, _EVENTS.PY_RESUME: begins, _EVENTS.LINE: _hidden(self._reaches)}
        if by_line:
            self._line_of = {id(code): dict(_lines(code)) for code in codes}
            self._callbacks.update(dict.fromkeys(_BRANCHES, _hidden(self._turns)))

    def start(self) -> None:
        """Implement `Observer.start`."""
        self._tool = _claimed()
        if self._tool is None:
            return
        for event, callback in self._callbacks.items():
            _register(self._tool, event, callback)
        for code in self.codes:  # Set the events again, because callbacks disable events.
            _set_events(self._tool, code, 0)
            _set_events(self._tool, code, self._events(code))

    def is_undisturbed(self) -> bool:
        """Implement `Observer.is_undisturbed`."""
        tool = self._tool
        return (
            tool is not None
            and _get_tool(tool) == _NAME
            and all(_register(tool, event, callback) is callback for event, callback in self._callbacks.items())
            and all(_get_events(tool, code) == self._events(code) for code in self.codes)
        )

    def _events(self, code: CodeType) -> int:
        # Request LINE events, because no other event follows an exception thrown into a suspended generator.
        by_line = _EVENTS.LINE if self._by_line or code.co_flags & _SUSPENDS else 0
        return int(_EVENTS.PY_START | _EVENTS.PY_RESUME | by_line | (sum(_BRANCHES) if self._by_line else 0))

    def _begins(self, code: CodeType, _offset: int) -> object:
        if _getframe(1).f_code is code and self._holds(code):
            self.entered = True
        return _DISABLE

    def _reaches(self, code: CodeType, line: int) -> object:
        if _getframe(1).f_code is code and self._holds(code):
            self.entered = True
            self.lines.add(line)
        return _DISABLE

    def _turns(self, code: CodeType, offset: int, destination: int) -> object:
        if _getframe(1).f_code is code and self._holds(code):
            lines = self._line_of[id(code)]
            if offset in lines and destination in lines:
                self.branches.add((lines[offset], lines[destination]))
        # If both branches share an event, do not disable it, because the other branch may still run.
        return None if len(_BRANCHES) == 1 else _DISABLE


class Profiled(Observer):
    """Observes with a profiler, or with a tracer if `by_line` is True, in Python 3.11 and earlier.

    The profiler stops when the target begins, so the target runs as usual. If much other code runs before the target,
    the profiler of `cProfile` takes over, because it is faster.
    """

    def __init__(self, codes: Sequence[CodeType], *, by_line: bool) -> None:
        super().__init__(codes, by_line=by_line)
        self._starts = {id(code): _start(code) for code in codes if code.co_flags & _SUSPENDS}
        """For each generator and coroutine, the offset at which it waits before its first step.

        A profiler reports the same event when a generator starts and when it is closed before its first step. Only the
        offsets differ.
        """
        is_told_apart = not by_line and not self._starts and _Profiler is not None
        self._profiler: Any = _Profiler(subcalls=False, builtins=False) if is_told_apart else None
        self._hook: Any = _hidden(self._traces if by_line else self._sees)
        self._patience = 0
        self._thread = 0
        if by_line:
            sys.gettrace = _gettrace_of_others
        else:
            sys.getprofile = _getprofile_of_others
        _thread.start_new_thread = _hidden(self._begin_thread)  # type: ignore[assignment]
        self._watch_threads()

    def start(self) -> None:
        """Implement `Observer.start`."""
        self._watch_threads()
        self._thread = _get_ident()
        self._patience = _PATIENCE if self._profiler is not None else 0
        self._set(self._hook)

    def is_undisturbed(self) -> bool:
        """Implement `Observer.is_undisturbed`."""
        if self._by_line:
            return _gettrace() is self._hook
        found = _getprofile()
        return self.entered or found is self._hook or (found is not None and found is self._profiler)

    def stop(self) -> None:
        """Implement `Observer.stop`."""
        self._set(None)
        if self._profiler is not None:
            self._profiler.disable()
            self.entered = self.entered or any(self._holds(entry.code) for entry in self._profiler.getstats())
            self._profiler.clear()

    def _set(self, hook: Any) -> None:
        (_settrace if self._by_line else _setprofile)(hook)

    def _watch_threads(self) -> None:
        """Observe new threads, unless the user's code has set its own hook for threads."""
        kind = "trace" if self._by_line else "profile"
        if type(getattr(threading, f"_{kind}_hook", "")) in (type(None), _lru_cache_wrapper):
            getattr(threading, f"set{kind}")(self._hook)

    def _begin_thread(self, function: Any, arguments: Any, named: Any = None) -> int:
        """Start a thread as `_thread.start_new_thread` does, and observe the thread.

        Threads of the module `threading` are observed by `_watch_threads` instead.
        """

        def observed() -> None:
            self._set(self._hook)
            function(*arguments, **(named or {}))

        return _start_new_thread(observed, ())

    def _sees(self, frame: FrameType, _event: str, _: object) -> None:
        """Handle an event of the profiler. When the target begins, stop observing this thread.

        Other threads are still observed, because they may run during the next example.
        """
        code = frame.f_code
        if id(code) in self._ids:  # Do not call `_holds` here, because there may be millions of events.
            if _getframe(1) is frame and frame.f_lasti != self._starts.get(id(code)):
                self.entered = True
                if _get_ident() == self._thread:
                    _setprofile(None)
        elif self._patience and _get_ident() == self._thread:
            self._patience -= 1
            if not self._patience:
                self._profiler.enable()

    def _traces(self, frame: FrameType, event: str, _: object) -> object:
        if _getframe(1) is not frame or not self._holds(frame.f_code):
            return None
        if event == "line":
            self.entered = True
            self.lines.add(frame.f_lineno)
        return self._hook


def everything(codes: Sequence[CodeType]) -> tuple[set[int], set[tuple[int, int]]]:
    """Return all lines of `codes`, and all branches that the interpreter can report.

    A `def` line is left out, unless the function has no other line.
    """
    import dis

    lines: set[int] = set()
    branches = set()
    for code in codes:
        line_of = dict(_lines(code))
        lines |= {*line_of.values()} - {code.co_firstlineno} or {*line_of.values()}
        instructions = [] if _monitoring is None else list(dis.get_instructions(code))
        for test, following in zip(instructions, instructions[1:]):  # noqa: B905,RUF007  # both came later
            if test.opname.startswith(("POP_JUMP", "FOR_ITER")) and test.offset in line_of:
                ends = [end for end in (following.offset, test.argval) if end in line_of]
                branches |= {(line_of[test.offset], line_of[end]) for end in ends}
    return lines, branches


def _lines(code: CodeType) -> Iterator[tuple[int, int]]:
    """Yield the offset and the line of each instruction. Instructions that end a loop count for the line after the
    loop.
    """
    import dis

    starts = dict(dis.findlinestarts(code))
    line, ending = None, []
    for instruction in dis.get_instructions(code):
        line = starts.get(instruction.offset, line)
        ending.append(instruction.offset)
        is_ending = instruction.opname in ("END_FOR", "POP_ITER") or (
            len(ending) > 1 and instruction.opname == "POP_TOP"
        )
        if line is not None and not is_ending:
            yield from ((offset, line) for offset in ending)
            ending.clear()


_monitoring: Any = getattr(sys, "monitoring", None)
if _monitoring is not None:
    _EVENTS = _monitoring.events
    _BRANCHES = [getattr(_EVENTS, name) for name in ("BRANCH_LEFT", "BRANCH_RIGHT") if hasattr(_EVENTS, name)]
    _BRANCHES = _BRANCHES or [_EVENTS.BRANCH]
    _DISABLE = _monitoring.DISABLE
    _get_tool, _use_tool = _monitoring.get_tool, _monitoring.use_tool_id
    _get_events, _set_events = _monitoring.get_local_events, _monitoring.set_local_events
    _register = _monitoring.register_callback

    def _claimed() -> int | None:
        """Claim a tool number of `sys.monitoring` and return it. Return None if no number is free."""
        for tool in _TOOLS:
            owner = _get_tool(tool)
            if owner is None:
                _use_tool(tool, _NAME)
            if owner is None or owner == _NAME:
                return tool
        return None
else:
    import _thread
    import dis  # Import `dis` in the template, so that evaluations need not.
    import threading

    _settrace, _gettrace = sys.settrace, sys.gettrace
    _setprofile, _getprofile = sys.setprofile, sys.getprofile
    _start_new_thread, _get_ident = _thread.start_new_thread, _thread.get_ident
    _PATIENCE = 256
    """Events in an example after which the profiler takes over; fewer than there are to the limit of recursion."""
    _Profiler: Any
    try:
        from _lsprof import Profiler
    except ImportError:
        _Profiler = None
    else:
        # This subclass distinguishes AdaCoder's profiler from profilers of the user.
        _Profiler = type("Profiler", (Profiler,), {})

    def _getprofile_of_others() -> Any:
        """Work like `sys.getprofile`, but hide this observer."""
        found = _getprofile()
        return None if type(found) in (_Profiler, _lru_cache_wrapper) else found

    def _gettrace_of_others() -> Any:
        """Work like `sys.gettrace`, but hide this observer."""
        found = _gettrace()
        return None if type(found) is _lru_cache_wrapper else found

    def _start(code: CodeType) -> int:
        """Return the offset at which a generator or coroutine waits before its first step."""
        found = (each.offset for each in dis.get_instructions(code) if each.opname == "RETURN_GENERATOR")
        return next(found, -1)


def observer(codes: Sequence[CodeType], *, by_line: bool) -> Observer:
    """Return an observer of `codes`. Lines and branches are observed only if `by_line` is True."""
    return Profiled(codes, by_line=by_line) if _monitoring is None else Monitored(codes, by_line=by_line)
