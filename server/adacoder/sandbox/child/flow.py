"""Find out by names whether a docstring's statement uses the target, the function or class under test.

This file runs confined in the user's interpreter, so it uses only the standard library of Python 3.8 and later.

A statement can test the target without running it. In `>>> s = Stats([1])`, the target runs. Then `>>> s` shows the
result.

If a statement does not use the target, it may call another function by mistake. The values of the statement's names
show which function. This file runs no code of these values.
"""

from __future__ import annotations

import builtins
from _ast import AST, PyCF_ONLY_AST
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import CodeType
    from typing import Any

# Use a copy of the built-ins, because a candidate may change the real ones.
globals()["__builtins__"] = dict(vars(builtins))

_MODULE = type(builtins)
_FUNCTION = type(lambda: None)
_BUILTIN = type(len)
_UNCHANGEABLE = (
    *(_MODULE, type, _FUNCTION, _BUILTIN, type(None), type(...), type(NotImplemented)),
    *(int, float, complex, str, bytes, frozenset, range, slice),
)
"""Types of values that a call cannot change."""
_module_dict: Any = vars(_MODULE)["__dict__"]
_class_dict = type.__dict__["__dict__"].__get__
_mro = type.__dict__["__mro__"].__get__
_name_of_class = type.__dict__["__qualname__"].__get__


class Flow:
    """Tracks the names in a docstring whose values come from the target."""

    def __init__(self, names: dict[str, object]) -> None:
        """`names` are the docstring's globals."""
        self._names = names
        self._count = 0
        self._carried: dict[str, tuple[int | None, bool]] = {}
        """Names whose values may come from the target. For each name: the id of its value, and True if the value
        certainly comes from the target.
        """
        self._carrying: dict[str, bool] = {}
        """Names in `_carried` whose values have not changed. True if the value certainly comes from the target."""

    def begins(self) -> None:
        """Record the names before a statement runs."""
        self._count = len(self._names)
        self._carrying = {name: sure for name, (value, sure) in self._carried.items() if value == self._identity(name)}

    def ran(self, source: str, code: CodeType, *, entered: bool, shows: bool, binds: bool) -> bool | None:
        """Return True if the last statement ran the target or used the target's results, or None if this is uncertain.

        `entered` is True if the target's code was observed to run. `shows` is True if the statement had output. `binds`
        is True if the statement may assign names.
        """
        ran: bool | None = entered
        if self._carrying and not entered:
            used = [self._carrying[name] for name in _used(source).intersection(_names_of(code), self._carrying)]
            ran = max(used, default=False) or (None if used else False)
        added = islice(reversed(self._names), max(0, len(self._names) - self._count))
        bound = {*(_bound(source) if binds else ()), *added}
        for name in bound:
            self._carried.pop(name, None)
        if ran is False:
            return ran
        for name in _names_of(code) if entered else ():
            if name in self._names and not issubclass(type(self._names[name]), _UNCHANGEABLE):
                is_effect = not shows and bound <= {"_"}  # By convention, the name `_` is for an ignored value.
                self._carried[name] = self._identity(name), is_effect or self._carrying.get(name, False)
        for name in bound:
            if not issubclass(type(self._names.get(name)), _MODULE):
                self._carried[name] = self._identity(name), ran is True
        return ran

    def _identity(self, name: str) -> int | None:
        return id(self._names[name]) if name in self._names else None


def imports_others(source: str, module: str) -> bool:
    """Return whether a statement only imports modules of other packages than the package of `module`."""
    if not source.startswith(("import ", "from ")):
        return False
    try:
        tree: Any = compile(source, "<names>", "exec", PyCF_ONLY_AST, True)
    except Exception:  # The statement has a syntax error, which is reported when the example runs.
        return False
    own = {"", module.partition(".")[0]}  # The name of a relative import is empty.
    return all(own.isdisjoint(name.partition(".")[0] for name in _imported(each)) for each in tree.body)


def _imported(statement: Any) -> list[str]:
    """Return the modules that a statement imports.

    For a relative import, or a statement that is not an import, return a single empty name.
    """
    kind = type(statement).__name__
    if kind == "Import":
        return [alias.name for alias in statement.names]
    return [statement.module] if kind == "ImportFrom" and not statement.level else [""]


def _names_of(code: CodeType) -> Iterator[str]:
    """Yield all names in code, including attributes and nested code."""
    yield from code.co_names
    for each in code.co_consts:
        if type(each) is type(code):
            yield from _names_of(each)


