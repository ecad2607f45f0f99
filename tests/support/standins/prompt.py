"""Split prompts into tokens, and find the tokens that a slot still has from the previous prompt.

A token is a word, a number or a sign. Each message has additional tokens for its template.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Message = Mapping[str, object]
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")
TOKENS_A_MESSAGE = 4
"""Number of additional tokens for each message, because of the template."""


def messages_of(body: Mapping[str, object]) -> Sequence[Message]:
    """Return the messages of a chat."""
    messages = body.get("messages") or []
    assert isinstance(messages, list)
    return messages


def tokens_of(messages: Sequence[Message]) -> list[str]:
    """Return the tokens of a prompt."""
    return [token for message in messages for token in _tokens_of_one(message)]


def count_tokens(body: Mapping[str, object]) -> int:
    """Return the number of tokens in a chat's messages."""
    return len(tokens_of(messages_of(body)))


def without_oldest(messages: Sequence[Message], window: int) -> Sequence[Message]:
    """Remove the oldest of `messages` until the others fit into `window`.

    System messages and the last message always stay.
    """
    kept = list(messages)
    while len(tokens_of(kept)) > window:
        oldest = next((one for one in kept[:-1] if one.get("role") != "system"), None)
        if oldest is None:
            break
        kept.remove(oldest)
    return kept


@dataclass
class Loaded:
    """A loaded model, and the last prompt that its slot has read."""

    window: int
    prompt: list[str] = field(default_factory=list)

    def known(self, prompt: list[str]) -> int:
        """Return how many tokens at the beginning of the prompt the slot already has. The last token is always read
        again.
        """
        cached = 0
        while cached < min(len(prompt) - 1, len(self.prompt)) and prompt[cached] == self.prompt[cached]:
            cached += 1
        return cached

    def read(self, prompt: list[str]) -> int:
        """Read a prompt. Return the number of tokens that were already known."""
        cached, self.prompt = self.known(prompt), prompt
        return cached


def _tokens_of_one(message: Message) -> list[str]:
    content = message.get("content")
    words = _TOKEN.findall(str("" if content is None else content))
    return [f"<{message.get('role')}>"] * TOKENS_A_MESSAGE + words
