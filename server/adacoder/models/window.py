"""Estimate the size of a text in tokens before it is sent.

The exact size is unknown, because the tokenizer belongs to the model, and servers do not offer it. So there are two
estimates. `estimate` errs on the high side, and is used to plan prompts. `lower_estimate` is never too high, so it can
prove that a server truncated a prompt. A `Calibration` compares estimates with the counts in a server's replies, and
learns how far `estimate` is off for a model.
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
"""A piece of UTF-8 text that `estimate` counts as one token: up to four letters or two capitals, but only one letter
before a digit or a non-ASCII letter; several spaces; one space before a digit or a non-ASCII letter; or any other byte.
Most models encode digits and operators one by one, and unknown words byte by byte."""
_LETTERS = re.compile(r"[A-Za-z\x80-\U0010ffff]+")
"""Letters that a tokenizer may join to one token. ASCII digits and signs always separate tokens."""
_NO_DIGIT = re.compile("[^0-9]*")
_ROLE_TOKENS = 8
"""Tokens that a chat template adds to a message."""
_SLACK = 8
"""Tolerance when a token count is compared with the count that a truncated prompt would have."""

_MEMORY = 32
"""Number of recent replies whose counts and times a `Calibration` keeps."""
_CAUTION = 1.05
"""Safety factor for `Window.ratio`."""
_STEP = 0.05
"""`Window.ratio` is rounded up to a multiple of this. Otherwise, prompts would change with every count."""
_RATIOS = (0.5, 2.0)
"""Smallest and largest `Window.ratio`."""
_USUAL = 0.7
"""Typical ratio of a server's count to `_usual_chat`, used for an unknown model. With the vocabularies of Qwen and
Mistral, prompts and Python files had medians of 0.63 to 0.82 and a minimum of 0.47."""
_FAR_LOWER = 0.55
"""A count below this share of the expected count makes truncation likely, but does not prove it."""
_USUAL_WINDOWS = tuple(1024 * 2**power for power in range(1, 9))
"""Windows that servers may have if they ignore the requested one. `was_cut` compares counts with half of each. A count
that fills a window is half of the next window, so it is detected as well."""
_TELLING_TOKENS = 64
"""Shorter prompts are not used to measure a server's speed."""


def estimate(text: str) -> int:
    """Estimate the tokens of `text`. The result is too high rather than too low, and 0 for an empty text."""
    return len(_PIECE.findall(text.encode("utf-8", "surrogatepass")))


def estimate_chat(messages: Sequence[Message]) -> int:
    """Estimate the tokens of `messages` in a chat template. The result is too high rather than too low."""
    return sum(estimate(message.content) + _ROLE_TOKENS for message in messages)


def _usual_chat(messages: Sequence[Message]) -> int:
    """Estimate tokens like `estimate_chat`, but count each non-ASCII character as one, as most models do."""
    pieces = (len(_PIECE.findall(message.content.encode("ascii", "replace"))) for message in messages)
    return sum(count + _ROLE_TOKENS for count in pieces)


def lower_estimate(messages: Sequence[Message]) -> int:
    """Return the minimum number of tokens: no token joins letters or digits across spaces, or letters across signs."""
    words = (word for message in messages for word in message.content.split())
    return sum(sum(map(_has_letter, _LETTERS.findall(word))) or not _NO_DIGIT.fullmatch(word) for word in words)


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))


class Bound(Enum):
    """The limit that decides a window's size. A user who needs a larger window must change this limit."""

    SETTING = "the setting"
    UNTOLD = "the setting, or less"
    """The server has its own window and does not report its size."""
    SERVER = "how the server was started"
    MODEL = "the model's training"


@dataclass(frozen=True, slots=True)
class Window:
    """A model's context window, with methods that estimate the size of texts in tokens of this model."""

    tokens: int
    """Maximum tokens of prompt and reply together."""
    ratio: float = 1.0
    """Expected maximum of the model's own token count divided by `estimate`."""
    bound: Bound = Bound.SETTING

    def measure(self, text: str) -> int:
        """Estimate the tokens of a text. The result is too high rather than too low."""
        return math.ceil(estimate(text) * self.ratio)

    def measure_chat(self, messages: Sequence[Message]) -> int:
        """Estimate the tokens of a chat. The result is too high rather than too low."""
        return math.ceil(estimate_chat(messages) * self.ratio)


