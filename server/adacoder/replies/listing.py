"""Read lists in a reply: numbered or bulleted lists, lines, JSON arrays, and XML with or without closing tags."""

from __future__ import annotations

import json
import re

from adacoder.replies.filters import answer

_LONGEST = 2_000
"""Maximum characters of an item. The rest is cut off."""
_ITEM = re.compile(
    r"^(?P<indent> {0,3})(?:(?:#{1,6} *)?[*_]{0,2}(?:[A-Za-z]+ +)?\d{1,2}[*_]{0,2}[.):]|[-*+•])[ \t]+\S", re.MULTILINE
)
_MARKER = re.compile(r"\A\s*(?:#{1,6} *)?(?:[*_]{0,2}(?:[A-Za-z]+ +)?\d{1,2}[*_]{0,2}[.):]|[-*+•])[ \t]+")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$\n?", re.MULTILINE)


def items(text: str, most: int) -> tuple[str, ...]:
    """Return at most `most` items of a list in a reply.

    The list is a JSON array, or a numbered or bulleted list. Otherwise, each line is an item, except headings.
    """
    text = _FENCE.sub("", answer(text)).strip()
    found = _of_json(text) or _of_list(text) or [line for line in text.splitlines() if not _announces(line)]
    stripped = (item.strip().strip("*").strip()[:_LONGEST] for item in found)
    return tuple(dict.fromkeys(filter(None, stripped)))[:most]


def _of_json(text: str) -> list[str]:
    start, end = text.find("["), text.rfind("]")
    if start < 0 or end < start:
        return []
    try:
        value = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return []
    return [item for item in value if isinstance(item, str)]


def _of_list(text: str) -> list[str]:
    starts = [*_ITEM.finditer(text)]
    if not starts:
        return []
    least = min(len(item["indent"]) for item in starts)
    places = [item.start() for item in starts if len(item["indent"]) == least]
    ends = [*places[1:], _end_of_list(text, places[-1])]
    return [_MARKER.sub("", text[start:end]) for start, end in zip(places, ends, strict=True)]


def _end_of_list(text: str, start: int) -> int:
    """Return the end of the last item: the first blank line before unindented text, or the end of `text`."""
    ends = re.compile(r"\n[ \t]*\n(?=\S)").search(text, start)
    return ends.start() if ends else len(text)


def _announces(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#") or line.rstrip("*_ ").endswith(":")


def sections(text: str, tag: str) -> tuple[str, ...]:
    """Return the text after each `<tag>`, up to its end tag, the next `<tag>`, or the end of the reply.

    If the reply has no such tags, headings such as "Problem 2:" count as tags.
    """
    text = answer(text)
    opening = re.compile(rf"<{tag}\b[^<>\n]*>", re.IGNORECASE)
    starts = [*opening.finditer(text)]
    if not starts:
        starts = [*re.finditer(rf"^[#*_ \t]*{tag}[ \t]*\d{{1,2}}\b[^\n]*", text, re.IGNORECASE | re.MULTILINE)]
    ends = [each.start() for each in starts[1:]] + [len(text)] * bool(starts)
    closing = re.compile(rf"</{tag}\s*>", re.IGNORECASE)
    found = []
    for start, end in zip(starts, ends, strict=True):
        closes = closing.search(text, start.end(), end)
        found.append(text[start.end() : closes.start() if closes else end].strip())
    return tuple(filter(None, found))
