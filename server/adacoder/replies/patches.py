"""Patches: a reply that says which lines of the target's module become which."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adacoder.pytext import normalize

if TYPE_CHECKING:
    from adacoder.domain import Target


@dataclass(slots=True)
class Hunk:
    """One place of a patch."""

    old: list[str] = field(default_factory=list)
    """The lines that stand there, context included."""
    new: list[str] = field(default_factory=list)
    """The lines that are to stand there."""
    ended: bool = False
    """Whether something stands behind it, so that it cannot go on."""


_MOST_HUNKS = 50
"""Places that a patch for one function changes at most."""
_IS_PATCH = re.compile(
    r"^(?:@@(?: |$)|<{5,7} ?(?:SEARCH|ORIGINAL|HEAD)\b|--- .*\n\+\+\+ |\*{3} (?:Begin Patch|Update File)"
    r"|[ \t]*```(?:diff|patch)\b)",
    re.MULTILINE,
)
_HUNK_BEGINS = re.compile(r"@@.*|\+{3} .*|[ \t]*```(?:diff|patch)\b.*")
_SEARCH = re.compile(r"<{5,7} ?(?:SEARCH|ORIGINAL|HEAD)\b.*")
_DIVIDER = re.compile(r"={5,7}")
_REPLACE_ENDS = re.compile(r">{5,7}(?: .*)?")
_HEADER = re.compile(r"--- .*|diff .*|index .*|\\ No newline.*")


def is_patch(text: str) -> bool:
    """Whether `text` holds a patch."""
    return _IS_PATCH.search(text) is not None


def patched(text: str, target: Target) -> Iterator[tuple[str, bool]]:
    """The module with the patch in `text` applied, and whether the patch is all there.

    Where its places are not found in the module, as little as is sure: the new lines of each place, if the
    target has no body yet that a patch could leave parts of out.
    """
    hunks = [hunk for hunk in _hunks(text) if hunk.new != hunk.old]
    if not hunks or len(hunks) > _MOST_HUNKS:
        return
    module = normalize(target.text).split("\n")
    behind = len(module) - normalize(target.text[: target.definition.end]).count("\n") - 1
    lines: list[str] | None = module
    for hunk in hunks:
        lines = None if lines is None else _applied(hunk, lines, behind)
    if lines is not None:
        yield "\n".join(lines), all(hunk.ended for hunk in hunks)
        return
    for hunk in hunks:
        if target.is_stub or not hunk.old:
            yield "\n".join(hunk.new), hunk.ended


def _hunks(text: str) -> Iterator[Hunk]:
    hunk: Hunk | None = None
    lines = iter(text.split("\n"))
    for line in lines:
        if _SEARCH.fullmatch(line):
            hunk = None
            yield _replacement(lines)
        elif hunk is None or line[:1] not in ("", " ", "+", "-") or _HUNK_BEGINS.fullmatch(line) or _HEADER.match(line):
            if hunk is not None:
                hunk.ended = True
                yield hunk
            hunk = Hunk() if _HUNK_BEGINS.fullmatch(line) else None
        else:
            if line[:1] != "+":
                hunk.old.append(line[1:])
            if line[:1] != "-":
                hunk.new.append(line[1:])
    if hunk is not None:
        yield hunk


def _replacement(lines: Iterator[str]) -> Hunk:
    """The rest of a block that says what to search for, and what to replace it by."""
    hunk = Hunk()
    side = hunk.old
    for line in lines:
        if _REPLACE_ENDS.fullmatch(line):
            hunk.ended = True
            break
        if side is hunk.old and _DIVIDER.fullmatch(line):
            side = hunk.new
        else:
            side.append(line)
    return hunk


def _applied(hunk: Hunk, lines: list[str], behind: int) -> list[str] | None:
    """`lines` with `hunk` in its place; None if it has none, or if it has more than one.

    A hunk may be indented otherwise than the module, as a whole. Where it may go on, and reaches as far as the
    function, which has `behind` lines behind it, nothing comes after it.
    """
    old = _without_blank_ends(hunk.old)
    new = _without_blank_ends(hunk.new)
    if not old:
        return None
    module, bare = ("".join(f"\n{line.strip()}" for line in each) + "\n" for each in (lines, old))
    place = module.find(bare)
    if place < 0 or module.find(bare, place + 1) >= 0:
        return None
    start = module.count("\n", 0, place)
    before = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
    indent = before.removesuffix(old[0][: len(old[0]) - len(old[0].lstrip())])
    rest = lines[start + len(old) :]
    if not hunk.ended and len(rest) <= behind:
        rest = []
    return [*lines[:start], *(indent + line if line.strip() else "" for line in new), *rest]


def _without_blank_ends(lines: list[str]) -> list[str]:
    begin, end = 0, len(lines)
    while begin < end and not lines[begin].strip():
        begin += 1
    while end > begin and not lines[end - 1].strip():
        end -= 1
    return lines[begin:end]
