"""Whether a model goes round in circles: small ones repeat themselves until they have used up all their tokens."""

from __future__ import annotations

_PERIOD = 400
"""Characters that may come again and again."""
_TIMES = 20
"""How often at least, one after the other."""
_CHARACTERS = 1500
"""How many there must be of them in all, so that no table in a function is taken for it."""


def goes_round(text: str) -> bool:
    """Whether `text` ends in nothing but one passage over and over."""
    for period in range(1, min(_PERIOD, len(text) // _TIMES) + 1):
        begin = len(text) - max(_CHARACTERS, period * _TIMES)
        if begin >= 0 and text[begin + period :] == text[begin:-period]:
            return True
    return False
