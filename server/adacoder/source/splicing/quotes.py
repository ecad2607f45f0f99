"""String literals in the quotes that a file uses."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from adacoder.pytext import parsed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adacoder.domain import Target

_TOKEN = re.compile(
    r"#[^\r\n]*"
    r"|(?P<triple>'''|\"\"\")(?:[^\\]|\\.)*?(?:(?P=triple)|\Z)"
    r"|(?P<quote>['\"])(?P<content>(?:\\(?:\r\n|.)|(?!(?P=quote))[^\\\r\n])*)(?P=quote)",
    re.DOTALL,
)
_PLAIN = re.compile(r"[^'\"\\]*")
"""The inside of a literal that could as well stand in the other quotes."""
_ENOUGH = 2
"""So many literals show what a file's quotes are."""


@lru_cache(maxsize=8)
def own_quote(target: Target) -> str | None:
    """The quote of all literals around `target` that could have either; None where they differ, or are too few to
    tell."""
    counts: Counter[str] = Counter()
    for part in (target.text[: target.body.start], target.text[target.body.end :]):
        counts.update(match["quote"] for match in _literals(part) if not _stands_alone(part, match))
    return next(iter(counts)) if len(counts) == 1 and counts.total() >= _ENOUGH else None


def requoted(text: str, quote: str) -> str:
    """`text` with the literals in `quote` that could as well have it; as it was unless its syntax tree stays the
    same, as our own Python reads it."""
    parts, done = list[str](), 0
    for match in _literals(text):
        parts += [text[done : match.start()], f"{quote}{match['content']}{quote}"]
        done = match.end()
    changed = "".join([*parts, text[done:]])
    if changed == text:
        return text
    before, after = parsed(text), parsed(changed)
    same = before is not None and after is not None and ast.dump(before) == ast.dump(after)
    return changed if same else text


def _literals(text: str) -> Iterator[re.Match[str]]:
    for match in _TOKEN.finditer(text):
        if match["quote"] is not None and _PLAIN.fullmatch(match["content"]):
            yield match


def _stands_alone(text: str, match: re.Match[str]) -> bool:
    """Whether the literal has its lines for itself, as a docstring has."""
    before = text[max(text.rfind("\n", 0, match.start()), text.rfind("\r", 0, match.start())) + 1 : match.start()]
    return not before.strip(" \t\frRuU") and text[match.end() : match.end() + 1] in ("", "\r", "\n")
