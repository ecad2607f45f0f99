"""Replace the docstrings and comments of a module by spaces before a candidate runs in it.

Otherwise, a candidate could read the expected outputs of the examples and return them. Strings in `__test__` may
contain examples, too, so they are also replaced.

A module that reads its own docstrings would behave differently. AdaCoder runs it unchanged and reports this to the
user.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from adacoder.domain import Edit, Span
from adacoder.pytext import definitions_in, docstring_at, logical_lines, statements, string_literals
from adacoder.source.surroundings.masking import without_strings
from adacoder.source.text import apply_edits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adacoder.domain import Example, Target

_READS = re.compile(
    r"\b(?:__doc__|getdoc|getsource\w*|pydoc|help[ \t]*\(|(?:import|from)[ \t]+(?:click|docopt|fire|typer)\b)"
)
"""Matches code that reads docstrings or source code, for example with `click` or `typer`."""
_FOR_PROGRAMS = re.compile(r"if[ \t(]+__name__\b")
"""Matches the start of `if __name__ == "__main__":`, whose body does not run in an imported module."""
_MOST_EXAMPLES = 100
"""Maximum number of examples to search for in the module's code."""
_SETS_TESTS = re.compile(r"[ \t]*__test__\b")
"""The start of a statement that sets `__test__`."""
_COMMENT = re.compile(r"#[^\r\n]*")
_CONTENT = re.compile(r"[^\\\r\n]|\\(?![\r\n])")
"""Matches a character to blank. Line endings and line continuations must stay."""


@lru_cache(maxsize=4)  # All candidates of a request need the same text.
def withheld(target: Target) -> str | None:
    """Return the text of the target's module with docstrings and comments blanked.

    Return None if an example, or code outside the target's body, reads docstrings.
    """
    text = target.text
    if any(_READS.search(example.source) for example in target.examples) or _reads_docstrings(target):
        return None
    literals = {literal for docstring in (*_docstrings(text), *_tests(text)) for literal in docstring}
    blank = [*(_blank(text, literal) for literal in literals), *_blank_comments(text)]
    return apply_edits(text, sorted(blank, key=lambda edit: edit.start))


def shows_wants(target: Target) -> bool:
    """Return whether one statement of the module, outside the target, shows an example's source and its output."""
    text = withheld(target)
    if text is None:
        return True
    own = target.definition
    text = text[: own.start] + _CONTENT.sub(" ", own.of(text)) + text[own.end :]
    lines = [_condensed(line.of(text)) for line in _logical(text)]
    return any(_shows(line, example) for example in target.examples[:_MOST_EXAMPLES] for line in lines)


def _shows(line: str, example: Example) -> bool:
    """Return whether a statement contains an example's source and also its output.

    `line` is the statement without white space.
    """
    source, want = _condensed(example.source), _condensed(example.want)
    if not want or source not in line:
        return False
    return re.search(rf"(?<!\w){re.escape(want)}(?!\w)", line.replace(source, " ")) is not None


def _condensed(text: str) -> str:
    return "".join(text.split())


def _logical(text: str) -> Iterator[Span]:
    return (Span(line.start, line.end) for line in logical_lines(text))


def _tests(text: str) -> Iterator[list[Span]]:
    """Yield the string literals of each statement that sets `__test__`.

    Yield nothing if other code uses `__test__`.
    """
    if "__test__" not in text:
        return
    setting = [line for line in _logical(text) if _SETS_TESTS.match(text, line.start)]
    # Other code reads `__test__`, so its strings must stay.
    if len(re.findall(r"\b__test__\b", without_strings(text))) > len(setting):
        return
    for line in setting:
        yield list(string_literals(text, line.start, line.end))


def _blank_comments(text: str) -> Iterator[Edit]:
    code = list(text)
    for literal in string_literals(text, 0, len(text)):
        code[literal.start : literal.end] = " " * (literal.end - literal.start)
    for comment in _COMMENT.finditer("".join(code)):
        yield Edit(comment.start(), comment.end(), " " * len(comment[0]))


def _reads_docstrings(target: Target) -> bool:
    code = without_strings(target.text)
    if not _READS.search(code):
        return False
    body = target.body
    code = code[: body.start] + " " * (body.end - body.start) + code[body.end :]
    spans = [span for span in statements(target.text) if not _FOR_PROGRAMS.match(target.text, span.start)]
    return any(_READS.search(code, span.start, span.end) for span in spans)


def _docstrings(text: str) -> Iterator[list[Span]]:
    """Yield the literals of each statement that is only a string, such as a docstring."""
    lines = tuple(logical_lines(text))
    alone = (docstring_at(text, line.start, line.code_end) for line in lines)
    beside = (definition.docstring for definition in definitions_in(text, lines, ()))
    for span in dict.fromkeys([*alone, *beside]):
        if span is not None:
            yield list(string_literals(text, span.start, span.end))


def _blank(text: str, literal: Span) -> Edit:
    quotes = 3 if literal.of(text).startswith(('"""', "'''")) else 1
    content = Span(literal.start + quotes, literal.end - quotes)
    return Edit(content.start, content.end, _CONTENT.sub(" ", content.of(text)))
