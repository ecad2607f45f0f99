"""Size of a text in tokens, known before it is sent.

No tokenizer is available: it belongs to the model, and servers do not offer it. So there are two estimates. `estimate`
is an upper one, for planning. `lower_estimate` is a lower one, to prove that a server truncated a prompt. From the
counts in replies a `Calibration` learns how far the upper estimate is off for a model.
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
"""One token of a UTF-8 text, as counted here: four letters, two if they are capitals, and fewer next to anything but
English; a run of blanks, and the blank before a number or a foreign word; any other byte. Most models encode digits and
operators one by one, and unknown words byte by byte."""
_LETTERS = re.compile(r"[A-Za-z\x80-\U0010ffff]+")
"""Largest unit that a tokenizer may take as one token: ASCII digits and signs separate letters."""
_NO_DIGIT = re.compile("[^0-9]*")
_ROLE_TOKENS = 8
"""Tokens that a chat template adds to a message."""
_SLACK = 8
"""Tolerance when a count is compared with the count that a truncation rule predicts."""

_MEMORY = 32
"""Number of counts that a calibration keeps."""
_CAUTION = 1.05
"""Safety factor for the largest ratio."""
_STEP = 0.05
"""Ratios are rounded up to multiples of this, so that a prompt does not change with every count."""
_RATIOS = (0.5, 2.0)
"""Smallest and largest plausible ratio."""
_USUAL = 0.7
"""Typical ratio of a count to `_usual_chat`, for an unknown model. Measured on prompts and Python files with the
vocabularies of Qwen and Mistral: the median is 0.63 to 0.82, the minimum 0.47."""
_FAR_LOWER = 0.55
"""Share of the expected count below which truncation is likely, but not proved."""
_USUAL_WINDOWS = tuple(1024 * 2**power for power in range(1, 9))
"""Default windows of servers that ignore the requested one. Half of each is about the previous one, so a filled window
is detected as well."""
_TELLING_TOKENS = 64
"""Minimum size in tokens of a prompt for measuring a server's speed."""


def estimate(text: str) -> int:
    """Estimate the tokens of `text`, rather too many than too few; 0 for an empty text."""
    return len(_PIECE.findall(text.encode("utf-8", "surrogatepass")))


def estimate_chat(messages: Sequence[Message]) -> int:
    """Estimate the tokens of `messages` in a chat template, rather too many than too few."""
    return sum(estimate(message.content) + _ROLE_TOKENS for message in messages)


def _usual_chat(messages: Sequence[Message]) -> int:
    """Estimate tokens like `estimate_chat`, but count each non-ASCII character as one.

    Most models have tokens for known characters.
    """
    pieces = (len(_PIECE.findall(message.content.encode("ascii", "replace"))) for message in messages)
    return sum(count + _ROLE_TOKENS for count in pieces)


def lower_estimate(messages: Sequence[Message]) -> int:
    """Return the minimum number of tokens of `messages`.

    No tokenizer joins letters or digits across white space, or letters across a sign.
    """
    words = (word for message in messages for word in message.content.split())
    return sum(sum(map(_has_letter, _LETTERS.findall(word))) or not _NO_DIGIT.fullmatch(word) for word in words)


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))


class Bound(Enum):
    """Reason for the size of a window, and so the thing to change for a larger window."""

    SETTING = "the setting"
    UNTOLD = "the setting, or less"
    """The server has its own window and does not report its size."""
    SERVER = "how the server was started"
    MODEL = "the model's training"


@dataclass(frozen=True, slots=True)
class Window:
    """A model's context window, and the measure of texts in it."""

    tokens: int
    """Maximum tokens of prompt and reply together."""
    ratio: float = 1.0
    """Maximum expected ratio of the model's own count to `estimate`."""
    bound: Bound = Bound.SETTING

    def measure(self, text: str) -> int:
        """Estimate the tokens of a text, rather too many than too few."""
        return math.ceil(estimate(text) * self.ratio)

    def measure_chat(self, messages: Sequence[Message]) -> int:
        """Estimate the tokens of a chat, rather too many than too few."""
        return math.ceil(estimate_chat(messages) * self.ratio)


