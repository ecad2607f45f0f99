"""Remove the secrets from a module's text, because a recorded conversation may leave the machine."""

from __future__ import annotations

from collections.abc import Set

from adacoder.domain import Edit, Span, Target
from adacoder.privacy.contents import without_secrets
from adacoder.pytext import logical_lines, string_literals
from adacoder.source.surroundings.masking import masked
from adacoder.source.text import apply_edits

_MASKED = ("'…'", '"…"')


def shareable(target: Target) -> str:
    """Return the text of the target's module without secrets and long strings.

    The target and all docstrings are shown, as in prompts. Any triple-quoted string that is a statement counts as a
    docstring. Outside the target, known tokens of services are removed even from docstrings.
    """
    text, hidden = target.text, masked(target.text)
    literals, counterparts = _literals(text), _literals(hidden)
    if len(literals) != len(counterparts):
        return hidden  # If the numbers differ, a string is not closed, and its end is unknown.
    statements = {line.start for line in logical_lines(text)}
    edits = [
        Edit(literal.start, literal.end, counterpart.of(hidden))
        for literal, counterpart in zip(literals, counterparts, strict=True)
        if counterpart.of(hidden) in _MASKED and not _stays(literal, target, statements)
    ]
    own = target.definition
    above = apply_edits(text[: own.start], [edit for edit in edits if edit.end <= own.start])
    below = apply_edits(
        text[own.end :],
        [Edit(edit.start - own.end, edit.end - own.end, edit.text) for edit in edits if edit.start >= own.end],
    )
    return f"{without_secrets(above)}{own.of(text)}{without_secrets(below)}"


def _literals(text: str) -> list[Span]:
    return list(string_literals(text, 0, len(text)))


def _stays(literal: Span, target: Target, statements: Set[int]) -> bool:
    text = target.text
    if target.definition.start <= literal.start < target.definition.end:
        return True
    prefix = text[: literal.start][-2:]
    start = literal.start - len(prefix) + len(prefix.rstrip("rRuU"))
    return literal.of(text).startswith(('"""', "'''")) and start in statements
