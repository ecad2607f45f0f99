"""Trace an example through the target, the function or class under test, with the values of local variables.

This file runs confined in the user's interpreter, so it uses only the standard library of Python 3.8 and later.

Displaying a value runs no code of the value's class, because such code could print, change something or hang. So `repr`
and `reprlib` cannot be used.

A candidate can notice a trace, for example by `f_trace` of its frames, by objects that live longer, or by a lower
recursion limit. So a trace never influences a verdict.
"""

from __future__ import annotations

import builtins
import sys
from collections import OrderedDict, deque
from itertools import chain, islice, repeat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import CodeType, FrameType
    from typing import Any

# Use a copy of the built-ins, because a candidate may change the real ones.
globals()["__builtins__"] = dict(vars(builtins))

SEEN_LIMIT = 10_000
"""Tracing stops after this many entries, so that the rest of the example runs at full speed."""
MOST_KEPT = 200
"""Maximum number of entries that are sent: the first half and the last half of a longer trace."""
TRACE_LIMIT = 64_000
"""Maximum length of all sent entries together. Half of it is for the first entries, and half for the last entries."""
MOST_VALUES = 20
"""Maximum number of names in an entry. More names follow in the next entry."""
NAME_LIMIT = 100
VALUE_LIMIT = 200
"""Maximum length of a displayed value."""
DEPTH_LIMIT = 5
"""Maximum nesting of brackets in a displayed value."""

_settrace, _gettrace = sys.settrace, sys.gettrace
_OPTIMIZED, _COROUTINE = 0x1, 0x80
"""Flags of code objects.

`_OPTIMIZED` marks functions. In other code, the locals may be any mapping. `_COROUTINE` marks coroutines. The values
that a coroutine yields are not traced, because they come from an awaited object.
"""
_CALLING = ("CALL", "PRECALL", "RAISE")
"""Instructions that must not raise StopIteration. From other instructions, StopIteration only ends an iteration."""
_class_dict = type.__dict__["__dict__"].__get__
_mro, _flags = type.__dict__["__mro__"].__get__, type.__dict__["__flags__"].__get__
_OF_PYTHON = 0x200
"""Flag of classes that are created at run time. Attributes are displayed only for objects of such classes."""
_name_of_class = type.__dict__["__name__"].__get__
_arguments: Any = vars(BaseException)["args"]
_GETTER, _SLOT = type(vars(BaseException)["args"]), type(vars(property)["fget"])
_SIMPLE = frozenset(map(id, (type(None), bool, float, complex, type(...), type(NotImplemented), range)))
"""Ids of simple types. Comparing the types themselves could run code of a metaclass."""
_SHORT = 10**18
_PLAIN: dict[Any, str] = {
    **dict.fromkeys((int, str, bytes, bytearray), ""),
    list: "[]",
    tuple: "()",
    set: "{}",
    dict: "{}",
    frozenset: "{}",
    deque: "[]",
}
"""Built-in types whose contents are displayed, with their brackets."""
_OF_C = {**dict.fromkeys(("date", "datetime", "time", "timedelta"), "_datetime"), "Decimal": "_decimal"}
"""Classes with a safe `repr`, written in C, and their modules."""


