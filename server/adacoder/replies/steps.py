"""Find the numbered steps of a plan in a reply."""

from __future__ import annotations

import re
from dataclasses import dataclass

from adacoder.replies.filters import answer, is_thinking

_PIECE = re.compile(r"^[ \t]*(?P<fence>```|~~~)(?:.|\n)*?(?:\n[ \t]*(?P=fence)[ \t]*$|\Z)|^.*\S.*$", re.MULTILINE)
"""Matches a fenced block, or a line that is not blank."""
_STEP = re.compile(r"(?P<indent> {0,3})(?:#{1,6} +)?[*_]{0,2}(?:[Ss]tep +)?(?P<number>\d{1,2})[*_]{0,2}[.):]")
_IN_STEP = re.compile(r"[ \t]|[-*+•] ")
"""Matches the start of a line that continues the step above, even after a blank line."""
_ENDS_STEPS = re.compile(r"```|~~~|#")
"""Matches the start of a line that ends a step, even without a blank line above."""
_ANNOUNCES = re.compile(r"#|\*\*[^*]+\*\*$|.*:[*_ ]*$")
"""Matches a heading, or a line that ends with a colon. Another step may follow."""
_PROMISES = re.compile(r":[*_ ]*\Z")
"""Matches a colon at the end of a step. The text below then belongs to the step."""
_CONCLUDES = re.compile(r"^[#*_ \t]*(?:[A-Za-z]+[ \t]+){0,3}plan[*_ \t]*(?::[*_ \t]*)?$", re.IGNORECASE | re.MULTILINE)
"""Matches a heading that announces a plan, such as "Plan:" or "**Mended plan**"."""
_LEAST_STEPS = 3
"""Minimum number of steps in a plan. Prompts ask for at least three."""
_TELLING_CHARACTERS = 64
"""Number of characters at the end of a step that are searched for a colon.

The last line of a growing reply is ignored if it is shorter, because it may still become part of a step.
"""


@dataclass(slots=True)
class _Steps:
    """The numbered steps of a plan, read one line or fence at a time."""

    start: int
    indent: int
    end: int
    """The offset just past the text of the steps."""
    number: int = 1
    """The number of the last step."""
    greatest: int = 1
    """The greatest number of a step. After a heading, the numbers may begin again at 1."""
    is_announced: bool = False
    """True if the last line is a heading or ends with a colon, so that a step may follow."""

    def take(self, piece: re.Match[str], *, is_behind_blank: bool) -> bool:
        """Add the next line or fenced block, if it belongs to the steps. Return False if it does not."""
        step = _STEP.match(piece[0])
        if step is not None and self._is_next(step):
            self.number, self.is_announced = int(step["number"]), False
            self.greatest = max(self.greatest, self.number)
        elif self.is_announced or not self._holds(piece, is_behind_blank):
            self.is_announced = _ANNOUNCES.match(piece[0]) is not None
            return self.is_announced
        self.end = piece.end()
        return True

    def _is_next(self, step: re.Match[str]) -> bool:
        """Return whether `step` begins the next step. If not, it is an item of a list inside the last step."""
        numbers = (self.number + 1, 1) if self.is_announced else (self.number + 1,)
        return len(step["indent"]) <= self.indent and int(step["number"]) in numbers

    def _holds(self, piece: re.Match[str], is_behind_blank: bool) -> bool:
        if _IN_STEP.match(piece[0]) or _PROMISES.search(
            piece.string, max(self.start, self.end - _TELLING_CHARACTERS), self.end
        ):
            return True
        return not (is_behind_blank or _ENDS_STEPS.match(piece[0]))


def steps(text: str) -> str:
    """Return the numbered steps in a reply, without other text. If they are too few for a plan, return the answer."""
    text = answer(text)
    found, _ = _find(text)
    return (text if found is None else text[found.start : found.end]).strip()


def concluding_steps(text: str) -> str:
    """Return the steps below the last heading such as "Plan:". Without such a heading, return `steps(text)`."""
    text = answer(text)
    begins = [each.end() for each in _CONCLUDES.finditer(text)]
    return steps(text[begins[-1] :] if begins else text)


def are_complete(text: str) -> bool:
    """Return whether a growing reply contains all steps of its plan, because other text follows them."""
    if is_thinking(text):
        return False
    _, is_followed = _find(answer(text))
    return is_followed


def _find(text: str) -> tuple[_Steps | None, bool]:
    """Find the first numbered steps that are enough for a plan.

    Also return whether other text follows the steps. Indented text, and text after a colon, belongs to a step.
    """
    found: _Steps | None = None
    end = 0
    for piece in _PIECE.finditer(text):
        is_behind_blank = text.count("\n", end, piece.start()) > 1
        end = piece.end()
        if found is not None and not found.take(piece, is_behind_blank=is_behind_blank):
            if not _is_telling(piece):
                break
            if found.greatest >= _LEAST_STEPS:
                return found, True
            found = None
        if found is None and (first := _STEP.match(piece[0])) and int(first["number"]) == 1:
            found = _Steps(piece.start(), len(first["indent"]), end)
    return (found if found is not None and found.greatest >= _LEAST_STEPS else None), False


def _is_telling(piece: re.Match[str]) -> bool:
    """Return whether a line is complete or long enough to say that it does not belong to the steps."""
    return piece.string.find("\n", piece.start()) >= 0 or len(piece[0]) >= _TELLING_CHARACTERS
