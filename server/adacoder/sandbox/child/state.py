"""Find out what examples changed that later examples of the same module could see.

This file runs confined in the user's interpreter, so it uses only the standard library of Python 3.8 and later.

Several docstrings run in one process, as if each had its own. So the process is replaced when a docstring has changed
something that is watched:

* names of the project's modules; attributes of their classes, functions and objects; and items of their lists, dicts,
  sets and other containers, up to `_MOST_WATCHED` objects
* functions and classes of other modules, so that a patched function is noticed
* settings of well-known libraries

Generators of random numbers and caches of functions are restored instead, because many examples use them.

Not watched are attributes whose names begin with `_`, because most of them are caches; objects of compiled classes and
of other packages' classes; and containers with more than `_MOST_ITEMS` items.
"""

from __future__ import annotations

import builtins
import gc
import os
import sys
from collections import deque
from functools import _lru_cache_wrapper, partial
from itertools import chain, count
from operator import attrgetter, is_, length_hint
from os.path import dirname

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from typing import Any

# Use a copy of the built-ins, because a candidate may change the real ones.
globals()["__builtins__"] = dict(vars(builtins))

_MOST_WATCHED = 100_000
_MOST_ITEMS = 1000
_GROUP = 64
"""Number of containers that are compared at once."""
_MOST_BYTES = 1 << 16
"""Maximum size in bytes of an array whose contents are watched."""

_ABSENT = object()
_MODULE, _FUNCTION, _BUILTIN = type(builtins), type(lambda: None), type(len)
_PROXY = type(type.__dict__)
_GENERATOR = type(_ for _ in ())
_ITERATORS = frozenset(map(type, (iter([]), iter(()), iter(range(0)), reversed([]), iter(""), iter(b""))))
_CALLABLE = (_FUNCTION, _BUILTIN, type)
_ATOMS = frozenset(
    {
        *(type(None), bool, int, float, complex, str, bytes, range, slice, type(...), type(NotImplemented)),
        *(_MODULE, type((lambda: None).__code__), type(str.join), type(str.__len__)),
    }
)
"""Types of objects that cannot change."""
_WITH_CACHES = frozenset({"logging", "typing", "functools", "re"})
"""Modules of the standard library whose objects set some attributes when they are first used."""
_OWN = {
    "sys": frozenset({"stdout", "displayhook", "argv", "getprofile", "gettrace"}),
    "builtins": frozenset({"_"}),
    "_thread": frozenset({"start_new_thread"}),
    "threading": frozenset({"_trace_hook", "_profile_hook"}),
}
"""Names that AdaCoder changes itself, by module."""

_content = attrgetter("cell_contents")
_module_dict: Any = vars(_MODULE)["__dict__"].__get__
_class_dict: Any = type.__dict__["__dict__"].__get__
_mro: Any = type.__dict__["__mro__"].__get__


def _umask(module: Any) -> int:
    mask: int = module.umask(0o77)
    module.umask(mask)
    return mask


def _loggers(module: Any) -> object:
    loggers = [module.root, *module.root.manager.loggerDict.values()]
    levels = [(each.name, each.level, [*each.handlers]) for each in loggers if hasattr(each, "level")]
    return module.root.manager.disable, [each for each in levels if each[1:] != (0, [])]


def _context(module: Any) -> object:
    # Ignore `decimal_context`, which is set when it is first used. The context of `decimal` is compared elsewhere.
    return {var: id(value) for var, value in module.copy_context().items() if var.name != "decimal_context"}


SETTINGS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "os": ("the umask", _umask),
    "gc": ("the garbage collector", lambda module: (module.isenabled(), module.get_threshold())),
    "sys": ("import hooks", lambda module: [[*module.meta_path], [*module.path_hooks]]),
    "_csv": ("dialects of CSV", lambda module: module.list_dialects()),
    "_socket": ("the timeout of sockets", lambda module: module.getdefaulttimeout()),
    "warnings": ("filters of warnings", lambda module: [tuple(each) for each in module.filters]),
    "logging": ("loggers", _loggers),
    "decimal": ("decimal's context", lambda module: repr(module.getcontext())),
    "_abc": ("registered classes", lambda module: module.get_cache_token()),
    "_contextvars": ("context variables", _context),
    "_locale": ("the locale", lambda module: module.setlocale(module.LC_ALL)),
    "numpy": ("numpy's options", lambda module: repr((module.get_printoptions(), module.geterr()))),
    "pandas._config.config": ("pandas' options", lambda module: repr(module._global_config)),  # noqa: SLF001  # all of them
    "matplotlib": ("matplotlib's rcParams", lambda module: repr([*dict.items(module.rcParams)])),
}
"""Watched settings by module: a name for messages, and a function that returns the value."""
_GENERATORS: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], object]]] = {
    "random": (lambda module: module.getstate(), lambda module, state: module.setstate(state)),
    "numpy.random": (lambda module: module.get_state(), lambda module, state: module.set_state(state)),
}
"""Functions that return and that restore the state of a random number generator, by the generator's module."""


