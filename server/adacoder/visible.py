"""Texts made visible: what may be shown as it is, and what stands for the rest.

Candidates, models, servers and repositories have a hand in almost every message. So it is not the messages that are
made safe, one by one, but the doors that all of them leave through: `Visible`, `cli/screen.py`, `lsp/display.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TextIO

_UNUSUAL = re.compile("[^\t\n -~\xa1-\xac\xae-\u05ff\u2e80-\ud7ff]")
"""Characters to look at: a superset of the unseen ones."""
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of control and format characters, of half characters, and of what ends lines and paragraphs."""
_JOINERS = "\u200c\u200d"
"""Persian words and families of emoji are written with them."""
_LINK = re.compile(r"\](?=\()|<(?=[A-Za-z][\w+.-]*:)")
"""Starts of links, in a text that is taken for Markdown."""
_LONGEST = 1000
"""Longest text for an editor's line or box, in characters; it would lay out all of it."""
_END = 300
"""Characters kept of its end, where summaries have their evidence."""


def visible(text: str) -> str:
    r"""`text` with escapes for all that cannot be seen, but tabs and ends of lines.

    >>> visible("a\x1b[2Jb\u202ec\td")
    'a\\x1b[2Jb\\u202ec\td'
    """
    return _UNUSUAL.sub(lambda match: _seen(match[0]), text)


@lru_cache(maxsize=4096)
def _seen(char: str) -> str:
    import unicodedata  # only where a text has characters that are seldom seen

    is_seen = unicodedata.category(char) not in _UNSEEN or char in _JOINERS
    return char if is_seen else char.encode("unicode_escape").decode()


def in_a_message(text: str) -> str:
    """`text` as an editor may show it: one visible line, not too long, of which no editor makes a link by its form.

    >>> in_a_message("see [this](command:x)")
    'see [this] (command:x)'
    """
    lines = visible(_shortened(text)).split("\n")
    return _shortened(_LINK.sub(r"\g<0> ", " ".join(filter(None, map(str.strip, lines)))))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - _END - 3]} … {text[-_END:]}"


class Visible:
    """A text stream through which all goes visibly; but for that it is the stream it was made of."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write `text` visibly."""
        self.stream.write(visible(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write `lines` visibly."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)
