"""Whether a function was really written, or only hinted at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adacoder.pytext import Lines, string_interiors

if TYPE_CHECKING:
    from adacoder.domain import Target
    from adacoder.pytext import Definition

_NOT_WRITTEN = re.compile(r"pass|\.\.\.|raise[ \t]+NotImplementedError(?:\(.*\))?", re.DOTALL)
_NOTHING_RETURNED = re.compile(r"return(?:[ \t]+None)?")
_DOTS = r"(?:\.{3}|…)"
_CODE = r"(?:code|function|implementation|body|logic|method|solution)"
_LEFT_OUT = re.compile(
    rf"#+[ \t]*(?:{_DOTS}[ \t]*)?\(?(?:the |your |my )?"
    rf"(?:rest of (?:the |your |my )?{_CODE}|(?:remaining|existing|previous|original|other) {_CODE}"
    rf"|same as (?:before|above|the original)|{_CODE} (?:omitted|unchanged|continues)|unchanged|omitted for brevity)"
    r"(?:[ \t]+(?:goes )?(?:here|unchanged|continues|omitted|follows|as before|remains(?: the same| unchanged)?))*"
    rf"[ \t]*{_DOTS}?\W*|#+[ \t]*{_DOTS}[ \t]*",
    re.IGNORECASE,
)
_TO_BE_WRITTEN = re.compile(
    rf"#+[ \t]*(?:todo\b|fixme\b|(?:write |add |put |insert |place )?(?:your|the|my) {_CODE}\b"
    rf"|(?:implement|complete|fill)\b|{_CODE} (?:goes )?here\b)",
    re.IGNORECASE,
)


def is_lazy(function: Definition, target: Target) -> bool:
    """Whether `function` leaves its body out: all of it (`pass`, `# your code here`) or a part (`# rest of code`)."""
    statements = _statements(function)
    comments = _comments(function)
    if any(_LEFT_OUT.fullmatch(comment) for comment in comments):
        return True
    written = [each for each in statements if not _NOT_WRITTEN.fullmatch(each)]
    if not written:
        is_asked_for = "NotImplementedError" in target.docstring
        return not (is_asked_for and statements and statements[-1].startswith("raise"))
    if "..." in statements:
        return True
    is_empty = all(_NOTHING_RETURNED.fullmatch(each) for each in written)
    return is_empty and any(_TO_BE_WRITTEN.match(comment) for comment in comments)


def _statements(function: Definition) -> list[str]:
    """The statements of the body itself, of a compound one its first line; without docstring and comments."""
    text = function.text
    docstring = function.docstring
    begin = function.header.end if docstring is None else docstring.end
    beside = text[begin : function.header_line.code_end].strip(" \t;")
    lines = function.body_lines
    own = [line for line in lines if line.start >= begin and line.width <= lines[0].width]
    return ([beside] if beside else []) + [text[line.start : line.code_end] for line in own]


def _comments(function: Definition) -> list[str]:
    """The comments that stand on lines of their own."""
    text = function.span.of(function.text)
    if "#" not in text:
        return []
    lines = Lines(text)
    inside = string_interiors(text)
    stripped = (lines[index].strip() for index in range(len(lines)) if index not in inside)
    return [line for line in stripped if line.startswith("#")]
