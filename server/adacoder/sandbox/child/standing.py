"""Import unchanged modules, whose docstrings then run without another import.

This file runs confined in the user's interpreter, so it uses only the standard library of Python 3.8 and later.

`template.py` describes the processes. Importers and desks carry out the same commands as a template, and one more:

    import NONCE NAME PATH TEXT        import a module, or the package NAME if PATH is empty
      → there NONCE CHANGE…            the module was already imported, from the same text
      → imported NONCE CHANGE…
      → failed NONCE                   the import raised, or the module was imported from another text; a separate
                                       evaluation reports the reason

Each CHANGE names a part of the process's state that the import changed.

A process can run several docstrings of a module. Before each docstring, the server sends `load` with an empty TEXT. If
a docstring changed something that the next docstring could see (see `state.py`), the process is replaced. Other
commands are as in `worker.py`, but `end` and its answer have more fields:

    end NONCE WHAT                             WHAT is `changes` if the changes by the examples are wanted, else empty
      → ended NONCE MISSING LEANS COMPILED [CHANGE]…
                                               each CHANGE names something that the examples changed, and is empty if
                                               the change is unknown; LEANS is `yes` if the examples may need a
                                               module that an earlier docstring imported; COMPILED has the files of the
                                               project that had to be compiled, separated by NUL characters
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` without its slow imports
import gc
import os
import re
import sys
from importlib import import_module
from importlib.util import decode_source
from os.path import dirname, isdir, islink, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType
    from typing import Any

    from adacoder.sandbox.child import compiling, finders, observing, state, worker
else:
    worker = globals()["worker"]  # `template.py` has set this name before loading this file.
    compiling, finders, observing, state = worker.compiling, worker.finders, worker.observing, worker.state

_MODULE = type(sys)
_SIGNALS = range(1, 65)
_CACHES = ".cache", ".config"
"""Folders of caches in the home folder. Removing them is harmless, because libraries can create them again."""
_MOST_CHANGES = 20
"""Maximum number of changes in an answer."""


class Standing:
    """The unchanged modules that this process, or a process it was forked from, has imported."""

    def __init__(self, is_installed: Callable[[str], bool], look: Callable[[], dict[str, object]]) -> None:
        """`is_installed` returns True for the path of an installed file. `look` returns the present result of
        `surroundings`.
        """
        self.recursion_limit = sys.getrecursionlimit()
        self.look = look
        self.state = state.State(is_installed)
        """State of the modules before the examples run."""
        self.names: set[str] = set()
        """Names in the code of the last prepared module."""
        self.before: dict[str, object] | None = None
        """Result of `look` before the first docstring. None in a process without docstrings."""
        self.told: set[str] = set()
        """Files that were imported or compiled before the first docstring, or that the server knows."""
        self.names_of_fixtures: dict[str, object] | None = None
        """Names that pytest's fixtures add to the examples. None if no fixture has run."""
        self.has_fresh_values = False
        """True if a fixture adds values that can change. Each docstring then needs new values."""
        self._unsaved = finders.Unsaved({})
        self._texts: dict[str, str] = {}
        """Source texts of the imported modules, by path."""
        self.ready: tuple[str, dict[str, object], dict[str, list[CodeType]]] = "", {}, {}
        """For the last prepared module: its name, a copy of its globals, and its code objects by name."""
        finders.read_sources(is_installed, self._unsaved)

    def import_(self, name: str, path: str, text: str) -> str:
        """Import a module. Return the first word of the answer to `import`."""
        if not path and name in sys.modules:
            return "there"
        if path and name in sys.modules and finders.file_of(sys.modules[name]) == path:
            return "there" if self._is_text_of(path, compiling.normalized(text)) else "failed"
        sys.argv = [path]
        sys.setrecursionlimit(self.recursion_limit)
        try:
            if path:
                self._find(name, path, compiling.normalized(text))
            import_module(name)
        except BaseException:  # A module may raise anything, even SystemExit.
            return "failed"
        self.recursion_limit = sys.getrecursionlimit()
        self.state = state.State(self.state.is_installed)
        self.state.learn({})
        if "tempfile" in sys.modules and vars(sys.modules["tempfile"]).get("tempdir") == os.environ.get("TMPDIR"):
            sys.modules["tempfile"].tempdir = None  # type: ignore[attr-defined]  # Each process has its own folder.
        return "imported"

    def prepare(self, name: str, path: str) -> None:
        """Prepare a module's data for its docstrings. Call this method before forking the docstrings' processes."""
        if self.ready[0] == name:
            return
        try:
            self.ready = name, dict(vars(sys.modules[name])), observing.by_name(finders.compiled[path][1])
            self.names = {each for codes in self.ready[2].values() for code in codes for each in code.co_names}
        # The module may have replaced itself in `sys.modules`. A separate evaluation then reports the reason.
        except BaseException:
            self.ready = "", {}, {}
        gc.freeze()

    def begin(self) -> None:
        """Store the state of this process before its first docstring."""
        self.state.begin()
        self.before = self.look()
        # `remove_caches` will remove the caches of fixtures. This must not look like a change by the examples.
        files: Any = self.before["files in its folder"]
        self.before["files in its folder"] = [name for name in files if name not in _CACHES]
        self.told = {*finders.compiled, *finders.ahead}

    def _find(self, name: str, path: str, text: str) -> None:
        """Make the next import of a module use `text`."""
        code = compile(text, path, "exec", 0, True)
        self._texts[path] = text
        finders.compiled[path] = text.encode("utf-8", "surrogatepass"), code
        loader = finders.TextLoader(name, path, text, code)
        sys.meta_path.insert(0, finders.TextFinder(name, loader, self._unsaved))
        sys.modules.pop(name, None)  # The standard library may have a module of this name.

    def _is_text_of(self, path: str, text: str) -> bool:
        if path in self._texts:
            return self._texts[path] == text
        return path in finders.compiled and decode_source(finders.compiled[path][0]) == text


