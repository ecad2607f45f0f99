"""Decide from which text a module is loaded, and which modules a template may import.

This file runs confined in the user's interpreter, so it uses only the standard library of Python 3.8 and later.

Any finder may find a file of the project, through an import hook, a `.pth` file or a link. So only the real path of a
file shows whether the file belongs to the project.
"""

from __future__ import annotations

import builtins
import linecache
import os
import sys
import zipimport
from importlib._bootstrap_external import SourceLoader, _compile_bytecode  # type: ignore[attr-defined]
from importlib.machinery import (
    BuiltinImporter,
    ExtensionFileLoader,
    FrozenImporter,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from importlib.util import MAGIC_NUMBER, cache_from_source
from os.path import basename, dirname, getsize, isfile, islink, join, realpath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import CodeType, ModuleType

# Use a copy of the built-ins, because a candidate may change the real ones.
globals()["__builtins__"] = dict(vars(builtins))


# --- in evaluations: source files ------------------------------------------------------------


class Unsaved:
    """The texts of open files that are not saved yet."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        """`texts` maps paths to texts."""
        self.tails = {module_tail(path) for path in texts}
        self._written = texts
        self._names: set[str] | None = None
        self._real: Mapping[str, str] | None = None
        self._compiled: tuple[str, CodeType] | None = None

    def text_of(self, path: str) -> str | None:
        """Return the unsaved text of a file, or None if there is none. `path` may be a symbolic link."""
        if self._names is None:
            self._names = {basename(realpath(each) if islink(each) else each) for each in self._written}
        if basename(path) not in self._names and not islink(path):
            return None
        if self._real is None:  # Resolve paths late, because this is slow and seldom necessary.
            self._real = {realpath(each): text for each, text in self._written.items()}
        return self._real.get(realpath(path))

    def keep(self, path: str, code: CodeType) -> None:
        """Store the compiled code of a file, for later imports of the file."""
        self._compiled = path, code

    def code_of(self, path: str) -> CodeType | None:
        """Return the code that `keep` stored for a file, or None. `path` may be a symbolic link."""
        if self._compiled is None or realpath(self._compiled[0]) != realpath(path):
            return None
        return self._compiled[1]


def read_sources(is_installed: Callable[[str], bool], unsaved: Unsaved) -> None:
    """Make Python load the project's modules from their current source.

    Python could otherwise run an outdated `.pyc` file, because it compares only the time and size of the source file.
    So the `.pyc` file of a project's module needs more proof (`_stored_code`). Installed modules are loaded as usual.
    """

    def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        path = loader.get_filename(fullname)
        text = unsaved.text_of(path)
        if text is not None:
            remember(path, text)
            code = unsaved.code_of(path) if type(loader).source_to_code is _source_to_code else None
            return code or loader.source_to_code(text, path)
        if is_installed(path):
            return _get_code(loader, fullname)
        source = loader.get_data(path)
        known, code = compiled.get(path) or ahead.get(path) or (None, None)
        kind = type(loader)
        is_plain = kind.source_to_code is _source_to_code
        if code is None or known != source or not is_plain:
            stored = _stored_code(path) if is_plain and kind.get_data is SourceFileLoader.get_data else None
            code = stored or loader.source_to_code(source, path)
        compiled[path] = source, code
        return code

    SourceLoader.get_code = get_code  # type: ignore[method-assign,assignment]  # All loaders of source files use it.


_get_code, _source_to_code = SourceLoader.get_code, SourceLoader.source_to_code

compiled: dict[str, tuple[bytes, CodeType]] = {}
"""Source and code of the project's imported files, by path."""
ahead: dict[str, tuple[bytes, CodeType]] = {}
"""Source and code of files that were compiled ahead of an import, by path."""


def _stored_code(path: str) -> CodeType | None:
    """Return the code that Python stored in the `.pyc` file of a source file, or None if the code may differ.

    The `.pyc` file must name the time and size of the source (PEP 552). This does not suffice, because a file can
    change twice in a second, and a `.pyc` file from elsewhere can contain anything. So the `.pyc` file must also have
    been written where it is, at least a second after the source was written or moved. Only the kernel sets the times
    that show this (`st_ctime`).
    """
    try:
        place = cache_from_source(path)
        with open(place, "rb") as file:
            data = file.read()
            written = os.fstat(file.fileno())
        source = os.lstat(path)  # The source was read before, so a change since then makes it too new.
        stamp = [(int(each) & 0xFFFFFFFF).to_bytes(4, "little") for each in (0, source.st_mtime, source.st_size)]
        is_from_here = abs(written.st_ctime_ns - written.st_mtime_ns) < _SECOND
        is_later = written.st_mtime_ns >= source.st_ctime_ns + _SECOND
        if is_from_here and is_later and data[:16] == b"".join([MAGIC_NUMBER, *stamp]):
            code: CodeType = _compile_bytecode(memoryview(data)[16:], None, place, path)
            return code
    except Exception:  # noqa: S110  # Without a file that can be used, the source is compiled.
        pass
    return None


_SECOND = 10**9
"""A second in nanoseconds."""


def compile_ahead(path: str) -> None:
    """Compile or load a file before a process is forked. The process uses the compiled code unless the file changes."""
    try:
        if isfile(path) and getsize(path) < _LARGEST:
            with open(path, "rb") as file:
                source = file.read(_LARGEST)
            ahead[path] = source, _stored_code(path) or compile(source, path, "exec", 0, True)
    except Exception:  # noqa: S110  # The evaluation gets the same error and reports it.
        pass


_LARGEST = 1 << 20
"""Maximum size in bytes of a file that is compiled ahead."""


def remember(path: str, text: str) -> None:
    """Make tracebacks and `inspect` show `text` as the lines of the file `path`."""
    # `linecache` never replaces an entry without a modification time.
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)


