"""Extract code from an interactive session or from a listing with line numbers.

The filters are applied only to text that AdaCoder's Python cannot parse. None of 7,037 recorded replies needs them, but
chats with pasted code may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from adacoder.replies.filters import Filter, filtered


def readable(code: str) -> str:
    """Return `code` without line numbers and prompts."""
    return filtered(code, FILTERS)


_DEFINES = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+\w+", re.MULTILINE)
_PROMPT = r"(?:>>>|\.\.\.|In \[\d+\]:|\.{3,}:)"
_PROMPTED_DEFINITION = re.compile(r"^[ \t]*(?:>>>|In \[\d+\]:) ?(?:async[ \t]+def|def|class|@)", re.MULTILINE)
_PROMPTED = re.compile(rf"^[ \t]*{_PROMPT}(?: (?P<code>.*))?$", re.MULTILINE)


def without_prompts(code: str) -> str:
    """Return the statements of a session without prompts and output. If the session defines nothing, return `code`."""
    if not _PROMPTED_DEFINITION.search(code) or _DEFINES.search(code):
        return code
    return "\n".join(match["code"] or "" for match in _PROMPTED.finditer(code))


_NUMBERED = re.compile(r"[ \t]*L?(?P<number>\d{1,6})(?P<mark>[ \t]*[|│:.)→]|(?=[ \t]|$))(?P<space>[ \t]*)(?P<code>.*)")
_NUMBERED_DEFINITION = re.compile(r"^[ \t]*L?\d+(?:[ \t]*[|│:.)→])?[ \t]*(?:async[ \t]+)?def[ \t]+\w+", re.MULTILINE)


def without_line_numbers(code: str) -> str:
    """Remove line numbers that count up by one from a listing that defines a function."""
    if not _NUMBERED_DEFINITION.search(code):
        return code
    lines: list[str] = []
    for run in _counted(code.split("\n")):
        lines += _unnumbered(run)
    return "\n".join(lines)


def _counted(lines: list[str]) -> Iterator[list[str | re.Match[str]]]:
    """Group consecutive lines with consecutive line numbers. A line without a number is a group of its own."""
    run: list[str | re.Match[str]] = []
    expected = -1
    for line in lines:
        match = _NUMBERED.fullmatch(line)
        number = -1 if match is None else int(match["number"])
        if run and (match is None or number != expected):
            yield run
            run = []
        if match is None:
            yield [line]
        else:
            run.append(match)
            expected = number + 1
    if run:
        yield run


def _unnumbered(run: list[str | re.Match[str]]) -> list[str]:
    matches = [each for each in run if isinstance(each, re.Match)]
    if len(matches) < 2 or not any(_DEFINES.match(match["code"]) for match in matches):
        return [each if isinstance(each, str) else each[0] for each in run]
    filled = [match for match in matches if match["code"]]
    width = min(len(match["space"]) for match in filled)
    return [match["space"][width:] + match["code"] if match["code"] else "" for match in matches]


FILTERS: tuple[Filter, ...] = (without_line_numbers, without_prompts)
"""Filters for a piece of code, in the order in which `readable` applies them."""
