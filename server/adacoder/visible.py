"""Make text visible: replace control and format characters by escapes.

Almost any message may contain foreign text, from a model or a repository, which must not control the terminal. So all
messages are escaped where they leave the program: in `Visible`, `cli/screen.py` and `lsp/connection/display.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TextIO

_UNUSUAL = re.compile("[^\t\n -~\xa1-\xac\xae-\u05ff\u2e80-\ud7ff]")
"""Characters that `_seen` has to examine: all invisible characters, and some visible ones."""
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories to escape: control and format characters, surrogates, and line and paragraph separators."""
_JOINERS = "\u200c\u200d"
"""Format characters that are not escaped, because Persian words and some emoji need them."""
_LINK = re.compile(r"\](?=\()|<(?=[A-Za-z][\w+.-]*:)")
"""The beginning of a link in Markdown."""
_LONGEST = 1000
"""Maximum number of characters in a message for an editor, because editors lay out the whole text, however long."""
_END = 300
"""Number of characters to keep at the end of a longer text, because summaries have their evidence there."""


def visible(text: str) -> str:
    r"""Escape all invisible characters in `text`, except tabs and newlines.

    >>> visible("a\x1b[2Jb\u202ec\td")
    'a\\x1b[2Jb\\u202ec\td'
    """
    return _UNUSUAL.sub(lambda match: _seen(match[0]), text)


@lru_cache(maxsize=4096)
def _seen(char: str) -> str:
    import unicodedata  # only needed for unusual characters

    is_seen = unicodedata.category(char) not in _UNSEEN or char in _JOINERS
    return char if is_seen else char.encode("unicode_escape").decode()


def in_a_message(text: str) -> str:
    """Return `text` as an editor may show it: one visible line of limited length, without any link syntax.

    >>> in_a_message("see [this](command:x)")
    'see [this] (command:x)'
    """
    lines = visible(_shortened(text)).split("\n")
    return _shortened(_LINK.sub(r"\g<0> ", " ".join(filter(None, map(str.strip, lines)))))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - _END - 3]} … {text[-_END:]}"


class Visible:
    """A text stream that escapes all text written to it. Otherwise it acts like the stream that it wraps."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write `text`, made visible."""
        self.stream.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write `lines`, made visible."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)
