"""Detect replies that only repeat themselves. Small models may do so until they have used up all their tokens."""

from __future__ import annotations

import re
from itertools import pairwise

_PERIOD = 400
"""Maximum length of a repeated passage, in characters."""
_TIMES = 20
"""A passage must occur at least this many times in a row."""
_CHARACTERS = 1500
"""Minimum length of a passage with all its repetitions, in characters. Most tables in code are shorter."""
_TELLING = 2 * _PERIOD * _TIMES
"""Number of characters at the end of a text in which all numbers count as equal."""
_LONGEST = 100_000
"""Maximum characters of a text in which numbers count as equal."""
_NUMBER = re.compile(r"\d+")
_STEP = re.compile(
    r"^[ \t]{0,3}(?:[-#>][-#> ]*)?[*_]{0,2}(?:step[ \t]*)?(\d{1,6})[*_]{0,2}[.):]", re.MULTILINE | re.IGNORECASE
)
_STEPS = 40
"""Number of consecutive steps that no plan has.

Prompts ask for eight steps, and no recorded reply has even half of this number.
"""
_CODE = re.compile(
    r"\A[ \t]|^[ \t]*(?:```|~~~|@\w|(?:async[ \t]+)?def[ \t]+\w|class[ \t]+\w+[ \t]*[(:]|import[ \t]+\w"
    r"|from[ \t]+\S+[ \t]+import\b|return\b|[\w.]+[ \t]*(?::[^=\n]*)?=)",
    re.MULTILINE,
)
"""Matches the beginning of code. In code, lines that differ only in numbers may be a table."""


def is_repetition(text: str) -> bool:
    """Return whether `text` ends in a passage that is repeated many times, or in too many numbered steps."""
    if _repeats(text):
        return True
    if len(text) > _LONGEST or _CODE.search(text):
        return False
    return _repeats(_NUMBER.sub("0", text[-_TELLING:])) or _counts_on(text)


def _repeats(text: str) -> bool:
    for period in range(1, min(_PERIOD, len(text) // _TIMES) + 1):
        begin = len(text) - max(_CHARACTERS, period * _TIMES)
        if begin >= 0 and text[begin + period :] == text[begin:-period]:
            return True
    return False


def _counts_on(text: str) -> bool:
    """Return whether the last `_STEPS` numbered lines have consecutive numbers."""
    numbers = [int(number) for number in _STEP.findall(text)][-_STEPS:]
    return len(numbers) == _STEPS and all(later == number + 1 for number, later in pairwise(numbers))
