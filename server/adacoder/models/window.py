"""Estimate the number of tokens in a text before it is sent. Only the server has the model's tokenizer.

`estimate` tends to be too high, and is used to plan prompts. `lower_estimate` is never too high, so it can prove that a
server truncated a prompt.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from os.path import commonprefix

from adacoder.domain import Message

_PIECE = re.compile(
    rb"[A-Z]?[a-z]{1,4}(?![0-9A-Z\x80-\xff])|[A-Z]{1,2}(?![0-9a-z\x80-\xff])"
    rb"| +(?= [0-9])| (?=[0-9\x80-\xff])| {2,}|[^ ]"
)
"""Matches each piece of UTF-8 text that `estimate` counts as one token, such as up to four letters."""
_LETTERS = re.compile(r"[A-Za-z\x80-\U0010ffff]+")
"""Matches letters that a tokenizer may join into one token."""
_NO_DIGIT = re.compile("[^0-9]*")
_ROLE_TOKENS = 8
"""Number of tokens that a chat template adds to a message."""
_SLACK = 8
"""Tolerance in tokens when a server's count is compared with the expected count of a truncated prompt."""

_MEMORY = 32
"""Number of recent replies that a `Calibration` remembers."""
_CAUTION = 1.05
"""Factor that makes `Window.ratio` a little too large, for safety."""
_STEP = 0.05
"""Step to which `Window.ratio` is rounded up. Without rounding, each new count would change the prompts."""
_RATIOS = (0.5, 2.0)
"""Smallest and largest `Window.ratio`."""
_USUAL = 0.7
"""Assumed ratio of a server's token count to `_usual_chat`, for an unknown model. With the vocabularies of Qwen and
Mistral, prompts and Python files had medians of 0.63 to 0.82 and a minimum of 0.47."""
_FAR_LOWER = 0.55
"""Share of the expected count. A lower count is a sign of truncation, but no proof."""
_USUAL_WINDOWS = tuple(1024 * 2**power for power in range(1, 9))
"""Context windows that a server may have if it ignores the requested size."""
_TELLING_TOKENS = 64
"""Minimum number of tokens in a prompt that is used to measure a server's speed."""


def estimate(text: str) -> int:
    """Return an estimate of the tokens in `text`. The estimate tends to be too high."""
    return len(_PIECE.findall(text.encode("utf-8", "surrogatepass")))


def estimate_chat(messages: Sequence[Message]) -> int:
    """Return an estimate of the tokens in `messages` and the chat template. The estimate tends to be too high."""
    return sum(estimate(message.content) + _ROLE_TOKENS for message in messages)


def _usual_chat(messages: Sequence[Message]) -> int:
    """Return an estimate like `estimate_chat`, but count one token for each non-ASCII character, as most models do."""
    pieces = (len(_PIECE.findall(message.content.encode("ascii", "replace"))) for message in messages)
    return sum(count + _ROLE_TOKENS for count in pieces)


def lower_estimate(messages: Sequence[Message]) -> int:
    """Return a lower bound for the number of tokens. A token never has letters of several words."""
    words = (word for message in messages for word in message.content.split())
    return sum(sum(map(_has_letter, _LETTERS.findall(word))) or not _NO_DIGIT.fullmatch(word) for word in words)


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))


class Bound(Enum):
    """Limit that decides a window's size. Only a change of this limit gives a larger window."""

    SETTING = "the setting"
    UNTOLD = "the setting, or less"
    """The server has a window of unknown size."""
    SERVER = "how the server was started"
    MODEL = "the model's training"


@dataclass(frozen=True, slots=True)
class Window:
    """A model's context window, with a correction for the model's tokenizer."""

    tokens: int
    """Maximum number of tokens in prompt and reply together."""
    ratio: float = 1.0
    """Factor that turns `estimate` into a safe upper bound for the model's own token count."""
    bound: Bound = Bound.SETTING

    def measure(self, text: str) -> int:
        """Return an estimate of the model's tokens in a text. The estimate tends to be too high."""
        return math.ceil(estimate(text) * self.ratio)

    def measure_chat(self, messages: Sequence[Message]) -> int:
        """Return an estimate of the model's tokens in a chat. The estimate tends to be too high."""
        return math.ceil(estimate_chat(messages) * self.ratio)


