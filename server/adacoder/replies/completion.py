"""Decide whether a growing reply already contains the whole function.

If so, AdaCoder stops the model early. A second, better version of the function would then be lost.

Of 487 recorded replies with one requested block, none has a second version. Of 246 replies with several requested
blocks, 8 have one, and in 5 of these only the second version passes. So AdaCoder reads replies with several requested
blocks to the end.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from adacoder.domain import Ended
from adacoder.pytext import definitions, indent_width, logical_lines, normalize, parsed
from adacoder.replies.extract import candidate
from adacoder.replies.filters import answer, ends_in_fence_line, is_inside_fence, is_thinking, unwrapped
from adacoder.replies.find import find
from adacoder.replies.free_names import free_names, words
from adacoder.replies.laziness import is_lazy

if TYPE_CHECKING:
    from adacoder.domain import Candidate, Target
    from adacoder.replies.blocks import Block
    from adacoder.replies.find import Found

_MAY_END_CODE = re.compile(r"^(?:[^\s#]|[ \t]*(?:```|~~~))", re.MULTILINE)
_IDLE = re.compile(r"\n(?:[ \t]*(?:#.*)?\n){8}\Z")
"""Matches eight lines without code at the end of a reply. After these, the code has probably ended."""
_ANNOUNCES = re.compile(
    r"[^.?\s]\s*\Z|\b(?:here|below|following|code|function|solution|implementation|version)\b[^\n]*\Z", re.IGNORECASE
)
"""Matches text that announces code, such as "Here is the function:"."""
_IS_DRAFT = re.compile(
    r"\b(?:draft|sketch|first (?:attempt|try|version|cut|idea)|na[iï]ve|brute[- ]force|wrong|incorrect|hmm|wait)\b",
    re.IGNORECASE,
)
"""Matches words that mark a draft, such as "first attempt". They occur in 4 of 733 recorded replies."""
_EAGER = 8
"""Number of checks after which `_GROWTH` limits the checks of a reply."""
_LONGEST = 100_000
"""Maximum characters of a reply that may be ended early."""
_GROWTH = 8
"""After `_EAGER` checks, a reply must grow by its length divided by this number before the next check."""


def completion(target: Target) -> Callable[[str], bool]:
    """Return a function that reports whether a growing reply already contains the whole target.

    Use the returned function for one reply only. It is fast enough to be called for every token.

    The target is whole if its fence is closed or unindented text follows, and if all needed names are defined. If in
    doubt, the function returns False.
    """
    seen = looks = least = 0

    def complete(text: str) -> bool:
        nonlocal seen, looks, least
        begin, end = min(seen, len(text)), text.rfind("\n") + 1
        if begin >= end or end < least or end > _LONGEST:
            return False
        seen = end
        so_far = normalize(text[:end])
        if not (_MAY_END_CODE.search(normalize(text[begin:end])) or _IDLE.search(so_far, max(0, end - 1000))):
            return False
        if not _may_hold(so_far, target) or is_thinking(so_far):
            return False
        looks += 1
        least = end + end // _GROWTH if looks >= _EAGER else 0
        return _is_complete(so_far, target)

    return complete


def is_without(text: str, target: Target, most: int) -> bool:
    """Return whether an answer has more than `most` characters, but no beginning of the target."""
    if is_thinking(text):
        return False
    so_far = answer(text)
    return len(so_far) > most and not _may_hold(so_far, target)


def was_stopped_short(text: str, target: Target, is_known: Callable[[str], bool]) -> bool:
    """Return whether a stop sequence ended a reply too early.

    The reply then ends while the model is thinking, inside a fence, or after words that announce code. The target, or a
    definition that it needs, is missing. Names that `is_known` accepts need no definition.
    """
    text = normalize(text)
    if is_thinking(text):
        return True
    versions, others = find(unwrapped(text), target)
    if not versions:
        return not ends_in_fence_line(text) and _ANNOUNCES.search(text) is not None
    if not is_inside_fence(text):
        return False
    is_whole = _may_hold(text, target) and _is_whole(versions[0], others, target, is_known)
    return not is_whole or _is_draft(text, target)


def _may_hold(text: str, target: Target) -> bool:
    """Return whether `text` may contain the target, because it defines its name or begins with an indented line."""
    return text[:1].isspace() or re.search(rf"\bdef[ \t]+{re.escape(target.name)}\b", text) is not None


def _is_complete(text: str, target: Target) -> bool:
    versions, others = find(unwrapped(text), target)
    if not versions or not (versions[0].passage.ended or _is_followed(versions[0], target)):
        return False
    if _is_draft(text, target):
        return False
    return _is_whole(versions[0], others, target)


def _is_draft(text: str, target: Target) -> bool:
    """Return whether the text before the code calls the code a draft. A better version may then follow."""
    words = re.split(
        rf"^[ \t]*(?:`{{3,}}|~{{3,}})|\bdef[ \t]+{re.escape(target.name)}\b", text, maxsplit=1, flags=re.MULTILINE
    )
    return len(words) > 1 and _IS_DRAFT.search(words[0]) is not None


def _is_whole(
    found: Found, others: Sequence[Block], target: Target, is_known: Callable[[str], bool] = lambda name: False
) -> bool:
    """Return whether `found` is complete, and all names that it needs are defined."""
    if not found.is_sound or found.name != target.name:
        return False
    return all(map(is_known, _missing(candidate(found, others, Ended.STOP, target), target)))


def _is_followed(found: Found, target: Target) -> bool:
    """Return whether the text after a function shows that the function is complete.

    Unindented code shows this, unless it defines the function again. Eight lines without code show it as well.
    """
    text, end = found.passage.text, found.span.end
    line = next(logical_lines(text, end), None)
    if line is None:
        return _IDLE.search(text, end) is not None
    indent = text[found.span.start :]
    width = indent_width(indent[: len(indent) - len(indent.lstrip(" \t"))])
    again = re.compile(rf"@|(?:async[ \t]+)?def[ \t]+{re.escape(target.name)}\b")
    return line.width <= width and not again.match(text, line.start)


def _missing(found: Candidate, target: Target) -> Iterator[str]:
    """Yield the names that a function and its helpers need, but that neither the reply nor the module defines.

    Decorators and annotations are ignored, because the target keeps its own.
    """
    if parsed(found.function) is None:
        return
    helpers = [text for text in found.definitions if not any(is_lazy(each, target) for each in definitions(text)[:1])]
    bodies = [each.text[each.header.end :] for each in definitions(found.function)[:1]]
    used = words("\n".join([*helpers, *bodies]))
    around = target.text[: target.definition.start] + target.text[target.definition.end :]
    free = free_names("\n".join([*found.imports, *helpers, found.function]))
    yield from (name for name in free & used - words(around) if not hasattr(builtins, name))
