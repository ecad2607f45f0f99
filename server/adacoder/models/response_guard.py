"""Limit the size of httpx responses, and escape characters that end a line for httpx but not in JSON.

Import this only at the first request, because it imports httpx.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping

import httpx

_BREAK = re.compile(rb"\xc2\x85|\xe2\x80[\xa8\xa9]")
"""NEL, LINE SEPARATOR and PARAGRAPH SEPARATOR. httpx ends a line at each of them, and Ollama sends NEL unescaped."""
_ESCAPES = {b"\xc2\x85": rb"\u0085", b"\xe2\x80\xa8": rb"\u2028", b"\xe2\x80\xa9": rb"\u2029"}
_BEGINNINGS = (b"\xe2\x80", b"\xe2", b"\xc2")
_LARGEST_PART = 16 * 1024 * 1024
"""Maximum size in bytes of a part: a line or event of a stream, or another body. Each part is held in memory."""
_STREAMS = ("/api/chat", "/chat/completions", "/api/pull")
"""Paths with streamed answers. Any other body is one part."""
_PART_ENDS: Mapping[str, tuple[bytes, ...]] = {
    "application/x-ndjson": (b"\n",),
    "text/event-stream": (b"\n\n", b"\n\r\n", b"\r\r"),
}
"""Separators of parts, by content type."""


async def guard(response: httpx.Response) -> None:
    """Escape the characters of `_BREAK` in a response, and limit the size of its parts. This is a response hook.

    The body is read as UTF-8. In JSON, these characters occur only in strings, where an escape means the same.

    Raises:
        ValueError: the body is compressed, so its size cannot be limited. No compression was requested.
    """
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ValueError("a compressed response")
    response.encoding = "utf-8"
    if isinstance(response.stream, httpx.AsyncByteStream):
        response.stream = _Guarded(response.stream, _part_ends(response))


def _part_ends(response: httpx.Response) -> tuple[bytes, ...]:
    """Return the separators of parts in the body of `response`; empty if the body is one part."""
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
            before = seen[-2:]  # A separator may be split between two chunks.
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
