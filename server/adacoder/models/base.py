"""What every model backend is: the ChatModel protocol, the closed set of errors, and the lease.

The rest of AdaCoder sees no more of a backend than this file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from adacoder.domain import AdaCoderError, Message, Reply

Enough = Callable[[str], bool]
"""Told the reply's text so far whenever it has grown; True ends the reply (`Ended.STOPPED_EARLY`)."""


class ModelError(AdaCoderError):
    """A model could not reply. The text says what to do."""


class ChatModel(Protocol):
    """One model that answers chats."""

    @property
    def name(self) -> str:
        """The model's id as a user names it, such as `ollama:qwen2.5-coder:7b`."""
        ...

    async def reply(self, messages: Sequence[Message], *, enough: Enough, max_tokens: int) -> Reply:
        """Answer `messages` with at most `max_tokens` tokens.

        Raises:
            ModelError: there is no whole reply to be had.
        """
        ...

    async def close(self) -> None:
        """Let go of connections and files."""
        ...
