"""Find the comments in a stub's body. They say how to write the function, so the new body keeps them."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING

from adacoder.pytext import Lines, line_ending, normalize, string_interiors, string_literals
from adacoder.source.indentation import WHITE

if TYPE_CHECKING:
    from collections.abc import Set

    from adacoder.domain import Target

_COMMENT = re.compile(r"#[^\r\n]*")
_FOR_A_TOOL = re.compile(
    r"#[ \t]*(?:(?:noqa|nosec|nosonar)\b|(?:pragma|type|pyright|mypy|pylint|flake8|ruff|fmt|isort)[ \t]*:)",
    re.IGNORECASE,
)
"""Matches a comment for a tool, such as `# noqa`."""


def remarks(target: Target) -> tuple[str, ...]:
    """Return the comments in the body of `target`; empty if `target` is not a stub."""
    return tuple(text.rstrip(WHITE) for text in _comments(target).values())


def kept(target: Target, indent: str) -> str:
    """Return the text of a stub's comments, to be put before the new body.

    Blank lines above a comment are kept. A comment after code moves to its own line, at `indent`.
    """
    comments = _comments(target)
    lines = Lines(target.body.of(target.text))
    found, end = "", line_ending(target.text)
    for index in range(max(comments, default=-1) + 1):
        content = lines.text[lines.starts[index] : lines.end(index)]
        is_whole = content.lstrip(WHITE)[:1] in ("", "#") and index > 0
        if is_whole or index in comments:
            found += end + (content if is_whole else indent + comments[index])
        end = lines[index][len(content) :]
    return found and found + end


def without(text: str, comments: Set[str]) -> str:
    r"""Remove the lines of `text` that contain only a comment from `comments`.

    Line endings of `text` must be `\n`.
    """
    if not any(comment in text for comment in comments):
        return text
    lines, inside = Lines(text), string_interiors(text)
    left = (lines[index] for index in range(len(lines)) if index in inside or lines[index].strip() not in comments)
    return "".join(left)


def has_all_but_comments(old: str, new: str) -> bool:
    """Return whether the body `new` equals the body `old` without the comments above its code.

    Blank lines do not count.
    """
    above = {line.strip() for line in takewhile(_is_no_code, normalize(old).split("\n"))} - {""}
    return bool(above) and _code(old, above) == _code(new, above)


def _is_no_code(line: str) -> bool:
    return line.strip()[:1] in ("", "#")


def _code(text: str, comments: Set[str]) -> list[str]:
    """Return the lines of `text` without `comments` and blank lines. Blank lines inside strings are kept."""
    lines = without(normalize(text), comments).split("\n")
    inside = string_interiors("\n".join(lines))
    return [line for index, line in enumerate(lines) if index in inside or line.strip()]


def _comments(target: Target) -> dict[int, str]:
    """Return the comments in a stub's body, by line number in the body.

    A comment for a tool, such as `# noqa`, is left out if it follows code.
    """
    region = target.body.of(target.text)
    if not target.is_stub or "#" not in region:
        return {}
    code = list(region)
    for string in string_literals(region, 0, len(region)):
        code[string.start : string.end] = " " * (string.end - string.start)
    lines = Lines(region)
    found = [(lines.line_at(match.start()), match) for match in _COMMENT.finditer("".join(code))]
    return {
        line: match.group()
        for line, match in found
        if not (_FOR_A_TOOL.match(match.group()) and region[lines.starts[line] : match.start()].strip(WHITE))
    }
