"""Read a score, or a yes or no, in a reply."""

from __future__ import annotations

import re

from adacoder.replies.filters import answer

_MARKS = "*_`#> \t"
_WORDS = {"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
_NUMBER = rf"(?<![\w.-])(?P<number>\d{{1,3}}(?:\.\d+)?|{'|'.join(_WORDS)})(?![\w]|\.\d)"
_OF = r"\s*(?:/|out\s+of)\s*(?P<most>\d{1,3})\b"
_NAMED = re.compile(
    rf"\b(?:score|rating|grade|confidence|rate)\b[^\d\n]{{0,40}}?{_NUMBER}(?:{_OF}|(?P<percent>\s*%))?", re.IGNORECASE
)
_OUT_OF = re.compile(f"{_NUMBER}{_OF}", re.IGNORECASE)
_SHARE = re.compile(rf"{_NUMBER}(?P<percent>\s*(?:%|per\s?cent\b))", re.IGNORECASE)
_ALONE = re.compile(rf"{_NUMBER}(?P<percent>\s*%)?", re.IGNORECASE)
_JUDGES = re.compile(
    r"(?P<not>(?:\b(?:not|cannot|never|nothing|no longer)|n['’]t)\s+(?:\w+\s+)?)?"
    r"\b(?:(?P<yes>true|yes|correct|accept(?:ed|able)?|verified|valid)"
    r"|(?P<no>false|no(?=\W*$|[,.;:!])|incorrect|wrong|reject(?:ed)?|invalid|refine))\b",
    re.IGNORECASE,
)


def score(text: str, most: int) -> float | None:
    """Return the score in a reply, from 0 to `most`; None if there is no score.

    Examples are "Score: 4", "**4/5**" and "I give it a three". The last score counts, because models give reasons
    first.
    """
    lines = [line.strip(_MARKS) for line in answer(text).splitlines() if line.strip(_MARKS)]
    for form in (_NAMED, _OUT_OF, _SHARE):
        for line in reversed(lines):
            for found in reversed([*form.finditer(line)]):
                value = _scaled(found, most)
                if value is not None:
                    return value
    for line in reversed(lines):
        values = [value for found in _ALONE.finditer(line) if (value := _scaled(found, most)) is not None]
        if values:
            return values[-1]
    return None


def _scaled(found: re.Match[str], most: int) -> float | None:
    """Return the score in a match, on a scale up to `most`; None if the score is too high."""
    word = found["number"].lower()
    value = float(_WORDS[word]) if word in _WORDS else float(word)
    groups = found.groupdict()
    scale = 100.0 if groups.get("percent") else float(groups.get("most") or most)
    if not scale > 0 or value > scale:
        return None
    return value * most / scale


def is_accepted(text: str) -> bool | None:
    """Return True if a reply says yes, False if it says no, and None if it says neither.

    If a reply says both, the last word counts.
    """
    for line in reversed(answer(text).splitlines()):
        found = [*_JUDGES.finditer(line)]
        if found:
            return (found[-1]["yes"] is not None) is (found[-1]["not"] is None)
    return None
