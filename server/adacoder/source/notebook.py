"""Read a notebook cell and the cells above it as one Python module.

IPython's own syntax is replaced by Python of the same length, so offsets and lines stay valid. Commands (`!ls`), magics
(`%time f()`) and help (`f?`) do not run.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate

from adacoder.domain import Edit, Example, Span, Target
from adacoder.pytext import line_number, line_start, logical_lines

_SIGN = re.compile(r"[%!?]")
_CELL_MAGIC = re.compile(r"\s*%%(?P<name>\w*)")
_PYTHON_MAGICS = frozenset({"time", "capture", "prun"})
"""Cell magics that run the rest of the cell as Python, with the notebook's variables."""
_ASSIGNED = re.compile(r"[\w.,*\[\]'\" \t]*[\w\])][ \t]*=[ \t]*(?=[%!]\S)")
"""Matches the start of a line that assigns the result of a magic or a command, such as `files = !ls`."""
_HELP = re.compile(r"[\w.*%]+\?{1,2}[ \t]*")
_LINE = re.compile(r"[^\r\n]*")
_CONTINUED = re.compile(r"(?:(?<=\\)(?:\r\n|\r|\n)[^\r\n]*)*")
"""Matches all lines that belong to the line above because of a backslash."""
_CONTENT = re.compile(r"[^\r\n]")
_FIRST = re.compile(r"(?<=[\r\n])([ \t]*)\S")
"""Matches the start of a line, up to the first character that is not white space."""


def foreign_magic(cell: str) -> str | None:
    """Return the magic of a cell that is not Python, such as `%%bash`; None if the cell is Python."""
    found = _CELL_MAGIC.match(cell)
    return None if found is None or found["name"] in _PYTHON_MAGICS else f"%%{found['name']}"


@lru_cache(maxsize=512)
def python_of(cell: str) -> str:
    """Replace IPython's own syntax by Python of the same length.

    A magic becomes a comment, or `pass` if it is indented. An assigned result becomes None. A cell that is not Python
    becomes blank.
    """
    if _SIGN.search(cell) is None:
        return cell
    if foreign_magic(cell) is not None:
        return _CONTENT.sub(" ", cell)
    found: list[str] = []
    position = 0
    while (line := next(logical_lines(cell, position), None)) is not None:
        text = _matched(_LINE, cell, line.start)
        new = _replaced(text, line.indent)
        end = line.end
        if new is not None:  # Quotes and brackets in a command or magic have no meaning for Python.
            end = line.start + len(text)
            found += [cell[position : line.start], new.ljust(len(text))]
            rest = _matched(_CONTINUED, cell, end)
            # If a backslash continues the command, the next lines become comments, too.
            found.append(_FIRST.sub(r"\1#", rest))
            end += len(rest)
        else:
            found.append(cell[position:end])
        position = end
    return "".join([*found, cell[position:]])


def _matched(pattern: re.Pattern[str], text: str, start: int) -> str:
    found = pattern.match(text, start)
    return "" if found is None else found[0]


def _replaced(line: str, indent: str) -> str | None:
    """Return the Python code for a line in IPython's own syntax; None if the line is Python."""
    if line[:1] in ("%", "!", "?") or _HELP.fullmatch(line):
        if indent:
            return "pass" if len(line) >= len("pass") else "0"
        # A line that begins with `#!` stays above the imports that are added to the cell.
        return f"#!{line[2:]}" if line.startswith("%%") else f"#{line[1:]}"
    if (assigned := _ASSIGNED.match(line)) is None:
        return None
    is_short = len(line) - assigned.end() < len("None")
    return assigned[0] + ("0" if is_short else "None")


def _gap(cell: str) -> str:
    """Return the line endings that separate a cell from the next one."""
    return "\n" if cell.endswith(("\n", "\r")) else "\n\n"


def length_above(cells: tuple[str, ...]) -> int:
    """Return the length of `above(cells)`."""
    return sum(len(cell) + len(_gap(cell)) for cell in cells)


@lru_cache(maxsize=64)
def above(cells: tuple[str, ...]) -> str:
    """Return the Python text of `cells`, to be put before the text of the next cell."""
    return "".join(python_of(cell) + _gap(cell) for cell in cells)


@lru_cache(maxsize=64)
def _first_lines(cells: tuple[str, ...]) -> tuple[int, ...]:
    """Return the 0-based first lines of `cells` and of the cell that follows them."""
    texts = (cell + _gap(cell) for cell in cells)
    return tuple(accumulate((line_number(text, len(text)) for text in texts), initial=0))


def in_module(target: Target, cells: tuple[str, ...]) -> Target:
    """Return a target in a cell as a target in the module that begins with `cells`."""
    before, lines = above(cells), _first_lines(cells)
    module = replace(target.module, cells=lines)
    return _moved(replace(target, module=module, text=before + target.text), len(before), lines[-1])


def alone(target: Target) -> Target:
    """Return a notebook's function as a function of its own cell, without the cells above."""
    if not target.module.cells:
        return target
    start, module = start_of(target), replace(target.module, cells=())
    return _moved(replace(target, module=module, text=target.text[start:]), -start, -target.module.first_line)


def start_of(target: Target) -> int:
    """Return the offset at which the target's own cell begins; 0 if the target is not in a notebook."""
    return line_start(target.text, target.module.first_line) or 0


def moved(edit: Edit, by: int) -> Edit:
    """Move an edit by a number of characters, which may be negative."""
    return Edit(edit.start + by, edit.end + by, edit.text)


def _moved(target: Target, by: int, lines: int) -> Target:
    def span(old: Span) -> Span:
        return Span(old.start + by, old.end + by)

    def example(old: Example) -> Example:
        return replace(old, line=old.line + lines, above=old.above + lines)

    return replace(
        target,
        definition=span(target.definition),
        header=span(target.header),
        docstring_span=span(target.docstring_span),
        body=span(target.body),
        examples=tuple(map(example, target.examples)),
        of_class=tuple(map(example, target.of_class)),
    )
