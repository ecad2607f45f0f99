"""Collect the parts of a project that help a model to write a function, most important first.

All files are read as text. No code is run, and nothing is written to disk. Only this module imports jedi.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, takewhile
from pathlib import Path
from textwrap import indent
from typing import Any

from adacoder.domain import Target
from adacoder.privacy.access import Access
from adacoder.privacy.contents import without_secrets
from adacoder.pytext import Definition
from adacoder.source.surroundings.masking import masked_line, without_strings
from adacoder.source.surroundings.module import ModuleText, Symbol
from adacoder.source.surroundings.near_files import DefinedAt, Follow, NearFiles
from adacoder.source.surroundings.outline import (
    PROSE,
    SUMMARY,
    attribute_lines,
    constant,
    field_lines,
    inherited,
    listing,
    outline,
)
from adacoder.source.surroundings.outline import docstring as described

_WORD = re.compile(r"[^\W\d]\w*")
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_PROPERTY = re.compile(r"@[ \t]*(?:\w+\.)*(?:cached_)?property\b")
_SHORTEST_MENTION = 3
"""Minimum length of a name that is matched regardless of case, as `tax` in a docstring matches `TAX`."""
_LONGEST_IMPORTS = 3000
_LONGEST_OTHER_CLASS = 1600
"""Maximum characters to show of a class that does not contain the target."""
_LONGEST_CALL = 160
_MOST_CALLS = 2
_MOST_BASES = 6
_MOST_PARTS = 8
"""Maximum number of types to show only because they are the types of fields."""


@dataclass(frozen=True, slots=True)
class Piece:
    r"""One part of the context for the model, as dedented text with `\n` line endings."""

    kind: str
    """The reason to show the text. The reasons, most important first:

    * `imports`: the module's imports
    * `contract`: overloads, or the method that is overridden
    * `class`: the class around the method
    * `docstring`: the module's docstring
    * `signature`: symbols in the signature
    * `mentioned`: symbols that the docstring mentions
    * `base`: base classes
    * `part`: types of the fields of the method's class and of classes in the signature
    * `call`: calls of the target
    * `imported`: imports from the project
    * `module`: the rest of the module, nearest first
    """
    text: str
    position: int = 0
    """Position of the text in the prompt. The prompt follows the order of a module, so imports come first."""


def pieces(
    target: Target, overlays: Mapping[Path, str] | None = None, access: Access | None = None
) -> tuple[Piece, ...]:
    """Collect the context of `target`, most important parts first.

    The body of `target` is left out. The same texts always give the same result.

    Args:
        target: the function to write.
        overlays: the editor's texts of open files. `access` must allow these files.
        access: the files that may be read; by default, the files around the module.
    """
    access = access or Access.around(target.module, target.module.root)
    entries: list[_Entry] = []
    seen: set[object] = set()
    with closing(_Following()) as follow:
        for entry in _Surroundings(target, overlays or {}, follow, access).ranked():
            if entry.text and entry.what not in seen:
                entries.append(entry)
            seen.add(entry.what)
    order = sorted(range(len(entries)), key=lambda index: (entries[index].section, entries[index].offset, index))
    positions = {index: position for position, index in enumerate(order)}
    return tuple(
        Piece(entry.kind, without_secrets(entry.text), positions[index]) for index, entry in enumerate(entries)
    )


_ABOUT, _IMPORTS, _ELSEWHERE, _MODULE, _CONTRACT, _CALLS = range(6)
"""The sections of the prompt's context, in order."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A part of the context before its final position is known."""

    kind: str
    text: str
    section: int
    offset: int = 0
    where: tuple[Path, int] | None = None
    """File and offset of the definition, if the entry shows exactly one definition."""

    @property
    def what(self) -> object:
        """The key of the entry. Of several entries with the same key, only the first one is shown."""
        return self.where or self.text


