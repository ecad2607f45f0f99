"""Find how the project's own files import names, and which of these files define a name.

The files are read as text, on the first look-up. No code is run.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from adacoder.domain import Module
from adacoder.pytext import Lines, indent_of, indent_width, parsed, string_interiors
from adacoder.source.importing.project_files import project_files
from adacoder.source.names import ImportedName, absolute, imported

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from adacoder.domain import Target
    from adacoder.privacy.access import Access

_ENOUGH = 20
"""The search for a name stops after this many files with an import of the name."""
_IMPORT = re.compile(r"^[ \t\f]*(?:from|import)\b[^\n(;#]*(?:\([^)]{0,4000}\))?", re.MULTILINE)
_RELATIVE = re.compile(r"^[ \t\f]*from[ \t]*\.", re.MULTILINE)
_LIBRARY = re.compile(r"^[ \t\f]*(?:from|import)[ \t]+(\w+)", re.MULTILINE)
_HEAD = 8192
"""Maximum characters at the start of a file that are searched for imported libraries."""
_TYPE_CHECKING = re.compile(r"[ \t\f]*if[ \t(]+(?:\w+\.)?TYPE_CHECKING\b")
_DEFINES = r"^(?:class|(?:async[ \t]+)?def)[ \t]+{name}\b"
_SETS = r"|^{name}[ \t]*(?::[^=\n]+)?=(?!=)"
_TESTS = re.compile(r"(?:.*\.)?(?:tests?|conftest|test_\w+|\w+_test)(?:\..*)?")
_FOR_TYPING_ALONE = "_typeshed"


@dataclass(frozen=True, slots=True)
class _ProjectImport:
    imported: ImportedName
    for_typing: bool
    """True if the import is under `if TYPE_CHECKING:`."""


class ProjectImports:
    """The imports and definitions in the project's files, beginning with the files near the target."""

    def __init__(self, target: Target, workspace: Path, access: Access) -> None:
        self._target = target
        self._access = access
        self._workspace = workspace

    def import_of(self, name: str) -> ImportedName | None:
        """Return the import of `name` in the target's module, or else the most common import in other files.

        An import under `if TYPE_CHECKING:` is used only if there is no other import.
        """
        own = [found for found in _imports_of(name, self._target.text) if self._can_be_imported(found.imported)]
        if own:
            return min(own, key=lambda found: found.for_typing).imported
        found = self._most_used(name)
        return None if found is None else self._as_here(found)

    def definition_of(self, name: str) -> ImportedName | None:
        """Return the import of `name` from the only module near the target that defines `name`.

        Return None if no module or several modules define it.
        """
        if name.startswith("_"):
            return None
        found = list(itertools.islice(self._definitions(name), 2))
        if len(found) != 1 or not _only_defines(found[0][1]):
            return None
        return self._as_here(ImportedName(found[0][0].name, name))

    @cached_property
    def libraries(self) -> frozenset[str]:
        """Top-level modules that the project's files import."""
        texts = [self._target.text, *(text for _, text in self._texts)]
        return frozenset(match[1] for text in texts for match in _LIBRARY.finditer(text, 0, _HEAD))

    def _most_used(self, name: str) -> ImportedName | None:
        """Return the most common import of `name` in the nearest files. Ties go to the nearest file."""
        running: Counter[ImportedName] = Counter()
        for_typing: Counter[ImportedName] = Counter()
        for path, text in self._texts:
            for found in dict.fromkeys(_imports_of(name, text)):
                seen = self._seen_from_target(path, found.imported)
                if seen is not None:
                    (for_typing if found.for_typing else running)[seen] += 1
            if running.total() >= _ENOUGH:
                break
        by_use = (found for counts in (running, for_typing) for found, _ in counts.most_common())
        return next((found for found in by_use if self._can_be_imported(found)), None)

    def _seen_from_target(self, path: Path, found: ImportedName) -> ImportedName | None:
        """Make a relative import in the file `path` absolute; None if this is not possible."""
        if not found.module.startswith("."):
            return found
        module = self._module(path)
        source = "" if module is None else absolute(found.module, module)
        return ImportedName(source, found.name, found.alias) if source and not source.startswith(".") else None

    def _as_here(self, found: ImportedName) -> ImportedName:
        """Make an absolute import relative if the target's module uses relative imports."""
        if found.name is None or not _RELATIVE.search(self._target.text):
            return found
        return ImportedName(relative(found.module, self._target.module), found.name, found.alias)

    def _can_be_imported(self, found: ImportedName) -> bool:
        """Return whether the target's module can use an import at run time. A module cannot import itself."""
        source = absolute(found.module, self._target.module)
        wanted = source if found.name is None else f"{source}.{found.name}"
        return self._target.module.name not in (source, wanted) and source.partition(".")[0] != _FOR_TYPING_ALONE

    def _definitions(self, name: str) -> Iterator[tuple[Module, str]]:
        """Yield the modules near the target that define `name` at the top level, with their texts."""
        # A constant is often imported from another module, and a variable is not.
        pattern = _DEFINES + (_SETS if name.isupper() else "")
        defines = re.compile(pattern.format(name=re.escape(name)), re.MULTILINE)
        in_tests = _TESTS.fullmatch(self._target.module.name) is not None
        for path, text in self._texts:
            module = self._module(path) if name in text else None
            if module is None or not self._is_near(module) or (_TESTS.fullmatch(module.name) and not in_tests):
                continue
            match = defines.search(text)
            if match is not None and Lines(text).line_at(match.start()) not in string_interiors(text):
                yield module, text

    def _is_near(self, module: Module) -> bool:
        """Return whether a module is in the target's top-level package; without a package, in the same folder."""
        own = self._target.module
        if "." in own.name or own.is_package:
            return module.name.partition(".")[0] == own.name.partition(".")[0]
        return module.path.parent == own.path.parent

    def _module(self, path: Path) -> Module | None:
        root = self._target.module.root
        if not path.is_relative_to(root):
            return None
        parts = path.relative_to(root).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        return Module(path, ".".join(parts), root) if all(part.isidentifier() for part in parts) else None

    @cached_property
    def _texts(self) -> list[tuple[Path, str]]:
        return project_files(self._target.module.path, self._workspace, self._access)


