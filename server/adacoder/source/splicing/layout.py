"""Find the place for new imports and definitions in a module, based on its lines."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, pairwise, takewhile
from typing import TYPE_CHECKING

from adacoder.domain import Edit
from adacoder.pytext import Lines, line_ending, statements, unmarked
from adacoder.source.indentation import WHITE
from adacoder.source.names import statements_of
from adacoder.source.splicing.import_block import ImportBlock, statements_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from adacoder.domain import Span, Target
    from adacoder.source.names import ImportedName
    from adacoder.source.splicing.import_block import NewLine, Statement

_IMPORT = re.compile(r"(?:import|from)\b")
_STRING = re.compile(r"[rRuU]?['\"]")
_BLOCK = re.compile(r"@|(?:(?:async[ \t]+)?def|class)\b")
_COOKIE = re.compile(r"#(?:!|.*coding[:=])")
"""A line that must stay at the top: a shebang or the declaration of an encoding."""


@dataclass(frozen=True, slots=True)
class _Addition:
    """Statements to insert before a line, and the numbers of blank lines around them."""

    line: int
    statements: Sequence[str]
    before: int
    """Minimum number of blank lines before the statements."""
    after: int


class Layout:
    """The top-level statements of a module, up to the target."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._text = unmarked(target.text)
        self._start = 1 if self._text != target.text else 0
        self._ending = line_ending(target.text)

    def additions(
        self, futures: Sequence[ImportedName], imports: Sequence[ImportedName], definitions: Sequence[str]
    ) -> list[Edit]:
        """Return the edits that add these imports and definitions, in order.

        Definitions go directly above the top-level statement that contains the target.
        """
        if not (futures or imports or definitions):
            return []
        block = ImportBlock(self._text, self._imports, self._target.module)
        changed, new_futures = block.extended(futures)
        more, new_imports = block.extended(imports)
        head = self._head_line()
        own = self._own_line(head)
        added = [self._future(new_futures, head)] if new_futures else []
        added += [self._import(line) for line in block.new_lines(new_imports, head)]
        if definitions:
            # If definitions follow the imports, the definitions bring the blank lines between them.
            meets = self._code_line(own)
            added = [replace(each, after=0) if self._code_line(each.line) == meets else each for each in added]
            added.append(self._definitions([self._in_file(text) for text in definitions], own))
        added.sort(key=lambda addition: addition.line)
        new = [self._edit(line, list(group)) for line, group in groupby(added, lambda addition: addition.line)]
        return sorted([*changed, *more, *new], key=lambda edit: edit.start)

    def _future(self, names: Sequence[ImportedName], head: int) -> _Addition:
        after = [each.after for each in self._imports if each.names[0].module == "__future__"]
        line = after[-1] if after else head
        statements = list(statements_of(names))
        return _Addition(line, statements, 0, 0) if after else _Addition(line, statements, 1, self._blank_before(line))

    def _import(self, new: NewLine) -> _Addition:
        statements = [self._in_file(new.text)]
        if not new.apart:
            return _Addition(new.line, statements, 0, 0)
        return _Addition(new.line, statements, 1, self._blank_before(new.line))

    def _definitions(self, texts: Sequence[str], own: int) -> _Addition:
        """Place definitions before the target's top-level statement.

        PEP 8 asks for two blank lines around functions and classes. Otherwise, one blank line is enough.
        """
        before = self._statements[-2:-1]
        blocks = [_BLOCK.match(texts[0]), *(_BLOCK.match(self._text, span.start) for span in before)]
        blank = 2 if any(blocks) else 1
        return _Addition(own - max(self._blank_above(own) - blank, 0), texts, blank, 2)

    def _in_file(self, text: str) -> str:
        return text.replace("\n", self._ending)

    @cached_property
    def _lines(self) -> Lines:
        return Lines(self._text)

    @cached_property
    def _statements(self) -> list[Span]:
        """The top-level statements up to and including the statement of the target."""
        return [span for span in statements(self._text) if span.start < self._target.definition.end]

    @cached_property
    def _imports(self) -> list[Statement]:
        """The import statements before the first definition."""
        before = takewhile(lambda span: not _BLOCK.match(self._text, span.start), self._statements[:-1])
        return list(statements_at(self._text, (span for span in before if _IMPORT.match(self._text, span.start))))

    def _head_line(self) -> int:
        """Return the line below the module's docstring, or else the line below the first comments."""
        if self._statements[1:] and _STRING.match(self._text, self._statements[0].start):
            return self._lines.line_at(self._statements[0].end) + 1
        head = line = 0
        while self._stripped(line)[:1] in ("", "#"):
            line += 1
            above = self._stripped(line - 1)
            if above and (not self._stripped(line) or (line <= 2 and _COOKIE.match(above))):
                head = line
        return head

    def _own_line(self, head: int) -> int:
        """Return the first line of the top-level statement that contains the target.

        A comment directly above the statement belongs to it.
        """
        *before, own = self._statements
        line = self._lines.line_at(own.start)
        first = self._lines.line_at(before[-1].end) + 1 if before else head
        while line > first and self._stripped(line - 1).startswith("#"):
            line -= 1
        return line

    def _edit(self, line: int, added: list[_Addition]) -> Edit:
        above, below = self._blank_above(line), 0
        while not self._stripped(line + below):
            below += 1
        text = "" if line == above else self._blank(added[0].before - above)
        text += self._joined(added[0].statements)
        for last, addition in pairwise(added):
            text += self._blank(max(min(last.after, 1), addition.before)) + self._joined(addition.statements)
        text += self._blank(added[-1].after - below)
        offset = self._lines.starts[line] or self._start
        return Edit(offset, offset, text)

    def _blank_above(self, line: int) -> int:
        above = 0
        while line > above and not self._stripped(line - above - 1):
            above += 1
        return above

    def _blank(self, lines: int) -> str:
        return self._ending * max(lines, 0)

    def _joined(self, added: Iterable[str]) -> str:
        """Join statements with line endings, and put two blank lines around functions and classes."""
        first, *rest = added
        text = first + self._ending
        for before, after in pairwise([first, *rest]):
            apart = 2 if _BLOCK.match(before) or _BLOCK.match(after) else 0
            text += self._blank(apart) + after + self._ending
        return text

    def _code_line(self, line: int) -> int:
        """Return the first non-blank line at or after `line`."""
        while not self._stripped(line):
            line += 1
        return line

    def _blank_before(self, line: int) -> int:
        """Return the number of blank lines that PEP 8 asks for before the next code at or below `line`."""
        while self._stripped(line)[:1] in ("", "#"):
            line += 1
        return 2 if _BLOCK.match(self._stripped(line)) else 1

    def _stripped(self, line: int) -> str:
        return self._lines[line].strip(WHITE + "\r\n")
