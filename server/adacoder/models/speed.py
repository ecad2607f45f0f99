"""How fast a model is here: it is loaded, reads some two hundred tokens and writes some."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from adacoder.domain import Message, Timing
from adacoder.models.base import ChatModel

_COUNTED = 60
"""How far the prompt counts: about three tokens a number are enough to tell how fast they are read."""
WRITTEN_TOKENS = 64
"""Enough that the rate of all is near that of any: of ten, those that a busy machine held up or heaped together are
too many. A model that writes one a second is still done in about a minute."""
_LEAST_WRITTEN = 16
"""Of fewer tokens no rate is told."""
_USUAL_PROMPT, _USUAL_REPLY = 1000, 200
"""Tokens of a request for a function of usual length, and of the reply to it."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Where the time of one short reply went."""

    time: Timing
    read: int
    """Tokens of the prompt, without those that the server had read before."""
    written: int
    """Tokens of the reply."""

    @property
    def reading(self) -> float | None:
        """Tokens read a second; None where nothing could be measured."""
        return self.read / self.time.prompt if self.time.prompt else None

    @property
    def writing(self) -> float | None:
        """Tokens written a second; None where nothing could be measured.

        The first is not counted: what it took belongs to the reading of the prompt, for servers as by our clock.
        """
        is_telling = self.written >= _LEAST_WRITTEN and self.time.generation > 0
        return (self.written - 1) / self.time.generation if is_telling else None

    @property
    def usual(self) -> float | None:
        """Seconds that one reply about a function of usual length takes, once the model is loaded."""
        if not (self.reading and self.writing):
            return None
        return _USUAL_PROMPT / self.reading + _USUAL_REPLY / self.writing


async def measure(model: ChatModel) -> Speed:
    """Let `model` write `WRITTEN_TOKENS`.

    Raises:
        ModelError: no reply is to be had.
    """
    reply = await model.reply(_prompt(), enough=lambda _: False, max_tokens=WRITTEN_TOKENS)
    tokens = reply.tokens
    return Speed(reply.time or Timing(), tokens.prompt - tokens.cached, tokens.completion)


def _prompt() -> tuple[Message, Message]:
    """A chat that begins as none before did, so that the server has to read all of it, and that has a long answer."""
    numbers = ", ".join(str(number) for number in range(1, _COUNTED + 1))
    return (
        Message("system", f"{secrets.token_hex(4)} is the number of this task. You count."),
        Message("user", f"Go on counting up to 200, and write nothing but numbers: {numbers},"),
    )
