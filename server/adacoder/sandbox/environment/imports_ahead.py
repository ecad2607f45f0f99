"""Find the installed modules that a module is sure to import.

A *template*, the process from which evaluations are forked, imports these modules *ahead*, so that evaluations start
faster.

Only import statements that always run count. Imports by the project's other modules are included. The project's modules
themselves are never imported ahead, because they may change.
"""

from __future__ import annotations

import ast
import os
import re
import time
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.aside import aside
from adacoder.privacy.access import Access
from adacoder.pytext import line_start, parsed, statements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adacoder.domain import Module
    from adacoder.sandbox.program import Program

RECHECK_SECONDS = 1.0
"""Seconds after which the imports of the project's other modules are read again.

An outdated result is harmless, because an evaluation imports any module that the template has not imported.
"""
_MAY_IMPORT = re.compile(r"(?:from|import|try)\b")
_UNPREDICTABLE = re.compile(r"\bsys\s*\.\s*(?:path|modules|meta_path)\b|\b(?:environ|putenv|importlib)\b")
"""Matches code that may change the effect of imports."""
_MOST_FILES = 100
_MOST_PARTS = 50
"""Maximum number of parts of a dotted name."""
_MOST_BYTES = 1 << 20
"""Maximum size of a file in bytes. `_MOST_FILES` is the maximum number of files."""
_MOST_KEPT = 64
"""Maximum number of modules in the cache."""
_COMMON = tuple(
    f"import {name}"
    for name in ("collections", "copy", "functools", "itertools", "math", "operator", "re", "string", "typing")
)
"""Imports of common, small modules. Every template runs these imports."""

PYTEST = """
import pytest, _pytest.config, importlib.metadata
for _ in _pytest.config.default_plugins:
    importlib.import_module("_pytest." + _)
for _ in importlib.metadata.distributions():
    for _ in _.entry_points:
        if _.group == "pytest11" and _.name != "adacoder":
            _.load()
            if "hypothesis" in _.value:
                import hypothesis
"""
"""Imports pytest with its installed plug-ins, except AdaCoder's own."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """The imports that a template runs, and the project's modules that the template must not import."""

    statements: tuple[str, ...] = _COMMON
    """Import statements, in the order in which they run."""
    own: tuple[str, ...] = ()
    """The project's own top-level modules and packages."""
    files: tuple[Path, ...] = field(default=(), compare=False)
    """The project's files that run when the module is imported. A template may compile these files ahead, but must not
    import them.
    """


NOTHING_AHEAD = Ahead(())
"""Value for a template that imports nothing ahead."""


class ImportsAhead:
    """Finds the imports ahead for the programs of a workspace.

    The imports do not depend on the candidate, so one template serves all candidates of a function.
    """

    def __init__(self, workspace: Path, recheck_seconds: float = RECHECK_SECONDS) -> None:
        self._workspace = workspace
        self._recheck_seconds = recheck_seconds
        self._known: dict[Path, tuple[tuple[str, str, Module], tuple[int, int, int], Ahead]] = {}
        """Cache by file: the text around the candidate, the time of the search, and the imports."""

    async def of(self, program: Program) -> Ahead:
        """Return the imports for the program. A recent result is reused."""
        module, text = program.module, program.text
        begin, end = line_start(text, program.first_line - 1), line_start(text, program.last_line)
        around = text[:begin], "" if end is None else text[end:], module
        moment = int(time.monotonic() / self._recheck_seconds), _changed(module.root), _changed(self._workspace)
        if (known := self._known.get(module.path)) is not None and known[:2] == (around, moment):
            return known[2]
        package = module.name.partition(".")[0]
        found = await aside(_ahead, "".join(around[:2]), module.path, package, module.root, self._workspace)
        while len(self._known) >= _MOST_KEPT:
            del self._known[next(iter(self._known))]
        self._known[module.path] = around, moment, found
        return found


def _changed(folder: Path) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116  # called at every evaluation
    except OSError:
        return 0


def _ahead(text: str, path: Path, name: str, root: Path, workspace: Path) -> Ahead:
    access = Access((workspace, root))
    own = {name, *_modules_in(root), *_modules_in(workspace)}
    found = dict.fromkeys(_COMMON)
    seen = {path: None}
    waiting = [(text, path)]
    while waiting:
        text, path = waiting.pop(0)
        imports = _imports(text)
        if imports is None or len(seen) > _MOST_FILES:
            return Ahead(own=tuple(sorted(own)), files=tuple(seen)[1:])
        for each in imports:
            if not each.level and each.module.partition(".")[0] not in own:
                if f"import {each.module}" not in _COMMON:  # Skip imports that every template makes.
                    found[each.source] = None
                continue
            files = [file for file in _files(each, path, (root, workspace)) if file not in seen]
            seen |= dict.fromkeys(files)
            waiting += [(_text(file, access), file) for file in files]
    return Ahead(tuple(found), tuple(sorted(own)), tuple(seen)[1:])


@dataclass(frozen=True, slots=True)
class _Import:
    source: str
    module: str
    names: tuple[str, ...]
    """Names in a `from` import. Some of the names may be submodules."""
    level: int


@lru_cache(maxsize=256)
def _imports(text: str) -> tuple[_Import, ...] | None:
    """Return the imports that run whenever a module with this text is imported.

    Return None if the text may change the effect of imports, for example through `sys.path`.
    """
    if _UNPREDICTABLE.search(text):
        return None
    return tuple(
        found
        for statement in statements(text)
        if _MAY_IMPORT.match(text, statement.start)
        for found in _imports_of(statement.of(text))
    )


def _imports_of(statement: str) -> Iterator[_Import]:
    tree = parsed(statement)
    if tree is None or len(tree.body) != 1:
        return
    (node,) = tree.body
    for each in node.body if isinstance(node, ast.Try) else [node]:
        if isinstance(each, ast.Import):
            for alias in each.names:
                yield _Import(f"import {alias.name}", alias.name, (), 0)
        elif isinstance(each, ast.ImportFrom) and each.module != "__future__":
            names = tuple(alias.name for alias in each.names)
            yield _Import(ast.unparse(each), each.module or "", names, each.level)


def _files(statement: _Import, path: Path, roots: tuple[Path, ...]) -> Iterator[Path]:
    """Yield the project's files that run because of an import statement in the file `path`."""
    bases = [path.parents[statement.level - 1]] if 0 < statement.level <= len(path.parents) else roots
    parts = statement.module.split(".") if statement.module else []
    for base in bases if len(parts) <= _MOST_PARTS else ():
        for end in range(len(parts) + 1):
            yield from _module_at(base.joinpath(*parts[:end])) if end else ()
        for name in statement.names:
            yield from _module_at(base.joinpath(*parts, name))


def _module_at(place: Path) -> Iterator[Path]:
    for file in (place / "__init__.py", place.with_name(place.name + ".py")):
        if os.path.isfile(file):  # noqa: PTH113  # A Path raises if a name is too long.
            yield file


def _modules_in(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name, _, suffix = entry.name.partition(".")
                if suffix.endswith(("py", "so")) or (not suffix and Path(entry.path, "__init__.py").exists()):
                    yield name
    except OSError:
        return


def _text(file: Path, access: Access) -> str:
    try:
        return access.read(file, most=_MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""
