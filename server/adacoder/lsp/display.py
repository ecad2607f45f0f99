"""The door of all that an editor is sent: settings are spelled as an editor's, all is visible, and no link comes of it.

Only what a client sends back or puts into a file goes as it is; of the rest nobody has to know which client shows what.
"""

from __future__ import annotations

import re
from typing import TypeVar

from adacoder.messages import Text
from adacoder.visible import in_a_message, visible

T = TypeVar("T")

_EXACT = frozenset({"newText", "uri", "scopeUri", "arguments", "id", "token"})
"""Members that are no text for people: what goes into files, what names them, and what comes back from the client."""
_MESSAGES = frozenset(
    {"message", "title", "label", "reason", "summary", "failureReason", "notes", "text", "advice", "target"}
)
"""Members that clients show as a message, a title or an entry of a list. Some make links of what looks like one."""

_LINK = re.compile(r"\](?=\(\s{0,9}\S{0,40}:)")
"""A link of Markdown in a text that is no message; code means the same with a space in it."""


def displayed(value: T, member: str = "") -> T:
    """`value`, which is JSON, with its texts as an editor may show them; `member` is where it stands."""
    shown: object = value
    if isinstance(value, str):
        text = value.in_editor if isinstance(value, Text) else value
        shown = in_a_message(text) if member in _MESSAGES else _LINK.sub("] ", visible(text))
    elif isinstance(value, dict):
        shown = {key: inner if key in _EXACT else displayed(inner, key) for key, inner in value.items()}
    elif isinstance(value, list | tuple):
        shown = [displayed(inner, member) for inner in value]
    return shown  # type: ignore[return-value]  # it is as it was, but for its texts
