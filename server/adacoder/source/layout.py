"""Where in a module new imports and definitions go, by its line structure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from adacoder.domain import Edit
from adacoder.pytext import Lines, line_ending, statements
from adacoder.source.indentation import WHITE
from adacoder.source.names import unmarked

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from adacoder.domain import Target

_IMPORT = re.compile(r"(?:import\b|from\b)(?P<future>[ \t]+__future__\b)?")
_STRING = re.compile(r"[rRuU]?['\"]")
_BLOCK = re.compile(r"@|(?:(?:async[ \t]+)?def|class)\b")
_COOKIE = re.compile(r"#(?:!|.*coding[:=])")


@dataclass(frozen=True, slots=True)
class _Addition:
    """Statements that go before a line, and the blank lines that belong around them."""

    line: int
    statements: Sequence[str]
    blank_before: int
    blank_after: int


class Layout:
    """The top level of a target's module, as far as the target itself."""

    def __init__(self, target: Target) -> None:
        self._text = unmarked(target.text)
        self._start = 1 if self._text != target.text else 0
        self._lines = Lines(self._text)
        self._ending = line_ending(target.text)
        before = [span for span in statements(self._text) if span.start < target.definition.end]
        *self._before, self._own = before

    def additions(self, futures: Sequence[str], imports: Sequence[str], definitions: Sequence[str]) -> list[Edit]:
        """What adds these statements, which have the file's own line endings.

        Imports go to the module's imports, those from `__future__` first, and definitions right before the
        target's own top-level statement.
        """
        head = self._head_line()
        future, last = self._import_lines()
        own = self._own_line(head)
        line = head if last is None else last
        # Definitions that come right after the imports have the blank lines between the two.
        meets = bool(definitions) and self._code_line(line) == self._code_line(own)
        added: list[_Addition] = []
        if futures and future is None:
            after = 0 if meets and line == head else self._blank_before(head)
            added.append(_Addition(head, futures, 1, after))
        elif futures and future is not None:
            added.append(_Addition(future, futures, 0, 0))
        if imports:
            joins = last is not None and last != future
            after = 0 if joins or meets else self._blank_before(line)
            added.append(_Addition(line, imports, 0 if joins else 1, after))
        if definitions:
            added.append(_Addition(own, definitions, 2, 2))
        return [self._edit(line, list(group)) for line, group in groupby(added, lambda addition: addition.line)]

    def _import_lines(self) -> tuple[int | None, int | None]:
        """The lines after the last import from `__future__` and after the last one of all."""
        future = last = None
        for span in self._before:
            if _BLOCK.match(self._text, span.start):
                break
            if match := _IMPORT.match(self._text, span.start):
                last = self._lines.line_at(span.end) + 1
                future = last if match["future"] else future
        return future, last

    def _head_line(self) -> int:
        """The line after the docstring, or else after the comments that do not stand right above code."""
        if self._before and _STRING.match(self._text, self._before[0].start):
            return self._lines.line_at(self._before[0].end) + 1
        head = line = 0
        while self._stripped(line)[:1] in ("", "#"):
            line += 1
            if self._stripped(line - 1) and (not self._stripped(line) or self._is_cookie(line - 1)):
                head = line
        return head

    def _is_cookie(self, line: int) -> bool:
        """Whether the line must stay at the top: an interpreter or an encoding."""
        return line < 2 and _COOKIE.match(self._stripped(line)) is not None

    def _own_line(self, head: int) -> int:
        """The line where the target's top-level statement begins, the comment right above it included."""
        line = self._lines.line_at(self._own.start)
        first = self._lines.line_at(self._before[-1].end) + 1 if self._before else head
        while line > first and self._stripped(line - 1).startswith("#"):
            line -= 1
        return line

    def _edit(self, line: int, added: list[_Addition]) -> Edit:
        above = below = 0
        while line > above and not self._stripped(line - above - 1):
            above += 1
        while not self._stripped(line + below):
            below += 1
        text = "" if line == above else self._blank(added[0].blank_before - above)
        text += self._joined(added[0].statements)
        for addition in added[1:]:
            text += self._blank(addition.blank_before) + self._joined(addition.statements)
        text += self._blank(added[-1].blank_after - below)
        offset = self._lines.starts[line] or self._start
        return Edit(offset, offset, text)

    def _blank(self, lines: int) -> str:
        return self._ending * max(lines, 0)

    def _joined(self, added: Iterable[str]) -> str:
        """Statements, a line each; two blank lines around functions and classes."""
        first, *rest = added
        text = first + self._ending
        for before, after in pairwise([first, *rest]):
            apart = 2 if _BLOCK.match(before) or _BLOCK.match(after) else 0
            text += self._blank(apart) + after + self._ending
        return text

    def _code_line(self, line: int) -> int:
        """The first line at or after `line` that is not blank."""
        while not self._stripped(line):
            line += 1
        return line

    def _blank_before(self, line: int) -> int:
        """How many blank lines the code at or after `line` should have before it."""
        while self._stripped(line)[:1] in ("", "#"):
            line += 1
        return 2 if _BLOCK.match(self._stripped(line)) else 1

    def _stripped(self, line: int) -> str:
        return self._lines[line].strip(WHITE + "\r\n")
