"""Which names are undefined, and where a name comes from in this workspace.

Nothing of the workspace is executed: its files are read as text. The only file that imports pyflakes.
"""

from __future__ import annotations

import os
import re
import stat
import tokenize
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from adacoder.domain import Module, Span
from adacoder.pytext import Lines, string_interiors
from adacoder.source.names import Imported, absolute, imported, parsed
from adacoder.source.standard_library import standard_import

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from adacoder.domain import Target

_FILES = 2000
_DIRECTORIES = 2000
_FILE_BYTES = 256 * 1024
"""A longer file is passed over: it is data, or generated."""
_ALL_BYTES = 16 * 1024 * 1024
_ENOUGH = 20
"""So many files that import a name tell how the project imports it."""
_FOREIGN = frozenset({"node_modules", "site-packages", "__pycache__", "venv", "env", "build", "dist"})
_IMPORT = re.compile(r"^[ \t\f]*(?:from|import)\b[^\n(;#]*(?:\([^)]*\))?", re.MULTILINE)
_ATTRIBUTE_OF_MODULES = re.compile(r"__\w+__")


def undefined_names(text: str, within: Span | Sequence[Span]) -> tuple[str, ...]:
    """The names that nothing defines, of those used in the lines of `within` in the module `text`; in order
    of use.

    A name that the module uses elsewhere too without defining it evidently comes from somewhere, and is left
    out; so are names like `__file__`. Empty where our own Python cannot parse `text`: then the user's
    decides.
    """
    # Imported here because it is needed only once there is a reply.
    from pyflakes.checker import Checker  # type: ignore[import-untyped]  # pyflakes has no types
    from pyflakes.messages import UndefinedName  # type: ignore[import-untyped]  # pyflakes has no types

    tree = parsed(text)
    if tree is None:
        return ()
    lines = Lines(text)
    ranges = [
        range(lines.line_at(span.start), lines.line_at(span.end) + 1)
        for span in ([within] if isinstance(within, Span) else within)
    ]
    inside: dict[str, None] = {}
    outside: set[str] = set()
    try:
        messages = Checker(tree, withDoctest=False).messages
    except RecursionError:  # it goes deeper into a tree than the parser did
        return ()
    for message in sorted(messages, key=lambda each: (each.lineno, each.col)):
        if isinstance(message, UndefinedName):
            name = str(message.message_args[0])
            if any(message.lineno - 1 in lines_within for lines_within in ranges):
                inside[name] = None
            else:
                outside.add(name)
    return tuple(name for name in inside if name not in outside and not _ATTRIBUTE_OF_MODULES.fullmatch(name))


class ImportIndex:
    """How names are imported: in the target's module, in the project's other files, and by custom.

    The files are read when a name is first looked for that the target's own module does not import, at most
    2,000 of them, the nearest to the target first; hidden directories and environments are passed over.
    """

    def __init__(self, target: Target, workspace: Path) -> None:
        self._target = target
        self._workspace = workspace

    def import_for(self, name: str) -> str | None:
        """The statement that imports `name`, as the user's own files do, else from the standard library.

        None where nobody imports it, or where it could come from more than one place.
        """
        module = self._target.module
        found = next(_imports_of(name, self._target.text), None) or self._most_used(name)
        if found is not None and absolute(found.module, module) != module.name:
            return found.statement
        return standard_import(name)

    def _most_used(self, name: str) -> Imported | None:
        """How most of the nearest files that import `name` do it; of equals the nearest one's way."""
        counts: Counter[Imported] = Counter()
        for path, text in self._texts:
            if name in text:
                counts.update(set(self._seen_from_target(path, _imports_of(name, text))))
            if counts.total() >= _ENOUGH:
                break
        return max(counts, key=counts.__getitem__, default=None)

    def _seen_from_target(self, path: Path, found: Iterator[Imported]) -> Iterator[Imported]:
        """What a file imports, with relative imports as the target's module can write them."""
        for name in found:
            if not name.module.startswith("."):
                yield name
            elif (module := self._module(path)) is not None:
                yield Imported(absolute(name.module, module), name.name, name.alias)

    def _module(self, path: Path) -> Module | None:
        root = self._target.module.root
        if not path.is_relative_to(root):
            return None
        parts = path.relative_to(root).with_suffix("").parts
        return Module(path, ".".join(parts[:-1] if parts[-1] == "__init__" else parts), root)

    @cached_property
    def _texts(self) -> list[tuple[Path, str]]:
        texts: list[tuple[Path, str]] = []
        room = _ALL_BYTES
        for path, size in self._files():
            if len(texts) == _FILES or room < size:
                break
            try:
                with tokenize.open(path) as file:
                    text = file.read()
            except (OSError, SyntaxError, UnicodeDecodeError):
                continue
            texts.append((path, text))
            room -= size
        return texts

    def _files(self) -> Iterator[tuple[Path, int]]:
        """The project's Python files with their sizes, outwards from the target's directory."""
        own = self._target.module.path
        around = [folder for folder in own.parents if folder.is_relative_to(self._workspace)]
        seen: set[str] = set()
        for top in around or [own.parent]:
            for directory, folders, files in os.walk(top):
                if directory in seen or len(seen) == _DIRECTORIES:
                    folders.clear()
                    continue
                seen.add(directory)
                folders[:] = sorted(name for name in folders if not _is_foreign(Path(directory, name)))
                for path in (Path(directory, name) for name in sorted(files) if name.endswith(".py")):
                    size = _size(path)
                    if path != own and size is not None:
                        yield path, size


def _is_foreign(folder: Path) -> bool:
    """Whether the project's own code is not to be found in `folder`."""
    return folder.name.startswith(".") or folder.name in _FOREIGN or (folder / "pyvenv.cfg").exists()


def _size(path: Path) -> int | None:
    """The size of a file that may be read; None for what is too long or no plain file."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) and status.st_size <= _FILE_BYTES else None


def _imports_of(name: str, text: str) -> Iterator[Imported]:
    """The imports in `text` that bind `name`, wherever they stand but in strings."""
    inside: frozenset[int] | None = None
    for match in _IMPORT.finditer(text):
        for found in imported(match[0].strip()):
            if found.binds == name:
                lines = Lines(text)
                inside = string_interiors(text) if inside is None else inside
                if lines.line_at(match.start()) not in inside:
                    yield found
