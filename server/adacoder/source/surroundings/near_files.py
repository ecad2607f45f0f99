"""Find definitions of names in the files of the user's project.

Files are read as text, each at most once. The limit is in bytes and not in seconds, so that the same texts always give
the same results.
"""

from __future__ import annotations

import builtins
import keyword
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from adacoder.domain import Module, TargetError
from adacoder.privacy.access import Access
from adacoder.project import FOREIGN
from adacoder.source.names import ImportedName, absolute
from adacoder.source.surroundings.module import ModuleText, Symbol
from adacoder.source.text import decoded

_MOST_NAMES = 24
"""Maximum number of names of a module to look up in other files."""
_LONGEST_FILE = 200_000
"""Maximum bytes of a file to read. Longer files are data or generated."""
_ALL_FILES = 300_000
"""Maximum bytes to read for one target, which takes about a third of a second."""
_MOST_STEPS = 50
"""Maximum number of imports to follow for one name."""
_EVERYWHERE = frozenset({*keyword.kwlist, *vars(builtins)})


_ONE_AT_A_TIME = threading.Lock()
"""jedi has one parser cache for the whole process."""


class NearFiles:
    """The files around one module."""

    def __init__(self, root: Path, module: ModuleText, overlays: Mapping[Path, str], access: Access) -> None:
        """`root`: the folder that `module` is imported from; `overlays`: texts of open files that `access` allows."""
        self.root = root
        self._access = access
        self._overlays = {**overlays, module.path: module.text}
        self._modules = {module.path: module}
        self._texts: dict[Path, str | None] = {}
        self._room = _ALL_FILES

    def find(self, names: Iterable[str], module: ModuleText) -> list[Symbol]:
        """Resolve the `names` used in `module` that the project defines, in order."""
        found: list[Symbol] = []
        names = list(dict.fromkeys(names))
        imports = [each for each in module.imports if self._is_own(each)]
        bound = {each.binds for each in imports}
        modules = {each.binds for each in imports if each.name is None}
        sought = [
            name
            for name in names
            if (name.partition(".")[0] in bound and name not in modules) or ("*" in bound and name not in _EVERYWHERE)
        ]
        elsewhere = [name for name in sought if not module.named(name)][:_MOST_NAMES]
        for name in names:
            found += module.named(name) or (self._elsewhere(name, module, set()) if name in elsewhere else [])
        return found

    def _is_own(self, name: ImportedName) -> bool:
        """Return whether an import may refer to a file of the project."""
        top = name.module.partition(".")[0]
        return not top or self.file(self.root, top) is not None

    def _elsewhere(self, name: str, module: ModuleText, asked: set[str]) -> list[Symbol]:
        """Resolve a `name` that `module` imports. `asked`: the dotted paths that were looked up on the way here."""
        first, *rest = name.split(".")
        bound = _in_force([each for each in module.imports if each.binds == first and self._is_own(each)], first)
        stars = [each for each in module.imports if each.name == "*" and self._is_own(each)]
        at = Module(module.path, module.name, self.root)
        paths = (
            [".".join([bound.origin(at), *rest])]
            if bound
            else [f"{absolute(each.module, at)}.{name}" for each in stars]
        )
        return next(filter(None, (self._defined(path, asked) for path in paths)), [])

    def _defined(self, path: str, asked: set[str]) -> list[Symbol]:
        """Resolve the dotted `path` of an object: in the innermost module on it, or else in the packages around."""
        if path in asked or len(asked) == _MOST_STEPS or path.startswith("."):  # beyond the root
            return []
        asked.add(path)
        parts, folder, files = path.split("."), self.root, list[Path]()
        for part in parts[:-1]:
            file = self.file(folder, part)
            if file is None:
                break
            files.append(file)
            folder = file.parent if file.name == "__init__.py" else file.with_suffix("")
        for count in range(len(files), 0, -1):
            module, name = self._module(files[count - 1], ".".join(parts[:count])), ".".join(parts[count:])
            found = [] if module is None else module.named(name) or self._elsewhere(name, module, asked)
            if found:
                return found
        return []

    def _module(self, path: Path, name: str) -> ModuleText | None:
        if path not in self._modules:
            try:
                self._modules[path] = ModuleText(path, name, self.text(path))
            except OSError:
                return None
        return self._modules[path]

    def file(self, folder: Path, name: str) -> Path | None:
        """Find the file of the module `name` in `folder`.

        For a folder without `__init__.py`, return the path that this file would have.
        """
        package = folder / name / "__init__.py"
        try:
            for path in (package, folder / f"{name}.py", folder / f"{name}.pyi"):
                if path in self._overlays or path.is_file():
                    return path
            return package if package.parent.is_dir() else None
        except OSError:  # a folder that may not be entered, or too long a name
            return None

    def text(self, path: Path) -> str:
        """Read a file of the project from the editor if it is open there, else from disk.

        Raises:
            OSError: the file is too long, not part of the project, or not Python text.
        """
        if path in self._overlays:
            return self._overlays[path]
        if path not in self._texts:
            self._texts[path] = self._read(path)
        text = self._texts[path]
        if text is None:
            raise FileNotFoundError(path)
        return text

    def _read(self, path: Path) -> str | None:
        if not path.is_relative_to(self.root) or not FOREIGN.isdisjoint(path.relative_to(self.root).parts):
            return None
        if path.name == "__init__.py" and not path.exists() and path.parent.is_dir():
            return ""
        try:
            data = self._access.read(path, most=min(_LONGEST_FILE, self._room))
            text = decoded(path, data).text
        except (OSError, TargetError):
            return None
        self._room -= len(data)
        return text


def _in_force(imports: Sequence[ImportedName], name: str) -> ImportedName | None:
    """The one of several `imports` that binds `name`. jedi sees these statements only, and opens no file for them."""
    if not imports:
        return None
    import jedi  # heavy, and needed only when a model is asked
    from jedi.cache import clear_time_caches

    code = "\n".join([*(each.statement for each in imports), name])
    with _ONE_AT_A_TIME, suppress(Exception):  # it fails in many ways on odd code, which only means less context
        nothing = jedi.Project("/", sys_path=[], smart_sys_path=False)
        script = jedi.Script(code, project=nothing, environment=jedi.InterpreterEnvironment())
        found = script.goto(1 + len(imports), 0)
        clear_time_caches(delete_all=True)  # nothing of the user's text stays in memory
        return imports[found[0].line - 1] if found else None
    return None
