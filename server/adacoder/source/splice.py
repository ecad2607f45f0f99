"""Puts a Candidate in its Target's place with the smallest Edits.

Of the function only the body changes; signature, decorators, docstring and every other byte of the file stay.
All is found by line structure: what our own Python cannot parse is put in place as it is, and the user's
judges it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from adacoder.domain import Edit, Span
from adacoder.pytext import Lines, dedent, line_ending, normalize
from adacoder.source.body import body_of, find_function, with_first
from adacoder.source.importing.standard_names import BUILTINS
from adacoder.source.indentation import DEFAULT_UNIT, reindent, unit_of
from adacoder.source.names import Imported, imported, statements_of, used_names
from adacoder.source.splicing import Splice
from adacoder.source.splicing.brought import brought
from adacoder.source.splicing.helpers import with_own_names
from adacoder.source.splicing.inner import inner_function
from adacoder.source.splicing.layout import Layout
from adacoder.source.splicing.quotes import own_quote, requoted
from adacoder.source.splicing.rename import calls_itself, with_globals, with_keywords, with_name, with_parameters
from adacoder.source.splicing.signature import fit, only_in
from adacoder.source.text import apply_edits, common

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adacoder.domain import Candidate, Target
    from adacoder.pytext import Definition
    from adacoder.source.splicing.signature import Fit

_ON_HEADER_LINE = re.compile(r"(?:[ \t\f]|\\(?:\r\n|\r|\n))*")
"""What may stand between a header and a docstring on the same logical line."""


@lru_cache(maxsize=16)  # whoever judges a candidate puts it in place anew
def splice(target: Target, candidate: Candidate) -> Splice:
    """Put `candidate` in the place of `target`.

    The body is replaced, in the file's own indentation, quotes and line endings. Parameters that the candidate calls
    otherwise, and the function itself, are called what they are here. Of the imports and module-level definitions
    those come along that are used and that the module does not have; what the module binds to something else is never
    shadowed. Without a function in the candidate nothing changes.
    """
    if find_function(candidate.function, target.name) is None:
        return Splice((), target.text, target.definition)
    candidate = with_own_names(target, candidate)
    place = _Place.of(target)
    body = _body(target, candidate)
    styled = _in_our_quotes(target, candidate)
    if styled != candidate and not place.has(body):
        candidate, body = styled, _body(target, styled)
    candidate = _calling_us(target, candidate)
    comes = brought(target, candidate, place.at_column_zero(body))
    added = [reindent(text, parent="", first="", unit=place.unit) for text in comes.definitions]
    additions = Layout(target).additions(comes.futures, comes.imports, added)
    return _placed(target, additions, place.edits(with_first(body, comes.inside)))


def _in_our_quotes(target: Target, candidate: Candidate) -> Candidate:
    quote = own_quote(target)
    if quote is None:
        return candidate
    definitions = tuple(requoted(text, quote) for text in candidate.definitions)
    return replace(candidate, function=requoted(candidate.function, quote), definitions=definitions)


def _fit(target: Target, function: Definition) -> Fit:
    header = function.header.of(function.text)
    return fit(header, normalize(target.signature), method=target.in_class)


def _calling_us(target: Target, candidate: Candidate) -> Candidate:
    """`candidate` with definitions that call the function as it is called here."""
    function = find_function(candidate.function, target.name) if candidate.definitions else None
    if function is None:
        return candidate
    names = _fit(target, function).names
    changed: list[str] = []
    for text in candidate.definitions:
        if function.name != target.name:
            text = with_globals(text, {function.name: target.name}) or text
        changed.append(with_keywords(text, target.name, names) or text)
    return replace(candidate, definitions=tuple(changed))


def _body(target: Target, candidate: Candidate) -> str:
    """The body of the candidate's function, in the target's names."""
    function = find_function(candidate.function, target.name)
    if function is None:
        return ""
    theirs = _fit(target, function)
    hidden = _hidden_imports(target, candidate, function)
    inner = inner_function(target, function, theirs)
    if inner is not None:
        return with_first(inner, hidden)
    text, first = _in_our_names(target, function, theirs.names)
    renamed = find_function(text, target.name)
    first += [f"{name} = {default}" for name, default in theirs.defaults.items()]
    return with_first(body_of(renamed or function), [*first, *hidden])


def _hidden_imports(target: Target, candidate: Candidate, function: Definition) -> list[str]:
    """The imports and builtins that `function` uses and the target's parameters would hide from it, imported."""
    hidden = only_in(normalize(target.signature), function.header.of(function.text))
    hidden &= used_names(function.text) if hidden else hidden
    names = [name for statement in candidate.imports if hidden for name in imported(dedent(statement))]
    own = {name.binds for name in names}
    names += [Imported("builtins", name) for name in sorted(hidden & BUILTINS - own)]
    return list(statements_of([name for name in names if name.binds in hidden]))


