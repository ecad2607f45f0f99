"""Apply the patches in a reply to the target's module: unified diffs, SEARCH/REPLACE blocks and `*** Begin Patch`.

Models write patches if they are asked to edit a file. A user may paste such a reply, but none of 7,037 recorded replies
contains a patch.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adacoder.pytext import Lines, dedent, definitions, normalize, statements
from adacoder.replies.blocks import Block
from adacoder.replies.companions import dependencies

if TYPE_CHECKING:
    from adacoder.domain import Target

_MOST_HUNKS = 50
"""Maximum number of hunks of a patch to apply."""
_FILE = re.compile(r"(?:\+\+\+ (?!/dev/null)|\*\*\* (?:Update|Add) File: )(?:[ab]/)?(?P<path>\S+)")
_PLACE = re.compile(
    r"@@(?: -\d+(?:,(?P<old>\d{1,6}))? \+(?P<line>\d+)(?:,(?P<new>\d{1,6}))? @@| -(?P<about>\d+)[^@]*@@)?(?P<anchor>.*)"
)
_ASIDE = re.compile(r"--- .*|diff --git .*|index [0-9a-f]+\.\..*|\\ No newline.*|[a-z]+ file mode .*")
_MARKS = ("+", "-", " ")
_ENDS = re.compile(r"\*\*\* .*|[ \t]*(?:`{3,}|~{3,}).*")
_SEARCH = re.compile(r"<{5,} ?(?:SEARCH|ORIGINAL|HEAD)\b.*")
_DIVIDER = re.compile(r"={5,}")
_REPLACED = re.compile(r">{5,}(?: .*)?")


@dataclass(slots=True)
class _Hunk:
    """A hunk of a patch: one place to change."""

    path: str = ""
    """The file that the patch names, if any."""
    anchor: str = ""
    """A line above the place to change; empty if the patch gives none. It follows `@@`."""
    line: int = 0
    """The 1-based line at which the hunk begins, after earlier hunks have been applied; 0 if unknown."""
    lines: list[tuple[str, str]] = field(default_factory=list)
    """The lines of the hunk, each with its mark: `-`, `+`, or a blank for context."""
    ended: bool = False
    """True if other text follows the hunk, so that the hunk can no longer grow."""

    def take(self, line: str) -> None:
        if not line.startswith("\\"):
            self.lines.append((line[:1] if line[:1] in ("+", "-") else " ", line[1:]))

    @property
    def old(self) -> list[str]:
        """The lines before the change, including the context."""
        return [text for mark, text in self.lines if mark != "+"]

    @property
    def new(self) -> list[str]:
        """The lines after the change, including the context."""
        return [text for mark, text in self.lines if mark != "-"]


def patched(text: str, target: Target) -> list[Block]:
    """Return the versions of the target that result from the patches in `text`.

    Changes to other files and functions are ignored. Hunks are applied one after the other. If a hunk fits only the
    original module, it begins another version.
    """
    hunks = [hunk for hunk in _hunks(text) if hunk.old != hunk.new]
    named = [hunk for hunk in hunks if not hunk.path or hunk.path.endswith(target.module.path.name)]
    module = normalize(target.text).split("\n")
    current, ended, lost = module, True, False
    found: list[Block] = []

    def take() -> None:
        if current is not module and (block := _block(current, target, ended=ended, lost=lost)) is not None:
            found.append(block)

    for hunk in (named or hunks)[:_MOST_HUNKS]:
        _trim(hunk)
        applied = _applied(hunk, current, target)
        if applied is None and current is not module and (applied := _applied(hunk, module, target)) is not None:
            take()
            ended, lost = True, False
        if applied is not None:
            current, ended = applied, ended and hunk.ended
        elif not any(map(str.strip, hunk.old)):
            found.append(Block("\n".join(hunk.new), hunk.ended))
        else:
            lost = True
    take()
    return found


def _hunks(text: str) -> Iterator[_Hunk]:
    hunk: _Hunk | None = None
    path = ""
    lines = deque(text.split("\n"))
    while lines:
        line = lines.popleft()
        file, place = _FILE.match(line), _PLACE.fullmatch(line) if line.startswith("@@") else None
        begins = file or place or _SEARCH.fullmatch(line) or _ENDS.fullmatch(line)
        if begins or _ASIDE.fullmatch(line) or (hunk and line and line[0] not in " +-\t"):
            if hunk is not None and hunk.lines:
                hunk.ended = True
                yield hunk
                hunk = None
            if file:
                path, hunk = file["path"], _Hunk(file["path"])
            elif place:
                anchor, at = place["anchor"].strip().removesuffix("@@").strip(), place["line"] or place["about"] or 0
                hunk = _Hunk(path, anchor, int(at))
                for _ in range(_counted(lines, int(place["old"] or 1), int(place["new"] or 1))):
                    hunk.take(lines.popleft())
            elif _SEARCH.fullmatch(line):
                yield _replacement(lines, path)
                hunk = None
            elif hunk is not None and _ENDS.fullmatch(line):
                hunk = None
        elif hunk is not None:
            hunk.take(line)
    if hunk is not None:
        yield hunk


def _counted(lines: Iterable[str], old: int, new: int) -> int:
    """Return how many of `lines` belong to a hunk; 0 if the numbers after `@@` are wrong.

    `old` and `new` are these numbers. They show whether a line such as `--- x` is a removed line or the next file.
    """
    count = 0
    for line in lines:
        if old == new == 0:
            return 0 if line[:1] in _MARKS and not (_ASIDE.fullmatch(line) or _FILE.match(line)) else count
        if line[:1] not in ("", *_MARKS, "\\") or min(old, new) < 0:
            return 0
        if line[:1] != "\\":
            old, new = old - (line[:1] != "+"), new - (line[:1] != "-")
        count += 1
    return count if old == new >= 0 else 0  # The last blank lines of context may be missing.


def _replacement(lines: deque[str], path: str) -> _Hunk:
    """Read the rest of a SEARCH/REPLACE block, after its first line."""
    hunk = _Hunk(path)
    mark = "-"
    while lines:
        line = lines.popleft()
        if _REPLACED.fullmatch(line):
            hunk.ended = True
            break
        if mark == "-" and _DIVIDER.fullmatch(line):
            mark = "+"
        else:
            hunk.lines.append((mark, line))
    return hunk


def _trim(hunk: _Hunk) -> None:
    """Remove blank context lines from both ends of a hunk. Models often add or omit such lines."""
    while hunk.lines and hunk.lines[-1][0] == " " and not hunk.lines[-1][1].strip():
        hunk.lines.pop()
    while hunk.lines and hunk.lines[0][0] == " " and not hunk.lines[0][1].strip():
        del hunk.lines[0]
        hunk.line += 1


def _applied(hunk: _Hunk, lines: Sequence[str], target: Target) -> list[str] | None:
    """Return `lines` with `hunk` applied; None if the place to change is missing or ambiguous.

    If the indentation in `lines` differs, the new lines are indented in the same way.
    """
    old = hunk.old
    if not any(line.strip() for line in old):
        return None
    start = _place(hunk, old, lines, target)
    if start is None:
        return None
    first = next(index for index, line in enumerate(old) if line.strip())
    before, theirs = _indent(lines[start + first]), _indent(old[first])
    moved: list[str] = []
    at = start
    for mark, text in hunk.lines:
        if mark == "+":
            moved.append(_moved(text, theirs, before))
        else:
            moved += [lines[at]] if mark == " " else []
            at += 1
    return [*lines[:start], *moved, *lines[at:]]


def _place(hunk: _Hunk, old: Sequence[str], lines: Sequence[str], target: Target) -> int | None:
    """Return the index at which `old` occurs in `lines`; None if the index is missing or ambiguous.

    If `old` occurs several times, the hunk's line number and anchor may decide. Otherwise, a place in the target is
    preferred.
    """
    module, bare = [line.strip() for line in lines], [line.strip() for line in old]
    starts = [at for at, line in enumerate(module) if line == bare[0]]
    places = [at for at in starts if module[at : at + len(bare)] == bare]
    anchored = [at for at in places if hunk.anchor and any(hunk.anchor in line for line in module[:at])]
    where = Lines(normalize(target.text))
    own = range(where.line_at(target.definition.start), where.line_at(target.definition.end) + 1)
    for narrowed in (
        [at for at in places if at == hunk.line - 1],
        anchored,
        [at for at in anchored or places if at in own],
    ):
        if len(places) > 1 and narrowed:
            places = narrowed
    return places[0] if len(places) == 1 else None


def _moved(line: str, theirs: str, ours: str) -> str:
    if theirs == ours or not line.strip():
        return line if theirs == ours else ""
    return ours + line[len(theirs) :] if line.startswith(theirs) else ours + line.lstrip()


def _block(lines: Sequence[str], target: Target, *, ended: bool, lost: bool) -> Block | None:
    """Return a block with the changed target; None if the target is unchanged.

    The block also has the imports and definitions of `lines` that the module lacks.
    """
    text, before = "\n".join(lines), normalize(target.text)
    function = next((each for each in definitions(text) if each.qualname == target.qualname), None)
    if function is None or function.span.of(text) == normalize(target.source):
        return None
    known = {span.of(before).rstrip() for span in statements(before)}
    names = frozenset[str]().union(*(each.binds for each in dependencies(before)))
    new: list[str] = []
    left_out = dict.fromkeys(["a place that is not in the module"] if lost else [])
    for each in dependencies(text):
        is_own = each.place.start <= function.span.start < each.place.end
        if is_own or each.place.of(text).rstrip() in known:
            continue
        if each.is_import or names.isdisjoint(each.binds):
            new.append(each.text)
        else:
            left_out |= dict.fromkeys(f"'{name}'" for name in sorted(each.binds))
    notes = (f"The reply also changes {', '.join(left_out)}: that was left out.",) if left_out else ()
    return Block("\n\n\n".join([*new, dedent(function.span.of(text)).rstrip()]) + "\n", ended, notes=notes)


def _indent(line: str) -> str:
    """Return all white space at the beginning of a line, even characters that Python does not allow there."""
    return line[: len(line) - len(line.lstrip())]
