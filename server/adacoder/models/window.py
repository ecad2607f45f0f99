"""How much of a model's context window a text takes, known before it is sent.

No tokenizer is at hand: it belongs to the model, and servers do not lend it. So texts are measured from both
sides: `estimate` is an upper measure, to plan with; `least` a lower one, to convict a server of cutting. The counts
that come back with replies teach a `Calibration` how far the upper one is off for a model.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from adacoder.domain import Message

_PIECE = re.compile(r"[A-Za-z]{1,4}|\n|[ \t]{2,}|[ ](?=\d)|\S")
"""What counts as one token: four letters, a line end, a run of blanks, a blank before a number, and any other
character. Code models split words at least as coarsely, and most write digits and operators one by one."""
_ROLE_TOKENS = 8
"""What a chat template puts around one message."""
_SLACK = 8
"""How far a count may lie from what a rule for cutting predicts."""

_MEMORY = 32
"""Counts that a calibration rests on: the last ones."""
_CAUTION = 1.05
"""By how much the worst of them is exceeded in planning."""
_STEP = 0.05
"""Ratios are rounded up to multiples of this, so that a prompt does not change with every count."""
_RATIOS = (0.5, 2.0)
"""The least and the greatest that are believed."""
_FAR_LOWER = 0.6
"""A count below this share of what was expected is a sign of cutting, though none that convicts by itself."""
_USUAL_WINDOWS = tuple(1024 * 2**power for power in range(1, 8))
"""What servers take for a window that do not do as they are asked."""
_TELLING_TOKENS = 64
"""Prompts shorter than this say nothing of a server's speed."""


def estimate(text: str) -> int:
    """About how many tokens `text` takes, rather too many than too few; 0 for an empty one."""
    beyond_ascii = len(text.encode("utf-8", "surrogatepass")) - len(text)
    return len(_PIECE.findall(text)) + beyond_ascii // 2


def estimate_chat(messages: Sequence[Message]) -> int:
    """About how many tokens `messages` take in a model's chat template, rather too many than too few."""
    return sum(estimate(message.content) + _ROLE_TOKENS for message in messages)


def least(messages: Sequence[Message]) -> int:
    """How many tokens `messages` take at the very least: no tokenizer joins words that white space parts."""
    return sum(len(message.content.split()) for message in messages)


@dataclass(frozen=True, slots=True)
class Window:
    """A model's context window, and the measure of texts in it."""

    tokens: int
    """What prompt and reply may take together."""
    ratio: float = 1.0
    """What the model's own count is expected to be at most, as a multiple of `estimate`."""

    def measure(self, text: str) -> int:
        """About how many of `tokens` a text takes, rather too many than too few."""
        return math.ceil(estimate(text) * self.ratio)

    def measure_chat(self, messages: Sequence[Message]) -> int:
        """About how many of `tokens` a chat takes, rather too many than too few."""
        return math.ceil(estimate_chat(messages) * self.ratio)


class Calibration:
    """What the counts that came with a model's replies have taught of its tokens and its server's speed."""

    def __init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=_MEMORY)
        self._seconds_a_token = 0.0
        """Of a prompt that was read without help of a cache, or with the least help so far."""

    @property
    def ratio(self) -> float:
        """As `Window.ratio`; 1.0 as long as nothing is known."""
        if not self._ratios:
            return 1.0
        low, high = _RATIOS
        return min(max(math.ceil(max(self._ratios) * _CAUTION / _STEP) * _STEP, low), high)

    def learn(self, messages: Sequence[Message], counted: int) -> None:
        """Take to heart that a server which saw all of `messages` counted so many tokens."""
        self._ratios.append(counted / max(estimate_chat(messages), 1))

    def was_cut(self, messages: Sequence[Message], counted: int, window: int) -> bool:
        """Whether a server that read `counted` tokens of `messages` through `window` certainly cut them.

        Ollama cuts silently. Up to 0.24 a cut prompt fills the window; from 0.30 on it takes half of it and two. A
        server may also have a smaller window than it was asked for.
        """
        if counted >= window or counted < least(messages):
            return True
        expected = estimate_chat(messages)
        if expected > window and _is_what_is_left(counted, window):
            return True
        is_far_lower = counted < _FAR_LOWER * expected * min(self.ratio, 1.0)
        return is_far_lower and any(_is_what_is_left(counted, other) for other in _USUAL_WINDOWS)

    def cached(self, counted: int, seconds: float) -> int:
        """How many of a prompt's `counted` tokens the server had read before, if it took `seconds` to read the rest.

        Rather too few than too many: the slowest prompt so far counts as one of which nothing was cached.
        """
        if counted >= _TELLING_TOKENS:
            self._seconds_a_token = max(self._seconds_a_token, seconds / counted)
        if not self._seconds_a_token:
            return 0
        return max(0, counted - math.ceil(seconds / self._seconds_a_token))


def _is_what_is_left(counted: int, window: int) -> bool:
    """Whether a prompt that was cut to fit into `window` would count so many tokens."""
    return min(abs(counted - window), abs(counted - (window // 2 + 2))) <= _SLACK
