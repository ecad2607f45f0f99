"""Find the target's function in a reply, by its name or by its parameters and body."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from adacoder.domain import Span
from adacoder.pytext import definitions, logical_lines
from adacoder.replies.blocks import Block, code_blocks, is_patch, runs
from adacoder.replies.companions import is_in_module
from adacoder.replies.elision import filled
from adacoder.replies.free_names import parameters
from adacoder.replies.laziness import is_lazy
from adacoder.replies.passages import (
    is_another_language,
    is_body,
    may_be_body,
    passages,
    with_signature,
    without_echo,
)
from adacoder.replies.patches import patched
from adacoder.replies.transcript import readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from adacoder.domain import Target
    from adacoder.pytext import Definition

_ELSEWHERE = 2
"""Rank of a function that is nested in another class or function than the target."""
_DEFINES_OR_IMPORTS = re.compile(r"@|(?:async[ \t]+)?def\b|class\b|import\b|from\b")
_TESTS = re.compile(r"main|check|run_tests|test\w*")
_OPENS_BLOCK = re.compile(r"(?:async[ \t]+)?(?:def|for|with)\b|(?:class|if|elif|else|while|try|except|finally)\b")
_GOES_ON = re.compile(
    r"(?:[-+*/%&|^=<>@~\\:]|(?<![.\d])\.|\b(?:and|or|not|in|is|if|else|for|lambda|from|import|as|await))$"
)
_BELONGS_INSIDE = re.compile(r"(?:return|yield|break|continue|elif|else|except|finally)\b")


@dataclass(frozen=True, slots=True)
class Found:
    """A version of the target's function, as found in a reply."""

    passage: Block
    """The block of code that contains the version."""
    span: Span
    """The span of the version in the block of code."""
    name: str
    is_closed: bool
    """True if all strings and brackets are closed, and the last line is complete."""
    is_in_place: bool
    """True if the version is nested like the target or at top level, and its body is indented."""
    is_lazy: bool

    @property
    def is_sound(self) -> bool:
        """True if the version seems complete, and is in the right place."""
        return self.is_closed and self.is_in_place and not self.is_lazy


def find(text: str, target: Target) -> tuple[Sequence[Found], Sequence[Block]]:
    """Find the versions of the target's function in a reply.

    Also return the passages of code, which may have helpers. Sound versions come first, beginning with the last one.

    If no function has the target's name, a body with a `return` is searched, then a function with another name, and
    then a body without a `return`.
    """
    by_name = re.compile(rf"\bdef[ \t]+{re.escape(target.name)}\b")
    blocks = [block for block in code_blocks(text) if block.is_marked or by_name.search(block.text)]
    places = [index for index, block in enumerate(blocks) if is_patch(block.text)]
    if places:
        made = patched("\n```\n".join(blocks[index].text for index in places), target)
        before, after = blocks[: places[-1]], blocks[places[-1] + 1 :]
        blocks = [*(block for block in before if not is_patch(block.text)), *made, *after]
    in_marks = _passages([run for block in blocks for run in _runs(block, target)], target)
    named = _named(in_marks, target)
    if found := _ranked(each for each in named if each.is_sound or each.passage.is_marked):
        return found, in_marks
    marked = [run for block in blocks if block.is_marked for run in _runs(block, target)]
    plain = [] if is_patch(text) else _runs(Block(readable(text), ended=False), target)
    anywhere = _passages(plain, target)
    if found := _ranked(_named(anywhere, target)):
        return found, anywhere
    candidates = marked or plain
    bodies = [run for run in candidates if is_body(run.text)]
    if not bodies and (found := _renamed(in_marks or anywhere, target)):
        return found, in_marks or anywhere
    bodies = bodies or [run for run in marked if may_be_body(run.text, target)]
    whole = [Block(with_signature(body.text, target), body.ended) for body in bodies]
    taken = set(bodies)
    others = [run for run in candidates if run not in taken]
    return _ranked(_named(whole, target)), _passages(others, target)


def _runs(block: Block, target: Target) -> list[Block]:
    return runs(replace(block, text=without_echo(block.text, target)))