class TextLoader(SourceFileLoader):
    """Loads a module from a text instead of its file."""

    def __init__(self, name: str, path: str, text: str, code: CodeType | None = None) -> None:
        super().__init__(name, path)
        self.text = text
        self.code = code
        self.namespace: Mapping[str, object] = {}
        """The module's globals, even if the import failed."""

    def get_source(self, fullname: str) -> str:
        return self.text

    def get_code(self, fullname: str) -> CodeType:
        remember(self.path, self.text)
        return self.code or compile(self.text, self.path, "exec", 0, True)

    def exec_module(self, module: ModuleType) -> None:
        self.namespace = vars(module)
        super().exec_module(module)


class TextFinder:
    """Finds the module under test, and makes other modules load their unsaved texts."""

    def __init__(self, name: str, loader: TextLoader, unsaved: Unsaved) -> None:
        self._name = name
        self._loader = loader
        self._unsaved = unsaved
        self._others = Others(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Implement `importlib.abc.MetaPathFinder.find_spec`."""
        if fullname == self._name:
            return _spec(fullname, self._loader)
        spec = self._never_saved(fullname, path) or self._others.find_spec(fullname, path, target)
        if spec is not None and spec.has_location and spec.origin is not None:
            text = self._unsaved.text_of(spec.origin)
            if text is not None:
                spec.loader = TextLoader(fullname, spec.origin, text, self._unsaved.code_of(spec.origin))
        return spec

    def _never_saved(self, fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
        """Return the spec of a module as if all open files were saved. Return None if no unsaved file has this name."""
        tail = fullname.rpartition(".")[2]
        if tail not in self._unsaved.tails:
            return None
        for folder in sys.path if path is None else path:
            for file in (join(folder, tail, "__init__.py"), join(folder, tail + ".py")):
                text = self._unsaved.text_of(file)
                if text is not None:
                    return _spec(fullname, TextLoader(fullname, file, text, self._unsaved.code_of(file)))
            found = PathFinder.find_spec(fullname, [folder])
            if found is not None and found.loader is not None:
                return found
        return None


class Others:
    """All finders on `sys.meta_path` except a given one."""

    def __init__(self, one: TextFinder | Barrier) -> None:
        self._one = one
        self._sought: set[str] = set()

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
        """Return the first spec that another finder returns, or None.

        If a finder calls this method again for the same module, return None to end the recursion.
        """
        if fullname in self._sought:
            return None
        self._sought.add(fullname)
        try:
            for finder in sys.meta_path:
                # Before Python 3.12, a finder could lack `find_spec`.
                if finder is not self._one and hasattr(finder, "find_spec"):
                    spec = finder.find_spec(fullname, path, target)
                    if spec is not None:
                        return spec
        finally:
            self._sought.discard(fullname)
        return None


def module_tail(path: str) -> str:
    name = basename(path)
    return basename(dirname(path)) if name == "__init__.py" else name[: -len(".py")]


def _spec(name: str, loader: TextLoader) -> ModuleSpec:
    is_package = basename(loader.path) == "__init__.py"
    spec = ModuleSpec(name, loader, origin=loader.path, is_package=is_package)
    if spec.submodule_search_locations is not None:
        spec.submodule_search_locations.append(dirname(loader.path))
    spec.has_location = True
    return spec


# --- in the template: installed files --------------------------------------------------------


class Barrier:
    """A finder that keeps the project's modules out of the template.

    Only installed modules can be imported. An installed module with the same name as a module of the project is kept
    out as well.
    """

    def __init__(self, own: Sequence[str], installed: InstalledFiles) -> None:
        self._own = frozenset(own)
        self._installed = installed
        self._others = Others(self)
        self.hit = False
        """True if a module was kept out."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return another finder's spec of an installed module.

        Raises:
            KeptOut: the module is not installed.
        """
        if not self._is_own(fullname):
            spec = self._others.find_spec(fullname, path, target)
            if spec is None or self._is_installed(spec):
                return spec
        self.hit = True
        raise KeptOut

    def clear(self) -> None:
        """Unload modules of the project that a `.pth` file imported at start-up."""
        for name, module in list(sys.modules.items()):
            file = file_of(module)
            if file is None or self._installed.holds(file):
                continue
            del sys.modules[name]
            package, _, tail = name.rpartition(".")
            around = sys.modules.get(package)
            if around is not None and _of(around, tail) is module:
                del vars(around)[tail]

    def _is_own(self, name: str) -> bool:
        return name.partition(".")[0] in self._own

    def _is_installed(self, spec: ModuleSpec) -> bool:
        """Return True if this spec certainly loads an installed file."""
        loader: object = spec.loader
        if loader is BuiltinImporter or loader is FrozenImporter:
            return True
        if loader is None:
            return all(map(self._installed.holds, spec.submodule_search_locations or ()))
        if type(loader) in (SourceFileLoader, SourcelessFileLoader, ExtensionFileLoader):
            return self._installed.holds(loader.path)  # type: ignore[attr-defined]  # All three classes have this attribute.
        return type(loader) is zipimport.zipimporter and self._installed.holds(loader.archive)


class InstalledFiles:
    """Tells installed files from the project's files, even if one folder is inside the other."""

    def __init__(self, installed: Sequence[str], project: Sequence[str]) -> None:
        # Python's own library always counts as installed.
        folders = dict.fromkeys(map(realpath, [dirname(os.__file__), *installed]), True)
        folders.update(dict.fromkeys(map(realpath, project), False))
        self._folders = {join(folder, ""): is_installed for folder, is_installed in folders.items()}

    def holds(self, path: str) -> bool:
        """Return True if a file or folder is installed. If several known folders contain the file, the innermost
        decides.
        """
        try:
            place = join(realpath(path), "")
        except (TypeError, ValueError):  # Any object may be passed as a path.
            return False
        around = [folder for folder in self._folders if place.startswith(folder)]
        return bool(around) and self._folders[max(around, key=len)]


class KeptOut(BaseException):
    """Ends an import in the template. This is not an ImportError, because many modules catch ImportError."""


def file_of(module: object) -> str | None:
    file = _of(module, "__file__")
    return file if type(file) is str else None


def _of(thing: object, name: str) -> object:
    """Return the stored value of an attribute without running code of the object."""
    try:
        return vars(thing).get(name)
    except TypeError:
        return None