class State:
    """The state of the project's modules and of the process before a docstring runs."""

    def __init__(self, is_installed: Callable[[str], bool]) -> None:
        """`is_installed` returns True for an installed file, and False for a file of the project."""
        self.is_installed = is_installed
        self._modules: dict[str, object] = {}
        self._is_replaced = False
        """True if examples replaced an imported module in `sys.modules`."""
        self.is_cut = False
        """True if there are too many objects to watch."""
        self.own: dict[str, dict[str, object]] = {}
        """The globals of each module of the project, by the module's name."""
        self.others: dict[int, _WatchedNames] = {}
        """The globals of each other module, by the module's id."""
        self.seen: dict[int, tuple[object, bool]] = {
            id(each): (each, True) for each in (os.environ, sys.modules, vars(builtins))
        }
        """Objects that are watched or contain no others, by id, and whether they have a name in a module or class.

        The objects are kept, because Python may reuse the id of a deleted object.
        """
        self.groups: list[_Group] = []
        self.cells: list[Any] = []
        """Closure cells, the variables of enclosing functions."""
        self.values: list[tuple[str, object]] = []
        """For each closure cell: its name in messages, and its earlier value."""
        self.slots: list[tuple[str, object, Mapping[str, Any], dict[str, object]]] = []
        """For each object with slots: its name in messages, the object, its slots, and their earlier values."""
        self.views: list[tuple[str, Callable[[], object], object]] = []
        """For each other value: its name in messages, a function that returns the present value, and the earlier value.
        """
        self.restoring: list[Callable[[], object]] = []
        """Functions that restore state between docstrings."""
        self._settings: dict[str, object] = {}
        self.imported: dict[str, None] = {}
        """Names of submodules that examples imported. For the submodule `a.b`, the name is `b`."""
        self.bound: dict[str, None] = {}
        """Names in `imported` whose packages were imported earlier."""

    def begin(self) -> None:
        """Store the settings of this process before its first docstring."""
        self.imported.clear()
        self.bound.clear()
        self._settings = self.settings()

    def settings(self) -> dict[str, object]:
        """Return the present settings of this process."""
        return dict(_settings(sys.modules))

    def learn(self, settings: Mapping[str, object]) -> None:
        """Store the state of all modules that were imported since the last call.

        `settings` are the settings before the import. A setting that the import changed does not count as changed by
        the examples.
        """
        if len(sys.modules) == len(self._modules):
            return
        added = {name: module for name, module in sys.modules.items() if self._modules.get(name) is not module}
        bound = [name for name in added if name.rpartition(".")[0] in self._modules]
        self.bound.update(dict.fromkeys(name.rpartition(".")[2] for name in bound))
        self._is_replaced = self._is_replaced or not self._modules.keys().isdisjoint(added)
        self._modules.update(added)
        self.imported.update(dict.fromkeys(name.rpartition(".")[2] for name in added if "." in name))
        _Walk(self).begin(added)
        unchanged = {name for name, value in self._settings.items() if settings.get(name, value) == value}
        self._settings.update(
            (name, value) for name, value in _settings(sys.modules) if name in unchanged | added.keys()
        )
        for name in _GENERATORS.keys() & added.keys():
            get, restore = _GENERATORS[name]
            self.restoring.append(partial(restore, added[name], get(added[name])))

    def renew(self) -> None:
        """Store the present state, so that earlier changes do not count."""
        for _ in self.changes(()):  # `changes` also stores the present values.
            pass
        self.learn(self.settings())

    def watch(self, owner: str, container: Any, names: Mapping[str, object] | None = None) -> None:
        """Watch the items of a container.

        `names` is given if the items are the values of a namespace, such as the globals of a module.
        """
        if not self.groups or len(self.groups[-1].watched) == _GROUP:
            self.groups.append(_Group())
        self.groups[-1].add(_WatchedNames(owner, names, dict(names)) if names is not None else owner, container)

    def restore(self) -> None:
        """Restore random numbers and other state before the next docstring."""
        vars(builtins).pop("_", None)
        for restore in self.restoring:
            restore()

    def changes(self, used: Sequence[object]) -> Iterator[str]:
        """Yield the names of changed values, such as `pkg.module.NAME`. An empty name means an unknown change.

        `used` are the modules that the docstring uses. Other modules are compared only if they belong to the project,
        because a process may have a thousand modules.
        """
        if self.is_cut:
            yield ""
        if self._is_replaced or not all(map(is_, map(sys.modules.get, self._modules), self._modules.values())):
            yield "sys.modules"
        settings = self.settings()
        yield from (SETTINGS[name][0] for name, value in self._settings.items() if settings.get(name) != value)
        near = {id(module) for module in (builtins, sys, os, sys.modules.get("__main__"), *used)}
        for other in near & self.others.keys():
            yield from self._rebound(self.others[other])
        for group in self.groups:
            for watched in group.changed():
                yield from (watched,) if isinstance(watched, str) else self._rebound(watched)
        contents = map(_content, self.cells)
        yield from (name for content, (name, before) in zip(contents, self.values) if content is not before)  # noqa: B905
        for name, owner, members, values in self.slots:
            yield from self._rebound(_WatchedNames(name, _slots(owner, members), values))
        for name, view, value in self.views:
            if view() != value:
                yield name

    def _rebound(self, watched: _WatchedNames) -> Iterator[str]:
        """Yield the names whose values have changed. Changes that only cache something are left out."""
        owner, now, before = watched.owner, watched.now, watched.before
        if same(now.values(), before.values()):
            return
        ignored = _OWN.get(owner, frozenset())
        is_module = owner in self._modules
        for name in dict.fromkeys((*before, *now)):
            old, new = before.get(name, _ABSENT), now.get(name, _ABSENT)
            if old is new or name in ignored or (name.startswith("__") and name.endswith("__")):
                continue
            if old is _ABSENT and type(new) is _MODULE and sys.modules.get(f"{owner}.{name}") is new:
                continue  # Importing a submodule sets its name in the package.
            if is_module and owner not in self.own:
                # Modules of other packages may cache values in their globals, so report only replaced functions and
                # classes.
                is_lazy = _is_within(new, owner) if old is _ABSENT else old is None or name.startswith("_")
                if not is_lazy or issubclass(type(old), _CALLABLE):
                    yield f"{owner}.{name}"
            elif not _is_internal(name, old, new, owner, is_object=not is_module):
                yield f"{owner}.{name}"
        watched.before = dict(now)


