"""Read the values of string literals, and map each line of a value to its line in the source.

Python's own parser does not report these lines, and rejects some escapes.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from adacoder.domain import Span
from adacoder.pytext import normalize, skip_string

_PREFIX = re.compile(r"[rRuU]?(?=['\"])")
_FILLER = re.compile(r"(?:[ \t\f\r\n()]|\\(?=[\r\n])|#[^\r\n]*)*")
"""White space, brackets and comments around adjacent literals."""
_MARK = re.compile(
    r"\\(?:[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U(?:000[0-9a-fA-F]|0010)[0-9a-fA-F]{4}|N\{[^}\n\\]{1,100}\}|.)|\n",
    re.DOTALL,
)
_CONTROLS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\n": ""}
_CONTROLS.update(dict(zip("\\'\"", "\\'\"", strict=True)))


@dataclass(frozen=True, slots=True)
class Literal:
    """The value of a string literal, and the source lines of the value."""

    value: str
    r"""The value that Python would compute, with `\n` line endings. Invalid escapes stay unchanged."""
    lines: tuple[int, ...]
    """For each line of the value, the 0-based line of the literal on which it begins."""


def read_literal(literal: str) -> Literal:
    """Read a `str` literal, including its quotes and prefix. Adjacent literals are joined, as in Python.

    Raises:
        ValueError: `literal` is not a string literal.
    """
    text = normalize(literal)
    values, lines = [""], [0]
    above = counted = 0
    for part in literal_parts(text):
        above += text.count("\n", counted, part.start)
        counted = part.start
        read = _read(part.of(text))
        first, *rest = (above + line for line in read.lines)
        if not values[-1] or values[-1].endswith("\n"):
            lines[-1] = first
        lines += rest
        if read.value:
            values.append(read.value)
    return Literal("".join(values), tuple(lines))


def literal_parts(literal: str) -> list[Span]:
    """Return the span of each of the adjacent string literals in `literal`, with prefixes and quotes.

    Raises:
        ValueError: the text contains anything else, or no literal.
    """
    parts: list[Span] = []
    start = _past_filler(literal, 0)
    while start < len(literal):
        prefix = _PREFIX.match(literal, start)
        end, is_closed = skip_string(literal, prefix.end()) if prefix else (start, False)
        if not is_closed:
            break
        parts.append(Span(start, end))
        start = _past_filler(literal, end)
    if not parts or start < len(literal):
        raise ValueError(f"{literal!r} is not a string literal")
    return parts


def _past_filler(text: str, position: int) -> int:
    match = _FILLER.match(text, position)
    return match.end() if match else position


def _read(literal: str) -> Literal:
    prefix = literal[: len(literal) - len(literal.lstrip("rRuU"))]
    quotes = 3 if literal.startswith(("'''", '"""'), len(prefix)) else 1
    content = literal[len(prefix) + quotes : -quotes]
    if "r" in prefix.lower():
        return Literal(content, tuple(range(content.count("\n") + 1)))
    parts: list[str] = []
    lines = [0]
    line = done = 0
    is_begun = False  # True once the current line of the value contains text.
    for mark in _MARK.finditer(content):
        before, meaning = content[done : mark.start()], _meaning(mark.group())
        parts += [before, meaning]
        line += mark.group().endswith("\n")
        is_begun = is_begun or bool(before.strip(" \t"))
        if meaning == "\n":
            lines.append(line)
            is_begun = False
        elif meaning:
            is_begun = True
        elif not is_begun:
            lines[-1] = line  # The line of the value begins after this escaped line ending.
        done = mark.end()
    return Literal("".join([*parts, content[done:]]), tuple(lines))


def _meaning(mark: str) -> str:
    if mark == "\n":
        return mark
    kind, rest = mark[1], mark[2:]
    if kind in _CONTROLS:
        return _CONTROLS[kind]
    if kind in "01234567":
        return chr(int(mark[1:], 8))
    if kind in "xuU" and rest:
        return chr(int(rest, 16))
    if kind == "N" and rest:
        try:
            return unicodedata.lookup(rest[1:-1])
        except KeyError:
            return mark
    return mark
