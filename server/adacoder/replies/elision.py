"""Fill in the parts of a function that a reply replaces with comments such as `# rest of code`.

Models write such comments if they are asked to edit a file. Of 7,037 recorded replies, 4 contain one.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from adacoder.pytext import dedent, definitions, indent_of, normalize
from adacoder.replies.laziness import leaves_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adacoder.domain import Target
    from adacoder.pytext import Definition

_MOST_LINES = 200
"""Maximum number of lines of the reply's function body and the current body together."""
_TELLING = 80
"""Maximum characters of a line to compare."""
_ALIKE = 0.6
"""Minimum similarity of two lines for one to count as a changed version of the other."""
_LEAVES = ("return", "raise")


def filled(function: Definition, target: Target) -> str | None:
    """Return `function` at column 0, with its omitted parts taken from the target's current body.

    Return None if nothing is omitted, or if it is unclear where an omitted part begins or ends.
    """
    present = next((each for each in definitions(dedent(normalize(target.source))) if each.name == target.name), None)
    if target.is_stub or present is None:
        return None
    head, body = _halves(function)
    _, there = _halves(present)
    if len(body) + len(there) > _MOST_LINES:
        return None
    parts: list[list[str]] = [[]]
    for line in body:
        if leaves_out(line):
            parts.append([])
        else:
            parts[-1].append(line)
    if len(parts) == 1:
        return None
    lines = parts[0]
    for index, after in enumerate(parts[1:], 1):
        begin = _end_of(parts[index - 1], there, is_first=index == 1)
        end = _begin_of(after, there, is_last=index == len(parts) - 1)
        if begin is None or end is None or begin > end:
            return None
        lines = [*lines, *there[begin:end], *after]
    return "\n".join([*head, *lines]).rstrip()


def _halves(function: Definition) -> tuple[list[str], list[str]]:
    """Return the lines of a function through its docstring, and the lines below.

    Without a docstring, the header counts.
    """
    text = dedent(function.span.of(function.text))
    own = definitions(text)[0]
    begin = own.header.end if own.docstring is None else own.docstring.end
    head = text[:begin].count("\n") + 1
    lines = text.rstrip().split("\n")
    return lines[:head], lines[head:]


def _end_of(written: Sequence[str], there: Sequence[str], *, is_first: bool) -> int | None:
    """Return the line of the current body at which an omitted part begins; None if this is ambiguous.

    `there` is the current body, and `written` is the reply's code above the omitted part. The part begins below the
    last line that both contain.
    """
    for back, line in enumerate(reversed(written)):
        if line.strip() and line in there:
            return (
                there.index(line) + 1
                if there.count(line) == 1 and _are_new(written[len(written) - back :], there)
                else None
            )
    return 0 if is_first and _are_new(written, there) else None


def _begin_of(written: Sequence[str], there: Sequence[str], *, is_last: bool) -> int | None:
    """Return the line of the current body at which an omitted part ends; None if this is ambiguous.

    `there` is the current body, and `written` is the reply's code below the omitted part. The part ends above the first
    line that both contain. Without such a line, it ends with the body, or above a final `return`.
    """
    for index, line in enumerate(written):
        if line.strip() and line in there:
            return there.index(line) if there.count(line) == 1 and _are_new(written[:index], there) else None
    first = next((line for line in written if line.strip()), "")
    if first.strip().startswith(_LEAVES) and there and indent_of(there[-1]) == indent_of(first):
        return len(there) - 1 if is_last and there[-1].strip().startswith(_LEAVES) else None
    ends_open = not there or not there[-1].strip().startswith(_LEAVES)
    return len(there) if is_last and (not first or (ends_open and _are_new(written, there))) else None


def _are_new(written: Sequence[str], there: Sequence[str]) -> bool:
    """Return whether all lines of `written` are new, and none is similar to a line of `there`."""
    return not any(
        SequenceMatcher(None, one.strip()[:_TELLING], other.strip()[:_TELLING]).ratio() > _ALIKE
        for one in written
        for other in there
        if one.strip() and other.strip()
    )
