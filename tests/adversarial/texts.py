"""Hostile texts, and functions that look for them in shown text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

FORMS = (
    *(
        "\x1b[2J",
        "\x1b[1A",
        "\x1b[8m",
        "\x1bc",
        "\x1b]0;title\x07",
        "\x1b]52;c;ZXZpbA==\x07",
        "\x1b]8;;file:///x\x1b\\",
    ),
    *(
        "\x1bP+q\x1b\\",
        "\x9b2J",
        "\x9d8;;command:x\x9c",
        "\x90q\x9c",
        "\x85",
        "\r",
        "\b",
        "\x07",
        "\x0b",
        "\x0c",
        "\x7f",
    ),
    *("\u202e", "\u202a", "\u2066", "\u2069", "\u061c", "\u200e", "\u200b", "\u2060", "\ufeff", "\u00ad", "\u2028"),
    *("\u2029", "\U000e0041", "\ufff9", "\u180e"),
)
"""Texts that terminals or editors obey, or that hide other text."""
HOSTILE = "".join(f"{form}<{number}>" for number, form in enumerate(FORMS))
"""All of FORMS, each followed by a mark."""
LINKS = "[one](command:evil) [two](https://evil.example) [three](file:///etc/passwd) ![four](http://evil.example/a.png)"
HONEST = "naïve 日本語 👩\u200d👩\u200d👧 می\u200cخواهم — “ü” \u00a0!"
"""A text that is shown unchanged."""

_LAYOUT = re.compile(r"\x1b\[(?:[\d;]*m|\?25[lh]|2K|1A)")
"""Sequences that only colour text in a terminal, or move its last line."""
_VS_CODE_LINK = re.compile(r"\[[^\]]+\]\((?:https?://|command:|file:)[^)\s]+", re.IGNORECASE)
"""Matches text that VS Code turns into a link in notifications."""
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def unseen(text: str, besides: str = "\n\t\u200c\u200d") -> set[str]:
    """Return the invisible characters of `text`."""
    return {char for char in text if unicodedata.category(char) in _UNSEEN and char not in besides}


def obeyed(sent: bytes) -> set[str]:
    """Return the sequences that a terminal would obey, except layout."""
    text = _LAYOUT.sub("", sent.decode())
    found = unseen(text, "\r\n\t\u200c\u200d")
    # line ends, and the start of a moving line
    return found | set(re.findall(r"\r(?=<)", text)) | set(re.findall(r"\x1b\[(?:1A|8m)<", sent.decode()))


def legible(text: str) -> set[int]:
    """Return the numbers of the FORMS that are shown as escapes."""
    shown = (form.encode("unicode_escape").decode().replace("\\\\", "\\") for form in FORMS)
    return {number for number, form in enumerate(shown) if f"{form}<{number}>" in text}


def is_link(text: str) -> bool:
    """Return True if VS Code would turn a part of a message into a link."""
    return _VS_CODE_LINK.search(text) is not None


def strings(value: Any, member: str = "") -> Iterator[tuple[str, str]]:
    """Yield the strings that an editor received, except those that name files and programs."""
    if isinstance(value, str):
        yield member, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("newText", "uri", "arguments"):
                yield from strings(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner, member)
