"""Escape control characters and invisible characters in messages.

A message may contain text from a model or a repository. Such text must not control the terminal or an editor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TextIO

_UNUSUAL = re.compile("[^\t\n -~\xa1-\xac\xae-\u05ff\u2e80-\ud7ff]")
"""Matches all invisible characters, and some visible characters. `_seen` decides which to escape."""
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories of the characters to escape: control and format characters, surrogates, and separators."""
_JOINERS = "\u200c\u200d"
"""Format characters that are not escaped, because Persian words and some emoji need them."""
_LINK = re.compile(r"\](?=\()|<(?=[A-Za-z][\w+.-]*:)")
"""The beginning of a link in Markdown."""
_LONGEST = 1000
"""Maximum length of a message for an editor. Editors lay out the whole text, even if it is very long."""
_END = 300
"""Number of characters at the end that a shortened message keeps. The evidence is at the end of a message."""


def visible(text: str) -> str:
    r"""Escape all invisible characters in `text`, except tabs and newlines.

    >>> visible("a\x1b[2Jb\u202ec\td")
    'a\\x1b[2Jb\\u202ec\td'
    """
    return _UNUSUAL.sub(lambda match: _seen(match[0]), text)


@lru_cache(maxsize=4096)
def _seen(char: str) -> str:
    import unicodedata  # rarely needed

    is_seen = unicodedata.category(char) not in _UNSEEN or char in _JOINERS
    return char if is_seen else char.encode("unicode_escape").decode()


def in_a_message(text: str) -> str:
    """Prepare text for a message in an editor: one line of limited length, without invisible characters and links.

    >>> in_a_message("see [this](command:x)")
    'see [this] (command:x)'
    """
    lines = visible(_shortened(text)).split("\n")
    return _shortened(_LINK.sub(r"\g<0> ", " ".join(filter(None, map(str.strip, lines)))))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - _END - 3]} … {text[-_END:]}"


class Visible:
    """A text stream that escapes everything written to it. Otherwise it acts like the stream that it was made from."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Escape and write `text`."""
        self.stream.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Escape and write `lines`."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)