def _used(source: str) -> set[str]:
    found = set()
    for node in _nodes(source):
        kind = type(node).__name__
        used: Any = node.target if kind == "AugAssign" else node
        if type(used).__name__ == "Name" and (kind == "AugAssign" or type(used.ctx).__name__ != "Store"):
            found.add(used.id)
    return found


def _bound(source: str) -> set[str]:
    """Return the names that a statement assigns."""
    found = set()
    for node in _nodes(source):
        kind = type(node).__name__
        if kind in ("FunctionDef", "AsyncFunctionDef", "ClassDef"):
            found.add(node.name)
        elif kind == "Name" and type(node.ctx).__name__ == "Store":
            found.add(node.id)
    return found


def _nodes(source: str) -> Iterator[Any]:
    pending: list[object] = [compile(source, "<names>", "exec", PyCF_ONLY_AST, True)]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending += node
        elif isinstance(node, AST):
            yield node
            pending += [getattr(node, field, None) for field in node._fields]


# --- what ran instead ------------------------------------------------------------------------


def told(
    source: str, module: str, qualname: str, own: Sequence[CodeType], last: int, names: Mapping[str, object]
) -> str:
    """Describe a name that looks like the target but means something else, as in "`b.f` is `a.c.f`".

    Return an empty text if the statement has no such name. If a decorator compiled a copy of the target, return "`f` is
    a …", because calls of the copy cannot be observed.

    `own` is the target's code, which ends on line `last`. `names` are the docstring's globals.
    """
    parts = qualname.split(".")
    expected = {f"{module}.{'.'.join(parts[:end])}" for end in range(1, len(parts) + 1)}
    files = {code.co_filename for code in own}
    for node in _nodes(source):
        dotted = _dotted(node)
        if not dotted or dotted[-1] not in parts[-2:]:
            continue
        found = _value(dotted, names)
        full = _full_name(found)
        if full and full not in expected:
            return f"`{'.'.join(dotted)}` is `{full}`"
        code = found.__code__ if type(found) is _FUNCTION else None
        if found is not None and found is _value(parts, names) and not any(code is each for each in own):
            unseen = _unseen(found, own, last)
            if unseen:
                return f"`{'.'.join(dotted)}` is a {unseen}"
        # A wrapper often has the name of the wrapped function, so ignore wrappers from other files.
        is_near = code is not None and (code.co_filename.startswith("<doctest ") or code.co_filename in files)
        if full and code is not None and is_near and not any(code is each for each in own):
            return f"`{'.'.join(dotted)}` is the `{full}` of line {code.co_firstlineno}"
    return ""


def _unseen(value: Any, own: Sequence[CodeType], last: int) -> str:
    """Describe a replacement of the target whose calls cannot be observed. Return an empty text for other values."""
    if not own:
        return ""
    file = own[0].co_filename
    if type(value) is _FUNCTION:
        code = value.__code__
        is_copy = code.co_filename == file and own[0].co_firstlineno <= code.co_firstlineno <= last
        return "copy that a decorator compiled" if is_copy or not _full_name(value) else ""
    if issubclass(type(value), _UNCHANGEABLE):
        return ""
    calls = [place["__call__"] for place in map(_class_dict, _mro(type(value))) if "__call__" in place]
    is_near = bool(calls) and type(calls[0]) is _FUNCTION and calls[0].__code__.co_filename == file
    return f"`{_full_name(type(value))}`" if calls and not is_near else ""


def _dotted(node: Any) -> list[str]:
    """Return the parts of a dotted name, or an empty list for another expression."""
    parts: list[str] = []
    while type(node).__name__ == "Attribute":
        parts.insert(0, node.attr)
        node = node.value
    return [node.id, *parts] if type(node).__name__ == "Name" else []


def _value(parts: list[str], names: Mapping[str, object]) -> object:
    """Return the value of a dotted name, or None. Only stored attributes are read, so no code runs."""
    first, *rest = parts
    value: Any = names.get(first)
    for name in rest:
        if issubclass(type(value), _MODULE):
            value = _module_dict.__get__(value).get(name)
            continue
        owner = value if issubclass(type(value), type) else type(value)
        places = [_class_dict(base) for base in _mro(owner)]
        value = next((place[name] for place in places if name in place), None)
    if type(value) in (staticmethod, classmethod):
        value = value.__func__
    return value.fget if type(value) is property else value


def _full_name(value: Any) -> str:
    """Return the qualified name of a function or class, with its module. Empty for other values."""
    if issubclass(type(value), type):
        parts = [_class_dict(value).get("__module__"), _name_of_class(value)]
    elif type(value) in (_FUNCTION, _BUILTIN):
        parts = [value.__module__, value.__qualname__]
    else:
        return ""
    return ".".join(parts) if all(type(part) is str for part in parts) else ""