class Tracer:
    """A function for `sys.settrace` that traces the thread of an example."""

    def __init__(self, codes: Sequence[CodeType], tell: Callable[..., None]) -> None:
        """`codes` is the target's code. `tell` is called once, with the fields of `traced` in `worker.py`."""
        from opcode import opname

        self._ids = frozenset(map(id, codes))
        self._tell: Callable[..., None] | None = tell
        self._first: list[str] = []
        self._last: deque[str] = deque()
        self._room = [TRACE_LIMIT // 2, TRACE_LIMIT // 2]
        self._seen = self._calls = 0
        self.opname: Sequence[str] = opname

    def start(self) -> None:
        """Trace the following calls of this thread."""
        sys.gettrace = _gettrace_of_others
        _settrace(self)  # type: ignore[arg-type]  # `__call__` returns another such function

    def stop(self, *, ended: bool = True) -> None:
        """Stop tracing, and send the trace if it was not sent yet."""
        tell, self._tell = self._tell, None
        if tell is None:
            return
        ended = ended and _gettrace() is self
        _settrace(None)
        left_out = self._seen - len(self._first) - len(self._last)
        tell("yes" if ended else "", str(left_out), str(len(self._first)), *self._first, *self._last)

    def __call__(self, frame: FrameType, _event: str, _: object) -> object:
        """Return the trace function for a frame of the target, and None for other frames."""
        if id(frame.f_code) not in self._ids:
            return None
        known = frame.f_trace
        if type(known) is _Call and known.tracer is self:
            return known
        self._calls += 1
        return _Call(self, self._calls)

    def keep(self, entry: str) -> None:
        """Record an entry. If the trace is too long, drop entries from its middle."""
        self._seen += 1
        if not self._last and len(self._first) < MOST_KEPT // 2 and len(entry) <= self._room[0]:
            self._first.append(entry)
            self._room[0] -= len(entry)
            return
        self._last.append(entry)
        self._room[1] -= len(entry)
        while len(self._last) > MOST_KEPT // 2 or self._room[1] < 0:
            self._room[1] += len(self._last.popleft())
        if self._seen >= SEEN_LIMIT:
            self.stop(ended=False)


class _Call:
    """The trace function of one frame. It holds no reference to the frame, so the frame can be freed as usual."""

    def __init__(self, tracer: Tracer, number: int) -> None:
        self.tracer = tracer
        self._number = number
        self._shown: dict[str, str] = {}
        self._raised = ""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> object:
        if event == "line":
            self._raised = ""
            self._keep(frame, "", "")
            return self
        operation = self.tracer.opname[frame.f_code.co_code[frame.f_lasti]] if frame.f_lasti >= 0 else ""
        if event == "exception":
            is_end = issubclass(argument[0], (StopIteration, StopAsyncIteration))
            raised = "" if is_end and not operation.startswith(_CALLING) else shown(argument[1])
            if raised and raised != self._raised:  # Clean-up code may raise the same exception again.
                self._keep(frame, "", raised)
                self._raised = raised
            return self
        ends_by_exception = argument is None and self._raised
        suspends = frame.f_code.co_flags & _COROUTINE and not operation.startswith("RETURN_")
        if not ends_by_exception and not suspends:
            self._keep(frame, shown(argument), "")
        return self

    def _keep(self, frame: FrameType, gave: str, raised: str) -> None:
        values: list[str] = []
        found: Any = frame.f_locals
        # In a class body, the locals may be any mapping.
        is_plain = frame.f_code.co_flags & _OPTIMIZED or type(found) is dict
        for name, value in dict(found).items() if is_plain else ():
            if type(name) is str and name.isidentifier() and len(name) <= NAME_LIMIT and name[:2] != "__":
                text = shown(value)
                if text != self._shown.get(name) and len(values) < MOST_VALUES:
                    self._shown[name] = text
                    values.append(name + "=" + text)
        self.tracer.keep("\n".join([f"{self._number} {frame.f_lineno}", gave, raised, *values]))


def _gettrace_of_others() -> Any:
    """Work like `sys.gettrace`, but hide this tracer."""
    found = _gettrace()
    return None if type(found) is Tracer else found


def shown(value: object) -> str:
    """Return a text like `repr` for a value, on one line of at most VALUE_LIMIT characters."""
    text = ""
    try:
        for part in _pieces(value, DEPTH_LIMIT):
            text += part.replace("\n", " ")
            if len(text) > VALUE_LIMIT:
                return text[: VALUE_LIMIT - 1] + "…"
    # Do not continue with so little stack, because Python 3.8 may crash.
    except RecursionError:
        raise
    except (RuntimeError, MemoryError, ValueError):  # Another thread may have changed the value, for example.
        text = text[: VALUE_LIMIT - 1] + "…"
    return text


def _pieces(value: Any, depth: int) -> Iterable[str]:
    """Return the parts of a value's text. A simple value has only one part."""
    kind = type(value)
    if id(kind) in _SIMPLE or (kind is int and -_SHORT < value < _SHORT) or (kind is str and len(value) < VALUE_LIMIT):
        return (repr(value),)
    return _parts(value, depth)


def _parts(value: Any, depth: int) -> Iterator[str]:
    """Yield the parts of the text for any value. Call only methods of built-in types."""
    kind = type(value)
    name = str.__getitem__(_name_of_class(kind), slice(NAME_LIMIT))
    base: Any = next((each for each in _PLAIN if issubclass(kind, each)), None)
    if depth < 0:
        yield "…"
    elif base is not None:
        is_named = kind is not base or base in (frozenset, deque)
        yield f"{name}(" if is_named else ""
        yield from _parts_of_plain(value, base, depth)
        yield ")" if is_named else ""
    elif getattr(sys.modules.get(_OF_C.get(name, "")), name, None) is kind and getattr(value, "tzinfo", None) is None:
        yield repr(value)
    elif issubclass(kind, BaseException):
        yield name
        yield from _listed("()", map(_pieces, _arguments.__get__(value), repeat(depth - 1)))
    elif issubclass(kind, type):
        yield f"<class {_name_of_class(value)}>"
    else:
        yield from _listed((f"<{name} ", ">"), _attributes(value, depth))


def _parts_of_plain(value: Any, base: Any, depth: int) -> Iterator[str]:
    """Yield the parts of the text for a value of the built-in type `base` or of a subclass."""
    if base is int:
        bits = int.bit_length(value)
        yield int.__repr__(value) if bits < 4 * VALUE_LIMIT else f"<int of {bits} bits>"
    elif base in (str, bytes, bytearray):
        yield repr(base.__getitem__(value, slice(VALUE_LIMIT)))
    elif base is dict:
        items: Any = (OrderedDict if type(value) is OrderedDict else dict).items(value)
        pairs = ((_pieces(key, depth - 1), (": ",), _pieces(item, depth - 1)) for key, item in items)
        yield from _listed("{}", map(chain.from_iterable, pairs))
    elif base in (set, frozenset) and not base.__len__(value):
        yield "set()"
    else:
        closing = ",)" if base is tuple and tuple.__len__(value) == 1 else _PLAIN[base][1]
        yield from _listed((_PLAIN[base][0], closing), map(_pieces, base.__iter__(value), repeat(depth - 1)))


def _attributes(value: object, depth: int) -> Iterator[Iterable[str]]:
    """Yield the parts of the text for each attribute, reading slots and `__dict__` directly."""
    found: list[tuple[object, object]] = []
    for base in [each for each in reversed(_mro(type(value))) if _flags(each) & _OF_PYTHON]:
        for name, each in _class_dict(base).items():
            if type(each) is _SLOT:
                try:
                    found.append((name, each.__get__(value)))
                except AttributeError:  # The object has no value in this slot.
                    pass
            elif type(each) is _GETTER and type(name) is str and name == "__dict__":
                found += islice(dict.items(each.__get__(value)), VALUE_LIMIT)
    for attribute, held in found:
        if type(attribute) is str and attribute[:2] != "__":
            yield chain((attribute[:NAME_LIMIT], "="), _pieces(held, depth - 1))


def _listed(brackets: Sequence[str], items: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the parts of the text for several values, with brackets and commas."""
    separator = brackets[0]
    for item in items:
        yield separator
        yield from item
        separator = ", "
    yield brackets[1] if separator == ", " else brackets[0].rstrip() + brackets[1]
