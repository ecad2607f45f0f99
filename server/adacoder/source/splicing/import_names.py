"""Add a name to an existing `from` import, and keep its order, layout and comments."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from adacoder.pytext import Lines, parsed
from adacoder.source.indentation import DEFAULT_UNIT
from adacoder.source.text import offset_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adacoder.source.names import ImportedName
    from adacoder.source.splicing.import_style import ImportStyle

_COMMENT = re.compile(r"#[^\n]*")


def with_name(statement: str, name: ImportedName, style: ImportStyle) -> str | None:
    r"""Add `name` to the `from` import `statement`; return None if this is not possible.

    Line endings must be `\n`. A line that becomes too long is wrapped.
    """
    tree = parsed(statement)
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.ImportFrom) or "\\\n" in statement:
        return None
    return _Names(statement, tree.body[0], style).with_one(name.item)


class _Names:
    """The names of one `from` import, and their positions in its text."""

    def __init__(self, text: str, node: ast.ImportFrom, style: ImportStyle) -> None:
        self._text = text
        self._aliases = node.names
        self._style = style
        lines = Lines(text)
        self._spans = [
            (_offset(lines, each.lineno, each.col_offset), _offset(lines, each.end_lineno, each.end_col_offset))
            for each in node.names
        ]
        self._rows = [each.lineno - 1 for each in node.names]
        self._lines = lines
        after = _COMMENT.sub(lambda match: " " * len(match[0]), text[self._spans[-1][1] :])
        self._closing = after.find(")") + self._spans[-1][1] if ")" in after else None
        self._has_trailing_comma = "," in after
        self._has_comment = "#" in text

    def with_one(self, item: str) -> str | None:
        """Add `item` to the names. It goes to its place if the names are sorted, and to the end otherwise."""
        index = self._place(item)
        if self._closing is not None and self._is_one_a_line():
            return self._on_a_line_of_its_own(item, index)
        changed = self._beside(item, index)
        if self._fits(changed):
            return changed
        if self._has_comment:
            return None
        items = [ast.unparse(each) for each in self._aliases]
        items.insert(index, item)
        if self._closing is None:
            inside = "".join(f"{DEFAULT_UNIT}{each},\n" for each in items)
            return f"{self._text[: self._spans[0][0]].rstrip()} (\n{inside})"
        return self._spread(items)

    def _place(self, item: str) -> int:
        keys = [self._style.name_key(each.name) for each in self._aliases]
        new = self._style.name_key(item.partition(" ")[0])
        after = (index for index, key in enumerate(keys) if new <= key) if keys == sorted(keys) else iter(())
        return next(after, len(keys))

    def _is_one_a_line(self) -> bool:
        first = self._text.count("\n", 0, self._spans[0][0])
        return first > 0 and all(one < other for one, other in pairwise(self._rows))

    def _on_a_line_of_its_own(self, item: str, index: int) -> str:
        row = self._rows[0]
        indent = self._text[self._lines.starts[row] : self._spans[0][0]]
        if index < len(self._rows):
            # The item goes above any comment between the two names, because the comment may belong to the next name.
            above = self._rows[index - 1] if index else self._rows[0] - 1
            at = self._lines.starts[above + 1]
            return f"{self._text[:at]}{indent}{item},\n{self._text[at:]}"
        end = self._spans[-1][1]
        if self._has_trailing_comma:
            at = self._lines.starts[self._rows[-1] + 1]
            return f"{self._text[:at]}{indent}{item},\n{self._text[at:]}"
        rest = self._text[end:]
        line_end = rest.find("\n") if "\n" in rest else 0
        if self._closing is not None and end + line_end > self._closing:
            line_end = 0
        return f"{self._text[:end]},{rest[:line_end]}\n{indent}{item}{rest[line_end:]}"

    def _beside(self, item: str, index: int) -> str:
        if index < len(self._spans):
            at = self._spans[index][0]
            return f"{self._text[:at]}{item}, {self._text[at:]}"
        at = self._spans[-1][1]
        return f"{self._text[:at]}, {item}{self._text[at:]}"

    def _fits(self, changed: str) -> bool:
        old = set(self._text.split("\n"))
        return all(len(line) <= self._style.line_length or line in old for line in changed.split("\n"))

    def _spread(self, items: Sequence[str]) -> str:
        """Put as many names on each line as fit, aligned with the first name."""
        start = self._spans[0][0]
        indent = " " * (start - self._lines.starts[self._lines.line_at(start)])
        closing = self._text[self._spans[-1][1] :].lstrip(" ,")
        rows = [""]
        for item in items:
            longer = f"{rows[-1]}{' ' if rows[-1] else ''}{item},"
            if rows[-1] and len(indent) + len(longer) > self._style.line_length:
                rows.append(f"{item},")
            else:
                rows[-1] = longer
        last = "," if self._has_trailing_comma else ""
        return self._text[:start] + f"\n{indent}".join(rows).removesuffix(",") + last + closing


def _offset(lines: Lines, line: int | None, column: int | None) -> int:
    return offset_at(lines, (line or 1) - 1, column or 0, "utf-8")
