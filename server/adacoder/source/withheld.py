"""A module's text as a candidate's evaluation gets it: with nothing in its docstrings.

A candidate that can read what an Example wants can return it. Docstrings are where the wants stand, so they are
blanked; every line and column stays. Code that reads docstrings would do something else then: a module with such code
runs as it is written, and its evidence says so.
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

    from adacoder.domain import Target

_READS = re.compile(
    r"\b(?:__doc__|getdoc|getsource\w*|pydoc|help[ \t]*\(|(?:import|from)[ \t]+(?:click|docopt|fire|typer)\b)"
)
"""Code that reads docstrings or source; the libraries turn docstrings into a program's help."""
_FOR_PROGRAMS = re.compile(r"if[ \t(]+__name__\b")
"""Beginning of a statement that does nothing in an imported module."""
_CONTENT = re.compile(r"[^\\\r\n]|\\(?![\r\n])")
"""A character that can become a space: neither the end of a line nor what continues one."""


@lru_cache(maxsize=4)  # each candidate of a request asks
def withheld(target: Target) -> str | None:
    """The whole text of the target's module with blank docstrings, as long as it was.

    None if code of the module reads docstrings, or an example does; what stands in the target's own body does not
    count, since that is the candidate's.
    """
    text = target.text
    if any(_READS.search(example.source) for example in target.examples) or _reads_docstrings(target):
        return None
    return apply_edits(text, [_blank(text, literal) for docstring in _docstrings(text) for literal in docstring])


def _reads_docstrings(target: Target) -> bool:
    code = without_strings(target.text)
    if not _READS.search(code):
        return False
    body = target.body
    code = code[: body.start] + " " * (body.end - body.start) + code[body.end :]
    spans = [span for span in statements(target.text) if not _FOR_PROGRAMS.match(target.text, span.start)]
    return any(_READS.search(code, span.start, span.end) for span in spans)


def _docstrings(text: str) -> Iterator[list[Span]]:
    """The literals of each docstring, and of each other string that is a statement of its own."""
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