def surroundings(found: tuple[object, ...], folder: str) -> dict[str, object]:
    """Return the parts of this process's state that an import may change, by name.

    `sys.modules` is left out. `found` is the result of `Parent._surroundings` in `template.py`.
    """
    threads, descriptors, environment, path, _, here = found
    return {
        "threads": threads,
        "open files": descriptors,
        "files in its folder": os.listdir(dirname(folder)) + os.listdir(folder),
        "the current folder": here,
        "the environment": environment,
        "sys.path": path,
        "signal handlers": [_signal.getsignal(number) for number in _SIGNALS],
    }


def _is_constant(value: object) -> bool:
    return value is None or type(value) in (_MODULE, bool, int, float, str, bytes)


def remove_caches() -> bool:
    """Remove the folders of caches in the home folder. Return True if there were any."""
    places = [join(os.environ.get("HOME", ""), name) for name in _CACHES]
    found = [place for place in places if isdir(place) and not islink(place)]
    for place in found:
        if worker.empty(place):
            os.rmdir(place)
    return bool(found)


class StandingModule(worker.ModuleUnderTest):
    """The module under test in a process that runs the examples of its docstrings."""

    def __init__(self, fields: list[str], standing: Standing) -> None:
        """`fields` are the fields of the command `load`."""
        super().__init__(fields, lambda path: False)
        self._standing = standing
        self._sources: list[str] = []
        self._imported_before: list[str] = []
        """Names of modules that earlier docstrings imported."""

    def load(self) -> list[str]:
        """Use the imported module for the next docstring. Return the answer to `load` without the nonce."""
        standing = self._standing
        if standing.before is None:
            standing.begin()
        else:
            self.answers_later = True  # Answers may be sent late, because a docstring runs again if its process dies.
        standing.state.restore()
        self._imported_before = [*standing.state.imported]
        self._recursion_limit = standing.recursion_limit
        name, namespace, codes = standing.ready
        if name != self._name:
            raise RuntimeError(f"the imported module is {name}, not {self._name}")
        self.observe(codes)
        return self.begin(dict(namespace), [])

    def names_of_fixtures(self) -> dict[str, object]:
        """Return the names that pytest's fixtures add. In this process, the fixtures run only once."""
        standing = self._standing
        if standing.names_of_fixtures is None:
            standing.names_of_fixtures = super().names_of_fixtures()
            if standing.names_of_fixtures:
                standing.state.renew()
                standing.begin()
                added = (value for name, value in standing.names_of_fixtures.items() if name != "getfixture")
                standing.has_fresh_values = not all(map(_is_constant, added))
        return standing.names_of_fixtures

    def run(self, source: str, form: str, *, tell: Callable[..., None] | None = None) -> list[str]:
        """Run an example as `ModuleUnderTest` does. Afterwards, watch the modules that the example imported."""
        self._sources.append(source)
        settings = self._standing.state.settings()
        answer = super().run(source, form, tell=tell)
        self._standing.state.learn(settings)
        return answer

    def end(self, what: str = "") -> list[str]:
        """Return the answer to `end` without the nonce."""
        compiled = finders.compiled.keys() - self._standing.told
        self._standing.told |= compiled
        leans, changed = self._changes() if what else (False, [])
        return ["", "yes" if leans else "", "\0".join(compiled), *changed[:_MOST_CHANGES]]

    def _changes(self) -> tuple[bool, list[str]]:
        """Remove the names of the examples. Return LEANS, and the changes that the examples left behind."""
        modules = [value for names in self._groups for value in names.values() if type(value) is _MODULE]
        self.forget()
        state.collect()
        before, changed = self._standing.before or {}, []
        try:
            remove_caches()
            now = self._standing.look()
            changed += [what for what in before if before[what] != now[what]]
            changed += dict.fromkeys(self._standing.state.changes(modules))
            # Code of the module may use a submodule that only an example imported.
            imported = self._standing.state.bound.keys() & self._standing.names
            changed += [f"the import of {name}" for name in imported - set(self._imported_before)]
        except Exception:  # The process's folder may be gone, for example.
            changed.append("the process")
        # After an unknown change, a new process with new fixtures runs the next docstring.
        if any("getfixture" in source for source in self._sources):
            changed = [""]  # In pytest, the fixtures would undo their changes.
        elif self._standing.has_fresh_values:
            changed.append("")
        return any(map(self._uses, self._imported_before)), changed

    def _uses(self, name: str) -> bool:
        """Return whether the examples use the submodule `name` in an expression such as `a.b` without importing the
        submodule.
        """
        lines = "".join(self._sources).splitlines()
        imports = [line for line in lines if line.startswith(("import ", "from "))]
        used = re.compile(rf"\.{re.escape(name)}\b")
        named = re.compile(rf"\b{re.escape(name)}\b")
        return any(line not in imports and used.search(line) for line in lines) and not any(map(named.search, imports))

    def missing(self) -> str:
        """Return an empty text, because unchanged code has no undefined names to report."""
        return ""
