"""Find the ends of string literals, even in broken text.

An unclosed string ends with its line. If a triple quote is missing, the next triple quote in the text opens another
string and does not close this one. So a string of several lines is closed only if the text after the quote may be
Python.
"""

from __future__ import annotations

import keyword
import re
import sys
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache

from adacoder.domain import Span
from adacoder.pytext.lines import LINE_END, content_end, indent_width

_QUOTE_OR_COMMENT = re.compile(r"['\"#]")
_SHORT = {
    quote: re.compile(rf"{quote}[^{quote}\\\r\n]*(?:\\(?:\r\n|.)[^{quote}\\\r\n]*)*", re.DOTALL) for quote in "'\""
}
"""Matches a string with single quotes or double quotes, up to the closing quote or the end of its line."""
_WHITE = re.compile(r"[ \t\f]*")
_FORMATTED_LAST = frozenset("fFtTrR")
_FORMATTED_PREFIX = re.compile(r"(?:\A|\W)(?:[fFtT][rR]?|[rR][fFtT])\Z")
_WORD = rf"(?!(?:{'|'.join(keyword.kwlist)})\b)[^\W\d]\w*"
"""A name that is not a keyword."""
_TEXT_AFTER = re.compile(rf"[ \t\f]*(?:(?![rbuftRBUFT]{{1,2}}['\"]){_WORD}|>>>)")
"""Matches text that cannot follow a string in code: a name, or doctest's prompt."""
_TEXT_BELOW = re.compile(
    rf"[ \t\f]*(?:\r\n|\r|\n)\s*(?:>>>|(?!(?:match|case|type|print|exec)\b){_WORD}(?:[ \t]+{_WORD}|\.[ \t\f]*[\r\n]))"
)
"""Matches a line end and prose below: a prompt, two names in a row, or a name and a full stop."""

_FORMATTED_STOP = re.compile(r"\\N\{[^}\r\n]*\}|\\(?:\r\n|[^{])|\{\{|['\"{\r\n]", re.DOTALL)
"""Matches an escape, brace, quote or line end in the fixed text of a formatted string."""
_DEEPEST = 6
"""Maximum nesting of formatted strings and format specifications."""
_LONGEST_FIELD = 150
"""Maximum characters of a replacement field that may contain the quotes of its string."""
_LONGEST_FORMATTED = 2_000
"""Maximum characters of a formatted string whose fields may contain its own quotes."""
_FEW = 16
"""Number of escaped quotes to skip one by one. After these, all quotes of the text are found at once."""
_FIELD_STOP = re.compile(r"['\"#()\[\]{}:\r\n]")
_FORMAT_STOP = re.compile(r"['\"{}\r\n]")


def skip_string(text: str, quote_at: int) -> tuple[int, bool]:
    """Return the offset just past the string literal that opens at `quote_at`, and whether the literal is closed.

    As in Python, a backslash before a quote prevents the end of a string, even in raw strings.
    """
    closing = _quotes(text, quote_at)
    is_formatted = _is_formatted(text, quote_at)
    end = _formatted_end(text, quote_at, closing, quote_at + _LONGEST_FORMATTED) if is_formatted else None
    if end is None:
        end = _plain_end(text, quote_at, closing)
    if len(closing) == 1:
        return (end, True) if end is not None else (_short_stop(text, quote_at), False)
    if end is None or _opens_another(text, quote_at, end):
        return content_end(text, quote_at), False
    return end, True


