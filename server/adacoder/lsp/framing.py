"""Framing of the client's messages: a header with the length, then that many bytes.

Broken input gets an error answer, and reading continues at the next header. pygls would read on silently, and after a
wrong length take the next header for the end of a text.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygls.io_ import AsyncReader

_LENGTH = re.compile(rb"Content-Length: *([0-9]{1,12}) *\r?\n", re.IGNORECASE)
"""Searched for at the end of a line. Text before it is the rest of a message whose length was too small."""
_FIELD = re.compile(rb"[A-Za-z-]+:[^\r\n]*\r?\n")
_LONGEST = 1 << 28
"""Maximum bytes of a message. No text that AdaCoder works on is as long."""


async def messages(reader: AsyncReader, refuse: Callable[[str], None]) -> AsyncIterator[bytes]:
    """Yield the contents of all messages until the end of the stream. Call `refuse` for invalid input.

    Raises:
        asyncio.IncompleteReadError: the stream ends in the middle of a message.
        ValueError: a line has no end.
    """
    while (length := await _length(reader, refuse)) is not None:
        yield await reader.readexactly(length)


async def _length(reader: AsyncReader, refuse: Callable[[str], None]) -> int | None:
    """Read a header. Return the length of its message, or None at the end of the stream."""
    length: int | None = None
    problem = ""
    while line := await reader.readline():
        if line.strip():
            if (match := _LENGTH.search(line)) and match.end() == len(line):
                length = int(match[1])
                problem = "" if match.start() == 0 else "The text before a header is not a message."
            elif not _FIELD.fullmatch(line) or line.lower().startswith(b"content-length"):
                problem = "A header is broken."
        elif length is not None and length <= _LONGEST:
            if problem:
                refuse(problem)
            return length
        elif problem or length is not None:
            refuse(problem or "A message is too long.")
            length, problem = None, ""
    return None