def _passages(of: Iterable[Block], target: Target) -> list[Block]:
    return [passage for run in of for passage in passages(run, target)]


def _ranked(found: Iterable[Found]) -> list[Found]:
    every = list(found)
    return [each for each in reversed(every) if each.is_sound] + [each for each in every if not each.is_sound]


def _named(candidates: Iterable[Block], target: Target) -> Iterator[Found]:
    """Yield the functions with the target's name.

    If no version in a passage is sound, yield only the best version of this passage.
    """
    for passage in candidates:
        if target.name not in passage.text:
            continue
        may_be_open = not is_another_language(passage.text)
        named = [each for each in definitions(passage.text) if _is_called(each, target, may_be_open=may_be_open)]
        if not named:
            continue
        rank = min(_rank(each, target) for each in named)
        placed = [each for each in named if _rank(each, target) == rank]
        count = len(parameters(target.signature) or ())
        alike = [each for each in placed if len(parameters(_header(each)) or ()) == count] or placed
        versions = [_found(passage, each, target, is_in_place=rank < _ELSEWHERE) for each in alike]
        sound = [each for each in versions if each.is_sound]
        closed = [each for each in versions if each.is_closed]
        yield from sound or (closed or versions[:1])[-1:]


def _is_called(definition: Definition, target: Target, *, may_be_open: bool) -> bool:
    if definition.is_class or definition.name != target.name:
        return False
    if definition.header_line.colon is None and not may_be_open:
        return False
    return not definition.in_function or definition.qualname == target.qualname


def _rank(definition: Definition, target: Target) -> int:
    """Return 0 for the target's qualified name, 1 for another function at top level, and otherwise `_ELSEWHERE`."""
    if definition.qualname == target.qualname:
        return 0
    return _ELSEWHERE if definition.parents else 1


def _renamed(candidates: Iterable[Block], target: Target) -> list[Found]:
    """Return the versions of a function that is probably the target under another name.

    The function must be the only one with as many parameters as the target. If there are several, only one may have the
    same parameter names.
    """
    wanted = parameters(target.signature)
    pool: list[tuple[Block, Definition, list[str]]] = []
    for passage in candidates:
        for each in definitions(passage.text):
            theirs = parameters(_header(each))
            if theirs is None or wanted is None or len(theirs) != len(wanted):
                continue
            if _may_be_renamed(each, target):
                pool.append((passage, each, theirs))
    if len({each.name for _, each, _ in pool}) > 1:
        pool = [found for found in pool if found[2] == wanted]
    if len({each.name for _, each, _ in pool}) != 1:
        return []
    return _ranked(_found(passage, each, target) for passage, each, _ in pool)


def _may_be_renamed(definition: Definition, target: Target) -> bool:
    if definition.is_class or definition.in_function or _TESTS.fullmatch(definition.name):
        return False
    if definition.parents and not target.in_class:
        return False
    return not is_in_module(definition.name, target)


def _header(definition: Definition) -> str:
    return definition.header.of(definition.text)


def _found(passage: Block, definition: Definition, target: Target, *, is_in_place: bool = True) -> Found:
    lazy = is_lazy(definition, target)
    if lazy and (text := filled(definition, target)) is not None:
        note = "The part that the reply leaves out was taken from the present function."
        others = passage.text[: definition.span.start], passage.text[definition.span.end :]
        passage = replace(passage, text=text.join(others), notes=(*passage.notes, note))
        definition = next(each for each in definitions(passage.text) if each.span.start == definition.span.start)
        lazy = is_lazy(definition, target)
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
        is_lazy=lazy,
    )


def _is_closed(definition: Definition) -> bool:
    last = definition.lines[-1]
    code = definition.text[last.start : last.code_end]
    is_half = _GOES_ON.search(code) or (last.colon is None and _OPENS_BLOCK.match(code))
    return all(line.closed for line in definition.lines) and not is_half


def _end_with_lost_lines(definition: Definition) -> int:
    """Return the end of a function at column 0. Lines below that lost their indentation are included."""
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
