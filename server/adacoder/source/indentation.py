"""Change the indentation of a block of Python by its line structure.

Syntax errors stay: a line that fits no level, a level that nothing opens, and a missing block are left for the user's
interpreter to judge.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from adacoder.pytext import Lines, indent_width, logical_lines, normalize, string_interiors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adacoder.pytext import LogicalLine

WHITE = " \t\f"
"""Python's white space within a line; `str.strip` takes more."""
DEFAULT_UNIT = "    "
_FIRST_IN_BLOCK = re.compile(r"^([ \t]*)[^\s#][^\n]*:[ \t]*(?:#[^\n]*)?\n\1([ \t]+)[^\s#]", re.MULTILINE)


def unit_of(text: str) -> str:
    """The most frequent unit of indentation in `text`; four spaces if it has no block."""
    counts = Counter(match[2] for match in _FIRST_IN_BLOCK.finditer(normalize(text)))
    return max(counts, key=counts.__getitem__) if counts else DEFAULT_UNIT


def reindent(text: str, *, parent: str, first: str, unit: str) -> str:
    """`text` (with `\\n` endings) with its first statement at `first` and each deeper level `unit` further
    in.

    `parent` is the indentation that encloses it: no line comes out at it or left of it. The inside of strings
    stays as it is, continued lines keep their place relative to their statement, blank lines come out empty.
    """
    lines = Lines(text)
    logical = list(logical_lines(text))
    old_unit = _step(logical)
    levels = _Levels(logical[0].width if logical else 0, parent, first, unit)
    starts = {lines.line_at(line.start): line for line in logical}
    ahead = iter([*logical[1:], None]) if logical else iter([None])
    following = logical[0] if logical else None
    inside = string_interiors(text)
    new: list[str] = []
    current: LogicalLine | None = None
    for index in range(len(lines)):
        content = lines[index]
        stripped = content.lstrip(WHITE)
        if index in starts:
            current, following = starts[index], next(ahead)
            new.append(levels.enter(current.width) + stripped)
        elif index in inside:
            new.append(content)
        elif not stripped.rstrip("\n"):
            new.append(stripped)
        elif current is not None and lines.starts[index] < current.end:
            shift = indent_width(content[: len(content) - len(stripped)]) - current.width
            new.append(levels.indent + _shifted(shift, old_unit, unit) + stripped)
        else:
            width = indent_width(content[: len(content) - len(stripped)])
            new.append(levels.of_comment(width, following) + stripped)
    return "".join(new)


def realign(text: str, levels: Sequence[int]) -> str:
    """`text` with each logical line at its level, by four spaces; continued lines move along, and so do
    comments with the statement that follows them."""
    lines = Lines(text)
    logical = list(logical_lines(text))
    inside = string_interiors(text)
    new: list[str] = []
    number = 0
    for index in range(len(lines)):
        content = lines[index]
        stripped = content.lstrip(WHITE)
        while number + 1 < len(logical) and logical[number].end < lines.starts[index]:
            number += 1
        if index in inside or not stripped.rstrip("\n") or not logical:
            new.append(content)
            continue
        continued = logical[number].start < lines.starts[index] < logical[number].end
        beyond = indent_width(content[: len(content) - len(stripped)]) - logical[number].width if continued else 0
        new.append(DEFAULT_UNIT * levels[number] + " " * max(beyond, 0) + stripped)
    return "".join(new)


class _Levels:
    """Stack of open levels: old width and new indentation, the enclosing one first."""

    def __init__(self, width: int, parent: str, first: str, unit: str) -> None:
        self._first = first
        self._unit = unit
        self._open = [(-1, parent), (width, first)]

    @property
    def indent(self) -> str:
        """The new indentation of the line entered last."""
        return self._open[-1][1]

    def enter(self, width: int) -> str:
        """The new indentation of a statement at `width`."""
        self._open = self._entered(width)
        return self.indent

    def of_comment(self, width: int, following: LogicalLine | None) -> str:
        """The new indentation of a comment line at `width`, with the statement that follows it."""
        levels = self._open[1:]
        if following is not None:
            levels = [*levels, self._entered(following.width)[-1]]
        fitting = [level for level in levels if level[0] <= width]
        return max(fitting, key=lambda level: level[0])[1] if fitting else self._first

    def _entered(self, width: int) -> list[tuple[int, str]]:
        levels = [level for level in self._open if level[0] <= width]
        if levels[-1][0] == width:
            return levels
        # A dedent that meets no level is put between two levels, where it meets none either.
        step = self._unit if len(levels) == len(self._open) else " "
        return [*levels, (width, levels[-1][1] + step)]


def _step(logical: list[LogicalLine]) -> int:
    """Columns of one level: the smallest step into a block."""
    steps = [after.width - line.width for line, after in pairwise(logical) if after.width > line.width]
    return min(steps, default=len(DEFAULT_UNIT))


def _shifted(columns: int, old_unit: int, unit: str) -> str:
    """Indentation of a continued line beyond its statement's: whole levels in the new unit, else spaces."""
    if columns <= 0:
        return ""
    levels, rest = divmod(columns, old_unit)
    return unit * levels if rest == 0 else " " * columns
