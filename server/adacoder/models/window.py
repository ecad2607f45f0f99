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
from enum import Enum
from os.path import commonprefix

from adacoder.domain import Message

_PIECE = re.compile(
    rb"[A-Z]?[a-z]{1,4}(?![0-9A-Z\x80-\xff])|[A-Z]{1,2}(?![0-9a-z\x80-\xff])"
    rb"| +(?= [0-9])| (?=[0-9\x80-\xff])| {2,}|[^ ]"
)
"""What counts as one token of a text in UTF-8: four letters, two if they are capitals, and fewer where they adjoin what
is no word of English; a run of blanks, and the one before a number or a foreign word; any other byte. Most models write
digits and operators one by one, and what they have no word for byte by byte."""
_LETTERS = re.compile(r"[A-Za-z\x80-\U0010ffff]+")
"""What a tokenizer may take as one token: it joins no letters that an ASCII digit or sign parts."""
_NO_DIGIT = re.compile("[^0-9]*")
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
_USUAL = 0.7
"""What a count is expected to be, as a multiple of the pieces and other characters of a text, as long as nothing is
known of a model. Of prompts and Python files, measured with the vocabularies of Qwen and Mistral: the median is 0.63 to
0.82, the least 0.47."""
_FAR_LOWER = 0.55
"""A count below this share of that is a sign of cutting, though none that convicts by itself."""
_USUAL_WINDOWS = tuple(1024 * 2**power for power in range(1, 9))
"""What servers take for a window that do not do as they are asked. Half of each is about the one before, so that one
that was filled shows as well."""
_TELLING_TOKENS = 64
"""Prompts shorter than this say nothing of a server's speed."""


def estimate(text: str) -> int:
    """About how many tokens `text` takes, rather too many than too few; 0 for an empty one."""
    return len(_PIECE.findall(text.encode("utf-8", "surrogatepass")))


def estimate_chat(messages: Sequence[Message]) -> int:
    """About how many tokens `messages` take in a model's chat template, rather too many than too few."""
    return sum(estimate(message.content) + _ROLE_TOKENS for message in messages)


def _usual_chat(messages: Sequence[Message]) -> int:
    """As `estimate_chat`, but each character beyond ASCII as one: most models have words for those that they know."""
    pieces = (len(_PIECE.findall(message.content.encode("ascii", "replace"))) for message in messages)
    return sum(count + _ROLE_TOKENS for count in pieces)


def least(messages: Sequence[Message]) -> int:
    """How many tokens `messages` take at the very least.

    No tokenizer joins letters or digits that white space parts, nor the letters on both sides of a sign.
    """
    words = (word for message in messages for word in message.content.split())
    return sum(sum(map(_has_letter, _LETTERS.findall(word))) or not _NO_DIGIT.fullmatch(word) for word in words)


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))


class Bound(Enum):
    """What makes a window as small as it is, and so what has to change for a larger one."""

    SETTING = "the setting"
    UNTOLD = "the setting, or less"
    """The server has a window of its own, and does not tell which."""
    SERVER = "how the server was started"
    MODEL = "what the model was trained with"


@dataclass(frozen=True, slots=True)
class Window:
    """A model's context window, and the measure of texts in it."""

    tokens: int
    """What prompt and reply may take together."""
    ratio: float = 1.0
    """What the model's own count is expected to be at most, as a multiple of `estimate`."""
    bound: Bound = Bound.SETTING

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
        """What was counted, as a multiple of `estimate_chat`."""
        self._usual: deque[float] = deque([_USUAL], maxlen=_MEMORY)
        """The same, of `_usual_chat`."""
        self._seconds: deque[tuple[float, float]] = deque(maxlen=_MEMORY)
        """That a token of a prompt took, at least and at most, by what can have been cached of it."""
        self._last = ""
        """The prompt that the server has read last."""

    @property
    def ratio(self) -> float:
        """As `Window.ratio`; 1.0 as long as nothing is known."""
        if not self._ratios:
            return 1.0
        low, high = _RATIOS
        return min(max(math.ceil(max(self._ratios) * _CAUTION / _STEP) * _STEP, low), high)

    @property
    def seconds_a_token(self) -> float:
        """How long the server takes to read a token; 0.0 as long as nothing is known.

        That is what explains all prompts if no more was cached of each than it has in common with the one before. One
        that came faster than others can have been read had been read before this process asked.
        """
        slowest = max((least for least, _ in self._seconds), default=0.0)
        return max(slowest, min((most for _, most in self._seconds if most > slowest / 2), default=0.0))

    def learn(self, messages: Sequence[Message], counted: int) -> None:
        """Take to heart that a server which saw all of `messages` counted so many tokens."""
        self._ratios.append(counted / max(estimate_chat(messages), 1))
        self._usual.append(counted / max(_usual_chat(messages), 1))

    def expected(self, messages: Sequence[Message]) -> int:
        """How many tokens `messages` take as far as is known, as likely too many as too few."""
        return round(_usual_chat(messages) * self._usual[-1])

    def cached(self, messages: Sequence[Message], counted: int, seconds: float | None, *, by_server: bool) -> int:
        """How many of the `counted` tokens of `messages` the server had read before, if it took at most `seconds`
        to read the rest; None: it cannot have read any before, since it had to load the model. To be asked once for
        each prompt, since the next is compared with it, and its time teaches how fast the server reads.

        `by_server`: the time is the server's own, which no wait is a part of. Rather too few than too many: only what
        this prompt and the last have in common can have been read before.
        """
        prompt = "\0".join(message.content for message in messages)
        shared, self._last = commonprefix([prompt, self._last]), prompt  # noqa: RUF071  # of characters it is to be
        most = counted * len(shared) // max(len(prompt), 1)
        if seconds is None:
            return 0
        if counted >= _TELLING_TOKENS:
            self._seconds.append((seconds / counted if by_server else 0.0, seconds / max(counted - most, 1)))
        pace = self.seconds_a_token
        return max(0, min(counted - math.ceil(seconds / pace), most)) if pace else 0

    def was_cut(self, messages: Sequence[Message], counted: int, window: int) -> bool:
        """Whether a server that read `counted` tokens of `messages` through `window` certainly cut them.

        Ollama cuts silently. Up to 0.24 a cut prompt fills the window; from 0.30 on it takes half of it and two. A
        server may also have a smaller window than it was asked for; one that counts more has a larger one.
        """
        if window <= counted <= window + _SLACK or counted < least(messages):
            return True
        usual = _usual_chat(messages)
        if usual * min(self.ratio, 1.0) > window and _is_half(counted, window):
            return True
        is_far_lower = counted < _FAR_LOWER * min(self._usual) * usual
        return is_far_lower and any(_is_half(counted, other) for other in _USUAL_WINDOWS)


def _is_half(counted: int, window: int) -> bool:
    """Whether a prompt that was cut to half of `window` would count so many tokens."""
    return abs(counted - (window // 2 + 2)) <= _SLACK
