"""Runs in the *user's* interpreter, confined: modules that were imported as they stand, for their examples to run in.

Standard library only, Python 3.8 and later. `template.py` hands it what an importer or a desk is asked beside a
template's commands:

    import NONCE NAME PATH TEXT        PATH is empty for a package, which is imported by its name, as it is on disk
      → there NONCE CHANGE…            another module has imported it before, from this very text
      → imported NONCE CHANGE…
      → failed NONCE                   it raised, or runs from another text; why is for an evaluation of its own to tell

A CHANGE is what the import left as it was not before. In a docstring's process `load` has an empty TEXT, and finds the
module imported; the rest is as in `worker.py`.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` without what takes long to import
import gc
import os
import sys
from importlib import import_module
from importlib.util import decode_source
from os.path import dirname

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from adacoder.sandbox import compiling, finders, observing, worker
else:
    worker = globals()["worker"]  # `template.py`, which loads this file, has it already
    compiling, finders, observing = worker.compiling, worker.finders, worker.observing

_SIGNALS = range(1, 65)


class Standing:
    """Modules imported in this process, and in those that it was forked from."""

    def __init__(self, is_installed: Callable[[str], bool]) -> None:
        """`is_installed` tells of a file whether it is, and not a part of the project."""
        self.recursion_limit = sys.getrecursionlimit()
        self._unsaved = finders.Unsaved({})
        self._texts: dict[str, str] = {}
        """Source texts of the imported modules, by their paths."""
        self.ready: tuple[str, dict[str, object], dict[str, list[CodeType]]] = "", {}, {}
        """The module of the last docstring, with a copy of its names, and its code by name."""
        finders.read_sources(is_installed, self._unsaved)

    def import_(self, name: str, path: str, text: str) -> str:
        """Import a module; returns the first word of the answer to `import`."""
        if path and name in sys.modules and finders.file_of(sys.modules[name]) == path:
            return "there" if self._is_text_of(path, compiling.normalized(text)) else "failed"
        sys.argv = [path]
        sys.setrecursionlimit(self.recursion_limit)
        try:
            if path:
                self._find(name, path, compiling.normalized(text))
            import_module(name)
        except BaseException:  # SystemExit too is only what the module did
            return "failed"
        self.recursion_limit = sys.getrecursionlimit()
        if "tempfile" in sys.modules and vars(sys.modules["tempfile"]).get("tempdir") == os.environ.get("TMPDIR"):
            sys.modules["tempfile"].tempdir = None  # type: ignore[attr-defined]  # where that is is each one's own
        return "imported"

    def prepare(self, name: str, path: str) -> None:
        """Do once what all docstrings of a module need, before their processes are forked."""
        if self.ready[0] == name:
            return
        try:
            self.ready = name, dict(vars(sys.modules[name])), observing.by_name(finders.compiled[path][1])
        except BaseException:  # whatever the module put in its place, its docstrings' own evaluations will tell
            self.ready = "", {}, {}
        gc.freeze()

    def _find(self, name: str, path: str, text: str) -> None:
        """Have the module found in a text."""
        code = compile(text, path, "exec", 0, True)
        self._texts[path] = text
        finders.compiled[path] = text.encode("utf-8", "surrogatepass"), code
        loader = finders.TextLoader(name, path, text, code)
        sys.meta_path.insert(0, finders.TextFinder(name, loader, self._unsaved))
        sys.modules.pop(name, None)  # a module of the standard library may bear the same name

    def _is_text_of(self, path: str, text: str) -> bool:
        if path in self._texts:
            return self._texts[path] == text
        return path in finders.compiled and decode_source(finders.compiled[path][0]) == text


def surroundings(found: tuple[object, ...], folder: str) -> dict[str, object]:
    """Process state that an import may change besides the modules, by name; `found`: what a template knows of it."""
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


class StandingModule(worker.ModuleUnderTest):
    """The module of a docstring, in its process."""

    def __init__(self, fields: list[str], standing: Standing) -> None:
        """`fields`: those of `load`."""
        super().__init__(fields, lambda path: False)
        self._standing = standing

    def load(self) -> list[str]:
        """Find it imported; the answer to `load`, without the nonce."""
        self._recursion_limit = self._standing.recursion_limit
        name, namespace, codes = self._standing.ready
        if name != self._name:
            raise RuntimeError("its module is not there")
        self.observe(codes)
        return self.begin(namespace, [])

    def missing(self) -> str:
        """Nothing: the code as it stands is what is asked about."""
        return ""
