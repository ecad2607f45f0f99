"""Replace unreadable code by simple statements, so that AdaCoder's Python can parse the rest of a file.

Code may be unreadable because the user's Python is newer, or because the user is still typing. The new statements bind
the same names and keep the number of lines.
"""

from __future__ import annotations

import keyword
import re
from itertools import islice
from typing import TYPE_CHECKING

from adacoder.domain import Edit, Span
from adacoder.pytext import Lines, dedent, definitions, logical_lines, parsed, statements, unmarked
from adacoder.source.names import IDENTIFIER
from adacoder.source.text import apply_edits

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Sequence

    from adacoder.pytext import Definition, LogicalLine

_HEADER = re.compile(r"(?P<kind>(?:async[ \t]+)?def|class)[ \t]+(?P<name>[^\W\d]\w*)")
_NO_CODE = re.compile(r"""#[^\n]*|("{3}|'{3})[\s\S]*?\1|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\"""")
"""Matches comments and strings. The pattern is only approximate, because the text may be broken."""
_CONTINUED = (
    (re.compile(r"el(?:if|se)\b"), "if 0: pass\n"),
    (re.compile(r"(?:except|finally)\b"), "try: pass\n"),
    (re.compile(r"case\b"), "match 0:\n "),
)
"""Patterns of lines such as `else:` that cannot stand alone, each with the code that must come before the line."""


_MOST = 200
"""Maximum number of unreadable parts of a text. A text with more is probably not Python."""
_MOST_LINES = 20_000
"""Maximum number of lines in an unreadable statement to parse one by one."""


def readable(text: str, within: Sequence[Span]) -> ast.Module | None:
    """Parse `text` after replacing the unreadable code outside the spans in `within`.

    Return None if there is unreadable code in `within`, or if parsing still fails.
    """
    tree = parsed(text)
    if tree is not None:
        return tree
    text = unmarked(text)
    edits = list(islice(_outside(text, within), _MOST + 1))
    return None if len(edits) > _MOST else parsed(apply_edits(text, edits))


def _outside(text: str, within: Sequence[Span]) -> Iterator[Edit]:
    ours: list[Span] = []
    for statement in _unreadable(text, statements(text)):
        if _apart(statement, within):
            yield _edit(text, statement, _binding(statement.of(text)))
        else:
            ours.append(statement)
    found = definitions(text) if ours else []
    for statement in ours:
        yield from _around(text, statement, found, within)


def _unreadable(text: str, found: Sequence[Span]) -> Iterator[Span]:
    """Yield the statements that cannot be parsed. Bisection is fast, because most statements can be parsed."""
    if not found or parsed(text[found[0].start : found[-1].end]) is not None:
        return
    if len(found) == 1:
        yield found[0]
        return
    middle = len(found) // 2
    yield from _unreadable(text, found[:middle])
    yield from _unreadable(text, found[middle:])


def _around(text: str, statement: Span, found: Sequence[Definition], within: Sequence[Span]) -> Iterator[Edit]:
    """Replace the unreadable lines of `statement`, such as a class, but nothing in `within`."""
    gone: list[Span] = []
    lines = Lines(text)
    for definition in found:
        span = Span(definition.lines[0].start, definition.span.end)
        inside = statement.start <= span.start and span.end <= statement.end
        whole_lines = text[lines.starts[lines.line_at(span.start)] : span.end]
        if inside and _apart(span, [*within, *gone]) and parsed(dedent(whole_lines)) is None:
            gone.append(span)
            yield _edit(text, span, _binding(span.of(text)))
    for line in islice(logical_lines(text, statement.start, statement.end), _MOST_LINES):
        span = Span(line.start, line.code_end)
        header = _HEADER.match(text, span.start)
        is_ours = not _apart(span, within)
        if (is_ours and header is None) or not _apart(span, gone) or _is_readable(text, line):
            continue
        yield _edit(text, span, _binding(span.of(text)) if header is None else _header(header, span.of(text)))


def _apart(span: Span, others: Sequence[Span]) -> bool:
    return all(span.end <= other.start or other.end <= span.start for other in others)


def _is_readable(text: str, line: LogicalLine) -> bool:
    """Return whether a logical line can be parsed on its own."""
    code = text[line.start : line.code_end]
    before = next((before for continues, before in _CONTINUED if continues.match(code)), "")
    after = " pass" if code.endswith(":") else "\ndef f(): pass" if code.startswith("@") else ""
    return parsed(before + code + after) is not None or parsed(f"async def f():\n {code}{after}") is not None


def _names(text: str) -> list[str]:
    code = _NO_CODE.sub(" ", text)
    return [name for name in dict.fromkeys(IDENTIFIER.findall(code)) if not keyword.iskeyword(name)]


def _binding(text: str) -> str:
    """Return an assignment to all names that occur in `text`."""
    return "".join(f"{name} = " for name in _names(text)) + "0"


def _header(header: re.Match[str], text: str) -> str:
    """Return a `def` or `class` header that binds the same name, and all other names in `text`.

    For example, `def f(a=0, b=0):` binds `f`, `a` and `b`.
    """
    names = [name for name in _names(text[header.end() - header.start() :]) if name != header["name"]]
    if header["kind"] == "class":
        return f"{header[0]}({', '.join(f'({name} := object)' for name in names)}):"
    return f"{header[0]}({', '.join(f'{name}=0' for name in names)}):"


def _edit(text: str, span: Span, stand_in: str) -> Edit:
    """Replace `span` by `stand_in`. Blank lines are added to keep the number of lines."""
    return Edit(span.start, span.end, stand_in + "\n" * (len(Lines(span.of(text))) - 1))