class _Surroundings:
    def __init__(self, target: Target, overlays: Mapping[Path, str], follow: Follow, access: Access) -> None:
        self._target = target
        self._module = ModuleText(target.module.path, target.module.name, target.text)
        self._near_files = NearFiles(target.module.root, self._module, overlays, follow, access)
        self._own = next(each for each in self._module.definitions if each.header == target.header)
        self._owner = self._own.parents[-1] if self._own.parents else None
        self._outermost = (*self._own.parents, self._own)[0]
        self._signature = _names_in(target.signature.partition("(")[2])

    def ranked(self) -> Iterator[_Entry]:
        """Yield all entries of the context, most important first."""
        yield from self._imports()
        yield from self._contract()
        yield from self._class()
        yield from self._about()
        yield from self._named("signature", self._in_signature)
        yield from self._named("mentioned", self._in_docstring)
        yield from self._bases()
        yield from self._named("part", self._parts)
        yield from self._calls()
        yield from self._named("imported", self._near_files.find(self._imported_names, self._module))
        yield from self._nearby()

    def _imports(self) -> Iterator[_Entry]:
        at_run_time: list[str] = []
        for_annotations: list[str] = []
        for line in self._module.import_lines:
            code = masked_line(self._module.text, line)
            if line.start in self._module.for_annotations:
                for_annotations.append(indent(code, "    "))
            else:
                at_run_time.append(code)
        guard = ["if TYPE_CHECKING:"] if for_annotations else []
        lines = [*at_run_time, *guard, *for_annotations]
        ends = accumulate(len(line) + 1 for line in lines)
        fitting = sum(1 for _ in takewhile(lambda end: end - 1 <= _LONGEST_IMPORTS, ends))
        yield _Entry("imports", "\n".join(lines[:fitting]), _IMPORTS)

    def _about(self) -> Iterator[_Entry]:
        for line in self._module.lines[:1]:
            literal = self._module.text[line.start : line.code_end]
            yield _Entry("docstring", "\n".join(described(literal, SUMMARY)), _ABOUT)

    def _contract(self) -> Iterator[_Entry]:
        """Yield the overloads of a function, or the base class's version of a method."""
        if self._owner is None:
            for symbol in self._module.named(self._own.name):
                if symbol.definition is not None and symbol.definition.header != self._own.header:
                    yield self._entry("contract", symbol, outline(symbol.definition, characters=PROSE))
            return
        for base, owner in self._base_classes:
            for member in base.module.definitions:
                if member.parents[-1:] == (owner,) and member.name == self._own.name:
                    yield _Entry("contract", self._placed(base, inherited(owner, member)), _CONTRACT)
                    return

    def _class(self) -> Iterator[_Entry]:
        if self._owner is not None:
            text = listing(self._owner, self._module.definitions, own=self._own, mentioned=self._mentioned)
            yield _Entry("class", text, _MODULE, self._owner.span.start, (self._module.path, self._owner.span.start))

    def _bases(self) -> Iterator[_Entry]:
        """Yield the base classes of the method's class, without overridden members."""
        if self._owner is None:
            return
        hidden = {each.name for each in self._module.definitions if each.parents and each.parents[-1] is self._owner}
        for base, owner in self._base_classes:
            text = listing(owner, base.module.definitions, hidden=hidden, characters=_LONGEST_OTHER_CLASS)
            yield self._entry("base", base, text)

    def _named(self, kind: str, symbols: Iterable[Symbol]) -> Iterator[_Entry]:
        for symbol in symbols:
            if symbol.module is not self._module or symbol.span.start != self._outermost.span.start:
                yield self._entry(kind, symbol, _used(symbol))

    @cached_property
    def _mentioned(self) -> set[str]:
        return set(_WORD.findall(self._target.docstring))

    @cached_property
    def _in_signature(self) -> list[Symbol]:
        return self._near_files.find(self._signature, self._module)

    @cached_property
    def _in_docstring(self) -> list[Symbol]:
        """The module's symbols and imports that the docstring mentions, regardless of case."""
        small = {word.casefold() for word in self._mentioned if len(word) >= _SHORTEST_MENTION}
        here = [symbol.name for symbol in self._module.symbols]
        names = [*here, *self._imported_names]
        mentioned = [name for name in names if name in self._mentioned or name.casefold() in small]
        return self._near_files.find(mentioned, self._module)

    @cached_property
    def _base_classes(self) -> list[tuple[Symbol, Definition]]:
        """The project's classes from which the method's class inherits, nearest first."""
        found: list[tuple[Symbol, Definition]] = []
        waiting = [(self._module, self._owner)] if self._owner else []
        while waiting and len(found) < _MOST_BASES:
            module, owner = waiting.pop(0)
            names = _names_in(owner.header.of(owner.text).partition("(")[2])
            for symbol in self._near_files.find(names, module):
                definition = symbol.definition
                if definition is not None and definition.is_class and all(definition != known for _, known in found):
                    found.append((symbol, definition))
                    waiting.append((symbol.module, definition))
        return found[:_MOST_BASES]

    @cached_property
    def _parts(self) -> list[Symbol]:
        """Types of the fields of the method's class, and of classes that appear in the signature."""
        found: list[Symbol] = []
        if self._owner is not None:
            found += self._near_files.find(_made_of(self._owner, self._module, but=self._own), self._module)
        for symbol in self._in_signature:
            if symbol.definition is None:
                found += self._near_files.find(_names_in(symbol.text), symbol.module)
            elif symbol.is_class:
                found += self._near_files.find(_made_of(symbol.definition, symbol.module), symbol.module)
        return [symbol for symbol in found if symbol.is_class or symbol.is_alias][:_MOST_PARTS]

    @property
    def _imported_names(self) -> list[str]:
        """Names bound by `from` imports. A plain `import` gives a whole module, which is too much to show."""
        return [each.binds for each in self._module.imports if each.name is not None]

    def _calls(self) -> Iterator[_Entry]:
        """Yield one entry with some calls of the target from its own module."""
        text = self._module.text
        pattern = self._call_pattern
        own = self._own.span
        found: list[str] = []
        for line in self._module.lines:
            if self._own.name not in text[line.start : line.code_end] or own.start <= line.start < own.end:
                continue
            if not pattern.search(without_strings(text[line.start : line.code_end])):
                continue
            call = masked_line(text, line)
            if len(call) <= _LONGEST_CALL and call not in found:
                found.append(call)
            if len(found) == _MOST_CALLS:
                break
        if found:
            yield _Entry("call", "\n".join([f"# how {self._target.qualname} is used in this module:", *found]), _CALLS)

    @property
    def _call_pattern(self) -> re.Pattern[str]:
        name = re.escape(self._own.name)
        if self._owner is None:
            return re.compile(rf"(?<!def )(?<![\w.@]){name}\(")
        after = r"\b(?!\w|[ \t]*=[^=]|\()" if self._own.has_decorator(_PROPERTY) else r"\("
        return re.compile(rf"\b(?:self|cls|{re.escape(self._owner.name)})\.{name}{after}")

    def _nearby(self) -> Iterator[_Entry]:
        """Yield the rest of the module, nearest to the target first."""
        symbols = self._module.symbols
        starts = [symbol.span.start for symbol in symbols]
        own = starts.index(self._outermost.span.start)
        for index in sorted(range(len(symbols)), key=lambda index: (abs(index - own), index)):
            symbol = symbols[index]
            if index != own and not symbol.name.startswith("__"):
                text = constant(symbol.text) if symbol.definition is None else outline(symbol.definition)
                yield self._entry("module", symbol, text)

    def _entry(self, kind: str, symbol: Symbol, text: str) -> _Entry:
        where = (symbol.module.path, symbol.span.start)
        if symbol.module is self._module:
            return _Entry(kind, text, _MODULE, symbol.span.start, where)
        return _Entry(kind, self._placed(symbol, text), _ELSEWHERE, 0, where)

    def _placed(self, symbol: Symbol, text: str) -> str:
        return text if symbol.module is self._module else f"# from {symbol.module.name}\n{text}"


