"""Quote foreign text in Markdown, so that Markdown and HTML in the text have no effect."""

from __future__ import annotations

import re

from adacoder.messages import Text
from adacoder.visible import in_a_message, visible

_SPECIAL = re.compile(r"[\\`*_{}\[\]<>#|~!&$@]|(?<=:)(?=//)|(?<=www)(?=\.)", re.IGNORECASE)
_FENCE = re.compile(r"^[ \t]*(`{3,})", re.MULTILINE)


def inline(text: str) -> str:
    r"""Return `text` on one line, with its Markdown escaped and its settings spelled as in an editor.

    >>> inline("see <b>*this*</b>")
    'see \\<b\\>\\*this\\*\\</b\\>'
    """
    return _SPECIAL.sub(r"\\\g<0>", in_a_message(text.in_editor if isinstance(text, Text) else text))


def fenced(text: str, language: str = "") -> str:
    r"""Return `text` as a block of code, with a fence longer than any fence in it.

    >>> fenced("a = 1", "python")
    '```python\na = 1\n```'
    """
    longest = max((len(match[1]) for match in _FENCE.finditer(text)), default=2)
    fence = "`" * (longest + 1)
    body = visible(text).rstrip("\n")
    return f"{fence}{language}\n{body}\n{fence}"
