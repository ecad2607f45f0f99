"""Runs in the *user's* interpreter, confined: sees whether code of the target runs, and which of its lines.

Standard library only, Python 3.8 and later; `worker.py` uses it. Code is known by what it is, a code object that was
compiled of the module under test, and never by names or files. From 3.12 on the interpreter itself is asked
(`sys.monitoring`), about this code alone; before, the profiler that `cProfile` is made of. Neither runs Python code at
every call, so that what is observed has the depth of recursion, the tracebacks and the tracers that it would have.

No callback shows what it writes to, and one that is called says nothing: the interpreter must be in that code.
"""

from __future__ import annotations

import builtins
import sys
from functools import _lru_cache_wrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import CodeType, FrameType
    from typing import Any

# Ours alone: what a candidate does to the real ones does not reach this file.
globals()["__builtins__"] = dict(vars(builtins))

_getframe = sys._getframe  # noqa: SLF001  # it is where callbacks are called from
_NAME = "adacoder"
_TOOLS = (5, 4, 3, 2, 1, 0)
"""Those that programs take the least come first."""
_SUSPENDS = 0x20 | 0x80 | 0x100 | 0x200
"""The flags of generators and coroutines."""


def code_of(module: CodeType, qualname: str, first: int, last: int) -> tuple[CodeType, ...]:
    """The code of the function or class in lines `first` to `last` of a module, with all that is nested in it.

    What stands in its decorators, defaults and annotations is code of what is around it.
    """
    name = qualname.rpartition(".")[2]
    found = []
    pending = [(module, False)]
    while pending:
        code, is_own = pending.pop()
        is_own = is_own or (code.co_name == name and first <= code.co_firstlineno <= last)
        if is_own:
            found.append(code)
        nested = [each for each in code.co_consts if type(each) is type(module)]
        pending += [(each, is_own) for each in nested if is_own or each.co_firstlineno <= last]
    return tuple(found)


def _hidden(callback: Callable[..., object]) -> Callable[..., object]:
    """A callable that does the same, and does not show what it calls. Nothing is cached."""
    return _lru_cache_wrapper(callback, 0, False, tuple)  # type: ignore[call-arg]


class Observer:
    """Sees whether some code runs, and which of its lines."""

    def __init__(self, codes: Sequence[CodeType], *, by_line: bool) -> None:
        """As of `observer`."""
        self.codes = codes
        self._ids = frozenset(map(id, codes))  # code objects of the same text are equal
        self._by_line = by_line
        self.entered = False
        self.lines: set[int] = set()
        self.branches: set[tuple[int, int]] = set()
        """Each with the line of a test, and the one that it led to."""

    def forget(self) -> None:
        """See nothing yet."""
        self.entered = False
        self.lines.clear()
        self.branches.clear()

    def start(self) -> None:
        """Begin to observe, or go on."""
        raise NotImplementedError

    def is_undisturbed(self) -> bool:
        """Whether nothing stood in the way since `start`."""
        raise NotImplementedError

    def stop(self) -> None:
        """End; what was seen is known now."""

    def _holds(self, code: object) -> bool:
        return id(code) in self._ids


class Monitored(Observer):
    """Asks the interpreter, from Python 3.12 on."""

    def __init__(self, codes: Sequence[CodeType], *, by_line: bool) -> None:
        """As of `observer`."""
        super().__init__(codes, by_line=by_line)
        self._tool: int | None = None
        begins = _hidden(self._begins)
        self._callbacks = {_EVENTS.PY_START: begins, _EVENTS.PY_RESUME: begins, _EVENTS.LINE: _hidden(self._reaches)}
        if by_line:
            self._line_of = {id(code): dict(_lines(code)) for code in codes}
            self._callbacks.update(dict.fromkeys(_BRANCHES, _hidden(self._turns)))

    def start(self) -> None:
        """As of `Observer`."""
        self._tool = _claimed()
        if self._tool is None:
            return
        for event, callback in self._callbacks.items():
            _register(self._tool, event, callback)
        for code in self.codes:  # also what was seen before, and is not watched any more
            _set_events(self._tool, code, 0)
            _set_events(self._tool, code, self._events(code))

    def is_undisturbed(self) -> bool:
        """As of `Observer`."""
        tool = self._tool
        return (
            tool is not None
            and _get_tool(tool) == _NAME
            and all(_register(tool, event, callback) is callback for event, callback in self._callbacks.items())
            and all(_get_events(tool, code) == self._events(code) for code in self.codes)
        )

    def _events(self, code: CodeType) -> int:
        # Nothing tells of an exception that is thrown into what is suspended, but that it reaches a line.
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
        return None if len(_BRANCHES) == 1 else _DISABLE  # where both sides are one event, both would end