class _WatchedNames:
    """The watched names of a module, class or object, with their present and earlier values."""

    def __init__(self, owner: str, now: Mapping[str, object], before: dict[str, object]) -> None:
        self.owner, self.now, self.before = owner, now, before


class _Group:
    """Several containers, which are compared at once because this is faster."""

    def __init__(self) -> None:
        self.watched: list[_WatchedNames | str] = []
        """For each container: its watched namespace, or its name in messages."""
        self._containers: list[Any] = []
        self._sizes: list[int] = []
        self._items: list[object] = []

    def add(self, watched: _WatchedNames | str, container: Any) -> None:
        self.watched.append(watched)
        self._containers.append(container)
        self._sizes.append(len(container))
        self._items += container

    def changed(self) -> list[_WatchedNames | str]:
        """Return the entries of `watched` whose containers have changed. Store the present items for the next call."""
        sizes = [*map(len, self._containers)]
        if sizes == self._sizes and all(map(is_, chain.from_iterable(self._containers), self._items)):
            return []
        found, start = [], 0
        for watched, container, size in zip(self.watched, self._containers, self._sizes):  # noqa: B905  # came later
            if not same(container, self._items[start : start + size]):
                found.append(watched)
            start += size
        self._sizes, self._items = sizes, [*chain.from_iterable(self._containers)]
        return found


