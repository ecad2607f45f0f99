"""From a model's Reply to a Candidate: the target function as the model wrote it, with what it brings along.

Everything is found by line structure, so a reply that does not parse gives a Candidate too. Nothing here raises,
whatever the reply says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adacoder.domain import Candidate, Ended
from adacoder.pytext import dedent
from adacoder.replies.belongings import belongings, is_in_module, is_mentioned
from adacoder.replies.filters import unwrapped
from adacoder.replies.find import find

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adacoder.domain import Reply, Span, Target
    from adacoder.replies.belongings import Belonging
    from adacoder.replies.blocks import Block
    from adacoder.replies.find import Found


def extract(reply: Reply, target: Target) -> Candidate:
    """The target as `reply` has it; a Candidate without function where the reply holds no such thing.

    Of several versions the first is taken that is whole and not lazy; within one passage of code, as in Python,
    the last. Other passages lend what it names and its own lacks. A body alone gets the target's own signature.
    The Candidate is `cut` where the reply broke off in it, or leaves parts of the function out.
    """
    found, others = find(unwrapped(reply.text), target)
    return Candidate("") if found is None else _candidate(found, others, reply, target)


def _candidate(found: Found, others: Sequence[Block], reply: Reply, target: Target) -> Candidate:
    text = found.passage.text
    own = [each for each in _offered(text, found, target) if not _overlap(each.place, found.span)]
    brought = [*own, *_lent(found, own, others, target)]
    end = max([found.span.end, *(each.place.end for each in own)])
    is_open = not found.passage.ended and not text[end:].strip()
    broke_off = is_open and (reply.ended is Ended.LENGTH or (end == found.span.end and not found.is_closed))
    return Candidate(
        function=dedent(found.span.of(text)).rstrip(),
        imports=tuple(dict.fromkeys(each.text for each in brought if each.is_import)),
        definitions=tuple(dict.fromkeys(each.text for each in brought if not each.is_import)),
        cut=found.is_lazy or broke_off,
    )


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def _offered(text: str, found: Found, target: Target) -> list[Belonging]:
    """What a passage brings, without other versions of the function and what the target's module defines."""
    return [
        each
        for each in belongings(text)
        if each.is_import
        or not any(name in (found.name, target.name) or is_in_module(name, target) for name in each.binds)
    ]


def _lent(found: Found, own: list[Belonging], others: Sequence[Block], target: Target) -> list[Belonging]:
    """What other passages have that the function, or what comes with it, names and its own passage lacks."""
    passages_left = (passage for passage in others if passage is not found.passage)
    offered = [each for passage in passages_left for each in _offered(passage.text, found, target)]
    lent: list[Belonging] = []
    while True:
        has = frozenset[str]().union(*(each.binds for each in (*own, *lent)))
        text = "\n".join([found.span.of(found.passage.text), *(each.text for each in (*own, *lent))])
        offered = [each for each in offered if not each.binds & has]
        more = next((each for each in offered if is_mentioned(each.binds, text)), None)
        if more is None:
            return lent
        lent.append(more)