class Calibration:
    """Statistics about a model's token counts and reading speed, learned from replies."""

    def __init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=_MEMORY)
        """Token counts of the server, divided by the estimates of `estimate_chat`."""
        self._usual: deque[float] = deque([_USUAL], maxlen=_MEMORY)
        """Token counts of the server, divided by the estimates of `_usual_chat`."""
        self._seconds: deque[tuple[float, float]] = deque(maxlen=_MEMORY)
        """Bounds of the seconds per prompt token. The bounds differ if part of a prompt may be cached."""
        self._last = ""
        """Previous prompt, whose beginning the server may have cached."""
        self._slowest: deque[float] = deque(maxlen=_MEMORY)
        """Seconds until the first part of a reply, per prompt token, including loading and waiting."""
        self._begun = ""
        """Prompt of the last reply that began."""
        self.closed = False
        """True if this process closed a stream early, and no reply has begun since."""
        self.thinks_aloud: bool | None = None
        """True if the last complete reply had thoughts; None before the first complete reply."""

    @property
    def ratio(self) -> float:
        """Value for `Window.ratio`; 1.0 before the first count."""
        if not self._ratios:
            return 1.0
        low, high = _RATIOS
        return min(max(math.ceil(max(self._ratios) * _CAUTION / _STEP) * _STEP, low), high)

    @property
    def seconds_a_token(self) -> float:
        """Seconds that the server needs to read a prompt token; 0.0 if unknown.

        The server may cache parts of prompts, so each prompt gives only a lower and an upper bound. Prompts that were
        read much faster than others are ignored.
        """
        slowest = max((least for least, _ in self._seconds), default=0.0)
        return max(slowest, min((most for _, most in self._seconds if most > slowest / 2), default=0.0))

    @property
    def seconds_a_token_at_most(self) -> float:
        """Upper bound of `seconds_a_token`; 0.0 before the first reply."""
        return self.seconds_a_token or min(self._slowest, default=0.0)

    def began(self, messages: Sequence[Message], seconds: float) -> None:
        """Record that the first part of a reply came after `seconds`. This time may include loading and waiting."""
        prompt = _joined(messages)
        shared, self._begun = commonprefix([prompt, self._begun]), prompt  # noqa: RUF071  # by characters
        unread = self.expected(messages) * (len(prompt) - len(shared)) / max(len(prompt), 1)
        self._slowest.append(seconds / max(unread, 1))

    def learn(self, messages: Sequence[Message], counted: int) -> None:
        """Record that the server counted `counted` tokens in `messages`, and read all of them."""
        self._ratios.append(counted / max(estimate_chat(messages), 1))
        self._usual.append(counted / max(_usual_chat(messages), 1))

    def expected(self, messages: Sequence[Message]) -> int:
        """Return the most likely number of tokens in `messages`."""
        return round(_usual_chat(messages) * self._usual[-1])

    def cached(self, messages: Sequence[Message], counted: int, seconds: float | None, *, by_server: bool) -> int:
        """Estimate how many of the `counted` tokens in `messages` were cached. The estimate tends to be too low.

        `seconds` is the time for reading the other tokens; None if the model was just loaded, so that nothing was
        cached. `by_server` is True if the server measured the time. Otherwise, the time may include waits.

        Call this method once for each prompt, because the method also records the prompt.
        """
        prompt = _joined(messages)
        shared, self._last = commonprefix([prompt, self._last]), prompt  # noqa: RUF071  # by characters
        most = counted * len(shared) // max(len(prompt), 1)
        if seconds is None:
            return 0
        if counted >= _TELLING_TOKENS:
            self._seconds.append((seconds / counted if by_server else 0.0, seconds / max(counted - most, 1)))
        pace = self.seconds_a_token
        return max(0, min(counted - math.ceil(seconds / pace), most)) if pace else 0

    def was_cut(self, messages: Sequence[Message], counted: int, window: int) -> bool:
        """Return whether the server certainly truncated `messages`, judged by the server's token count.

        Ollama truncates silently. Up to version 0.24, a truncated prompt fills the window. From 0.30 on, a truncated
        prompt has half of the window plus two tokens.
        """
        if window <= counted <= window + _SLACK or counted < lower_estimate(messages):
            return True
        usual = _usual_chat(messages)
        if usual * min(self.ratio, 1.0) > window and _is_half(counted, window):
            return True
        is_far_lower = counted < _FAR_LOWER * min(self._usual) * usual
        return is_far_lower and any(_is_half(counted, other) for other in _USUAL_WINDOWS)


def _joined(messages: Sequence[Message]) -> str:
    return "\0".join(message.content for message in messages)


def _is_half(counted: int, window: int) -> bool:
    """Return whether `counted` is the token count of a prompt that was cut to half of `window`."""
    return abs(counted - (window // 2 + 2)) <= _SLACK
