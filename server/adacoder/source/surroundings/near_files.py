"""Find definitions in the files of the user's project.

Each file is read at most once, as text. The search has a limit in bytes instead of seconds, so its result is
reproducible.
"""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from adacoder.domain import TargetError
from adacoder.privacy.access import Access
from adacoder.project import FOREIGN
from adacoder.source.names import ImportedName
from adacoder.source.surroundings.module import ModuleText, Symbol
from adacoder.source.text import decoded

_MOST_NAMES = 24
"""Maximum number of names of a module to look up in other files."""
_LONGEST_FILE = 200_000
"""Maximum bytes of a file. Longer files usually contain data or generated code, so they are skipped."""
_ALL_FILES = 300_000
"""Maximum bytes of all files that are read for one target. Reading them takes about 0.3 seconds."""
_EVERYWHERE = frozenset({*keyword.kwlist, *vars(builtins)})


@dataclass(frozen=True, slots=True)
class DefinedAt:
    """The place where a name is defined."""

    path: Path
    module: str
    """The dotted name of the module."""
    qualname: str


Follow: TypeAlias = "Callable[[Sequence[str], Sequence[str], Path, NearFiles], Sequence[tuple[str, DefinedAt]]]"
"""A function that finds definitions of names.

Its arguments are the names, the module's import statements, the module's path, and the files to search.
"""


class NearFiles:
    """The project's files in which definitions for a module are searched."""

    def __init__(
        self, root: Path, module: ModuleText, overlays: Mapping[Path, str], follow: Follow, access: Access
    ) -> None:
        """`root` is the folder from which `module` is imported. `overlays` are the texts of open files."""
        self.root = root
        self._follow = follow
        self._access = access
        self._overlays = {**overlays, module.path: module.text}
        self._modules = {module.path: module}
        self._texts: dict[Path, str | None] = {}
        self._room = _ALL_FILES

    def find(self, names: Iterable[str], module: ModuleText) -> list[Symbol]:
        """Return the project's definitions of `names`, which the text of `module` uses."""
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
        elsewhere = self._elsewhere([name for name in sought if not module.named(name)][:_MOST_NAMES], imports, module)
        for name in names:
            found += module.named(name) or elsewhere.get(name, [])
        return found

    def _is_own(self, name: ImportedName) -> bool:
        """Return whether an import may refer to a file of the project."""
        top = name.module.partition(".")[0]
        return not top or self.file(self.root, top) is not None

    def _elsewhere(
        self, names: Sequence[str], imports: Sequence[ImportedName], module: ModuleText
    ) -> dict[str, list[Symbol]]:
        if not names:
            return {}
        found: dict[str, list[Symbol]] = {}
        for name, place in self._follow(names, [each.statement for each in imports], module.path, self):
            source = self._module(place)
            if source is not None:
                found.setdefault(name, []).extend(source.named(place.qualname))
        return found

    def _module(self, place: DefinedAt) -> ModuleText | None:
        if place.path not in self._modules:
            try:
                self._modules[place.path] = ModuleText(place.path, place.module, self.text(place.path))
            except OSError:
                return None
        return self._modules[place.path]

    def file(self, folder: Path, name: str) -> Path | None:
        """Return the file of the module `name` in `folder`; None if there is none.

        For a package without `__init__.py`, return the path that this file would have.
        """
        package = folder / name / "__init__.py"
        try:
            for path in (package, folder / f"{name}.py", folder / f"{name}.pyi"):
                if path in self._overlays or path.is_file():
                    return path
            return package if package.parent.is_dir() else None
        except OSError:  # The folder is not readable, or the name is too long.
            return None

    def text(self, path: Path) -> str:
        """Return the text of a project file. For an open file, this is the editor's text.

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
