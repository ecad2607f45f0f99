"""What a name of the standard library means, by how the code around it uses it.

What does not fit is not imported: a constant that is called, a function that is indexed, a module of which something
is taken that only strings have, are missing variables or helpers of the same name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeAlias

from adacoder.source.importing.standard_names import (
    ALIASES,
    ATTRIBUTES,
    CONSTANTS,
    GENERICS,
    LIKE_VALUES,
    NAMES,
    OF_PATHS,
    OF_TIME,
    SUBMODULES,
    WITH_EFFECT,
)
from adacoder.source.importing.usage import OF_VALUES, Usage, usage_of

Fits: TypeAlias = Callable[[Usage], bool]

_MODULE_OF = {name: module for module, names in NAMES.items() for name in names}


def standard_import(name: str, used_in: str = "") -> str | None:
    """The statement that imports `name` as the code `used_in` means it; None if it is nobody's, or more than one's.

    Without code that shows how the name is used: as people mean it most often.
    """
    usage = usage_of(name, used_in) if used_in else None
    if usage is None:
        return ALIASES.get(name) or _member(name) or _module(name, None)
    if name in _MEANINGS:
        found = [statement for statement, fits in _MEANINGS[name] if fits(usage)]
        return found[0] if len(found) == 1 else None
    if name in ALIASES:
        return ALIASES[name] if usage.paths and not usage.is_bare else None
    if name in _MODULE_OF:
        return _member(name) if _is_such_a_member(name, usage) else None
    return _module(name, usage)


def meanings(name: str) -> tuple[str, ...]:
    """The statements that could import a name that means more than one thing; none for other names."""
    return tuple(statement for statement, _ in _MEANINGS.get(name, ()))


def _member(name: str) -> str | None:
    return f"from {_MODULE_OF[name]} import {name}" if name in _MODULE_OF else None


def _module(name: str, usage: Usage | None) -> str | None:
    """The statement that imports the module `name` with the submodules that are taken from it."""
    if name not in sys.stdlib_module_names or name.startswith("_") or name in WITH_EFFECT:
        return None
    if usage is None:
        return f"import {name}"
    own = OF_VALUES - LIKE_VALUES.get(name, frozenset())
    if not usage.paths or usage.is_data or usage.calls or usage.attributes & own:
        return None
    paths = [f"{name}.{path}." for path in usage.paths]
    needed = [module for module in SUBMODULES if any(path.startswith(f"{module}.") for path in paths)]
    return f"import {', '.join(needed or [name])}"


def _is_such_a_member(name: str, usage: Usage) -> bool:
    """Whether a name of the table is used as what it is there: data, a class, or a function."""
    if name in CONSTANTS:
        return not usage.calls
    if not name[0].islower():
        return not usage.is_computed_with
    if name in ATTRIBUTES:
        as_a_value = usage.is_computed_with or (usage.is_subscripted and name not in GENERICS)
        return usage.attributes <= ATTRIBUTES[name] and not as_a_value
    return not (usage.paths or usage.is_data)


def _called(least: int, most: int) -> Fits:
    """Called everywhere with so many arguments, and used in no other way."""
    return lambda usage: (
        bool(usage.calls)
        and all(call.takes(least, most) for call in usage.calls)
        and not (usage.paths or usage.is_data or usage.is_handed_on)
    )


def _with_keyword(*keywords: str) -> Fits:
    return lambda usage: any(not call.keywords.isdisjoint(keywords) for call in usage.calls) and not usage.paths


def _on_first(fits: Callable[[object], bool]) -> Fits:
    """Called everywhere with a first argument that is such a constant."""
    return lambda usage: bool(usage.calls) and all(fits(call.begins_with) for call in usage.calls) and not usage.paths


def _taken(*attributes: str) -> Fits:
    """All that is taken from it is among `attributes`, and it is used in no other way."""
    return lambda usage: bool(usage.paths) and usage.attributes <= set(attributes) and not usage.is_bare


def _function(usage: Usage) -> bool:
    return (bool(usage.calls) or usage.is_handed_on) and not (usage.paths or usage.is_data)


def _is_called(usage: Usage) -> bool:
    return _function(usage) and bool(usage.calls)


def _either(*fits: Fits) -> Fits:
    return lambda usage: any(fit(usage) for fit in fits)


def _handed_on(usage: Usage) -> bool:
    return usage.is_handed_on and not (usage.calls or usage.paths or usage.is_data)


def _awaited(usage: Usage) -> bool:
    return _function(usage) and any(call.awaited for call in usage.calls)


def _not_awaited(usage: Usage) -> bool:
    return _function(usage) and not any(call.awaited for call in usage.calls)


def _among_tasks(usage: Usage) -> bool:
    return usage.in_async and not (usage.paths or usage.is_data)


def _among_threads(usage: Usage) -> bool:
    return not (usage.in_async or usage.paths or usage.is_data)


def _is_module_called(name: str) -> Fits:
    return lambda usage: _module(name, usage) is not None


def _operation(name: str) -> tuple[str, Fits]:
    """A function of `operator` on two values, called or handed on as in `reduce(mul, numbers)`."""
    return f"from operator import {name}", _either(_called(2, 2), _handed_on)


def _twins(name: str, member: Fits = _is_called, *, module: Fits | None = None) -> tuple[tuple[str, Fits], ...]:
    """A module, and what it has under its own name."""
    return (
        (f"import {name}", module or _is_module_called(name)),
        (f"from {name} import {name}", member),
    )


def _at_once_or_waiting(name: str, module: str) -> tuple[tuple[str, Fits], ...]:
    """A class that `asyncio` has too."""
    return ((f"from {module} import {name}", _among_threads), (f"from asyncio import {name}", _among_tasks))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_typecode(value: object) -> bool:
    return isinstance(value, str) and len(value) == 1


_OF_PATHS = _taken(*OF_PATHS)


def _is_os_path(usage: Usage) -> bool:
    """`join` and `split` alone are what strings have; but those join one argument, not two."""
    only_of_values = usage.attributes <= OF_VALUES
    joins = any(call.positional > 1 or call.is_open for call in usage.paths.get("join", ()))
    return _OF_PATHS(usage) and (joins or not only_of_values)


_IN_JSON = _with_keyword("allow_nan", "cls", "ensure_ascii", "indent", "separators", "sort_keys")
_OUT_OF_JSON = _with_keyword("object_hook", "object_pairs_hook", "parse_float", "parse_int")
_IN_PICKLE = _with_keyword("fix_imports", "protocol")
_RUN = _with_keyword("capture_output", "check", "cwd", "env", "shell", "stdout", "text")
_MEANINGS: dict[str, tuple[tuple[str, Fits], ...]] = {
    **{name: _twins(name) for name in ("bisect", "copy", "fnmatch", "getpass", "glob", "pprint", "random", "timeit")},
    **{name: (_operation(name),) for name in ("add", "and_", "floordiv", "mul", "or_", "truediv", "xor")},
    **{
        name: _at_once_or_waiting(name, "threading")
        for name in ("BoundedSemaphore", "Condition", "Event", "Lock", "Semaphore")
    },
    **{name: _at_once_or_waiting(name, "queue") for name in ("LifoQueue", "PriorityQueue", "Queue")},
    "array": _twins("array", _on_first(_is_typecode)),
    "datetime": _twins(
        "datetime",
        lambda usage: usage.attributes <= ATTRIBUTES["datetime"] and not usage.is_computed_with,
        module=_taken("MAXYEAR", "MINYEAR", "UTC", "date", "datetime", "time", "timedelta", "timezone", "tzinfo"),
    ),
    "dump": (("from json import dump", _IN_JSON), ("from pickle import dump", _IN_PICKLE)),
    "dumps": (("from json import dumps", _IN_JSON), ("from pickle import dumps", _IN_PICKLE)),
    "loads": (("from json import loads", _OUT_OF_JSON),),
    "mode": (("from statistics import mode", _called(1, 1)),),
    "neg": (("from operator import neg", _either(_called(1, 1), _handed_on)),),
    "pack": (("from struct import pack", _on_first(_is_text)),),
    "path": (("from os import path", _is_os_path),),
    "product": (("from itertools import product", _either(_called(2, sys.maxsize), _with_keyword("repeat"))),),
    "quote": (("from urllib.parse import quote", _with_keyword("safe")),),
    "run": (("from subprocess import run", _RUN),),
    "sample": (("from random import sample", _called(2, 2)),),
    "seed": (("from random import seed", _called(0, 1)),),
    "sleep": (("from time import sleep", _not_awaited), ("from asyncio import sleep", _awaited)),
    "socket": _twins("socket", _function),
    "sub": (("from re import sub", _called(3, 5)), _operation("sub")),
    "time": (
        ("import time", _taken(*OF_TIME)),
        ("from time import time", _called(0, 0)),
        ("from datetime import time", _either(_called(1, 4), _taken("fromisoformat", "max", "min", "resolution"))),
    ),
    "unpack": (("from struct import unpack", _on_first(_is_text)),),
}
"""What names mean that stand for more than one thing; one of them must fit, and no other."""
