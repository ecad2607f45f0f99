"""The numbered steps in a reply that was to plan."""

from __future__ import annotations

import re
from dataclasses import dataclass

from adacoder.replies.filters import is_thinking, without_thinking

_STEP = re.compile(r" {0,3}(?:#{1,6} +)?[*_]{0,2}(?:[Ss]tep +)?(?P<number>\d{1,2})[*_]{0,2}[.):]")
_ENDS_STEPS = re.compile(r"```|~~~|#")
"""What no step goes on with, even without a blank line before it."""
_LEAST_STEPS = 3
"""What a plan is asked to have at least; with fewer, what follows may still belong to it."""
_TELLING_CHARACTERS = 16
"""So much of a line shows that it is no further step."""


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    is_followed: bool
    """Whether something else begins behind the steps."""


def steps(text: str) -> str:
    """The numbered steps in `text`, without what is said before and after; all of it where there are too few."""
    found = _find(text)
    return (text if found is None else text[found.start : found.end]).strip()


def are_complete(text: str) -> bool:
    """Whether a growing reply holds all the steps it will have: something else begins behind them."""
    if is_thinking(text):
        return False
    found = _find(without_thinking(text))
    return found is not None and found.is_followed


def _find(text: str) -> _Found | None:
    """The first numbered steps that are enough for a plan.

    They go on over lines that are indented, and end at a fence, a heading, or at any other text behind a blank line.
    """
    start = offset = count = 0
    is_behind_blank = False
    for line in text.splitlines(keepends=True):
        number = _STEP.match(line)
        if number is not None and int(number["number"]) == count + 1:
            start = offset if count == 0 else start
            count += 1
        elif count and _is_something_else(line, is_behind_blank):
            if count >= _LEAST_STEPS:
                return _Found(start, offset, is_followed=True)
            count = 0
        is_behind_blank = not line.strip()
        offset += len(line)
    return _Found(start, offset, is_followed=False) if count >= _LEAST_STEPS else None


def _is_something_else(line: str, is_behind_blank: bool) -> bool:
    if not line.strip() or line[0] in " \t":
        return False
    if not (line.endswith("\n") or len(line) >= _TELLING_CHARACTERS):
        return False
    return is_behind_blank or _ENDS_STEPS.match(line) is not None