class Calibration:
    """Statistics about a model's token counts and its server's speed, learned from replies."""

    def __init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=_MEMORY)
        """Ratios of the server's counts to `estimate_chat`."""
        self._usual: deque[float] = deque([_USUAL], maxlen=_MEMORY)
        """Ratios of the server's counts to `_usual_chat`."""
        self._seconds: deque[tuple[float, float]] = deque(maxlen=_MEMORY)
        """Minimum and maximum seconds per prompt token. They differ because part of the prompt may have been cached."""
        self._last = ""
        """The previous prompt. The server may have cached its beginning."""
        self._slowest: deque[float] = deque(maxlen=_MEMORY)
        """Seconds until the first part of a reply, per prompt token. They include loading and waiting."""
        self._begun = ""
        """The prompt of the last reply that began to arrive."""
        self.closed = False
        """True if this process closed a stream before its end, and the server has begun no reply since."""
        self.thinks_aloud: bool | None = None
        """True if the last reply that was read to its end had thoughts; None before the first such reply."""

    @property
    def ratio(self) -> float:
        """The value for `Window.ratio`. It is 1.0 until a count is known."""
        if not self._ratios:
            return 1.0
        low, high = _RATIOS
        return min(max(math.ceil(max(self._ratios) * _CAUTION / _STEP) * _STEP, low), high)

    @property
    def seconds_a_token(self) -> float:
        """Seconds that the server takes to read a prompt token; 0.0 if unknown.

        The server may have cached the beginning that a prompt shares with the previous prompt. So each prompt gives a
        minimum and a maximum, and the result fits all of them. Prompts that were much faster than the others are
        ignored, because they were cached before this process sent them.
        """
        slowest = max((least for least, _ in self._seconds), default=0.0)
        return max(slowest, min((most for _, most in self._seconds if most > slowest / 2), default=0.0))

    @property
    def seconds_a_token_at_most(self) -> float:
        """`seconds_a_token`, or an upper bound of it as long as it is unknown; 0.0 if no reply has come yet."""
        return self.seconds_a_token or min(self._slowest, default=0.0)

    def began(self, messages: Sequence[Message], seconds: float) -> None:
        """Record that the first part of a reply to `messages` came after `seconds`, including loading and waiting."""
        prompt = _joined(messages)
        shared, self._begun = commonprefix([prompt, self._begun]), prompt  # noqa: RUF071  # by characters
        unread = self.expected(messages) * (len(prompt) - len(shared)) / max(len(prompt), 1)
        self._slowest.append(seconds / max(unread, 1))

    def learn(self, messages: Sequence[Message], counted: int) -> None:
        """Record that a server read all of `messages` and counted `counted` tokens."""
        self._ratios.append(counted / max(estimate_chat(messages), 1))
        self._usual.append(counted / max(_usual_chat(messages), 1))

    def expected(self, messages: Sequence[Message]) -> int:
        """Return the expected number of tokens of `messages`. It is as likely to be too high as too low."""
        return round(_usual_chat(messages) * self._usual[-1])

    def cached(self, messages: Sequence[Message], counted: int, seconds: float | None, *, by_server: bool) -> int:
        """Estimate how many of the `counted` tokens of `messages` were cached. The result errs on the low side.

        The server read the other tokens in at most `seconds`. If `seconds` is None, the server had to load the model,
        so nothing was cached. `by_server` is True if the server measured the time, which then includes no waiting.

        Only the beginning that this prompt shares with the previous prompt can have been cached. So call this method
        once for each prompt: it records the prompt and its time.
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
        """Return whether a server that counted `counted` tokens for `messages` in `window` certainly truncated them.

        Ollama truncates silently. Up to version 0.24, a truncated prompt fills the window. From 0.30 on, it takes half
        of the window plus two tokens. A server may also have a smaller window than requested. If the count is well
        above `window`, the server's window is larger, so the prompt was not truncated.
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
    """Return whether a prompt that was truncated to half of `window` would give this count."""
    return abs(counted - (window // 2 + 2)) <= _SLACK
