"""The text of a module as it may leave the machine in a recorded conversation."""

from __future__ import annotations

from collections.abc import Set

from adacoder.domain import Span, Target
from adacoder.pytext import logical_lines, string_literals
from adacoder.source.surroundings.concealed import shown

_CONCEALED = ("'…'", '"…"')


def shareable(target: Target) -> str:
    """The whole text of the target's module, without the strings that no prompt may show either.

    What a prompt shows stays: the target, and docstrings, which are what begins a statement with three quotes. All
    else is as it was, line ends too.
    """
    text, concealed = target.text, shown(target.text)
    literals, counterparts = _literals(text), _literals(concealed)
    if len(literals) != len(counterparts):
        return concealed  # strings that are not closed, so that nobody knows where they end
    statements = {line.start for line in logical_lines(text)}
    parts: list[str] = []
    done = 0
    for literal, counterpart in zip(literals, counterparts, strict=True):
        if counterpart.of(concealed) in _CONCEALED and not _stays(literal, target, statements):
            parts += [text[done : literal.start], counterpart.of(concealed)]
            done = literal.end
    return "".join([*parts, text[done:]])


def _literals(text: str) -> list[Span]:
    return list(string_literals(text, 0, len(text)))


def _stays(literal: Span, target: Target, statements: Set[int]) -> bool:
    text = target.text
    if target.definition.start <= literal.start < target.definition.end:
        return True
    prefix = text[: literal.start][-2:]
    start = literal.start - len(prefix) + len(prefix.rstrip("rRuU"))
    return literal.of(text).startswith(('"""', "'''")) and start in statements
