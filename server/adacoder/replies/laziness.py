"""Detect functions in a reply that omit all or parts of their code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from adacoder.pytext import Lines, string_interiors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adacoder.domain import Target
    from adacoder.pytext import Definition

_NOT_WRITTEN = re.compile(
    r"pass|\.\.\.|…|raise[ \t]+NotImplementedError(?:\(.*\))?|[rRbBuU]{0,2}(\"{3}|'{3}|\"|').*\1", re.DOTALL
)
_NOTHING_RETURNED = re.compile(r"return(?:[ \t]+(?:None|0|-1|False|''|\"\"|\[\]|\{\}|\(\)))?")
_DOTS = r"(?:\.{3}|…)"
_CODE = r"(?:code|function|implementation|body|logic|method|solution|loop|algorithm)"
_OPEN = r"[\[(<{/*\s]*"
_LEFT_OUT = re.compile(
    rf"#+{_OPEN}(?:{_DOTS}{_OPEN})?(?:the |your |my )?"
    rf"(?:rest of (?:the |your |my )?{_CODE}|(?:remaining|existing|previous|original|other) {_CODE}"
    rf"|same as (?:before|above|the original)|{_CODE} (?:omitted|unchanged|continues)|unchanged|omitted for brevity)"
    r"(?:[ \t]+(?:goes )?(?:here|unchanged|continues|omitted|follows|as before|for brevity"
    rf"|remains(?: the same| unchanged)?))*[ \t]*{_DOTS}?\W*|#+[ \t]*{_DOTS}[ \t]*",
    re.IGNORECASE,
)
_TO_BE_WRITTEN = re.compile(
    rf"#+[ \t]*(?:todo\b|fixme\b|(?:write |add |put |insert |place )?(?:your|the|my) {_CODE}\b"
    rf"|(?:implement|complete|fill)\b|{_CODE} (?:goes )?here\b)",
    re.IGNORECASE,
)
_DOTS_BEFORE_WORDS = re.compile(rf"[\[(<{{]?[ \t]*{_DOTS}[ \t]*[\[(]?\w")
_LONGEST_COMMENT = 200
_MAY_DO_NOTHING = re.compile(r"except\b|finally\b|class\b|(?:async[ \t]+)?def\b|case\b")


def is_lazy(function: Definition, target: Target) -> bool:
    """Return whether `function` omits code, for example by `pass`, `# your code here` or `# rest of code`."""
    statements = _statements(function)
    comments = _comments(function)
    if any(_LEFT_OUT.fullmatch(comment) for comment in comments):
        return True
    written = [each for each in statements if not _NOT_WRITTEN.fullmatch(each)]
    if not written:
        is_asked_for = "NotImplementedError" in target.docstring
        return not (is_asked_for and statements and statements[-1].startswith("raise"))
    if "..." in statements or any(_leaves_out(function)):
        return True
    is_unfinished = statements[-1] == "pass" or all(_NOTHING_RETURNED.fullmatch(each) for each in written)
    return is_unfinished and any(_TO_BE_WRITTEN.match(comment) for comment in comments)


def leaves_out(line: str) -> bool:
    """Return whether a line is only a placeholder for omitted code, such as `# ... existing code ...` or `...`."""
    return line.strip() == "..." or _LEFT_OUT.fullmatch(line.strip()) is not None


def _statements(function: Definition) -> list[str]:
    """Return the statements of the body without the docstring.

    For a statement with a block, such as `if`, only the first line is returned.
    """
    text = function.text
    docstring = function.docstring
    begin = function.header.end if docstring is None else docstring.end
    beside = text[begin : function.header_line.code_end].strip(" \t;")
    lines = function.body_lines
    own = [line for line in lines if line.start >= begin and line.width <= lines[0].width]
    return ([beside] if beside else []) + [text[line.start : line.code_end] for line in own]


def _leaves_out(function: Definition) -> Iterator[bool]:
    """Yield True or False for each line of the body: whether it stands for omitted code, as in `... rest of code`."""
    text = function.text
    opener = function.header_line
    for line in function.body_lines:
        code = text[line.start : line.code_end]
        is_block = line.width > opener.width and not _MAY_DO_NOTHING.match(text, opener.start)
        yield _DOTS_BEFORE_WORDS.match(code) is not None or (code == "..." and is_block)
        opener = line


def _comments(function: Definition) -> list[str]:
    """Return the short comments that are alone on their line. Long comments do not stand for omitted code."""
    text = function.span.of(function.text)
    if "#" not in text:
        return []
    lines = Lines(text)
    inside = string_interiors(text)
    stripped = (lines[index].strip() for index in range(len(lines)) if index not in inside)
    return [line for line in stripped if line.startswith("#") and len(line) <= _LONGEST_COMMENT]
