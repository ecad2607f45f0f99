"""Whether a reply that still streams holds the whole function already, so that it can be ended there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from adacoder.pytext import normalize
from adacoder.replies.filters import is_thinking, unwrapped
from adacoder.replies.find import find

if TYPE_CHECKING:
    from adacoder.domain import Target

_MAY_END_CODE = re.compile(r"^(?:[^\s#]|[ \t]*(?:```|~~~)|.*```[ \t]*$)", re.MULTILINE)


def completion(target: Target) -> Callable[[str], bool]:
    """A function that says of a growing reply whether the target stands in it, finished.

    Finished means: its fence is closed, or prose or a use of it follows at column 0. What the model may still
    add then is talk, or another version. It looks only when a line has ended that can end code, so it may be
    asked for every token; when in doubt it says no. One such function follows one reply.
    """
    named = re.compile(rf"\bdef[ \t]+{re.escape(target.name)}\b")
    seen = 0

    def complete(text: str) -> bool:
        nonlocal seen
        begin, end = min(seen, len(text)), text.rfind("\n") + 1
        if begin >= end:
            return False
        seen = end
        if not _MAY_END_CODE.search(normalize(text[begin:end])):
            return False
        so_far = text[:end]
        if not (named.search(so_far) or so_far[:1].isspace()) or is_thinking(so_far):
            return False
        found, _ = find(unwrapped(so_far), target)
        return found is not None and found.is_sound and found.passage.ended and found.name == target.name

    return complete