def string_literals(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the string literals between two offsets, without their prefixes.

    The offset `start` must be outside strings and comments.
    """
    position = start
    while match := _QUOTE_OR_COMMENT.search(text, position, end):
        if match.group() == "#":
            position = content_end(text, match.start())
        else:
            position, _ = skip_string(text, match.start())
            yield Span(match.start(), position)


def long_strings(text: str, end: int) -> list[Span]:
    """Return the triple-quoted strings that begin before `end`, without their prefixes.

    Only lines with triple quotes are read, which is much faster than reading the whole text.
    """
    found: list[Span] = []
    position = 0
    double, single = text.find('"""', 0, end), text.find("'''", 0, end)
    while double >= 0 or single >= 0:
        quotes_at = double if single < 0 or 0 <= double < single else single
        literal = _literal_around(text, position, quotes_at)
        if literal is not None and literal.start == quotes_at:
            found.append(literal)
        position = content_end(text, quotes_at) if literal is None else literal.end
        if 0 <= double < position:
            double = text.find('"""', position, end)
        if 0 <= single < position:
            single = text.find("'''", position, end)
    return found


def leaves_string_open(text: str) -> bool:
    """Return whether a triple-quoted string in `text` is never closed."""
    return any(not skip_string(text, literal.start)[1] for literal in long_strings(text, len(text)))


def _literal_around(text: str, start: int, quotes_at: int) -> Span | None:
    """Return the string that contains the triple quote at `quotes_at`; None if the quote is in a comment.

    It is the first triple quote after `start`, an offset outside strings and comments.
    """
    line_start = begin = _line_start(text, start, quotes_at)
    while begin > start and is_continued(text, begin):
        begin = _line_start(text, start, begin - 2)
    if begin == line_start and not _QUOTE_OR_COMMENT.search(text, begin, quotes_at):
        return Span(quotes_at, skip_string(text, quotes_at)[0])
    return next((each for each in string_literals(text, begin, quotes_at + 1) if each.end > quotes_at), None)


def _line_start(text: str, least: int, offset: int) -> int:
    """Return the start of the line at `offset`; if the line starts before `least`, return `least`."""
    return max(least, text.rfind("\n", least, offset) + 1, text.rfind("\r", least, offset) + 1)


def is_continued(text: str, line_start: int) -> bool:
    """Return whether the line above the line at `line_start` ends in a backslash."""
    return text[max(line_start - 3, 0) : line_start].endswith(("\\\n", "\\\r", "\\\r\n"))


def _quotes(text: str, quote_at: int) -> str:
    """Return the one or three quotes that close the string at `quote_at`."""
    quote = text[quote_at]
    return quote * 3 if text.startswith(quote * 3, quote_at) else quote


def _plain_end(text: str, quote_at: int, closing: str, limit: int = sys.maxsize) -> int | None:
    """Return the offset just past a string without replacement fields; None if it is not closed before `limit`."""
    if len(closing) == 1:
        stop = _short_stop(text, quote_at, limit)
        return stop + 1 if text.startswith(closing, stop) else None
    position = quote_at + 3
    for _ in range(_FEW):
        at = text.find(closing, position, limit)
        if at < 0:
            return None
        if text[at - 1] != "\\" or _is_even(text, position, at):
            return at + 3
        position = at + 1
    closings = _closings(text, closing)
    index = bisect_left(closings, position)
    return closings[index] + 3 if index < len(closings) and closings[index] + 3 <= limit else None


@lru_cache(maxsize=4)
def _closings(text: str, closing: str) -> tuple[int, ...]:
    """Return the offsets of each unescaped `closing` in `text`."""
    found = re.finditer(rf"\\.|(?={closing})", text, re.DOTALL)
    return tuple(match.start() for match in found if not match.group())


def _short_stop(text: str, quote_at: int, limit: int = sys.maxsize) -> int:
    """Return the offset of the closing quote of a string that is not triple-quoted.

    If the string is unclosed, return the end of its line.
    """
    match = _SHORT[text[quote_at]].match(text, quote_at, limit)
    return match.end() if match else quote_at + 1


def _is_even(text: str, least: int, end: int) -> bool:
    begin = end
    while begin > least and text[begin - 1] == "\\":
        begin -= 1
    return (end - begin) % 2 == 0


def _opens_another(text: str, start: int, end: int) -> bool:
    """Return whether the triple quote before `end` opens a new string, because the string at `start` was not closed.

    This is assumed only if the text after `end` cannot be Python.
    """
    if text[end : end + 1] not in "\r\n" and _TEXT_AFTER.match(text, end):
        return text.find("\n", start, end) >= 0 or text.find("\r", start, end) >= 0
    return _is_first_of_block(text, start, end - 3) and _TEXT_BELOW.match(text, end) is not None


def _is_first_of_block(text: str, least: int, offset: int) -> bool:
    """Return whether `offset` is in the first line of an indented block."""
    if text[offset - 1] not in " \t\f\r\n":
        return False
    above = least + len(text[least:offset].rstrip(" \t\f\r\n"))
    if text[above - 1] != ":":
        return False
    header, own = _line_start(text, least, above), _line_start(text, above, offset)
    is_below = header > least and own > above
    return is_below and indent_width(_leading(text, header)) < indent_width(text[own:offset])


def _leading(text: str, line_start: int) -> str:
    match = _WHITE.match(text, line_start)
    return match.group() if match else ""


def _is_formatted(text: str, quote_at: int) -> bool:
    if text[quote_at - 1 : quote_at] not in _FORMATTED_LAST:
        return False
    return _FORMATTED_PREFIX.search(text[max(quote_at - 3, 0) : quote_at]) is not None


def _formatted_end(text: str, quote_at: int, closing: str, limit: int, depth: int = 0) -> int | None:
    """Return the offset just past a formatted string; None if it is not closed before `limit`.

    Its fields may contain its own quotes (PEP 701). If the result is None, the caller reads the string as in Python
    3.11.
    """
    position = quote_at + len(closing)
    while match := _FORMATTED_STOP.search(text, position, limit):
        position, mark = match.end(), match.group()
        if text.startswith(closing, match.start()):
            return match.start() + len(closing)
        if mark in ("\r", "\n") and len(closing) == 1:
            return None
        if mark == "{":
            field_end = _field_end(text, position, closing, min(limit, position + _LONGEST_FIELD), depth)
            if field_end is None:
                return None
            position = field_end
    return None


def _field_end(text: str, start: int, closing: str, limit: int, depth: int) -> int | None:
    """Return the offset just past the closing brace of a replacement field; None if there is no such brace.

    The brace must be before `limit`. If the string is not triple-quoted, the brace must be on the same line.
    """
    if depth > _DEEPEST:
        return None
    if text.find("}", start, limit) < 0:
        return None
    position, brackets = start, 0
    while match := _FIELD_STOP.search(text, position, limit):
        position, mark = match.end(), match.group()
        if mark in ("'", '"'):
            string_end = _string_in_field_end(text, match.start(), closing, limit, depth)
            if string_end is None:
                return None
            position = string_end
        elif mark in ("\r", "\n", "#"):
            if len(closing) == 1:
                return None
            position = content_end(text, match.start()) if mark == "#" else position
        elif mark in ("(", "[", "{"):
            brackets += 1
        elif brackets:
            brackets -= mark != ":"
        elif mark == ":":
            return _format_end(text, position, closing, limit, depth)
        else:
            return position if mark == "}" else None
    return None


def _string_in_field_end(text: str, quote_at: int, closing: str, limit: int, depth: int) -> int | None:
    """Return the offset just past a string inside a replacement field; None if the string is unclosed.

    `closing` are the quotes of the formatted string around the field.
    """
    own = _quotes(text, quote_at)
    if _is_formatted(text, quote_at):
        end = _formatted_end(text, quote_at, own, limit, depth + 1)
    else:
        end = _plain_end(text, quote_at, own, limit)
    is_on_one_line = len(closing) == 1 or text.startswith(closing, quote_at)
    return None if end is None or (is_on_one_line and LINE_END.search(text, quote_at, end)) else end


def _format_end(text: str, start: int, closing: str, limit: int, depth: int) -> int | None:
    """Return the offset just past the brace that closes a field with a format specification.

    The format specification begins at `start`. Return None if the field is not closed before `limit`.
    """
    position = start
    while match := _FORMAT_STOP.search(text, position, limit):
        position, mark = match.end(), match.group()
        if mark == "}":
            return position
        if text.startswith(closing, match.start()) or (mark in ("\r", "\n") and len(closing) == 1):
            return None
        if mark == "{":
            field_end = _field_end(text, position, closing, limit, depth + 1)
            if field_end is None:
                return None
            position = field_end
    return None
