"""Measure a model's speed with one short reply."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from adacoder.domain import Message, Timing
from adacoder.models.base import Ask, ChatModel

_COUNTED = 60
"""Number of integers in the prompt. Each integer takes about three tokens, which is enough to measure the reading
speed."""
WRITTEN_TOKENS = 64
"""Number of tokens to write. A smaller number would give inexact results while the machine is busy."""
_LEAST_WRITTEN = 16
"""Minimum number of written tokens from which a writing speed is computed."""
_USUAL_PROMPT, _USUAL_REPLY = 1000, 200
"""Typical number of tokens in a prompt and in a reply."""
_SLOW = 30.0
"""A model is slow if a typical reply takes longer than this, in seconds."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Durations and token counts of one short reply."""

    time: Timing
    read: int
    """Number of prompt tokens, without cached ones."""
    written: int
    """Number of reply tokens."""

    @property
    def reading(self) -> float | None:
        """Tokens read per second; None if not measured."""
        return self.read / self.time.prompt if self.time.prompt else None

    @property
    def writing(self) -> float | None:
        """Tokens written per second; None if not measured. The time before the first token does not count."""
        is_telling = self.written >= _LEAST_WRITTEN and self.time.generation > 0
        return (self.written - 1) / self.time.generation if is_telling else None

    @property
    def usual(self) -> float | None:
        """Seconds for a typical reply of a loaded model."""
        if not (self.reading and self.writing):
            return None
        return _USUAL_PROMPT / self.reading + _USUAL_REPLY / self.writing

    @property
    def is_slow(self) -> bool:
        """True if a typical reply takes too long."""
        return (self.usual or 0) > _SLOW

    @property
    def pace(self) -> str:
        """The speed in words."""
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
    """Create a chat that asks for a long answer.

    The chat starts with random text, so the server cannot use its cache.
    """
    numbers = ", ".join(str(number) for number in range(1, _COUNTED + 1))
    return (
        Message("system", f"{secrets.token_hex(4)} is the number of this task. You count."),
        Message("user", f"Go on counting up to 200, and write nothing but numbers: {numbers},"),
    )