class Calibration:
    """Statistics from the counts in a model's replies, about its tokens and its server's speed."""

    def __init__(self) -> None:
        self._ratios: deque[float] = deque(maxlen=_MEMORY)
        """Ratios of each count to `estimate_chat`."""
        self._usual: deque[float] = deque([_USUAL], maxlen=_MEMORY)
        """Ratios of each count to `_usual_chat`."""
        self._seconds: deque[tuple[float, float]] = deque(maxlen=_MEMORY)
        """Seconds per prompt token, minimum and maximum: part of the prompt may have been cached."""
        self._last = ""
        """Prompt that the server read last."""
        self._slowest: deque[float] = deque(maxlen=_MEMORY)
        """Seconds per prompt token until the first part of a reply, loading and waiting included."""
        self._begun = ""
        """Prompt of the last reply that began."""
        self.closed = False
        """True if this process closed a stream before its end, and the server has begun no reply since."""
        self.thinks_aloud: bool | None = None
        """True if the last reply that was read to its end had thoughts; None before the first such reply."""

    @property
    def ratio(self) -> float:
        """The value for `Window.ratio`; 1.0 until a count is known."""
        if not self._ratios:
            return 1.0
        low, high = _RATIOS
        return min(max(math.ceil(max(self._ratios) * _CAUTION / _STEP) * _STEP, low), high)

    @property
    def seconds_a_token(self) -> float:
        """Seconds in which the server reads a token; 0.0 if unknown.

        This speed is consistent with the times of all prompts, if at most the beginning that each shares with the
        previous prompt was cached. A prompt that was much faster than the others was cached before this process asked.
        Its time is ignored.
        """
        slowest = max((least for least, _ in self._seconds), default=0.0)
        return max(slowest, min((most for _, most in self._seconds if most > slowest / 2), default=0.0))

    @property
    def seconds_a_token_at_most(self) -> float:
        """Upper bound of `seconds_a_token`, for a server whose speed is unknown; 0.0 if there is none."""
        return self.seconds_a_token or min(self._slowest, default=0.0)

    def began(self, messages: Sequence[Message], seconds: float) -> None:
        """Record that the first part of a reply to `messages` came after `seconds`, loading and waiting included."""
        prompt = _joined(messages)
        shared, self._begun = commonprefix([prompt, self._begun]), prompt  # noqa: RUF071  # by characters
        unread = self.expected(messages) * (len(prompt) - len(shared)) / max(len(prompt), 1)
        self._slowest.append(seconds / max(unread, 1))

    def learn(self, messages: Sequence[Message], counted: int) -> None:
        """Record that a server which read all of `messages` counted `counted` tokens."""
        self._ratios.append(counted / max(estimate_chat(messages), 1))
        self._usual.append(counted / max(_usual_chat(messages), 1))

    def expected(self, messages: Sequence[Message]) -> int:
        """Return the expected number of tokens of `messages`, as likely too many as too few."""
        return round(_usual_chat(messages) * self._usual[-1])

    def cached(self, messages: Sequence[Message], counted: int, seconds: float | None, *, by_server: bool) -> int:
        """Estimate how many of the `counted` tokens of `messages` were cached.

        The server took at most `seconds` for the rest.

        If `seconds` is None, the server had to load the model, so nothing was cached. Call this once for each prompt,
        because the next prompt is compared with this one, and its time shows the server's speed.

        `by_server`: the time is the server's own, and includes no wait. The estimate is rather too low than too high:
        only the common beginning of this prompt and the last can have been cached.
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
        """Return whether a server that read `counted` tokens of `messages` through `window` certainly truncated them.

        Ollama truncates silently. Up to 0.24 a truncated prompt fills the window; from 0.30 on it takes half of the
        window and two tokens more. A server may also have a smaller window than requested. A count well above `window`
        means that the server's window is larger.
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
