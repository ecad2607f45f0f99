"""Transcripts of code: from a typesetter, a session, a listing with line numbers, or a web page.

Each step is a filter, as in `filters.py`, and is tried only on text that is not yet Python.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from adacoder.replies.filters import Filter, filtered


def readable(code: str) -> str:
    """Return `code` as Python expects it: without line numbers, prompts and typographic characters."""
    return filtered(code, (*TRANSCRIBING, without_prompts))


_SPACES = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_FULL_WIDTH = range(0xFF01, 0xFF5F)
"""Full-width forms of `!` to `~`, as wide as a Chinese character."""
_TYPESET = str.maketrans(
    {
        **dict.fromkeys(_SPACES, " "),
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", ""),
        **dict.fromkeys("\u2028\u2029\u0085\x0b", "\n"),
        **dict.fromkeys("\u2212\u2010\u2011\u2013\u2014", "-"),
        **dict.fromkeys("“”„", '"'),
        **dict.fromkeys("‘’‚", "'"),
        **{chr(code): chr(code - 0xFEE0) for code in _FULL_WIDTH},
        "×": "*",
        "÷": "/",
        "≤": "<=",
        "≥": ">=",
        "≠": "!=",
        "→": "->",
        "…": "...",
    }
)
_IS_TYPESET = re.compile("[" + "".join(map(chr, _TYPESET)) + "]")
_STRING_OR_COMMENT = (
    r"""\"{3}[^"\\]*(?:(?:\\(?:.|\Z)|"{1,2}(?!"))[^"\\]*)*(?:"{3}|\Z)"""
    r"""|'{3}[^'\\]*(?:(?:\\(?:.|\Z)|'{1,2}(?!'))[^'\\]*)*(?:'{3}|\Z)"""
    r"""|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*'|\#[^\n]*"""
)
"""Pattern of a string or a comment, for `re.DOTALL`."""
_STRINGS_COMMENTS_AND_TYPESET = re.compile(
    rf"""(?P<kept>{_STRING_OR_COMMENT})"""
    r"""|(?P<triples>[“”]{3}|[‘’]{3})"""
    r"""|[“”„](?P<double>[^“”„"\n]*+)[“”]"""
    r"""|[‘’‚](?P<single>[^‘’‚'\n]*+)[‘’]"""
    rf"""|(?P<character>{_IS_TYPESET.pattern})""",
    re.DOTALL,
)


def with_plain_characters(code: str) -> str:
    """Replace typographic quotes, operators, spaces and invisible characters in `code` by Python's own.

    Strings and comments keep theirs. Elsewhere no Python accepts such characters.
    """
    return _STRINGS_COMMENTS_AND_TYPESET.sub(_plain, code) if _IS_TYPESET.search(code) else code


def _plain(match: re.Match[str]) -> str:
    if match["kept"] is not None:
        return match["kept"]
    if match["double"] is not None:
        return f'"{match["double"]}"'
    if match["single"] is not None:
        return f"'{match['single']}'"
    return match[0].translate(_TYPESET)


_DEFINES = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+\w+", re.MULTILINE)
_PROMPT = r"(?:>>>|\.\.\.|In \[\d+\]:|\.{3,}:)"
_PROMPTED_DEFINITION = re.compile(r"^[ \t]*(?:>>>|In \[\d+\]:) ?(?:async[ \t]+def|def|class|@)", re.MULTILINE)
_PROMPTED = re.compile(rf"^[ \t]*{_PROMPT}(?: (?P<code>.*))?$", re.MULTILINE)


def without_prompts(code: str) -> str:
    """Return the statements of an interactive session that defines something, without prompts and output.

    None of 7,037 recorded replies holds a session, but chats with a pasted session do.
    """
    if not _PROMPTED_DEFINITION.search(code) or _DEFINES.search(code):
        return code
    return "\n".join(match["code"] or "" for match in _PROMPTED.finditer(code))


_NUMBERED = re.compile(r"[ \t]*L?(?P<number>\d{1,6})(?P<mark>[ \t]*[|│:.)→]|(?=[ \t]|$))(?P<space>[ \t]*)(?P<code>.*)")
_NUMBERED_DEFINITION = re.compile(r"^[ \t]*L?\d+(?:[ \t]*[|│:.)→])?[ \t]*(?:async[ \t]+)?def[ \t]+\w+", re.MULTILINE)


def without_line_numbers(code: str) -> str:
    """Remove the line numbers of a listing, if they count up by one and a function is defined in it."""
    if not _NUMBERED_DEFINITION.search(code):
        return code
    lines: list[str] = []
    for run in _counted(code.split("\n")):
        lines += _unnumbered(run)
    return "\n".join(lines)


def _counted(lines: list[str]) -> Iterator[list[str | re.Match[str]]]:
    """Split `lines` into runs of numbered lines that count up, and into single other lines."""
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


_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#39|#x27|#34);")
_STRINGS_COMMENTS_AND_ENTITIES = re.compile(rf"{_STRING_OR_COMMENT}|(?P<entity>{_ENTITY.pattern})", re.DOTALL)


def without_entities(code: str) -> str:
    """Unescape HTML entities such as `&lt;` in `code`, if any is outside of strings and comments."""
    if not _ENTITY.search(code):
        return code
    outside = any(match["entity"] for match in _STRINGS_COMMENTS_AND_ENTITIES.finditer(code))
    return html.unescape(code) if outside else code


_GLUED = re.compile(
    r"^(?P<code>[ \t]+\S.*[\])}\"'])(?P<next>(?:import [\w.]+|from [\w.]+ import [\w*]+)(?: as \w+|, ?[\w.]+)*)[ \t]*$",
    re.MULTILINE,
)


def with_files_apart(code: str) -> str:
    """Put an import that directly follows a statement on its own line.

    Another file begins there, and the token between the two files was lost.
    """
    return _GLUED.sub(r"\g<code>\n\g<next>", code)


TRANSCRIBING: tuple[Filter, ...] = (
    without_line_numbers,
    with_plain_characters,
    without_entities,
    with_files_apart,
)
"""Filters for a piece of code, applied in this order until it is Python."""
