"""Replace the body of a target by the body of a candidate, with the smallest edits.

Needed decorators, imports and definitions are added. The rest of the file stays, including the signature and the
docstring. Code that AdaCoder's Python cannot parse is inserted unchanged, because the user's Python may be newer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from adacoder.domain import Edit, Span
from adacoder.pytext import Lines, dedent, line_ending, normalize
from adacoder.source.body import body_of, find_function, prepended
from adacoder.source.indentation import DEFAULT_UNIT, reindent, unit_of
from adacoder.source.notebook import alone, moved, start_of
from adacoder.source.placed import Splice
from adacoder.source.remarks import has_all_but_comments, kept, remarks, without
from adacoder.source.signature import Fit, arguments, fit
from adacoder.source.splicing.dependencies import dependencies
from adacoder.source.splicing.layout import Layout
from adacoder.source.splicing.rename import with_names
from adacoder.source.text import apply_edits, common_ends

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

    from adacoder.domain import Candidate, Target
    from adacoder.pytext import Definition

_ON_HEADER_LINE = re.compile(r"(?:[ \t\f]|\\(?:\r\n|\r|\n))*")
"""Matches white space and line continuations between a header and its docstring on the same line."""
_WORD = re.compile(r"\w+")


@lru_cache(maxsize=16)  # Callers need the result for the same candidate several times.
def splice(target: Target, candidate: Candidate) -> Splice:
    """Replace the body of `target` by the body of `candidate`.

    The new body gets the file's indentation and line endings, and the target's parameter names. Added imports and
    definitions never shadow a name of the module. If the candidate has no function, nothing changes.
    """
    function = find_function(candidate.function, target.name)
    if function is None:
        return Splice((), target.text, target.definition)
    place = _BodyPlace.of(target)
    body = _body(target, function)
    decorators = "".join(f"{each}\n" for each in candidate.decorators)
    needed = dependencies(target, candidate, decorators + place.at_column_zero(body))
    added = [reindent(text, parent="", first="", unit=place.unit) for text in needed.definitions]
    additions = Layout(alone(target)).additions(needed.futures, needed.imports, added)
    additions = [moved(each, start_of(target)) for each in additions]
    edits = place.edits(prepended(body, needed.inside))
    return _placed(target, additions, [*place.decorated(candidate.decorators), *edits])


def _body(target: Target, function: Definition) -> str:
    """Return the body of a candidate's `function`, adapted to the target's names.

    If renaming is not safe, the body begins with assignments such as `lst = numbers`.
    """
    theirs = fit(function.header.of(function.text), normalize(target.signature), method=target.in_class)
    body = body_of(function)
    words = set(_WORD.findall(body))
    inner = arguments(function.header.of(function.text))
    if inner is not None and not target.in_class and _needs_own_parameters(function, inner, theirs):
        return _nested(function, inner, theirs)
    own = {function.name: target.name} if function.name != target.name else {}
    names = {old: new for old, new in (own | dict(theirs.names)).items() if old in words}
    first = [f"{name} = {default}" for name, default in theirs.defaults.items()]
    text = with_names(function.text, names, function.name, method=target.in_class) if names else None
    renamed = None if text is None else find_function(text, target.name)
    if renamed is not None:
        return prepended(body_of(renamed), first)
    called = [f"{old} = {new}" for old, new in own.items() if old in names and not target.in_class]
    if not names.keys().isdisjoint(theirs.names):
        called.append(f"{', '.join(theirs.names)} = {', '.join(theirs.names.values())}")
    return prepended(body, [*called, *first])


def _needs_own_parameters(function: Definition, inner: ast.arguments, theirs: Fit) -> bool:
    """Return whether a function calls itself with parameters that the target lacks, such as an accumulator.

    These calls would fail with the target's signature.
    """
    own = [*inner.posonlyargs, *inner.args, *inner.kwonlyargs]
    is_recursive = re.search(rf"\b{re.escape(function.name)}[ \t]*\(", body_of(function)) is not None
    return is_recursive and any(each.arg in theirs.defaults for each in own)


def _nested(function: Definition, inner: ast.arguments, theirs: Fit) -> str:
    """Return a body that defines the whole function and calls it."""
    given: list[str] = []
    by_name = False
    for each in (*inner.posonlyargs, *inner.args, *inner.kwonlyargs):
        by_name = by_name or each in inner.kwonlyargs
        if each.arg in theirs.defaults:
            by_name = True
        else:
            ours = theirs.names.get(each.arg, each.arg)
            given.append(f"{each.arg}={ours}" if by_name else ours)
    if inner.kwarg is not None and inner.kwarg.arg not in theirs.defaults:
        given.append(f"**{theirs.names.get(inner.kwarg.arg, inner.kwarg.arg)}")
    awaits = "await " if function.header.of(function.text).startswith("async") else ""
    text = function.text[function.header.start : function.span.end].rstrip()
    return f"{text}\n\nreturn {awaits}{function.name}({', '.join(given)})"


def _placed(target: Target, additions: list[Edit], body: list[Edit]) -> Splice:
    """Combine the edits of the body with `additions`, which are all above the function."""
    added: list[Span] = []
    shift = 0
    for edit in additions:
        added.append(Span(edit.start + shift, edit.start + shift + len(edit.text)))
        shift += len(edit.text) - (edit.end - edit.start)
    edits = (*additions, *body)
    text = apply_edits(target.text, edits)
    grown = len(text) - len(target.text)
    function = Span(target.definition.start + shift, target.definition.end + grown)
    return Splice(edits, text, function, tuple(added))


@dataclass(frozen=True, slots=True)
class _BodyPlace:
    """The position and layout of the target's body."""

    target: Target
    beside: bool
    """True if the body or the docstring is on the same line as the header. It then moves to a line of its own."""
    indent: str
    unit: str
    """Indentation of one level."""

    @classmethod
    def of(cls, target: Target) -> _BodyPlace:
        text, docstring = target.text, target.docstring_span
        beside = _ON_HEADER_LINE.fullmatch(text, target.header.end, docstring.start) is not None
        lines = Lines(text)
        before = text[lines.starts[lines.line_at(docstring.start)] : docstring.start]
        indent = before.rpartition("\f")[2]
        if beside or not indent.startswith(target.indent) or indent == target.indent:
            unit = unit_of(text)
            return cls(target, beside, target.indent + unit if beside else indent, unit)
        return cls(target, beside, indent, indent.removeprefix(target.indent))

    def at_column_zero(self, body: str) -> str:
        """Return the function with the new body at column 0, for analysis only."""
        head = dedent(normalize(self.target.text[self.target.definition.start : self.target.header.end]))
        if not body[:1].isspace():
            body = reindent(body or "pass", parent="", first=DEFAULT_UNIT, unit=DEFAULT_UNIT)
        return f"{head}\n{body}\n"

    def in_file(self, text: str) -> str:
        return normalize(text).replace("\n", line_ending(self.target.text))

    def has(self, body: str) -> bool:
        own = find_function(dedent(normalize(self.target.source)), self.target.name)
        return own is not None and body_of(own) == body

    def decorated(self, decorators: Sequence[str]) -> list[Edit]:
        """Put `decorators` directly above the header."""
        start = self.target.header.start - len(self.target.indent)
        text = "".join(
            reindent(each, parent="", first=self.target.indent, unit=self.unit) + "\n" for each in decorators
        )
        return [Edit(start, start, self.in_file(text))] if text else []

    def edits(self, body: str) -> list[Edit]:
        """Return the edits that replace the old body by `body`. Comments of a stub are kept."""
        if self.has(body):
            return []
        body = without(body, {*remarks(self.target)})
        block = reindent(body, parent=self.target.indent, first=self.indent, unit=self.unit)
        old = self.target.body.of(self.target.text)
        above = kept(self.target, self.indent)
        first = "" if above.endswith(("\n", "\r")) else "\n"
        new = above + self.in_file(first + block) if body else above.rstrip("\r\n")
        if not self.target.is_stub and has_all_but_comments(old, new):
            return []
        edits = [_smallest(self.target.body.start, old, new)] if old != new else []
        if self.beside and new and self.target.is_documented:
            gap = (self.target.header.end, self.target.docstring_span.start)
            edits.insert(0, Edit(*gap, self.in_file("\n") + self.indent))
        return edits


def _smallest(start: int, old: str, new: str) -> Edit:
    """Return the edit from `old`, which begins at `start`, to `new`. Equal lines at both ends are left out."""
    before, after = _split(old), _split(new)
    head, tail = common_ends(before, after)
    first = start + len("".join(before[:head]))
    last = start + len(old) - len("".join(before[len(before) - tail :]))
    return Edit(first, last, "".join(after[head : len(after) - tail]))


def _split(text: str) -> list[str]:
    lines = Lines(text)
    return [lines[index] for index in range(len(lines))]
