"""Limit the size of httpx responses, and escape line separators inside JSON strings.

This module imports httpx, which is slow, so import this module only at the first request.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping

import httpx

_BREAK = re.compile(rb"\xc2\x85|\xe2\x80[\xa8\xa9]")
"""Characters that separate lines for httpx, but not in JSON: NEL, LINE SEPARATOR and PARAGRAPH SEPARATOR. Ollama sends
NEL unescaped."""
_ESCAPES = {b"\xc2\x85": rb"\u0085", b"\xe2\x80\xa8": rb"\u2028", b"\xe2\x80\xa9": rb"\u2029"}
_BEGINNINGS = (b"\xe2\x80", b"\xe2", b"\xc2")
_LARGEST_PART = 16 * 1024 * 1024
"""Maximum size in bytes of a line or an event in a stream, or of a whole body without a stream."""
_STREAMS = ("/api/chat", "/chat/completions", "/api/pull")
"""Paths with streamed answers."""
_PART_ENDS: Mapping[str, tuple[bytes, ...]] = {
    "application/x-ndjson": (b"\n",),
    "text/event-stream": (b"\n\n", b"\n\r\n", b"\r\r"),
}
"""Separators of lines or events, by content type."""


async def guard(response: httpx.Response) -> None:
    """Limit the size of a response, and escape the characters in `_BREAK`. This is a response hook for httpx.

    In JSON, these characters occur only in strings, so escaping keeps the meaning. The body is read as UTF-8.

    Raises:
        ValueError: the body is compressed, although no compression was requested. Its size could not be limited.
    """
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ValueError("a compressed response")
    response.encoding = "utf-8"
    if isinstance(response.stream, httpx.AsyncByteStream):
        response.stream = _Guarded(response.stream, _part_ends(response))


def _part_ends(response: httpx.Response) -> tuple[bytes, ...]:
    """Return the separators in the body of `response`. A body that is not a stream has none."""
    if not response.is_success or not response.request.url.path.endswith(_STREAMS):
        return ()
    return _PART_ENDS.get(response.headers.get("content-type", "").partition(";")[0], ())


class _Guarded(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream, part_ends: tuple[bytes, ...]) -> None:
        self._stream = stream
        self._part_ends = part_ends

    async def __aiter__(self) -> AsyncIterator[bytes]:
        held = b""
        async for chunk in self._within_bounds():
            data = held + chunk
            held = next((beginning for beginning in _BEGINNINGS if data.endswith(beginning)), b"")
            yield _BREAK.sub(lambda match: _ESCAPES[match.group()], data.removesuffix(held))
        yield held

    async def _within_bounds(self) -> AsyncIterator[bytes]:
        length, before = 0, b""
        async for chunk in self._stream:
            seen = before + chunk
            end = max((seen.rfind(end) + len(end) for end in self._part_ends if end in seen), default=0)
            length = len(seen) - end if end else length + len(chunk)
            if length > _LARGEST_PART:
                raise ValueError("a part without end")
            before = seen[-2:]  # a separator may be split between two chunks
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
