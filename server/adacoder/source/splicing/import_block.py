"""Add imports at the top of a module, in the style of the module and its project.

If a group of imports is sorted, a new import goes to its place in the order. Otherwise, it goes to the end of the
group.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from adacoder.domain import Edit
from adacoder.pytext import Lines, line_ending, normalize
from adacoder.source.indentation import DEFAULT_UNIT
from adacoder.source.names import ImportedName, absolute, imported, statements_of
from adacoder.source.splicing.import_names import with_name
from adacoder.source.splicing.import_style import import_style
from adacoder.source.text import common_ends

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from adacoder.domain import Module, Span

_FUTURE, _STANDARD, _OTHERS, _OWN, _RELATIVE = range(5)
"""The groups of imports, in the order of PEP 8."""
_FUTURE_MODULE = "__future__"
_HEADING = re.compile(r"\b(?:imports?|standard lib\w*|stdlib|(?:third|3rd|first|1st)[ -]party)\b", re.IGNORECASE)
"""Matches a comment that is the heading of a group of imports."""


@dataclass(frozen=True, slots=True)
class Statement:
    """The imports on one logical line at the top level of a module."""

    span: Span
    names: tuple[ImportedName, ...]
    first: int
    """The 0-based first line."""
    after: int
    """The 0-based number of the line below the statement."""


@dataclass(frozen=True, slots=True)
class NewLine:
    """One or more import statements to insert before a line."""

    line: int
    group: int
    text: str
    r"""The statements, joined by `\n`."""
    apart: bool
    """True if the statements form a new group, with blank lines around it."""


_Names = tuple[ImportedName, ...]
"""The names that one statement imports."""


class ImportBlock:
    """The import statements of a module before its first definition."""

    def __init__(self, text: str, statements: Iterable[Statement], module: Module) -> None:
        self._text = text
        self._module = module
        self._style = import_style(module)
        self._lines = Lines(text)
        self._groups: list[list[Statement]] = []
        for statement in statements:
            last = self._groups[-1][-1] if self._groups else None
            if last is not None and self._is_joined(last.after, statement.first):
                self._groups[-1].append(statement)
            else:
                self._groups.append([statement])

    def extended(self, names: Iterable[ImportedName]) -> tuple[list[Edit], list[ImportedName]]:
        """Add `names` to existing statements that import from the same module.

        Return the edits in order, and the names that need new statements.
        """
        changed: dict[Statement, str] = {}
        left: list[ImportedName] = []
        for name in names:
            statement = self._statement_of(name)
            old = "" if statement is None else changed.get(statement, self._plain(statement))
            text = with_name(old, name, self._style) if old else None
            if statement is None or text is None:
                left.append(name)
            else:
                changed[statement] = text
        edits = [self._edit(statement, text) for statement, text in changed.items()]
        return sorted(edits, key=lambda edit: edit.start), left

    def new_lines(self, names: Iterable[ImportedName], head: int) -> list[NewLine]:
        """Return new statements for `names`, with the lines at which to insert them.

        If the module has no imports yet, the statements go before the line `head`.
        """
        apart: dict[int, list[_Names]] = {}
        within: dict[int, list[_Names]] = {}
        for statement in self._together(names):
            rank = self._rank(statement[0])
            group = self._group_for(rank)
            if group is None:
                apart.setdefault(rank, []).append(statement)
            else:
                within.setdefault(group, []).append(statement)
        found = [line for group, new in within.items() for line in self._within(self._groups[group], new)]
        for rank, new in apart.items():
            found.append(NewLine(self._line_of(rank, head), rank, self._written(sorted(new, key=self._key)), True))
        return sorted(found, key=lambda each: (each.line, each.group))

    def _is_joined(self, line: int, following: int) -> bool:
        return all(self._lines[each].lstrip(" \t\f").startswith("#") for each in range(line, following))

    def _plain(self, statement: Statement) -> str:
        r"""Return the text of a statement with `\n` line endings; empty if its line endings differ from the file's."""
        text = statement.span.of(self._text)
        plain = normalize(text)
        return plain if self._in_file(plain) == text else ""

    def _in_file(self, text: str) -> str:
        return text.replace("\n", line_ending(self._text))

    def _edit(self, statement: Statement, new: str) -> Edit:
        old, new = statement.span.of(self._text), self._in_file(new)
        head, tail = common_ends(old, new)
        start = statement.span.start
        return Edit(start + head, start + len(old) - tail, new[head : len(new) - tail])

    def _statement_of(self, name: ImportedName) -> Statement | None:
        """Return the last statement to which `name` can be added; None if there is none."""
        if self._stands_alone(name):
            return None
        found = [
            each
            for each in chain.from_iterable(self._groups)
            if all(other.module == name.module for other in each.names)
            and not all(self._stands_alone(other) for other in each.names)
        ]
        return found[-1] if found else None

    def _stands_alone(self, name: ImportedName) -> bool:
        """Return whether `name` must have its own statement."""
        style = self._style
        is_apart = style.force_single_line or (name.alias is not None and not style.combine_as_imports)
        return is_apart or name.name in (None, "*")

    def _together(self, names: Iterable[ImportedName]) -> list[_Names]:
        """Group `names` so that each group can share a statement."""
        joined: dict[str | ImportedName, list[ImportedName]] = {}
        for name in names:
            joined.setdefault(name if self._stands_alone(name) else name.module, []).append(name)
        key = self._style.name_key
        return [tuple(sorted(each, key=lambda name: key(name.name or ""))) for each in joined.values()]

    def _written(self, new: Iterable[_Names]) -> str:
        return "\n".join(self._statement(names) for names in new)

    def _statement(self, names: _Names) -> str:
        (statement,) = statements_of(names)
        if len(statement) <= self._style.line_length or len(names) == 1:
            return statement
        inside = "".join(f"{DEFAULT_UNIT}{name.item},\n" for name in names)
        return f"from {names[0].module} import (\n{inside})"

    def _within(self, group: list[Statement], new: list[_Names]) -> Iterator[NewLine]:
        keys = [self._key(each.names) for each in group if each.names[0].module != _FUTURE_MODULE]
        is_sorted = keys == sorted(keys)
        places: dict[int, list[_Names]] = {}
        for names in sorted(new, key=self._key) if is_sorted else new:
            before = [
                each
                for each in group
                if not is_sorted or each.names[0].module == _FUTURE_MODULE or self._key(each.names) <= self._key(names)
            ]
            places.setdefault(before[-1].after if before else group[0].first, []).append(names)
        for line, together in places.items():
            yield NewLine(line, self._rank(together[0][0]), self._written(together), False)

    def _key(self, names: _Names) -> tuple[object, ...]:
        return self._style.statement_key(names[0].module, names[0].name)

    def _rank(self, name: ImportedName) -> int:
        if name.module == _FUTURE_MODULE:
            return _FUTURE
        if name.module.startswith("."):
            return _RELATIVE
        top = absolute(name.module, self._module).partition(".")[0]
        if self._style.no_sections or top in self._style.known_third_party:
            return _OTHERS
        if top in (self._module.name.partition(".")[0], *self._style.known_first_party):
            return _OWN
        return _STANDARD if top in sys.stdlib_module_names else _OTHERS

    def _ranks(self, group: Iterable[Statement]) -> set[int]:
        return {self._rank(name) for each in group for name in each.names}

    def _group_for(self, rank: int) -> int | None:
        """Return the index of the group for a new statement; None if the statement should start a new group."""
        ranks = [self._ranks(group) - {_FUTURE} for group in self._groups]
        of_its_kind = [index for index, each in enumerate(ranks) if rank in each]
        if of_its_kind:
            return of_its_kind[-1]
        kept_apart = [each for each in ranks if each]
        are_grouped = all(len(each) == 1 or _STANDARD not in each for each in kept_apart) and all(
            max(one) <= min(other) for one, other in pairwise(kept_apart)
        )
        if are_grouped:
            return None
        return max(index for index, each in enumerate(ranks) if each)

    def _line_of(self, rank: int, head: int) -> int:
        """Return the line before which to insert a new group of imports.

        `rank` is the position of the group in PEP 8's order.
        """
        before = [group for group in self._groups if min(self._ranks(group)) < rank]
        if before:
            return before[-1][-1].after
        if not self._groups:
            return head
        line = self._groups[0][0].first
        above = line
        while above > 0 and self._lines[above - 1].lstrip(" \t\f").startswith("#"):
            above -= 1
        # A comment on the first line usually belongs to the file. Other comments belong to the imports below.
        is_heading = above > 0 or (line == 1 and _HEADING.search(self._lines[0]) is not None)
        return above if is_heading else line


def statements_at(text: str, spans: Iterable[Span]) -> Iterator[Statement]:
    """Yield the import statements among the statements at `spans`."""
    lines = Lines(text)
    for span in spans:
        names = imported(span.of(text))
        if names:
            yield Statement(span, names, lines.line_at(span.start), lines.line_at(span.end) + 1)
