"""The framing of messages: contents are read, and a malformed header ends the session."""

from __future__ import annotations

import asyncio

import pytest

from adacoder.lsp.stdio import messages

GOOD = b"Content-Length: 2\r\n\r\n{}"


async def read(data: bytes) -> list[bytes]:
    reader = asyncio.StreamReader(limit=1 << 16)
    reader.feed_data(data)
    reader.feed_eof()
    return [content async for content in messages(reader)]


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 4\r\n\r\n",
        b"content-length:4\n\n",
        b"Content-Type: x\r\nContent-Length: 4\r\n\r\n",
        b"Content-Length: 4\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
    ],
)
async def test_headers_are_read_as_http_has_them(header: bytes) -> None:
    assert await read(GOOD + header + b"\r\n{}" + GOOD) == [b"{}", b"\r\n{}", b"{}"]


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: abc\r\n\r\n",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\n",
        b"Content-Length\r\n\r\n",
        b"Content-Type: text\r\nwhat is this\r\n\r\n",
        b"X-Content-Length: 2\r\n\r\n",
        b"\r\nContent-Type: text\r\n\r\n",
    ],
)
async def test_a_broken_header_is_an_end_and_no_wait(header: bytes) -> None:
    with pytest.raises(ValueError, match="a header has no 'Content-Length'"):
        await read(GOOD + header + GOOD)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r\n\r\n"])
async def test_a_client_may_end_its_messages_with_empty_lines(end: bytes) -> None:
    assert await read(end + GOOD + end + GOOD + end) == [b"{}", b"{}"]


async def test_the_end_in_the_middle_of_a_message_is_an_error() -> None:
    with pytest.raises(asyncio.IncompleteReadError):
        await read(GOOD + b"Content-Length: 9\r\n\r\n{}")
    assert await read(b"") == []


async def test_a_line_without_an_end_is_an_error() -> None:
    with pytest.raises(ValueError, match="limit"):
        await read(b"x" * (1 << 18))
