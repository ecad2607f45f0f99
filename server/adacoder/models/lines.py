"""Keeps httpx from breaking lines of JSON where JSON does not, and from reading one without end.

Imported at the first request only, for it imports httpx.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import httpx

_BREAK = re.compile(rb"\xc2\x85|\xe2\x80[\xa8\xa9]")
"""NEL, LINE SEPARATOR and PARAGRAPH SEPARATOR: httpx ends a line there, and Ollama sends NEL as it is."""
_ESCAPES = {b"\xc2\x85": rb"\u0085", b"\xe2\x80\xa8": rb"\u2028", b"\xe2\x80\xa9": rb"\u2029"}
_BEGINNINGS = (b"\xe2\x80", b"\xe2", b"\xc2")
_LONGEST_LINE = 16 * 1024 * 1024
"""In bytes; all of a line is held in memory before anybody can look at it."""


async def escape_breaks(response: httpx.Response) -> None:
    """A response hook: the body of `response` comes with these characters as JSON escapes.

    They stand nowhere in JSON but in strings, so its meaning stays the same.
    """
    if isinstance(response.stream, httpx.AsyncByteStream) and "content-encoding" not in response.headers:
        response.stream = _Escaped(response.stream)


class _Escaped(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        held, length = b"", 0
        async for chunk in self._stream:
            length = len(chunk) - chunk.rfind(b"\n") if b"\n" in chunk else length + len(chunk)
            if length > _LONGEST_LINE:
                raise ValueError("a line without end")
            data = held + chunk
            held = next((beginning for beginning in _BEGINNINGS if data.endswith(beginning)), b"")
            yield _BREAK.sub(lambda match: _ESCAPES[match.group()], data.removesuffix(held))
        yield held

    async def aclose(self) -> None:
        await self._stream.aclose()