def _used(symbol: Symbol) -> str:
    """Show the definition of a symbol: the members of a class, or the docstring of a function."""
    definition = symbol.definition
    if definition is None:
        return constant(symbol.text)
    if not definition.is_class:
        return outline(definition, characters=PROSE)
    return listing(definition, symbol.module.definitions, private=False, characters=_LONGEST_OTHER_CLASS)


def _made_of(owner: Definition, module: ModuleText, *, but: Definition | None = None) -> list[str]:
    """Return the names in a class's fields, in its constructor's header, and in assignments to attributes.

    The method `but` is ignored.
    """
    texts = [owner.text[line.start : line.code_end] for line, _ in field_lines(owner)]
    for member in module.definitions:
        if member.parents and member.parents[-1] is owner and not member.is_class and member is not but:
            if member.name == "__init__":
                texts.append(member.header.of(member.text))
            texts += [member.text[line.start : line.code_end] for _, line in attribute_lines(member)]
    return [name for text in texts for name in _names_in(text)]


def _names_in(text: str) -> list[str]:
    """List the distinct names in a text, including quoted annotations. Dotted names stay whole."""
    return list(dict.fromkeys(_DOTTED.findall(text)))


_ONE_AT_A_TIME = threading.Lock()
"""Only one thread at a time may use jedi, because its parser has one cache for the whole process."""
_BUILTINS = "builtins.pyi"
_STAR = re.compile(r"^([ \t]*)from[ \t]+[.\w]+[ \t]+import[ \t]*\*", re.MULTILINE)
_MOST_STARS = 12
"""Maximum number of `import *` in other files that jedi may follow. Each one costs memory."""


