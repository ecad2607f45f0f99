"""Read the marks that a reply gives to several numbered proposals. Models write marks in many ways."""

from __future__ import annotations

import re
from collections.abc import Mapping

from adacoder.replies.filters import answer
from adacoder.replies.judgement import score

_MARK = re.compile(r"^\W*(?:[A-Za-z]+[ \t]+)?(?P<number>\d{1,2})[\"*_ \t]*[.):|=-]+(?P<mark>.*\d.*)$")
"""A line with a numbered mark, such as "2. 90", "Proposal 2: 90%" or "| 2 | 90 |"."""
_LIST = re.compile(r"(?<![\d,])\d{1,3}(?:[ \t]*,[ \t]*\d{1,3}){2,}(?![\d,])")
"""Three or more marks in one line, separated by commas."""


def marks(text: str, most: int) -> Mapping[int, float]:
    """Map the number of each proposal, from 1, to its mark, from 0 to `most`.

    Marks without numbers are numbered in order.
    """
    text = answer(text)
    if listed := _LIST.search(text):
        return {number: min(float(each), most) for number, each in enumerate(listed[0].split(","), 1)}
    lines = text.splitlines()
    numbered = {
        int(found["number"]): mark
        for found in map(_MARK.match, lines)
        if found and (mark := score(found["mark"], most)) is not None
    }
    return numbered or dict(enumerate((mark for each in lines if (mark := score(each, most)) is not None), 1))
