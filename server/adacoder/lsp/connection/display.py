"""Make texts safe to show in an editor: escape invisible characters, and break links.

All messages to an editor pass through this module. URIs, code and other values that are not for reading stay unchanged.
"""

from __future__ import annotations

import re
from typing import TypeVar

from adacoder.messages import Text
from adacoder.visible import in_a_message, visible

T = TypeVar("T")

_EXACT = frozenset({"newText", "insertText", "uri", "scopeUri", "arguments", "id", "token"})
"""Keys whose values are not for reading, such as URIs, code, and arguments that the client sends back."""
_MESSAGES = frozenset(
    {"message", "title", "label", "reason", "summary", "failureReason", "notes", "text", "advice", "target"}
)
"""Keys of texts that clients show as a message, a title or a list entry.

Some clients turn URLs in such texts into links.
"""

_LINK = re.compile(r"\](?=\(\s{0,9}\S{0,40}:)")
"""The middle of a Markdown link.

A space inserted here breaks the link. If the text is code, the space does no harm.
"""


def displayed(value: T, member: str = "") -> T:
    """Return the JSON `value` with all texts made safe to show.

    `member` is the JSON key under which `value` is stored.
    """
    shown: object = value
    if isinstance(value, str):
        text = value.in_editor if isinstance(value, Text) else value
        shown = in_a_message(text) if member in _MESSAGES else _LINK.sub("] ", visible(text))
    elif isinstance(value, dict):
        shown = {key: inner if key in _EXACT else displayed(inner, key) for key, inner in value.items()}
    elif isinstance(value, list | tuple):
        shown = [displayed(inner, member) for inner in value]
    return shown  # type: ignore[return-value]  # only texts have changed
