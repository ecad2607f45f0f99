"""A project's pyproject.toml, which anybody may have written: no more of it is read than is good for our process."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from adacoder.privacy.access import Access
from adacoder.project import pyproject_file

_MOST_BYTES = 512 * 1024
"""Longest pyproject.toml, in bytes; the longest of well-known projects have a tenth."""
_MOST_PARTS = 32
"""Most parts of a dotted key."""
_DEEPEST = 32
"""Brackets within brackets."""
_STRING_OR_COMMENT = re.compile(
    r"""\"{3}[^"\\]*(?:(?:\\(?:.|\Z)|"{1,2}(?!"))[^"\\]*)*(?:"{3,5}|\Z)|'{3}[^']*(?:'{1,2}(?!')[^']*)*(?:'{3,5}|\Z)"""
    r"""|"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"?|'[^'\n]*'?|\#[^\n]*""",
    re.DOTALL,
)
"""Strings and comments of TOML. An unclosed one extends as far as it could reach."""
_NO_MARKS = re.compile(r"[^.=,\[\]{}\n]++")


def project_tools(folder: Path, top: Path | None) -> Mapping[str, object]:
    """Read the `[tool.*]` tables of the nearest pyproject.toml up to `top`; none where it cannot be read."""
    path = pyproject_file(folder, top)
    try:
        return {} if path is None else tables(path)
    except (OSError, ValueError, RecursionError):
        return {}


def tables(path: Path) -> Mapping[str, object]:
    """Read the `[tool.*]` tables of a pyproject.toml.

    Raises:
        OSError: as of `_read`.
        ValueError, RecursionError: what TOML excludes, and numbers that are too long for Python.
    """
    tools = tomllib.loads(_readable(_read(path))).get("tool", {})
    return tools if isinstance(tools, dict) else {"adacoder": None}


def _read(path: Path) -> str:
    """The text of a project's pyproject.toml. No other function opens that file.

    Raises:
        OSError: it cannot be read, is not a regular file of the project, or is too large.
        ValueError: it is not UTF-8.
    """
    return Access([path.parent]).read(path, most=_MOST_BYTES).decode("utf-8")


def _readable(text: str) -> str:
    """`text`, if tomllib reads it in time and memory that grow only as it does.

    For every part of a dotted key tomllib keeps all the parts before it, and it calls itself for every bracket.

    Raises:
        ValueError: a key has too many parts, or brackets stand too deep in each other.
    """
    marks = _NO_MARKS.sub("", _STRING_OR_COMMENT.sub("", text))
    if "." * _MOST_PARTS in marks:
        raise ValueError(f"a key has more than {_MOST_PARTS} parts")
    depth = 0
    for mark in marks:
        depth += (mark in "[{") - (mark in "]}")
        if depth > _DEEPEST:
            raise ValueError(f"brackets stand more than {_DEEPEST} deep in each other")
    return text
