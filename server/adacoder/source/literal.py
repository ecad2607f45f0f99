"""The value of a string literal, and where each of its lines stands.

Read here and not by our own Python: that would call some escapes a mistake, and it does not say which line of the
file a line of the value comes from.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from adacoder.pytext import normalize

_LITERAL = re.compile(r"(?P<prefix>[rRuU]*)(?P<quote>'''|\"\"\"|'|\")(?P<content>.*)(?P=quote)", re.DOTALL)
_MARK = re.compile(
    r"\\(?:[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U(?:000[0-9a-fA-F]|0010)[0-9a-fA-F]{4}|N\{[^}\n]+\}|.)|\n",
    re.DOTALL,
)
_CONTROLS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\n": ""}
_CONTROLS.update(dict(zip("\\'\"", "\\'\"", strict=True)))


@dataclass(frozen=True, slots=True)
class Literal:
    """A string literal as it was read."""

    value: str
    """Its value, as Python gives it: lines end with `\\n`; an escape that Python does not know stays as it is."""
    lines: tuple[int, ...]
    """For each line of the value, cut at `\\n`, the line of the literal that it begins on, from 0."""


def read_literal(literal: str) -> Literal:
    """Read a literal of a `str`, quotes and prefix included.

    Raises:
        ValueError: it is something else.
    """
    match = _LITERAL.fullmatch(normalize(literal))
    if match is None:
        raise ValueError(f"{literal!r} is no string literal")
    content = match["content"]
    if "r" in match["prefix"].lower():
        return Literal(content, tuple(range(content.count("\n") + 1)))
    parts: list[str] = []
    lines = [0]
    line = begin = done = 0
    for mark in _MARK.finditer(content):
        meaning = _meaning(mark.group())
        parts += [content[done : mark.start()], meaning]
        line += mark.group().endswith("\n")
        if meaning == "\n":
            lines.append(line)
            begin = mark.end()
        elif not meaning and not content[begin : mark.start()].strip(" \t"):
            lines[-1], begin = line, mark.end()  # nothing of this line came before it was continued
        done = mark.end()
    return Literal("".join([*parts, content[done:]]), tuple(lines))


def _meaning(mark: str) -> str:
    """What an escape, or a line's end, stands for."""
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
