"""Split the code of a reply into passages, in which the target's function is searched."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from adacoder.domain import Span
from adacoder.pytext import dedent, indented, logical_lines, normalize, parsed, statements
from adacoder.replies.blocks import Block, is_prose
from adacoder.replies.free_names import free_names, parameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adacoder.domain import Target
    from adacoder.pytext import LogicalLine

_INDENT = "    "
_BLANK_LINES = re.compile(r"(?:[ \t\f]*\n)+")
_DEFINES = re.compile(r"(?:async[ \t]+)?def\b|class\b")
_DEFINES_OR_IMPORTS = re.compile(r"(?:async[ \t]+)?def\b|class\b|@|import\b|from\b")
_TRIPLE_QUOTE = re.compile(r'"{3}|\'{3}')
_STATEMENT = re.compile(
    r"(?:return|yield|if|for|while|with|try|raise|assert|del|global|nonlocal|pass|break|continue|await|async|match)\b"
    r"|\.{3}|…|[^\W\d][\w.]*\("
    r"|\(?[^\W\d][\w.]*(?:\[[^\n]*\])?(?:[ \t]*,[ \t]*[*\w.]+)*\)?[ \t]*(?::[^=\n]+)?"
    r"(?:[-+*/%&|^@]|//|\*\*|<<|>>)?=(?!=)"
)
_LONGEST_TARGETS = 500
"""Maximum characters at the start of a statement that are searched for the `=` of an assignment."""
_USES = re.compile(
    r"print[ \t]*\(|assert\b|if[ \t]+__name__\b|(?:doctest|unittest|pytest)\."
    r"|(?:main|check|test\w*|run_tests)\(\)"
)
_LEAVES = re.compile(r"^[ \t]*(?:return|yield)\b", re.MULTILINE)
_OTHER_SYNTAX = re.compile(r"(?:;|\)[ \t]*\{)[ \t]*$|^[ \t]*(?:end|fi|done)[ \t]*$", re.MULTILINE)


def passages(run: Block, target: Target) -> Iterator[Block]:
    """Split code at calls and tests of the target, and yield the parts, moved to column 0.

    The code after a call is often another version of the target. If the code begins inside the target's body, the
    target's signature is added.
    """
    text = run.text[blank.end() :] if (blank := _BLANK_LINES.match(run.text)) else run.text
    text = with_signature(text, target) if goes_on(text, target) else _without_lambda(_moved_left(text), target)
    begin = 0
    for statement in statements(text):
        if _is_use(statement.of(text), target):
            yield replace(run, text=text[begin : statement.start], ended=True)
            begin = statement.end
    yield replace(run, text=text[begin:])


def _without_lambda(text: str, target: Target) -> str:
    """Return `text` with `name = lambda …: …` rewritten as a function, where `name` is the target's name."""
    assigned = re.search(rf"^{re.escape(target.name)}[ \t]*(?::[^=\n]+)?=[ \t]*\(?lambda\b", text, re.MULTILINE)
    line = None if assigned is None else next(logical_lines(text, assigned.start()), None)
    if line is None:
        return text
    code = text[line.start : line.code_end]
    tree = parsed(code)
    value = tree.body[0].value if tree is not None and isinstance(tree.body[0], ast.Assign | ast.AnnAssign) else None
    if not isinstance(value, ast.Lambda):
        return text
    body = ast.get_source_segment(code, value.body) or ""
    body = f"({body})" if "\n" in body else body
    function = f"def {target.name}({ast.unparse(value.args)}):\n{_INDENT}return {body}"
    return text[: line.start] + function + text[line.code_end :]


def _moved_left(text: str) -> str:
    """Move the first lines of `text` to column 0, up to the first line that is indented less."""
    lines = logical_lines(text)
    first = next(lines, None)
    if first is None or not first.width:
        return text
    left = next((line.start - len(line.indent) for line in lines if line.width < first.width), len(text))
    return dedent(text[:left]) + text[left:]


