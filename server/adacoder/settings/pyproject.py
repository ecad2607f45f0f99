"""Read a project's pyproject.toml. Its author may be hostile, so the size and the nesting are limited."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from adacoder.privacy.access import Access
from adacoder.privacy.private_names import Wishes
from adacoder.project import pyproject_file

_MOST_BYTES = 512 * 1024
"""Maximum size of a pyproject.toml in bytes. Well-known projects need at most a tenth of this."""
_MOST_PARTS = 32
"""Maximum number of parts of a dotted key."""
_DEEPEST = 32
"""Maximum depth of nested brackets."""
_STRING_OR_COMMENT = re.compile(
    r"""\"{3}[^"\\]*(?:(?:\\(?:.|\Z)|"{1,2}(?!"))[^"\\]*)*(?:"{3,5}|\Z)|'{3}[^']*(?:'{1,2}(?!')[^']*)*(?:'{3,5}|\Z)"""
    r"""|"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"?|'[^'\n]*'?|\#[^\n]*""",
    re.DOTALL,
)
"""Matches a string or a comment in TOML. An unclosed string extends to the end of its line; an unclosed multi-line
string extends to the end of the text.
"""
_NO_MARKS = re.compile(r"[^.=,\[\]{}\n]++")
_DECLARES = re.compile(r".*dependencies|dependency-groups")
"""Matches the keys under which dependencies are listed, by the standard and by Poetry, uv, PDM, Hatch and Pixi."""
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)\s*(?:$|[\[(;<>=!~@])")
"""Matches the name at the start of a PEP 508 requirement."""
_DECLARES_TOO = re.compile(r"requirements|setup\.(?:py|cfg)$|pipfile|environment.*\.ya?ml$|pixi\.toml$", re.IGNORECASE)
"""Matches the names of other files that may declare dependencies."""


def project_tools(folder: Path, top: Path | None) -> Mapping[str, object]:
    """Return the `[tool.*]` tables of the nearest pyproject.toml up to `top`; empty if it cannot be read."""
    path = pyproject_file(folder, top)
    try:
        return {} if path is None else tables(path)
    except (OSError, ValueError, RecursionError):
        return {}


def tables(path: Path) -> Mapping[str, object]:
    """Return the `[tool.*]` tables of a pyproject.toml.

    Raises:
        OSError: the file cannot be read, is not a regular file of the project, or is too large.
        ValueError, RecursionError: the file is not valid TOML, or is too deeply nested, or has too long a number.
    """
    return tables_in(read_own(path))


def tables_in(text: str) -> Mapping[str, object]:
    """Return the `[tool.*]` tables in the text of a pyproject.toml.

    Raises:
        ValueError, RecursionError: the same as for `tables`.
    """
    tools = tomllib.loads(_readable(text)).get("tool", {})
    return tools if isinstance(tools, dict) else {"adacoder": None}


def declared_dependencies(folder: Path, top: Path | None) -> frozenset[str] | None:
    """Return the dependencies that the nearest pyproject.toml up to `top` declares.

    Returns: normalised names, without the project itself; None if other files may declare more.
    """
    path = pyproject_file(folder, top)
    try:
        if path is None or any(_DECLARES_TOO.match(beside.name) for beside in path.parent.iterdir()):
            return None
        return _declared(document(path))
    except (OSError, ValueError, RecursionError):
        return None


def _declared(document: Mapping[str, object]) -> frozenset[str] | None:
    tools = document.get("tool")
    projects = [document.get("project"), tools.get("poetry") if isinstance(tools, dict) else None]
    tables = [table for table in projects if isinstance(table, dict)]
    if not tables or any("dependencies" in str(table.get("dynamic")) for table in tables):
        return None
    found = [_REQUIREMENT.match(text) for text in _requirements(document)]
    names = frozenset(normalised(match[1]) for match in found if match is not None)
    return None if None in found else names - {normalised(str(table.get("name"))) for table in tables}


def normalised(distribution: str) -> str:
    """Normalise the name of a distribution as in PEP 503."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _requirements(table: Mapping[str, object]) -> Iterator[str]:
    """Yield the requirements in all dependency lists and tables below `table`."""
    for key, value in table.items():
        if not _DECLARES.fullmatch(key):
            yield from _requirements(value) if isinstance(value, dict) else ()
            continue
        for name, wanted in (value if isinstance(value, dict) else {"": value}).items():
            texts = [each for each in wanted if isinstance(each, str)] if isinstance(wanted, list) else []
            yield from texts or ([name] if name else [])


def document(path: Path) -> Mapping[str, object]:
    """Return the contents of a TOML file.

    Raises:
        OSError, ValueError, RecursionError: as `tables`.
    """
    return tomllib.loads(_readable(read_own(path)))


def read_own(path: Path) -> str:
    """Read the text of a project's configuration, even if it contains a secret and is hidden from models and code.

    All other functions read such a file through this one.

    Raises:
        OSError: the file cannot be read, is not a regular file of the project, or is too large.
        ValueError: the file is not UTF-8.
    """
    return Access([path.parent], Wishes(show=(path.name,))).read(path, most=_MOST_BYTES).decode("utf-8")


def words(value: object) -> list[str]:
    """Return the words of a list in pytest's configuration, which may also be a string."""
    parts = value.replace(",", " ").split() if isinstance(value, str) else value
    return [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else []


def _readable(text: str) -> str:
    """Return `text` if tomllib can parse it fast.

    Long dotted keys take quadratic memory in tomllib, and nested brackets take its stack, so both are limited.

    Raises:
        ValueError: a key has too many parts, or brackets are nested too deeply.
    """
    marks = _NO_MARKS.sub("", _STRING_OR_COMMENT.sub("", text))
    if "." * _MOST_PARTS in marks:
        raise ValueError(f"a key has more than {_MOST_PARTS} parts")
    depth = 0
    for mark in marks:
        depth += (mark in "[{") - (mark in "]}")
        if depth > _DEEPEST:
            raise ValueError(f"brackets are nested more than {_DEEPEST} deep")
    return text
