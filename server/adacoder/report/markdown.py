"""Texts in Markdown that others have a hand in: they are shown, and nothing in them is obeyed."""

from __future__ import annotations

import re

from adacoder.messages import Text
from adacoder.visible import in_a_message, visible

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|~!&$@]|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)


def inline(text: str) -> str:
    r"""`text` on one line, as it is: nothing in it means anything in Markdown. Settings are spelled as an editor's.

    >>> inline("see <b>*this*</b>")
    'see \\<b\\>\\*this\\*\\</b\\>'
    """
    return _SPECIAL.sub(r"\\\g<0>", in_a_message(text.in_editor if isinstance(text, Text) else text))


def fenced(text: str, language: str = "") -> str:
    r"""`text` as a block of code, whatever fences it has itself.

    >>> fenced("a = 1", "python")
    '```python\na = 1\n```'
    """
    longest = max((len(match[1]) for match in _FENCE.finditer(text)), default=2)
    fence = "`" * (longest + 1)
    body = visible(text).rstrip("\n")
    return f"{fence}{language}\n{body}\n{fence}"
