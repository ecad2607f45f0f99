"""Puts a Candidate in its Target's place with the smallest Edits.

Of the function only the body changes; signature, decorators, docstring and every other byte of the file stay.
All is found by line structure: what our own Python cannot parse is put in place as it is, and the user's
judges it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from adacoder.domain import Edit, Span
from adacoder.pytext import Lines, dedent, line_ending, normalize
from adacoder.source.body import body_of, find_function, with_first
from adacoder.source.brought import brought
from adacoder.source.indentation import DEFAULT_UNIT, reindent, unit_of
from adacoder.source.layout import Layout
from adacoder.source.rename import parameter_names, rename_in_definition, rename_in_function
from adacoder.source.text import apply_edits

if TYPE_CHECKING:
    from adacoder.domain import Candidate, Target

_ON_HEADER_LINE = re.compile(r"(?:[ \t\f]|\\(?:\r\n|\r|\n))*")
"""What may stand between a header and a docstring on the same logical line."""


@dataclass(frozen=True, slots=True)
class Splice:
    """A target's module with a candidate in place."""

    edits: tuple[Edit, ...]
    """What turns `target.text` into `text`, in order; none if nothing changes."""
    text: str
    function: Span
    """The whole function in `text`, decorators included."""
    added: tuple[Span, ...] = ()
    """Where in `text` the imports and definitions stand that the candidate brought."""


def splice(target: Target, candidate: Candidate) -> Splice:
    """Put `candidate` in the place of `target`.

    The body is replaced, in the file's own indentation and line endings. Parameters that the candidate calls
    otherwise, and the function itself, are renamed to what they are here. Of the imports and module-level
    definitions those come along that are used and that the module does not have; what the module binds to
    something else is never shadowed. Without a function in the candidate nothing changes.
    """
    candidate = _in_our_names(target, candidate)
    function = find_function(candidate.function, target.name)
    if function is None:
        return Splice((), target.text, target.definition)
    body = body_of(function)
    place = _Place.of(target)
    comes = brought(target, candidate, place.at_column_zero(body))
    added = [reindent(text, parent="", first="", unit=place.unit) for text in comes.definitions]
    additions = Layout(target).additions(comes.futures, comes.imports, [place.in_file(text) for text in added])
    return _placed(target, additions, place.edits(with_first(body, comes.inside)))


def _in_our_names(target: Target, candidate: Candidate) -> Candidate:
    """`candidate` with the target's names for its parameters, and for itself."""
    function = find_function(candidate.function, target.name)
    if function is None:
        return candidate
    signature = function.header.of(candidate.function)
    names = dict(parameter_names(signature, normalize(target.signature)))
    definitions = candidate.definitions
    if function.name != target.name:
        own = {function.name: target.name}
        names |= own
        definitions = tuple(rename_in_definition(text, own) for text in definitions)
    text = rename_in_function(candidate.function, function.name, names, method=target.in_class)
    return replace(candidate, function=text, definitions=definitions)


def _placed(target: Target, additions: list[Edit], body: list[Edit]) -> Splice:
    """The splice of `additions`, which all stand before the function, and of the edits of its `body`."""
    added: list[Span] = []
    shift = 0
    for edit in additions:
        added.append(Span(edit.start + shift, edit.start + shift + len(edit.text)))
        shift += len(edit.text)
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
        return f"{head}\n{reindent(body or 'pass', parent='', first=DEFAULT_UNIT, unit=DEFAULT_UNIT)}\n"

    def in_file(self, text: str) -> str:
        """`text` with the line endings of the file."""
        return normalize(text).replace("\n", line_ending(self.target.text))

    def edits(self, body: str) -> list[Edit]:
        """What puts `body` in place; nothing where the function has that very body."""
        own = find_function(dedent(normalize(self.target.source)), self.target.name)
        if own is not None and body_of(own) == body:
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
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    first = start + len("".join(before[:head]))
    last = start + len(old) - len("".join(before[len(before) - tail :]))
    return Edit(first, last, "".join(after[head : len(after) - tail]))


def _split(text: str) -> list[str]:
    lines = Lines(text)
    return [lines[index] for index in range(len(lines))]


def _common(one: list[str], other: list[str]) -> int:
    """How many lines the two begin with in common."""
    differing = (index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))