def _is_internal(name: str, old: object, new: object, owner: str, *, is_object: bool) -> bool:
    """Return whether a change only shows that code cached or counted something for itself.

    Without this rule, 443 of the 452 docstrings of `networkx/algorithms` change something. With this rule, 4 docstrings
    do.
    """
    if is_object:
        return name.startswith("_")
    if old is not _ABSENT or not callable(new) or issubclass(type(new), type):
        return False
    is_of_example = type(new) is _FUNCTION and new.__code__.co_filename.startswith("<doctest ")
    return _is_within(new, owner) and not is_of_example  # For example, a function is compiled at its first call.


def _is_within(value: Any, module: str) -> bool:
    """Return whether a function or class was defined in the same top-level package as a module."""
    home = getattr(value, "__module__", None)
    return type(home) is str and home.partition(".")[0] == module.partition(".")[0]


class _Walk:
    """Finds the objects to watch, and adds them to a State."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._seen = state.seen
        self._pending: list[tuple[str, object]] = []
        self._named: list[tuple[str, object]] = []
        """Values that have a name in a module or class. The attributes of other functions are not watched."""
        self._globals: set[int] = set()
        self._installed: dict[str, bool] = {}
        """By folder of modules: True for installed modules, and False for modules of the project."""

    def begin(self, modules: Mapping[str, object]) -> None:
        """Watch everything that `modules` refer to."""
        state = self._state
        own = []
        for name, module in modules.items():
            if not issubclass(type(module), _MODULE):
                continue
            names = _module_dict(module)
            file = names.get("__file__")
            folder = dirname(file) if type(file) is str else ""
            if folder not in self._installed:
                self._installed[folder] = not folder or state.is_installed(folder)
            if not self._installed[folder]:
                state.own[name] = names
                state.watch(name, names.values(), names)
                own.append(name)
            else:
                state.others[id(module)] = _WatchedNames(name, names, dict(names))
        self._globals.update(map(id, state.own.values()))
        for module_name in reversed(own):
            self._named += [(f"{module_name}.{name}", value) for name, value in state.own[module_name].items()]
        while (self._named or self._pending) and len(self._seen) < _MOST_WATCHED:
            pending = self._named or self._pending
            name, value = pending.pop()
            try:
                self._look(name, value, is_named=pending is self._named)
            except Exception:  # noqa: S110  # The user's classes may do anything. Such a value is not watched.
                pass
        state.is_cut = state.is_cut or bool(self._named or self._pending)

    def _look(self, name: str, value: Any, *, is_named: bool) -> None:
        kind = type(value)
        if kind in _ATOMS:
            return
        _, was_named = self._seen.get(id(value), (None, None))
        if was_named or was_named is is_named:
            return
        self._seen[id(value)] = value, is_named
        state = self._state
        if kind is _FUNCTION:
            self._look_at_function(name, value, is_named=is_named)
        elif issubclass(kind, type):
            if is_named or value.__module__ in self._state.own:
                self._watch_names(name, _class_dict(value), self._named)
        elif kind in (staticmethod, classmethod):
            self._pending.append((name, value.__func__))
        elif kind is _BUILTIN or kind.__name__ == "method":
            self._pending.append((name, value.__self__))
        elif kind is partial:
            self._pending += [(name, each) for each in (value.func, value.args, value.keywords)]
        elif kind in _ITERATORS:
            state.views.append((name, lambda: length_hint(value), length_hint(value)))
        elif kind is property:
            self._pending += [(name, each) for each in (value.fget, value.fset, value.fdel)]
        elif kind is _lru_cache_wrapper:
            if not value.cache_info().currsize:
                state.restoring.append(partial(_lru_cache_wrapper.cache_clear, value))
            self._pending.append((name, getattr(value, "__wrapped__", None)))
        elif kind.__name__ == "Random" and kind.__module__ == "random":
            state.restoring.append(partial(value.setstate, value.getstate()))
        elif kind.__name__ == "Generator" and kind.__module__.startswith("numpy.random"):
            state.restoring.append(partial(setattr, value.bit_generator, "state", value.bit_generator.state))
        elif kind is count:
            state.views.append((name, lambda: repr(value), repr(value)))
        elif kind is _GENERATOR:
            state.views.append((name, lambda: _position(value), _position(value)))
        elif kind.__name__ in ("bytearray", "array", "ndarray") and kind.__module__ in ("builtins", "array", "numpy"):
            self._look_at_array(name, value)
        elif issubclass(kind, (tuple, frozenset)):
            if len(value) <= _MOST_ITEMS:
                self._pending += [(name, each) for each in kind.__iter__(value)]
        elif issubclass(kind, dict):
            self._watch(name, dict.keys(value))
            self._watch(name, dict.values(value))
        elif kind is _PROXY:
            self._watch(name, value.values())
        elif kind in (list, set, deque):
            self._watch(name, value)
        elif issubclass(kind, (list, set, deque)):
            base = next(each for each in (list, set, deque) if issubclass(kind, each))
            before = [*base.__iter__(value)]  # Call the method of the base class, because a subclass may override it.
            state.views.append((name, lambda: same([*base.__iter__(value)], before), True))
        is_internal = name.rpartition(".")[2].startswith("_")
        if is_internal or issubclass(kind, type):
            return
        if kind.__module__ in self._state.own or (is_named and kind.__module__ not in _WITH_CACHES):
            self._look_at_attributes(name, value)

    def _watch(self, name: str, values: Collection[object]) -> None:
        if len(values) > _MOST_ITEMS:
            self._state.views.append((name, lambda: len(values), len(values)))
        else:
            self._state.watch(name, values)
            self._pending += [(name, value) for value in values]

    def _watch_names(self, owner: str, names: Mapping[str, object], pending: list[tuple[str, object]]) -> None:
        self._state.watch(owner, names.values(), names)
        pending += [(f"{owner}.{name}", value) for name, value in names.items() if name[:1] != "_"]

    def _look_at_function(self, name: str, function: Any, *, is_named: bool) -> None:
        if id(function.__globals__) not in self._globals and function.__module__ not in self._state.own:
            return
        self._pending += [(f"{name} (a default)", each) for each in function.__defaults__ or ()]
        self._pending += [(f"{name} (a default)", each) for each in (function.__kwdefaults__ or {}).values()]
        for cell in function.__closure__ or ():
            try:
                value = _content(cell)
            except ValueError:  # Skip an empty cell.
                continue
            self._state.cells.append(cell)
            self._state.values.append((name, value))
            self._pending.append((name, value))
        if is_named and function.__dict__:
            self._watch_names(name, function.__dict__, self._pending)

    def _look_at_array(self, name: str, value: Any) -> None:
        try:
            if memoryview(value).nbytes <= _MOST_BYTES:
                self._state.views.append((name, lambda: bytes(value), bytes(value)))
        except (BufferError, TypeError, ValueError):  # Skip an array of objects.
            pass

    def _look_at_attributes(self, name: str, value: Any) -> None:
        try:
            attributes = object.__getattribute__(value, "__dict__")
        except Exception:  # The object has no `__dict__`, or its class is hostile.
            attributes = None
        if type(attributes) is dict:
            self._watch_names(name, attributes, self._pending)
        slots = {
            name: member
            for owner in _mro(type(value))
            for name, member in _class_dict(owner).items()
            if type(member).__name__ == "member_descriptor" and not name.startswith("_")
            if "__slots__" in _class_dict(owner)
        }
        if slots:
            before = _slots(value, slots)
            self._state.slots.append((name, value, slots, before))
            self._pending += [(name, each) for each in before.values()]


def same(now: Collection[object], before: Collection[object]) -> bool:
    """Return whether two collections contain the same objects in the same order."""
    return len(now) == len(before) and all(map(is_, now, before))


def _slots(value: object, members: Mapping[str, Any]) -> dict[str, object]:
    found = {}
    for name, member in members.items():
        try:
            found[name] = member.__get__(value)
        except AttributeError:  # The object has no value in this slot.
            found[name] = None
    return found


def _position(generator: Any) -> object:
    return generator.gi_frame and generator.gi_frame.f_lasti


def _settings(modules: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    for name in SETTINGS.keys() & modules.keys():
        try:
            yield name, SETTINGS[name][1](modules[name])
        except Exception:  # The user's code may have changed the module.
            yield name, None


def collect() -> None:
    """Collect garbage, so that objects and open files do not outlive their docstring."""
    gc.collect()
    gc.freeze()  # Make the next collection ignore the remaining objects, which saves time.