class Profiled(Observer):
    """Asks the profiler, before Python 3.12; the tracer of lines, and of what is suspended.

    The profiler also tells of generators that are closed before they have begun.
    """

    def __init__(self, codes: Sequence[CodeType], *, by_line: bool) -> None:
        """As of `observer`."""
        super().__init__(codes, by_line=by_line)
        self._traces = by_line or any(code.co_flags & _SUSPENDS for code in codes) or _Profiler is None
        self._first: Any = None if self._traces else _Profiler(subcalls=False, builtins=False)
        self._others: list[Any] = []
        """The profilers of threads."""
        self._hook: Any = _hidden(self._goes_on if self._traces else self._begins_in_thread)
        sys.getprofile, sys.gettrace = _getprofile_of_others, _gettrace_of_others
        _thread.start_new_thread = _hidden(self._begin_thread)  # type: ignore[assignment]
        self._watch_threads()

    def forget(self) -> None:
        """As of `Observer`."""
        super().forget()
        for profiler in self._others:
            profiler.clear()

    def start(self) -> None:
        """As of `Observer`."""
        self._watch_threads()
        if self._traces:
            _settrace(self._hook)
        else:
            self._first.enable()

    def is_undisturbed(self) -> bool:
        """As of `Observer`."""
        return _gettrace() is self._hook if self._traces else _getprofile() is self._first

    def stop(self) -> None:
        """As of `Observer`."""
        if self._traces:
            _settrace(None)
            return
        self._first.disable()
        for profiler in (self._first, *self._others):
            self.entered = self.entered or any(self._holds(entry.code) for entry in profiler.getstats())
            profiler.clear()

    def _watch_threads(self) -> None:
        """See what threads do that begin from now on, unless something else does."""
        kind = "trace" if self._traces else "profile"
        if type(getattr(threading, f"_{kind}_hook", "")) in (type(None), _lru_cache_wrapper):
            getattr(threading, f"set{kind}")(self._hook)

    def _begin_thread(self, function: Any, arguments: Any, named: Any = None) -> int:
        """As `_thread.start_new_thread`, of which `threading` has its own."""

        def observed() -> None:
            (_settrace if self._traces else _setprofile)(self._hook)
            function(*arguments, **(named or {}))

        return _start_new_thread(observed, ())

    def _begins_in_thread(self, frame: FrameType, event: str, _: object) -> None:
        """See the first call in a thread; the others are left to a profiler."""
        if event == "call" and _getframe(1) is frame and self._holds(frame.f_code):
            self.entered = True
        profiler = _Profiler(subcalls=False, builtins=False)
        self._others.append(profiler)
        profiler.enable()

    def _goes_on(self, frame: FrameType, event: str, _: object) -> object:
        if _getframe(1) is not frame or not self._holds(frame.f_code):
            return None
        if event == "line":
            self.entered = True
            if self._by_line:
                self.lines.add(frame.f_lineno)
        return self._hook


def everything(codes: Sequence[CodeType]) -> tuple[set[int], set[tuple[int, int]]]:
    """The lines that there are in code, and the branches, as far as the interpreter tells of them.

    The line that a function begins on is one only where it has no other.
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
    """The offsets of instructions, and their lines; what only ends a loop is taken for what comes after it."""
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
        """A tool that is ours alone; None if others have taken all."""
        for tool in _TOOLS:
            owner = _get_tool(tool)
            if owner is None:
                _use_tool(tool, _NAME)
            if owner is None or owner == _NAME:
                return tool
        return None
else:
    import _thread
    import threading

    _settrace, _gettrace = sys.settrace, sys.gettrace
    _setprofile, _getprofile = sys.setprofile, sys.getprofile
    _start_new_thread = _thread.start_new_thread
    _Profiler: Any
    try:
        from _lsprof import Profiler
    except ImportError:
        _Profiler = None
    else:
        _Profiler = type("Profiler", (Profiler,), {})  # of its own, to be told from those of a program

    def _getprofile_of_others() -> Any:
        """As `sys.getprofile`, which would show what observes."""
        found = _getprofile()
        return None if type(found) is _Profiler else found

    def _gettrace_of_others() -> Any:
        """As `sys.gettrace`, which would show what observes."""
        found = _gettrace()
        return None if type(found) is _lru_cache_wrapper else found


def observer(codes: Sequence[CodeType], *, by_line: bool) -> Observer:
    """What sees whether some code runs in this interpreter; `by_line`: and which lines and branches of it."""
    return Profiled(codes, by_line=by_line) if _monitoring is None else Monitored(codes, by_line=by_line)
