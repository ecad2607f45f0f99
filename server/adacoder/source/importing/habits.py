"""How the project's own files import names, and where they define them.

Nothing of the project is executed: its files are read as text, when a name is first looked for.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from adacoder.domain import Module
from adacoder.pytext import Lines, indent_width, string_interiors
from adacoder.source.importing.definition_use import fits, is_safe_to_import
from adacoder.source.importing.project_files import project_files, text_of
from adacoder.source.names import Imported, absolute, imported

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from adacoder.domain import Target
    from adacoder.privacy.access import Access
    from adacoder.source.importing.usage import Usage

_ENOUGH = 20
"""So many files that import a name tell how the project imports it."""
_MODULES = 200
"""So many modules are followed to see whether an import leads back to where it stands."""
_IMPORT = re.compile(r"^[ \t\f]*(?:from|import)\b[^\n(;#]*(?:\([^)]{0,4000}\))?", re.MULTILINE)
_RELATIVE = re.compile(r"^[ \t\f]*from[ \t]*\.", re.MULTILINE)
_LIBRARY = re.compile(r"^[ \t\f]*(?:from|import)[ \t]+(\w+)", re.MULTILINE)
_HEAD = 8192
"""So many characters of a file have most of what it imports."""
_NOT_AT_ONCE = re.compile(r"[ \t\f]*(?:(?:async[ \t]+)?def\b|if[ \t(]+(?:\w+\.)?TYPE_CHECKING\b)")
_TYPE_CHECKING = re.compile(r"[ \t\f]*if[ \t(]+(?:\w+\.)?TYPE_CHECKING\b")
_DEFINES = r"^(?:class|(?:async[ \t]+)?def)[ \t]+{name}\b|^{name}[ \t]*(?::[^=\n]+)?=(?!=)"
_TESTS = re.compile(r"(?:.*\.)?(?:tests?|conftest|test_\w+|\w+_test)(?:\..*)?")
_NEVER_AT_RUN_TIME = frozenset({"_typeshed"})


@dataclass(frozen=True, slots=True)
class _Found:
    """An import as it stands in a file."""

    imported: Imported
    for_typing: bool
    """Whether it is there for type checkers alone."""


class Habits:
    """What the files around a target tell about names that it uses and its module does not have."""

    def __init__(self, target: Target, workspace: Path, access: Access) -> None:
        self._target = target
        self._access = access
        self._workspace = workspace
        self._needed: dict[str, frozenset[str] | None] = {}

    def import_of(self, name: str) -> Imported | None:
        """How `name` is imported in the target's own module; else how most of the nearest files that import it do it.

        What is imported for type checkers alone counts where there is nothing else. Never the target's own module, nor
        one that imports it in turn.
        """
        own = [found for found in _imports_of(name, self._target.text) if self._can_be_imported(found.imported)]
        if own:
            return min(own, key=lambda found: found.for_typing).imported
        found = self._most_used(name)
        return None if found is None else self._as_here(found)

    def definition_of(self, name: str, usage: Usage | None) -> Imported | None:
        """The import of what one module near the target defines as `name`, and no other; a function only where it can
        be called as the code calls it."""
        if name.startswith("_"):
            return None
        found = list(itertools.islice(self._definitions(name), 2))
        if len(found) != 1:
            return None
        module, text = found[0]
        wanted = Imported(module.name, name)
        usable = fits(text, name, usage) and is_safe_to_import(text) and self._can_be_imported(wanted)
        return self._as_here(wanted) if usable else None

    @cached_property
    def libraries(self) -> frozenset[str]:
        """The top-level modules that the project's files import."""
        texts = [self._target.text, *(text for _, text in self._texts)]
        return frozenset(match[1] for text in texts for match in _LIBRARY.finditer(text, 0, _HEAD))

    def _most_used(self, name: str) -> Imported | None:
        """How most of the nearest files that import `name` do it; of equals the nearest one's way."""
        running: Counter[Imported] = Counter()
        for_typing: Counter[Imported] = Counter()
        for path, text in self._texts:
            for found in dict.fromkeys(_imports_of(name, text)):
                seen = self._seen_from_target(path, found.imported)
                if seen is not None:
                    (for_typing if found.for_typing else running)[seen] += 1
            if running.total() >= _ENOUGH:
                break
        by_use = (found for counts in (running, for_typing) for found, _ in counts.most_common())
        return next((found for found in by_use if self._can_be_imported(found)), None)

    def _seen_from_target(self, path: Path, found: Imported) -> Imported | None:
        """What a file imports, with a relative import's module by its whole name; None if it has none from here."""
        if not found.module.startswith("."):
            return found
        module = self._module(path)
        source = "" if module is None else absolute(found.module, module)
        return Imported(source, found.name, found.alias) if source and not source.startswith(".") else None

    def _as_here(self, found: Imported) -> Imported:
        """An import of the project's own as the target's module writes those: relative to itself, if it does so."""
        if found.name is None or not _RELATIVE.search(self._target.text):
            return found
        return Imported(relative(found.module, self._target.module), found.name, found.alias)

    def _can_be_imported(self, found: Imported) -> bool:
        """Whether an import neither names the target's own module, nor one that needs that to be imported first."""
        own = self._target.module
        source = absolute(found.module, own)
        wanted = source if found.name is None else f"{source}.{found.name}"
        if own.name in (source, wanted) or source.partition(".")[0] in _NEVER_AT_RUN_TIME:
            return False
        return not self._leads_to_own(wanted)

    def _leads_to_own(self, wanted: str) -> bool:
        """Whether importing `wanted`, a module or something in one, imports the target's module, as the text shows it.

        The packages around the target's module are being imported whenever it is; they are passed over, unless
        something is taken from them.
        """
        own = self._target.module.name
        around = set(_upwards(own)) - {own}
        holder = wanted if self._needs(wanted) is not None else wanted.rpartition(".")[0]
        waiting = [name for name in _upwards(wanted) if name not in around or name == holder]
        seen: set[str] = set()
        while waiting and len(seen) < _MODULES:
            name = waiting.pop()
            if name == own:
                return True
            if name not in seen:
                seen.add(name)
                waiting += [needed for needed in self._needs(name) or () if needed not in around]
        return False

    def _needs(self, name: str) -> frozenset[str] | None:
        """The modules that a module of the project imports when it is imported, and names in them; None if there is no
        such module."""
        if name not in self._needed:
            base = self._target.module.root.joinpath(*name.split("."))
            paths = (base / "__init__.py", base.with_name(f"{base.name}.py")) if name else ()
            read = ((path, text_of(path, self._access)) for path in paths)
            path, text = next(((path, text) for path, text in read if text is not None), (base, None))
            module = Module(path, name, self._target.module.root)
            self._needed[name] = None if text is None else frozenset(_imported_at_once(text, module))
        return self._needed[name]

    def _definitions(self, name: str) -> Iterator[tuple[Module, str]]:
        """The modules near the target that define `name` at their top level, with their texts."""
        defines = re.compile(_DEFINES.format(name=re.escape(name)), re.MULTILINE)
        in_tests = _TESTS.fullmatch(self._target.module.name) is not None
        for path, text in self._texts:
            module = self._module(path) if name in text else None
            if module is None or not self._is_near(module) or (_TESTS.fullmatch(module.name) and not in_tests):
                continue
            match = defines.search(text)
            if match is not None and Lines(text).line_at(match.start()) not in string_interiors(text):
                yield module, text

    def _is_near(self, module: Module) -> bool:
        """Whether a module is in the same top-level package, or beside the target's where that is in none."""
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
    """The dotted `name` of a module as `module` writes it in a relative import; itself, in no common package."""
    package = module.name.split(".") if module.is_package else module.name.split(".")[:-1]
    parts = name.split(".")
    common = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(package, parts, strict=False)))
    return f"{'.' * (len(package) - common + 1)}{'.'.join(parts[common:])}" if common else name


