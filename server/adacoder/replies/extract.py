"""From a model's Reply to a Candidate: the target function as the model wrote it, with what it brings along.

Everything is found by line structure, so a reply that does not parse gives a Candidate too. Nothing here
raises, whatever the reply says.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adacoder.domain import Candidate, Ended, Span
from adacoder.pytext import dedent, definitions, logical_lines, normalize
from adacoder.replies.belongings import belongings, is_in_module, is_mentioned
from adacoder.replies.blocks import Block, fenced_blocks, runs
from adacoder.replies.filters import readable, unwrapped
from adacoder.replies.laziness import is_lazy
from adacoder.replies.passages import is_another_language, is_body, may_be_body, passages, with_signature

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from adacoder.domain import Reply, Target
    from adacoder.pytext import Definition
    from adacoder.replies.belongings import Belonging

_ELSEWHERE = 2
"""The rank of a function that stands neither where the target does nor alone."""
_DEFINES_OR_IMPORTS = re.compile(r"@|(?:async[ \t]+)?def\b|class\b|import\b|from\b")
_OPENS_BLOCK = re.compile(r"(?:async[ \t]+)?(?:def|for|with)\b|(?:class|if|elif|else|while|try|except|finally)\b")
_GOES_ON = re.compile(r"(?:[-+*/%&|^=<>@~.\\:]|\b(?:and|or|not|in|is|if|else|for|lambda|from|import|as|await))$")
_BELONGS_INSIDE = re.compile(r"(?:return|yield|break|continue|elif|else|except|finally)\b")


@dataclass(frozen=True, slots=True)
class Found:
    """The function that a passage of a reply holds for a target."""

    passage: Block
    span: Span
    """Where in the passage it stands."""
    name: str
    is_closed: bool
    """Whether its strings and brackets are closed, and its last line opens no block."""
    is_in_place: bool
    """Whether it stands alone or where the target does, with its body indented."""
    is_lazy: bool

    @property
    def is_sound(self) -> bool:
        """Whether nothing is missing, as far as its lines show."""
        return self.is_closed and self.is_in_place and not self.is_lazy


def extract(reply: Reply, target: Target) -> Candidate:
    """The target as `reply` has it; a Candidate without function where the reply holds no such thing.

    Of several versions the first is taken that is whole and not lazy; within one passage of code, as in Python,
    the last. Other passages lend what it names and its own lacks. A body alone gets the target's own signature.
    The Candidate is `cut` where the reply broke off in it, or leaves parts of the function out.
    """
    found, others = find(unwrapped(reply.text), target)
    return Candidate("") if found is None else _candidate(found, others, reply, target)


def find(text: str, target: Target) -> tuple[Found | None, Sequence[Block]]:
    """The target's function in the unwrapped text of a reply, and all the passages among which it was found.

    Sought in this order: by name, in fenced blocks and then in the whole text; as a body that returns; as a
    function with another name; as a body that returns nothing.
    """
    fenced = [run for block in fenced_blocks(text) for run in runs(block)]
    in_fences = [passage for run in fenced for passage in passages(run, target)]
    if found := _first_sound(_named(in_fences, target)):
        return found, in_fences
    plain = runs(Block(readable(text), ended=False))
    anywhere = [passage for run in plain for passage in passages(run, target)]
    if found := _first_sound(_named(anywhere, target)):
        return found, anywhere
    bodies = [run for run in fenced or plain if is_body(run.text)]
    if found := _first_sound(_named(_completed(bodies, target), target)):
        return found, in_fences
    if found := _renamed(in_fences or anywhere, target):
        return found, in_fences or anywhere
    bodies = [run for run in fenced if may_be_body(run.text, target)]
    return _first_sound(_named(_completed(bodies, target), target)), in_fences


def _completed(bodies: Iterable[Block], target: Target) -> list[Block]:
    return [Block(with_signature(body.text, target), body.ended) for body in bodies]


def _first_sound(found: Iterable[Found]) -> Found | None:
    first = None
    for each in found:
        if each.is_sound:
            return each
        first = first or each
    return first


def _named(candidates: Iterable[Block], target: Target) -> Iterator[Found]:
    """The target by its name: of each passage the version that Python would take, if it is whole."""
    for passage in candidates:
        if target.name not in passage.text:
            continue
        named = [each for each in definitions(passage.text) if _is_called(each, target)]
        if not named:
            continue
        rank = min(_rank(each, target) for each in named)
        placed = [each for each in named if _rank(each, target) == rank]
        count = _parameters(target.signature)
        alike = [each for each in placed if len(_parameters(_header(each))) == len(count)] or placed
        versions = [_found(passage, each, target, is_in_place=rank < _ELSEWHERE) for each in alike]
        sound = [each for each in versions if each.is_sound]
        closed = [each for each in versions if each.is_closed]
        yield (sound or closed or versions[:1])[-1]


def _is_called(definition: Definition, target: Target) -> bool:
    if definition.is_class or definition.name != target.name:
        return False
    if definition.header_line.colon is None and is_another_language(definition.text):
        return False
    return not definition.in_function or definition.qualname == target.qualname


def _rank(definition: Definition, target: Target) -> int:
    """How far from the target's own place a function stands."""
    if definition.qualname == target.qualname:
        return 0
    return _ELSEWHERE if definition.parents else 1


