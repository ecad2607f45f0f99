"""Prepare all messages to an editor: spell settings as editors do, escape invisible characters, and break links.

Only values that a client sends back or writes into a file stay unchanged. The rest of the server need not know how a
client shows a text.
"""

from __future__ import annotations

import re
from typing import TypeVar

from adacoder.messages import Text
from adacoder.visible import in_a_message, visible

T = TypeVar("T")

_EXACT = frozenset({"newText", "insertText", "uri", "scopeUri", "arguments", "id", "token"})
"""Keys of values that users do not read: text for files, URIs, and values that the client sends back."""
_MESSAGES = frozenset(
    {"message", "title", "label", "reason", "summary", "failureReason", "notes", "text", "advice", "target"}
)
"""Keys of texts that clients show as a message, a title or a list entry, where some clients turn text into links."""

_LINK = re.compile(r"\](?=\(\s{0,9}\S{0,40}:)")
"""The middle of a Markdown link, for other texts. A space here breaks the link without changing the meaning of code."""


def displayed(value: T, member: str = "") -> T:
    """Return the JSON `value`, with texts that are safe to show in an editor. `member` is the key of the value."""
    shown: object = value
    if isinstance(value, str):
        text = value.in_editor if isinstance(value, Text) else value
        shown = in_a_message(text) if member in _MESSAGES else _LINK.sub("] ", visible(text))
    elif isinstance(value, dict):
        shown = {key: inner if key in _EXACT else displayed(inner, key) for key, inner in value.items()}
    elif isinstance(value, list | tuple):
        shown = [displayed(inner, member) for inner in value]
    return shown  # type: ignore[return-value]  # only texts have changed