def without_echo(text: str, target: Target) -> str:
    """Remove the end of the target's signature or docstring from the start of `text`. Models often repeat it."""
    head = Span(target.header.start, target.docstring_span.end).of(target.text)
    first, *others = (line.strip() for line in head.splitlines())
    lines = {first, *others}
    for closing in reversed(list(islice(_TRIPLE_QUOTE.finditer(text), 2))):
        echo = [line.strip() for line in text[: closing.end()].splitlines() if line.strip()]
        if echo[0] in (first, closing[0]) or not lines.issuperset(echo[1:]):
            continue
        if any(line.endswith(echo[0]) for line in lines):
            return text[closing.end() :]
    return text


def _is_use(statement: str, target: Target) -> bool:
    if _USES.match(statement):
        return True
    if _DEFINES_OR_IMPORTS.match(statement) or _LEAVES.search(statement):
        return False
    return re.search(rf"\b{re.escape(target.name)}[ \t]*\(", statement) is not None


def goes_on(text: str, target: Target) -> bool:
    """Return whether `text` continues the target's body: it begins with indented statements and not with prose."""
    lines = logical_lines(text)
    first = next(lines, None)
    if first is None or not first.width:
        return False
    level = [first]
    for line in lines:
        if line.width < first.width:
            break
        if line.width == first.width:
            level.append(line)
    codes = [text[line.start : line.end] for line in level]
    if any(is_prose(code.partition("\n")[0]) or _defines(code, target) for code in codes):
        return False
    return any(_STATEMENT.match(code, 0, _LONGEST_TARGETS) for code in codes)


def _defines(statement: str, target: Target) -> bool:
    return re.match(rf"(?:async[ \t]+)?def[ \t]+{re.escape(target.name)}\b", statement) is not None


def is_body(text: str) -> bool:
    """Return whether `text` is a function's body at column 0: it has a `return` or `yield` outside functions."""
    level = -1
    leaves = False
    for line in logical_lines(text):
        code = text[line.start : line.code_end]
        if level >= 0 and line.width > level:
            continue
        level = line.width if _DEFINES.match(code) else -1
        leaves = leaves or (level < 0 and _LEAVES.match(code) is not None)
    return leaves and not is_another_language(text)


def may_be_body(text: str, target: Target) -> bool:
    """Return whether `text` may be the body of a function that returns nothing.

    Such a body defines no functions or classes and does not call the target. If it prints, it must use one of the
    target's parameters.
    """
    codes = [text[line.start : line.end] for line in logical_lines(text)]
    if all(_DEFINES_OR_IMPORTS.match(code) for code in codes) or not _does_something(text):
        return False
    if any(_DEFINES.match(code) for code in codes) or re.search(rf"(?<![\w.]){re.escape(target.name)}[ \t]*\(", text):
        return False
    free = free_names(text)
    return not any(_is_use(code, target) for code in codes) or not free.isdisjoint(parameters(target.signature) or ())


def _does_something(text: str) -> bool:
    """Return whether `text` is Python code with an effect. Values alone, as in JSON, have no effect."""
    tree = parsed(text)
    return tree is not None and any(
        not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Call | ast.Await)
        for statement in tree.body
    )


def is_another_language(text: str) -> bool:
    """Return whether `text` has lines that end as in C, Ruby or shell, such as `) {` or `done`."""
    return _OTHER_SYNTAX.search(text) is not None


def with_signature(text: str, target: Target) -> str:
    """Return a function with the target's signature and the body `text`.

    The body keeps its indentation. If only its first line lacks indentation, the first line is indented.
    """
    lines = list(logical_lines(text))
    if lines and not lines[0].width:
        text = _first_line_indented(text, lines) or indented(text, _INDENT)
    return f"{normalize(target.signature)}\n{text}"


def _first_line_indented(text: str, lines: list[LogicalLine]) -> str | None:
    """Return `text` with its first line indented like the other lines; None if the first line is right."""
    others = lines[1:]
    if not others:
        return None
    shallowest = min(others, key=lambda line: line.width)
    opens = lines[0].colon is not None and lines[0].colon + 1 == lines[0].code_end
    if not shallowest.width or (opens and others[0].width <= shallowest.width):
        return None
    return text[: lines[0].start] + shallowest.indent + text[lines[0].start :]