def relative(name: str, module: Module) -> str:
    """Return `name` as a relative import in `module`, such as `..a.b`.

    If the two modules share no package, return `name` unchanged.
    """
    package = module.name.split(".") if module.is_package else module.name.split(".")[:-1]
    parts = name.split(".")
    common = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(package, parts, strict=False)))
    return f"{'.' * (len(package) - common + 1)}{'.'.join(parts[common:])}" if common else name


def _only_defines(text: str) -> bool:
    """Return whether importing a module is harmless, because it makes no call at the top level."""
    tree = parsed(text)
    return tree is not None and not any(
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) for statement in tree.body
    )


def _imports_of(name: str, text: str) -> Iterator[_ProjectImport]:
    """Yield all imports in `text` that bind `name`. Imports inside strings are ignored."""
    if name not in text:
        return
    for match in _IMPORT.finditer(text):
        if name not in match[0]:
            continue
        for found in imported(match[0].strip()):
            if found.binds == name and not _is_in_string(text, match.start()):
                above = _above(text, match)
                yield _ProjectImport(found, any(_TYPE_CHECKING.match(line) for line in above))


def _is_in_string(text: str, offset: int) -> bool:
    # Finding all strings is slow. If the number of triple quotes before the offset is even, the offset is probably not
    # inside a string.
    if not any(text.count(quotes, 0, offset) % 2 for quotes in ('"""', "'''")):
        return False
    return Lines(text).line_at(offset) in string_interiors(text)


def _above(text: str, match: re.Match[str]) -> Iterator[str]:
    """Yield the first lines of the statements around the match, innermost first."""
    width = indent_width(indent_of(match[0]))
    end = match.start()
    while width and end > 0:
        start = text.rfind("\n", 0, end - 1) + 1
        line = text[start:end]
        if line.strip() and (outer := indent_width(indent_of(line))) < width:
            width = outer
            yield line
        end = start