class _Following:
    """A callable that finds definitions with jedi (see `Follow`)."""

    def __init__(self) -> None:
        self._trees: dict[str, dict[Path, object]] = {}
        """The cache of jedi's parser."""

    def __call__(
        self, names: Sequence[str], imports: Sequence[str], path: Path, project: NearFiles
    ) -> list[tuple[str, DefinedAt]]:
        """Find the definitions of `names` in a module at `path` with these `imports`."""
        import jedi  # Importing jedi is slow, and only prompts need jedi.
        from parso.cache import parser_cache

        self._trees = parser_cache
        # jedi is slow on a whole module, so it gets only the imports and the names to find.
        code = "\n".join([*imports, *names])
        found: list[tuple[str, DefinedAt]] = []
        # jedi raises many kinds of errors for unusual code. The prompt then shows less context.
        with _ONE_AT_A_TIME, suppress(Exception):
            environment = jedi.InterpreterEnvironment()
            ask = environment.get_inference_state_subprocess
            environment.get_inference_state_subprocess = lambda state: _Reading(state, ask(state), project)
            where = jedi.Project(project.root, sys_path=[str(project.root)], smart_sys_path=False)
            script = jedi.Script(code, path=path, project=where, environment=environment)
            for line, name in enumerate(names, 1 + len(imports)):
                with suppress(Exception):
                    for definition in script.goto(line, len(name) - 1, follow_imports=True):
                        qualname = (definition.full_name or name).removeprefix(f"{definition.module_name}.")
                        if definition.module_path is not None:
                            found.append((name, DefinedAt(definition.module_path, definition.module_name, qualname)))
        return found

    def close(self) -> None:
        """Remove the parsed files from jedi's cache, because they are large."""
        with _ONE_AT_A_TIME:
            for kept in self._trees.values():
                for path in [path for path in kept if path.name != _BUILTINS]:
                    del kept[path]


class _Reading:
    """An environment for jedi that only reads the project's files.

    Without this class, jedi would read any file, write a cache to disk and import compiled modules.
    """

    def __init__(self, state: Any, inner: object, project: NearFiles) -> None:
        import jedi

        self._inner = inner
        self._near_files = project
        self._jedi = Path(jedi.__file__).parent
        self._parse = state.parse
        self._texts: dict[Path, str] = {}
        self._stars = _MOST_STARS
        state.parse = self.parse

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def load_module(self, **_: object) -> None:
        """Do not load modules, because jedi would import them into AdaCoder's own process."""

    def get_module_info(
        self, *, string: str, sys_path: Sequence[str] = (), path: Sequence[str] | None = None, **_: object
    ) -> tuple[object, bool | None]:
        """Find the file of the module `string` in `path`, or else in `sys_path`.

        Also return whether the module is a package.
        """
        for folder in sys_path if path is None else path:
            file = self._near_files.file(Path(folder), string)
            if file is not None:
                return _file_io(file, ""), file.name == "__init__.py"
        return None, None

    def parse(self, *, file_io: Any, **options: object) -> object:
        """Parse a file of the project, or jedi's own stub file of the builtins.

        Raises:
            OSError: the file is neither in the project nor this stub file.
        """
        path = Path(file_io.path)
        if path.name != _BUILTINS or not path.is_relative_to(self._jedi):
            file_io = _file_io(path, self._texts.get(path) or self._bounded(path))
        return self._parse(file_io=file_io, **{**options, "cache": False})

    def _bounded(self, path: Path) -> str:
        """Return the text of a project file. Every `import *` after the first `_MOST_STARS` becomes `pass`."""
        text = self._near_files.text(path)
        text = _STAR.sub(lambda match: match[0] if self._takes_star() else f"{match[1]}pass", text)
        self._texts[path] = text
        return text

    def _takes_star(self) -> bool:
        self._stars -= 1
        return self._stars >= 0


def _file_io(path: Path, text: str) -> object:
    from jedi.file_io import KnownContentFileIO

    return KnownContentFileIO(str(path), text)
