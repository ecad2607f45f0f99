"""Detect repetition. Small models may repeat a passage until they have used up all their tokens."""

from __future__ import annotations

import re
from itertools import pairwise

_PERIOD = 400
"""Maximum length of a repeated passage, in characters."""
_TIMES = 20
"""Minimum number of times that a repeated passage occurs in a row."""
_CHARACTERS = 1500
"""Minimum number of repeated characters. A table in a function has fewer."""
_TELLING = 2 * _PERIOD * _TIMES
"""Number of characters at the end of a text that are also compared after all numbers in them are replaced by 0."""
_LONGEST = 100_000
"""Maximum length in characters of a text that is searched for code."""
_NUMBER = re.compile(r"\d+")
_STEP = re.compile(
    r"^[ \t]{0,3}(?:[-#>][-#> ]*)?[*_]{0,2}(?:step[ \t]*)?(\d{1,6})[*_]{0,2}[.):]", re.MULTILINE | re.IGNORECASE
)
_STEPS = 40
"""This many consecutive numbered lines cannot be a plan. Prompts ask for eight, and every recorded reply has less than
half as many.
"""
_CODE = re.compile(
    r"\A[ \t]|^[ \t]*(?:```|~~~|@\w|(?:async[ \t]+)?def[ \t]+\w|class[ \t]+\w+[ \t]*[(:]|import[ \t]+\w"
    r"|from[ \t]+\S+[ \t]+import\b|return\b|[\w.]+[ \t]*(?::[^=\n]*)?=)",
    re.MULTILINE,
)
"""The beginning of code. Code may repeat itself for a good reason, as in a table with a line for each number."""


def is_repetition(text: str) -> bool:
    """Return whether `text` ends in a repeated passage or in endless numbered steps."""
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
    """Return whether the last `_STEPS` numbered lines count up by one."""
    numbers = [int(number) for number in _STEP.findall(text)][-_STEPS:]
    return len(numbers) == _STEPS and all(later == number + 1 for number, later in pairwise(numbers))
