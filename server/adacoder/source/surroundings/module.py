"""Find a module's imports and top-level definitions in its text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from adacoder.domain import Span
from adacoder.pytext import Definition, LogicalLine, definitions, logical_lines, statements
from adacoder.source.names import ImportedName, imported

_IMPORT = re.compile(r"(?:import|from)\b")
_GUARD = re.compile(r"if[ \t]+(?:\w+\.)?TYPE_CHECKING\b")
_TYPE_ALIAS = re.compile(r"type[ \t]+(?P<name>[^\W\d]\w*)")
_ASSIGNMENT = re.compile(r"(?P<names>[^\W\d]\w*(?:[ \t]*,[ \t]*[^\W\d]\w*)*)[ \t]*(?::(?!=)[^=\r\n]*)?=(?!=)")


@dataclass(frozen=True, eq=False)
class ModuleText:
    """The text of a project module, which may be broken."""

    path: Path
    name: str
    """The dotted name."""
    text: str

    @cached_property
    def definitions(self) -> Sequence[Definition]:
        """All functions and classes, including nested ones, in order."""
        return definitions(self.text)

    @cached_property
    def lines(self) -> list[LogicalLine]:
        """The logical lines of the text."""
        return list(logical_lines(self.text))

    @cached_property
    def import_lines(self) -> list[LogicalLine]:
        """The imports outside functions and classes, including imports under `try` and `if`."""
        inside = {line.start for each in self.definitions if not each.parents for line in each.lines}
        return [line for line in self.lines if _IMPORT.match(self.text, line.start) and line.start not in inside]

    @cached_property
    def for_annotations(self) -> frozenset[int]:
        """The start offsets of lines under `if TYPE_CHECKING:`. Names imported there do not exist at run time."""
        found: set[int] = set()
        guard: int | None = None
        for line in self.lines:
            if guard is not None and line.width <= guard:
                guard = None
            if guard is not None:
                found.add(line.start)
            elif _GUARD.match(self.text, line.start):
                guard = line.width
        return frozenset(found)

    @cached_property
    def imports(self) -> list[ImportedName]:
        """The names that `import_lines` import."""
        return [name for line in self.import_lines for name in imported(self.text[line.start : line.code_end])]

    @cached_property
    def symbols(self) -> list[Symbol]:
        """Top-level functions, classes, constants and aliases, in order."""
        found = [
            *(Symbol(self, each.name, each.span, each) for each in self.definitions if not each.parents),
            *self._constants(),
        ]
        return sorted(found, key=lambda symbol: symbol.span.start)

    def named(self, qualname: str) -> list[Symbol]:
        """Return all definitions with this qualified name, such as the overloads of a function."""
        if "." not in qualname:
            return [symbol for symbol in self.symbols if symbol.name == qualname]
        return [
            Symbol(self, qualname, each.span, each)
            for each in self.definitions
            if not each.in_function and each.qualname == qualname
        ]

    def _constants(self) -> Iterator[Symbol]:
        for span in statements(self.text):
            if alias := _TYPE_ALIAS.match(self.text, span.start):
                yield Symbol(self, alias["name"], span)
            elif assigned := _ASSIGNMENT.match(self.text, span.start):
                for name in assigned["names"].split(","):
                    yield Symbol(self, name.strip(), span)


@dataclass(frozen=True, eq=False)
class Symbol:
    """A function, class, constant or alias that a module defines."""

    module: ModuleText
    name: str
    """The name in the module, such as `Class.method`."""
    span: Span
    definition: Definition | None = None
    """The definition; None for a constant or an alias."""

    @property
    def is_class(self) -> bool:
        return self.definition is not None and self.definition.is_class

    @property
    def is_alias(self) -> bool:
        """True for a variable with a capitalised name, as for most type aliases."""
        return self.definition is None and self.name[:1].isupper() and not self.name.isupper()

    @property
    def text(self) -> str:
        """The whole statement that defines the symbol."""
        return self.span.of(self.module.text)