def _in_our_names(target: Target, function: Definition, names: Mapping[str, str]) -> tuple[str, list[str]]:
    """The text of `function` in the target's names; what cannot be renamed keeps its own, which statements give it."""
    text, called, first = function.text, function.name, list[str]()
    if called != target.name:
        renamed = with_name(text, called, target.name, method=target.in_class)
        if renamed is not None:
            text, called = renamed, target.name
        elif not target.in_class and calls_itself(text, called):
            first.append(f"{called} = {target.name}")
    if names:
        renamed = with_parameters(text, function.name, names, called=called, method=target.in_class)
        if renamed is None:
            first.append(f"{', '.join(names)} = {', '.join(names.values())}")
        text = renamed or text
    return text, first


def _placed(target: Target, additions: list[Edit], body: list[Edit]) -> Splice:
    """The splice of `additions`, which all stand before the function, and of the edits of its `body`."""
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
class _Place:
    """Where a target's body goes, and in what shape."""

    target: Target
    beside: bool
    """Whether the docstring stands on the header's line, so that it must move to a line of its own."""
    indent: str
    """The indentation of the body."""
    unit: str
    """What each deeper level has more."""

    @classmethod
    def of(cls, target: Target) -> _Place:
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
        """The function with this body, as a module of its own; to be read, not to be written."""
        head = dedent(normalize(self.target.text[self.target.definition.start : self.target.header.end]))
        if not body[:1].isspace():
            body = reindent(body or "pass", parent="", first=DEFAULT_UNIT, unit=DEFAULT_UNIT)
        return f"{head}\n{body}\n"

    def in_file(self, text: str) -> str:
        """`text` with the line endings of the file."""
        return normalize(text).replace("\n", line_ending(self.target.text))

    def has(self, body: str) -> bool:
        """Whether the function has that very body."""
        own = find_function(dedent(normalize(self.target.source)), self.target.name)
        return own is not None and body_of(own) == body

    def edits(self, body: str) -> list[Edit]:
        """What puts `body` in place; nothing where the function has that very body."""
        if self.has(body):
            return []
        block = reindent(body, parent=self.target.indent, first=self.indent, unit=self.unit)
        old = self.target.body.of(self.target.text)
        new = self.in_file("\n" + block) if body else ""
        edits = [_smallest(self.target.body.start, old, new)] if old != new else []
        if self.beside and body:
            gap = (self.target.header.end, self.target.docstring_span.start)
            edits.insert(0, Edit(*gap, self.in_file("\n") + self.indent))
        return edits


def _smallest(start: int, old: str, new: str) -> Edit:
    """The Edit of `old`, which begins at `start`, into `new`, but for the lines that frame both."""
    before, after = _split(old), _split(new)
    head = common(before, after)
    tail = common(before[head:][::-1], after[head:][::-1])
    first = start + len("".join(before[:head]))
    last = start + len(old) - len("".join(before[len(before) - tail :]))
    return Edit(first, last, "".join(after[head : len(after) - tail]))


def _split(text: str) -> list[str]:
    lines = Lines(text)
    return [lines[index] for index in range(len(lines))]
