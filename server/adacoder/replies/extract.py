"""Make a candidate from a model's reply: the target function as the model wrote it, with its dependencies.

Functions are found by their lines and not by a parser. So even a reply with a syntax error gives a candidate.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from adacoder.domain import Candidate, Ended
from adacoder.pytext import dedent, definitions, leaves_string_open, normalize
from adacoder.replies.companions import dependencies, is_as_in_module
from adacoder.replies.decorators import changes_results, may_be_kept, new_decorators
from adacoder.replies.filters import LONGEST_ANSWER, answer, unwrapped
from adacoder.replies.find import find
from adacoder.replies.free_names import free_names
from adacoder.replies.laziness import is_lazy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adacoder.domain import Reply, Target
    from adacoder.replies.blocks import Block
    from adacoder.replies.companions import Dependency
    from adacoder.replies.find import Found


_MOST = 200
"""Maximum number of imports, and of definitions, to take with a function."""
_MOST_TOLD = 5
"""Maximum number of names to list in a note to the user."""
_MOST_VERSIONS = 8
"""Maximum number of versions of a function to try, because trying a version costs time."""
_MOST_READ = 2 * _MOST_VERSIONS
"""Maximum number of versions to read. Some of them may be equal."""
_BLANK = re.compile(r"[\s\ufeff\u200b-\u200d\u2060]*")
_FENCE_LINES = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*(?:\w+[ \t]*)?$", re.MULTILINE)


def extract(reply: Reply, target: Target) -> Candidate:
    """Return the target as written in `reply`, with the imports and helpers that it uses.

    The last complete version is chosen, because a model may show a draft first. The other versions are in the
    candidate's `others`. If the target is not found, the candidate has no function.
    """
    text = unwrapped(reply.text)
    found, passages = find(text, target)
    if not found:
        return Candidate("", notes=(f"The reply for '{target.name}' was empty.",) if _is_empty(text) else ())
    is_cut = len(reply.text) > LONGEST_ANSWER and len(answer(reply.text)) == LONGEST_ANSWER
    ended = Ended.LENGTH if is_cut else reply.ended
    read = found[:_MOST_READ]
    made = dict.fromkeys(candidate(each, _lenders(each, read, passages), ended, target) for each in read)
    tried = islice(made, _MOST_VERSIONS)
    last, *others = dict.fromkeys(each for one in tried for each in _decorated(one, target))
    notes = _left_out(last.function, passages, target)
    distinct = len({each.span.of(each.passage.text) for each in found})
    if distinct > _MOST_VERSIONS:
        most = f"only the last {_MOST_VERSIONS} were read"
        notes += (f"The reply holds {distinct} versions of '{target.name}': {most}.",)
    return replace(
        last,
        others=tuple(replace(each, notes=(*each.notes, *notes)) for each in others),
        notes=(*last.notes, *notes),
    )


def _decorated(made: Candidate, target: Target) -> list[Candidate]:
    """Return the candidate with and without the reply's decorators. The candidate to try first comes first."""
    found = new_decorators(made.function, target)
    brought = frozenset(each.name for text in made.definitions for each in definitions(text)[:1])
    kept = [each for each in found if may_be_kept(each, brought)]

    def noted(decorators: list[str]) -> Candidate:
        told = [f"The reply's decorator {each} was left out." for each in found if each not in decorators]
        told += [f"The reply's decorator {each} was added." for each in decorators]
        return replace(made, decorators=tuple(decorators), notes=(*made.notes, *told))

    if not kept:
        return [noted([])]
    is_needed = not any(
        changes_results(each, made.function, target) or not may_be_kept(each, frozenset()) for each in kept
    )
    return [noted(kept), noted([])] if is_needed else [noted([]), noted(kept)]


def _left_out(function: str, passages: Sequence[Block], target: Target) -> tuple[str, ...]:
    """Return a note that names the functions and classes in a reply that are not inserted.

    They are not inserted because `function` does not need them, or because the module defines them already.
    """
    module = {each.qualname: each for each in definitions(normalize(target.text))}
    offered = [each for passage in passages for each in dependencies(passage.text) if not each.is_import]
    needed = {name for each in _needed(offered, [function]) for name in each.binds}
    found: dict[str, None] = {}
    for each in (each for passage in passages for each in definitions(passage.text)):
        is_around = f"{target.qualname}.".startswith(f"{each.qualname}.") or each.name == target.name
        if is_around or each.in_function or is_lazy(each, target):
            continue
        own = module.get(each.qualname)
        if own is None:
            is_told = not each.parents and each.name not in needed
        else:
            is_told = "".join(each.span.of(each.text).split()) != "".join(own.span.of(own.text).split())
        if is_told:
            found[f"'{each.qualname}'"] = None
    if not found:
        return ()
    more = f" and {len(found) - _MOST_TOLD} more" if len(found) > _MOST_TOLD else ""
    return (f"Left out of the reply: {', '.join(islice(found, _MOST_TOLD))}{more}.",)


