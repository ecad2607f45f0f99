"""Change the indentation of a block of Python code, based on its lines.

An unexpected indent stays in the result, so that the user's interpreter reports the error.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING

from adacoder.pytext import Lines, indent_width, logical_lines, normalize, string_interiors

if TYPE_CHECKING:
    from adacoder.pytext import LogicalLine

WHITE = " \t\f"
"""Python's white space within a line. `str.strip` would remove other characters as well."""
DEFAULT_UNIT = "    "
_FIRST_IN_BLOCK = re.compile(r"^([ \t]*)[^\s#][^\n]*:[ \t]*(?:#[^\n]*)?\n\1([ \t]+)[^\s#]", re.MULTILINE)


def unit_of(text: str) -> str:
    """Return the most frequent indentation unit in `text`; four spaces if the text has no block."""
    counts = Counter(match[2] for match in _FIRST_IN_BLOCK.finditer(normalize(text)))
    return max(counts, key=counts.__getitem__) if counts else DEFAULT_UNIT


def reindent(text: str, *, parent: str, first: str, unit: str) -> str:
    """Change the indentation of `text`, but keep strings and the offsets of continuation lines.

    Blank lines become empty.

    Args:
        text: code with `\n` line endings.
        parent: the indentation of the enclosing block. All lines of the result are indented deeper.
        first: the new indentation of the first statement.
        unit: the new indentation of one level.
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


class _Levels:
    """The stack of open levels of indentation, outermost first.

    Each level is a pair of the old width and the new indentation.
    """

    def __init__(self, width: int, parent: str, first: str, unit: str) -> None:
        self._first = first
        self._unit = unit
        self._open = [(-1, parent), (width, first)]

    @property
    def indent(self) -> str:
        """The new indentation of the innermost open level."""
        return self._open[-1][1]

    def enter(self, width: int) -> str:
        """Return the new indentation of a statement whose old width is `width`."""
        self._open = self._entered(width)
        return self.indent

    def of_comment(self, width: int, following: LogicalLine | None) -> str:
        """Return the new indentation of a comment line before the statement `following`."""
        levels = self._open[1:]
        if following is not None:
            levels = [*levels, self._entered(following.width)[-1]]
        fitting = [level for level in levels if level[0] <= width]
        return max(fitting, key=lambda level: level[0])[1] if fitting else self._first

    def _entered(self, width: int) -> list[tuple[int, str]]:
        levels = [level for level in self._open if level[0] <= width]
        if levels[-1][0] == width:
            return levels
        # A dedent to no open level is an error. Its new indentation lies between two levels, so the error stays.
        step = self._unit if len(levels) == len(self._open) else " "
        return [*levels, (width, levels[-1][1] + step)]


def _step(logical: list[LogicalLine]) -> int:
    """Return the smallest indent of any block in columns."""
    steps = [after.width - line.width for line, after in pairwise(logical) if after.width > line.width]
    return min(steps, default=len(DEFAULT_UNIT))


def _shifted(columns: int, old_unit: int, unit: str) -> str:
    """Return the indentation of a continuation line relative to its statement.

    Whole levels use the new unit. Other offsets use spaces.
    """
    if columns <= 0:
        return ""
    levels, rest = divmod(columns, old_unit)
    return unit * levels if rest == 0 else " " * columns