def _upwards(name: str) -> list[str]:
    """A dotted name, and the packages around it: `a.b.c`, `a.b`, `a`."""
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(len(parts), 0, -1)]


def _imports_of(name: str, text: str) -> Iterator[_Found]:
    """The imports in `text` that bind `name`, wherever they stand but in strings."""
    if name not in text:
        return
    for match in _IMPORT.finditer(text):
        if name not in match[0]:
            continue
        for found in imported(match[0].strip()):
            if found.binds == name and not _is_in_string(text, match.start()):
                above = _above(text, match)
                yield _Found(found, any(_TYPE_CHECKING.match(line) for line in above))


def _imported_at_once(text: str, module: Module) -> Iterator[str]:
    """What `module` imports while it is imported: not inside functions, nor for type checkers alone."""
    for match in _IMPORT.finditer(text):
        if any(_NOT_AT_ONCE.match(line) for line in _above(text, match)) or _is_in_string(text, match.start()):
            continue
        for found in imported(match[0].strip()):
            source = absolute(found.module, module)
            yield from _upwards(source if found.name in (None, "*") else f"{source}.{found.name}")


def _is_in_string(text: str, offset: int) -> bool:
    # Going through all of a text is slow, and where triple quotes stand in pairs before the offset there is no need.
    if not any(text.count(quotes, 0, offset) % 2 for quotes in ('"""', "'''")):
        return False
    return Lines(text).line_at(offset) in string_interiors(text)


def _above(text: str, match: re.Match[str]) -> Iterator[str]:
    """The lines of the statements that a statement stands in, the innermost first."""
    width = _width(match[0])
    end = match.start()
    while width and end > 0:
        start = text.rfind("\n", 0, end - 1) + 1
        line = text[start:end]
        if line.strip() and _width(line) < width:
            width = _width(line)
            yield line
        end = start


def _width(line: str) -> int:
    return indent_width(line[: len(line) - len(line.lstrip(" \t\f"))])