def _is_empty(text: str) -> bool:
    """Return whether a reply has only white space, invisible characters and fences."""
    return _BLANK.fullmatch(_FENCE_LINES.sub("", text)) is not None


def _lenders(found: Found, versions: Sequence[Found], passages: Sequence[Block]) -> Sequence[Block]:
    """Return the passages of code that may contain helpers of `found`, the most likely passage first.

    Each version of the function may have its own helpers. So the passages above the next version come first.
    """
    if len(versions) == 1 or not found.is_sound:
        return passages
    places = [index for index, each in enumerate(passages) if any(other.passage is each for other in versions)]
    own = next((index for index in places if passages[index] is found.passage), 0)
    end = next((index for index in places if index > own), len(passages))
    return [*reversed(passages[:end]), *passages[end:]]


def candidate(found: Found, others: Sequence[Block], ended: Ended, target: Target) -> Candidate:
    """Create a candidate from `found`. Its dependencies come from the same passage of code and from `others`."""
    text = found.passage.text
    chosen, end = _chosen(found, others, target)
    goes_on = bool(text[end:].strip()) and not leaves_string_open(text[found.span.start :])
    is_open = not (found.passage.ended or goes_on)
    broke_off = is_open and (ended is Ended.LENGTH or (end == found.span.end and not found.is_closed))
    imports = dict.fromkeys(each.text for each in chosen if each.is_import)
    brought = dict.fromkeys(each.text for each in chosen if not each.is_import)
    return Candidate(
        function=dedent(found.span.of(text)).rstrip(),
        imports=tuple(islice(imports, _MOST)),
        definitions=tuple(islice(brought, _MOST)),
        cut=found.is_lazy or broke_off,
        notes=found.passage.notes,
    )


def _chosen(found: Found, others: Sequence[Block], target: Target) -> tuple[list[Dependency], int]:
    """Return the dependencies of a function. Also return the offset where the function and its dependencies end.

    All dependencies above the function are included. Those below, and those from `others`, are included only if they
    are used.
    """
    function = dedent(found.span.of(found.passage.text))
    own = _offered(found.passage.text, found, target)
    before = [each for each in own if each.place.end <= found.span.start]
    behind = _needed(
        [each for each in own if each.place.start >= found.span.end], [function, *(each.text for each in before)]
    )
    own = [*before, *behind]
    has = {name for each in own for name in each.binds}
    lendable: list[Dependency] = []
    for passage in others:
        if passage is not found.passage:
            offered = [each for each in _offered(passage.text, found, target) if has.isdisjoint(each.binds)]
            has.update(name for each in offered for name in each.binds)
            lendable += offered
    lent = _needed(lendable, [function, *(each.text for each in own)])
    return [*own, *lent], max([found.span.end, *(each.place.end for each in behind)])


def _offered(text: str, found: Found, target: Target) -> list[Dependency]:
    """Return the imports and definitions in a passage of code.

    The function itself, and definitions that the module already has, are left out.
    """
    ours = (found.name, target.name)
    return [
        each
        for each in dependencies(text)
        if each.is_import or not (any(name in ours for name in each.binds) or is_as_in_module(each, target))
    ]


def _needed(offered: list[Dependency], by: list[str]) -> list[Dependency]:
    """Return the dependencies that the texts in `by` use, directly or indirectly."""
    offers: dict[str, list[int]] = {}
    for index, each in enumerate(offered):
        for name in each.binds:
            offers.setdefault(name, []).append(index)
    needed: set[int] = set()
    waiting = list(by)
    while offers and waiting:
        for name in free_names(waiting.pop()):
            more = [index for index in offers.pop(name, ()) if index not in needed]
            needed.update(more)
            waiting += [offered[index].text for index in more]
    return [offered[index] for index in sorted(needed)]
