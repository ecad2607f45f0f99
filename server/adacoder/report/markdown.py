"""Quote foreign text in Markdown, so that Markdown and HTML in the text have no effect."""

from __future__ import annotations

import re

from adacoder.messages import Text
from adacoder.pytext import fence_around
from adacoder.visible import in_a_message, visible

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|~!&$@]|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
_NAME = re.compile(r"[\w.]*_[\w.]*")
"""Matches a word with an underscore. The word cannot contain a backtick, which would end a code span."""


def plain(text: str) -> str:
    """Return `text` on one line. Spell names of settings as editors show them."""
    return in_a_message(text.in_editor if isinstance(text, Text) else text)


def inline(text: str) -> str:
    r"""Return `text` on one line with its Markdown escaped. Spell names of settings as editors show them.

    Names with an underscore become code spans, because some editors show the backslash of an escaped underscore.

    >>> inline("see <b>*this*</b> in 'to_text'")
    "see \\<b\\>\\*this\\*\\</b\\> in '`to_text`'"
    """
    message, end, found = plain(text), 0, ""
    for name in _NAME.finditer(message):
        found += f"{_escaped(message[end : name.start()])}`{name[0]}`"
        end = name.end()
    return found + _escaped(message[end:])


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def fenced(text: str, language: str = "") -> str:
    r"""Return `text` as a code block. The fence is longer than any fence inside `text`.

    >>> fenced("a = 1", "python")
    '```python\na = 1\n```'
    """
    fence = fence_around(text)
    body = visible(text).rstrip("\n")
    return f"{fence}{language}\n{body}\n{fence}"
