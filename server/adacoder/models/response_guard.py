"""Limit the size of httpx responses, and escape line separators that are valid inside JSON strings.

This imports httpx, which is slow. Import it only at the first request.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping

import httpx

_BREAK = re.compile(rb"\xc2\x85|\xe2\x80[\xa8\xa9]")
"""Line separators for httpx, but not for JSON: NEL, LINE SEPARATOR, PARAGRAPH SEPARATOR. Ollama sends NEL unescaped."""
_ESCAPES = {b"\xc2\x85": rb"\u0085", b"\xe2\x80\xa8": rb"\u2028", b"\xe2\x80\xa9": rb"\u2029"}
_BEGINNINGS = (b"\xe2\x80", b"\xe2", b"\xc2")
_LARGEST_PART = 16 * 1024 * 1024
"""Maximum size in bytes of a line or event of a stream, or of any other body."""
_STREAMS = ("/api/chat", "/chat/completions", "/api/pull")
"""Paths with streamed answers."""
_PART_ENDS: Mapping[str, tuple[bytes, ...]] = {
    "application/x-ndjson": (b"\n",),
    "text/event-stream": (b"\n\n", b"\n\r\n", b"\r\r"),
}
"""Separators of lines or events, by content type."""


async def guard(response: httpx.Response) -> None:
    """Protect against large responses, and escape the characters in `_BREAK`. This is a response hook for httpx.

    The body is read as UTF-8. In JSON, these characters occur only in strings, where the escaped form means the same.

    Raises:
        ValueError: the body is compressed, so its size cannot be limited. No compression was requested.
    """
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ValueError("a compressed response")
    response.encoding = "utf-8"
    if isinstance(response.stream, httpx.AsyncByteStream):
        response.stream = _Guarded(response.stream, _part_ends(response))


def _part_ends(response: httpx.Response) -> tuple[bytes, ...]:
    """Return the separators in the body of `response`; empty if the body is a single document."""
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