def _renamed(candidates: Iterable[Block], target: Target) -> Found | None:
    """The only function with as many parameters as the target; of several the only one with their names."""
    wanted = _parameters(target.signature)
    pool = [
        (passage, each)
        for passage in candidates
        for each in definitions(passage.text)
        if not each.is_class
        and not each.in_function
        and (target.in_class or not each.parents)
        and len(_parameters(_header(each))) == len(wanted)
        and not is_in_module(each.name, target)
    ]
    if len({each.name for _, each in pool}) > 1:
        pool = [(passage, each) for passage, each in pool if _parameters(_header(each)) == wanted]
    if len({each.name for _, each in pool}) != 1:
        return None
    return _first_sound(_found(passage, each, target) for passage, each in pool)


def _header(definition: Definition) -> str:
    return definition.header.of(definition.text)


def _parameters(signature: str) -> list[str]:
    """The names of a signature's parameters; none if it cannot be read."""
    try:
        function = ast.parse(f"{normalize(signature)} pass").body[0]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    given = function.args
    stars = [each for each in (given.vararg, given.kwarg) if each is not None]
    return [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs, *stars)]


def _found(passage: Block, definition: Definition, target: Target, *, is_in_place: bool = True) -> Found:
    is_closed = _is_closed(definition)
    end = _end_with_lost_lines(definition)
    if end > definition.span.end:
        span = Span(definition.span.start, end)
        return Found(passage, span, definition.name, is_closed=True, is_in_place=False, is_lazy=False)
    return Found(
        passage,
        definition.span,
        definition.name,
        is_closed=is_closed,
        is_in_place=is_in_place,
        is_lazy=is_lazy(definition, target),
    )


def _is_closed(definition: Definition) -> bool:
    last = definition.lines[-1]
    code = definition.text[last.start : last.code_end]
    is_half = _GOES_ON.search(code) or (last.colon is None and _OPENS_BLOCK.match(code))
    return all(line.closed for line in definition.lines) and not is_half


def _end_with_lost_lines(definition: Definition) -> int:
    """The end of a function at column 0 together with the lines of its body that lost their indentation."""
    end = definition.span.end
    if definition.parents or definition.header_line.width:
        return end
    is_inside = has_no_body = definition.header.end >= definition.lines[-1].code_end
    for line in logical_lines(definition.text, end):
        code = definition.text[line.start : line.end]
        if not line.width:
            if _DEFINES_OR_IMPORTS.match(code):
                break
            is_inside = has_no_body
        is_inside = is_inside or _BELONGS_INSIDE.match(code) is not None
        if is_inside:
            end = line.end
    return end


def _candidate(found: Found, others: Sequence[Block], reply: Reply, target: Target) -> Candidate:
    text = found.passage.text
    own = [each for each in _offered(text, found, target) if not _overlap(each.place, found.span)]
    brought = [*own, *_lent(found, own, others, target)]
    end = max([found.span.end, *(each.place.end for each in own)])
    is_open = not found.passage.ended and not text[end:].strip()
    broke_off = is_open and (reply.ended is Ended.LENGTH or (end == found.span.end and not found.is_closed))
    return Candidate(
        function=dedent(found.span.of(text)),
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
