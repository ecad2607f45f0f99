"""Decide whether a reply is complete.

AdaCoder closes a stream as soon as it has the whole function. If the function is only a draft and the reply does not
say so, a better version after it is lost. Of 487 recorded replies of chats to a request for one block, none has a
second version of its function. Of 246 replies to a request for several blocks (MapCoder's recall), 8 have a second
version, and in 5 of them only the second version passes. So AdaCoder reads replies to such a request to their end.
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
"""Eight lines without code at the end of a reply. They show that the model has finished its code but cannot stop."""
_ANNOUNCES = re.compile(
    r"[^.?\s]\s*\Z|\b(?:here|below|following|code|function|solution|implementation|version)\b[^\n]*\Z", re.IGNORECASE
)
"""The end of a text that announces code. After it, a block may begin."""
_IS_DRAFT = re.compile(
    r"\b(?:draft|sketch|first (?:attempt|try|version|cut|idea)|na[iï]ve|brute[- ]force|wrong|incorrect|hmm|wait)\b",
    re.IGNORECASE,
)
"""Words that mark a draft, which a better version may follow. They occur in 4 of 733 recorded replies of chats."""
_EAGER = 8
"""After this many checks of a reply, the reply must grow before the next check."""
_LONGEST = 100_000
"""Longer replies, in characters, are not ended early."""
_GROWTH = 8
"""Before a later check, the reply must grow by its length divided by this number, so that checks stay cheap."""


def completion(target: Target) -> Callable[[str], bool]:
    """Return a callback that reports whether a growing reply contains the finished target. Use it for one reply only.

    The target is finished if its fence is closed, or if other text follows it without indentation, such as prose or a
    call. After that, the model can only add comments or another version. The reply or the module must also define all
    names that the target needs. If in doubt, the callback returns False. It checks only after a line that can end code,
    so it may be called for every token.
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
    """Return whether a growing reply has an answer of more than `most` characters, in which no target has begun yet."""
    if is_thinking(text):
        return False
    so_far = answer(text)
    return len(so_far) > most and not _may_hold(so_far, target)


def was_stopped_short(text: str, target: Target, is_known: Callable[[str], bool]) -> bool:
    """Return whether a stop sequence ended a reply before it had the function and everything that the function needs.

    Such a reply ends in thoughts, inside a fence, or after words that announce code. The reply need not define names
    that `is_known` accepts.
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
    """Return whether `text` may contain the target, because it defines the name or begins with an indented line.

    A body without a signature elsewhere does not count, because it may belong to another example.
    """
    return text[:1].isspace() or re.search(rf"\bdef[ \t]+{re.escape(target.name)}\b", text) is not None


def _is_complete(text: str, target: Target) -> bool:
    versions, others = find(unwrapped(text), target)
    if not versions or not (versions[0].passage.ended or _is_followed(versions[0], target)):
        return False
    if _is_draft(text, target):
        return False
    return _is_whole(versions[0], others, target)


def _is_draft(text: str, target: Target) -> bool:
    """Return whether words before the first code mark it as a draft, so that a better version may follow."""
    words = re.split(
        rf"^[ \t]*(?:`{{3,}}|~{{3,}})|\bdef[ \t]+{re.escape(target.name)}\b", text, maxsplit=1, flags=re.MULTILINE
    )
    return len(words) > 1 and _IS_DRAFT.search(words[0]) is not None


def _is_whole(
    found: Found, others: Sequence[Block], target: Target, is_known: Callable[[str], bool] = lambda name: False
) -> bool:
    """Return whether `found` is the complete target, and all names that it needs are defined or `is_known`."""
    if not found.is_sound or found.name != target.name:
        return False
    return all(map(is_known, _missing(candidate(found, others, Ended.STOP, target), target)))


def _is_followed(found: Found, target: Target) -> bool:
    """Return whether the text after the function shows that the function has ended.

    Other code that is not indented shows this, except for another version of the function. So do many empty lines.
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
    """Yield the names that the function's body and its helpers use, and that neither reply nor module seems to define.

    Names in decorators and annotations do not count, because the target keeps its own.
    """
    if parsed(found.function) is None:
        return
    helpers = [text for text in found.definitions if not any(is_lazy(each, target) for each in definitions(text)[:1])]
    bodies = [each.text[each.header.end :] for each in definitions(found.function)[:1]]
    used = words("\n".join([*helpers, *bodies]))
    around = target.text[: target.definition.start] + target.text[target.definition.end :]
    free = free_names("\n".join([*found.imports, *helpers, found.function]))
    yield from (name for name in free & used - words(around) if not hasattr(builtins, name))
