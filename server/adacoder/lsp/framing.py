"""The client's messages as they come: a header that tells the length, and so many bytes.

What is broken gets an error answer, and reading goes on at the next header. pygls reads on in silence, and a
wrong length makes it take the next header for the end of a text.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygls.io_ import AsyncReader

_LENGTH = re.compile(rb"Content-Length: *([0-9]{1,12}) *\r?\n", re.IGNORECASE)
"""At the end of a line: what stands before it is what a length that was too small left over."""
_FIELD = re.compile(rb"[A-Za-z-]+:[^\r\n]*\r?\n")
_LONGEST = 1 << 28
"""Bytes of a message. No text that is worked on has as many."""


async def messages(reader: AsyncReader, refuse: Callable[[str], None]) -> AsyncIterator[bytes]:
    """The contents of all messages to the end of the stream; `refuse` is told what is wrong with what is none.

    Raises:
        asyncio.IncompleteReadError: the stream ends in the middle of a message.
        ValueError: a line has no end.
    """
    while (length := await _length(reader, refuse)) is not None:
        yield await reader.readexactly(length)


async def _length(reader: AsyncReader, refuse: Callable[[str], None]) -> int | None:
    """Read a header; the length of the message after it, None at the end of the stream."""
    length: int | None = None
    problem = ""
    while line := await reader.readline():
        if line.strip():
            if (match := _LENGTH.search(line)) and match.end() == len(line):
                length = int(match[1])
                problem = "" if match.start() == 0 else "What comes before a header is no message."
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
