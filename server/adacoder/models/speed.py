"""Measure a model's speed. The model is loaded, reads about two hundred tokens, and writes a few dozen."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from adacoder.domain import Message, Timing
from adacoder.models.base import Ask, ChatModel

_COUNTED = 60
"""Number of numbers in the prompt. At about three tokens each, they suffice to measure the reading speed."""
WRITTEN_TOKENS = 64
"""Number of tokens that the model writes. With only ten, other load on the machine would distort the speed too much.
Even at one token a second, the measurement takes only a minute."""
_LEAST_WRITTEN = 16
"""The writing speed of a shorter reply is not used."""
_USUAL_PROMPT, _USUAL_REPLY = 1000, 200
"""Typical numbers of tokens of the prompt for a function and of the reply."""
_SLOW = 30.0
"""If a typical reply takes more seconds than this, the user gets advice."""


@dataclass(frozen=True, slots=True)
class Speed:
    """The timing of one short reply."""

    time: Timing
    read: int
    """Tokens of the prompt that were not cached."""
    written: int
    """Tokens of the reply."""

    @property
    def reading(self) -> float | None:
        """Tokens read per second; None if it could not be measured."""
        return self.read / self.time.prompt if self.time.prompt else None

    @property
    def writing(self) -> float | None:
        """Tokens written per second; None if it could not be measured.

        The first token is not counted, because its time counts as reading the prompt, for servers and for our clock.
        """
        is_telling = self.written >= _LEAST_WRITTEN and self.time.generation > 0
        return (self.written - 1) / self.time.generation if is_telling else None

    @property
    def usual(self) -> float | None:
        """Seconds for a typical reply, once the model is loaded."""
        if not (self.reading and self.writing):
            return None
        return _USUAL_PROMPT / self.reading + _USUAL_REPLY / self.writing

    @property
    def is_slow(self) -> bool:
        """True if a typical reply takes too long."""
        return (self.usual or 0) > _SLOW

    @property
    def pace(self) -> str:
        """The speed in words, for users."""
        before = [f"waited {_seconds(self.time.queue)} for others"] if self.time.queue > 1 else []
        before += [f"loaded in {_seconds(self.time.load)}"] if self.time.load > 1 else []
        rates = [f"reads {_rounded(self.reading)} tokens/s"] if self.reading else []
        rates += [f"writes {_rounded(self.writing)} tokens/s"] if self.writing else []
        usual = f": about {_seconds(self.usual)} a reply" if self.usual else ""
        return "; ".join([*before, ", ".join(rates) or "it answers"]) + usual


async def measure(model: ChatModel) -> Speed:
    """Measure the speed of `model` with one short reply.

    Raises:
        ModelError: the model gave no reply.
    """
    reply = await model.reply(Ask(_prompt(), max_tokens=WRITTEN_TOKENS))
    tokens = reply.tokens
    return Speed(reply.time or Timing(), tokens.prompt - tokens.cached, tokens.completion)


def _seconds(seconds: float) -> str:
    return f"{_rounded(seconds)} s"


def _rounded(number: float) -> str:
    return f"{number:,.0f}" if number >= 9.95 else f"{number:.1f}"


def _prompt() -> tuple[Message, Message]:
    """Build a chat that asks for a long answer. Its beginning is random, so that no part of it is cached."""
    numbers = ", ".join(str(number) for number in range(1, _COUNTED + 1))
    return (
        Message("system", f"{secrets.token_hex(4)} is the number of this task. You count."),
        Message("user", f"Go on counting up to 200, and write nothing but numbers: {numbers},"),
    )
